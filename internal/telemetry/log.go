package telemetry

import (
	"fmt"
	"io"
	"log/slog"
)

// Formats and Levels of the log, for the settings.
var (
	Formats = []string{"text", "json"}
	Levels  = []string{"debug", "info", "warn", "error"}
)

// Logger writes records of at least the level to w, one Write each, as text or
// as lines of JSON. w takes the secrets out.
func Logger(w io.Writer, format, level string) (*slog.Logger, error) {
	var opts slog.HandlerOptions
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("open log: level %q: want one of %v", level, Levels)
	}
	opts.Level = l
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, &opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, &opts)), nil
	}
	return nil, fmt.Errorf("open log: format %q: want one of %v", format, Formats)
}
