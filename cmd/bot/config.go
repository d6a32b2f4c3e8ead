package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"culprit/internal/checkout"
	"culprit/internal/config"
	"culprit/internal/session"
)

// checkConfig checks a repository's settings file (GH9). It exits 0 when the
// file is valid and 1 when it is not.
func (a *App) checkConfig(_ context.Context, args []string) int {
	path := config.RepositoryFile
	switch {
	case len(args) == 1 && (args[0] == "-h" || args[0] == "--help"):
		fmt.Fprintf(a.Stdout, "usage: bot config [FILE]\n\nChecks a repository's settings file (default: %s; - is the standard input).\nExit codes: 0 valid, 1 not valid, 2 it cannot be read.\n", config.RepositoryFile)
		return exitOK
	case len(args) == 1:
		path = args[0]
	case len(args) > 1:
		return a.usageError("config", errors.New("one FILE at most"))
	}
	in := a.Stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return a.usageError("config", err)
		}
		defer file.Close()
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, config.MaxRepositoryFile+1))
	if err != nil {
		return a.usageError("config", err)
	}
	_, problems := config.ReadRepository(data, config.Repository{})
	if len(problems) == 0 {
		fmt.Fprintf(a.Stdout, "%s is valid\n", printable(path))
		return exitOK
	}
	for _, p := range problems {
		fmt.Fprintf(a.Stdout, "%s:%d: %s\n", printable(path), p.Line, printable(p.Text))
	}
	return 1
}

// localSettings lets the settings file of the revision that is looked at take
// effect on a local session. Limits are left to the flags: the machine is the
// reader's own.
func localSettings(ctx context.Context, m *checkout.Mirror, s *session.Session, asked string) error {
	rev := s.Flags.Bad
	if rev == "" {
		rev = "HEAD"
	}
	if there, err := m.Exists(ctx, rev, config.RepositoryFile); err != nil || !there {
		return nil //nolint:nilerr // an unknown revision is reported where it is resolved
	}
	data, err := m.Show(ctx, rev, config.RepositoryFile)
	if err != nil {
		return err
	}
	set, problems := config.ReadRepository(data, config.Repository{})
	if len(problems) > 0 {
		return settingsError("revision "+rev, problems)
	}
	set.Limits = config.RepositoryLimits{}
	apply(set, s, asked)
	return nil
}
