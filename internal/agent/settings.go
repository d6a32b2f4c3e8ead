package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Role says what kind of model a task needs (CR25).
type Role string

// Roles: fast reads and sorts, high investigates and fixes, judge weighs what
// others found.
const (
	Fast  Role = "fast"
	High  Role = "high"
	Judge Role = "judge"
)

// Model is a model by the name that its server has for it.
type Model struct {
	Name   string
	Effort string // reasoning effort, or empty for the server's default
}

// efforts are what may follow a model's name after "@".
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// ParseModels reads "NAME[@EFFORT], …": the model of a role and its
// fallbacks, in order.
func ParseModels(s string) ([]Model, error) {
	var out []Model
	for _, part := range strings.Split(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		m := Model{Name: part}
		if i := strings.LastIndexByte(part, '@'); i > 0 && slices.Contains(efforts, part[i+1:]) {
			m = Model{part[:i], part[i+1:]}
		}
		if strings.ContainsAny(m.Name, " \t\n\"'") {
			return nil, fmt.Errorf("%q is no name of a model: want NAME or NAME@EFFORT, several separated by commas", part)
		}
		out = append(out, m)
	}
	if len(out) == 0 {
		return nil, errors.New("want the name of a model")
	}
	return out, nil
}

// Settings of a Client. Zero values take the default in parentheses.
type Settings struct {
	BaseURL string // with its version, https://api.openai.com/v1
	APIKey  string
	// Roles: the models of each role, the first that works is used. A role
	// without one takes those of high.
	Roles  map[Role][]Model
	Prices Prices

	CallTimeout time.Duration // of one attempt (10 min)
	Stall       time.Duration // a stream that brings nothing this long is given up (90 s)
	MaxOutput   int           // tokens of one answer (16,384)

	HTTP  *http.Client
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error // waits between attempts
}

func (s Settings) filled() Settings {
	if s.CallTimeout == 0 {
		s.CallTimeout = 10 * time.Minute
	}
	if s.Stall == 0 {
		s.Stall = 90 * time.Second
	}
	if s.MaxOutput == 0 {
		s.MaxOutput = 16_384
	}
	if s.HTTP == nil {
		s.HTTP = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	}
	if s.Now == nil {
		s.Now = time.Now
	}
	if s.Sleep == nil {
		s.Sleep = sleep
	}
	return s
}

// sleep waits, or returns the context's error.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
