package pipeline

import (
	"context"
	"fmt"
	"time"

	"culprit/internal/session"
)

// Incidents knows what other sessions investigate.
type Incidents interface {
	// Same looks for a session about the same failure whose result holds here
	// too. Nil: there is none, and this session investigates. A *WaitError: one
	// is at work, and s.Incident names it.
	Same(ctx context.Context, s *session.Session) (*session.Incident, error)
}

// IncidentStage is the State of a session that waits for another one's result.
const IncidentStage = "incident"

// WaitError ends Run for now: the session is to be run again at the given time,
// or earlier when what it waits for is there.
type WaitError struct {
	Until time.Time
	For   string // "session X, which investigates the same failure"
}

func (e *WaitError) Error() string { return "wait for " + e.For }

// incident ends a session whose failure another one has explained: the same
// failure on several branches or pull requests is investigated once.
func incident(ctx context.Context, e *env) (Outcome, error) {
	if e.Incidents == nil {
		return Advance{}, nil
	}
	s := e.s
	waiting := s.Incident != nil
	found, err := e.Incidents.Same(ctx, s)
	if err != nil {
		if s.Incident != nil && !waiting {
			// People see what is waited for before the worker turns away.
			if shown := e.Publisher.Progress(ctx, s); shown != nil {
				return nil, shown
			}
		}
		return nil, err
	}
	s.Incident = found
	if found == nil {
		return Advance{}, nil
	}
	return Stop{session.ResultDuplicate, fmt.Sprintf("session %s investigated the same failure: %s", found.Session, found.Why)}, nil
}
