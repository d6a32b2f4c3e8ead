package agent

import (
	"context"
	"net/http"
	"time"

	"culprit/internal/agent/roster"
)

type (
	// Role is the roster's.
	Role = roster.Role
	// Model is the roster's.
	Model = roster.Model
	// Prices is the roster's.
	Prices = roster.Prices
)

// The roles (CR25).
const (
	High  = roster.High
	Judge = roster.Judge
)

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
