package experiment

import (
	"context"
	"errors"
	"fmt"

	"culprit/internal/experiment/rate"
	"culprit/internal/patch"
	"culprit/internal/session"
)

// ErrNoReproduction means that the session has nothing that could be run.
var ErrNoReproduction = errors.New("the failure was not reproduced")

// Reproduction is the trial of the session's reproduction, to be set to any
// revision: its command, its target, and the files that carry it as edits.
// Rev is the bad commit.
func Reproduction(ctx context.Context, h History, s *session.Session) (session.Trial, error) {
	r := s.Reproduction
	if r == nil || r.Command == "" || s.Bad == nil {
		return session.Trial{}, ErrNoReproduction
	}
	t := session.Trial{
		Rev: s.Bad.SHA, Setup: r.Setup, Command: r.Command, Target: r.Target,
		Adapt: true, Newer: s.Bad.SHA,
	}
	for _, o := range r.Overlay {
		content, mode, err := h.ShowMode(ctx, o.Rev, o.Path)
		if err != nil {
			return session.Trial{}, fmt.Errorf("read overlay %s:%s: %w", o.Rev, o.Path, err)
		}
		t.Edits = append(t.Edits, session.Edit{Path: o.Path, Content: content, Mode: editMode(mode)})
	}
	return t, nil
}

// editMode is git's mode as session.Edit has it: permission bits of a file,
// the whole mode of anything else.
func editMode(mode uint32) uint32 {
	switch mode {
	case patch.ModeFile:
		return 0o644
	case patch.ModeExec:
		return 0o755
	}
	return mode
}

// at is the trial at another commit.
func at(t session.Trial, rev, name, task string) session.Trial {
	t.Rev, t.Name, t.Task = rev, name, task
	return t
}

// patience is how many runs without the failure it takes to say that a commit
// passes: one for a test that always failed, as many as its rate demands for a
// flaky one.
func patience(s *session.Session) int {
	r := s.Reproduction
	if r == nil || !r.Flaky || r.Count.Runs == 0 {
		return 1
	}
	p := float64(r.Count.Failures) / float64(r.Count.Runs)
	if p <= 0 || p >= 1 {
		return 1
	}
	return min(max(rate.RunsFor(p, rate.Level), 3), maxPatience)
}

// maxPatience bounds the runs that one commit gets.
const maxPatience = 60

// probe runs a trial until it fails or has passed n times. Earlier runs of the
// session count. The observation is the one that decided.
func (l *Lab) probe(ctx context.Context, t session.Trial, n int) (session.Observation, error) {
	var last session.Observation
	passes := 0
	for passes < n {
		batch := min(l.slots, n-passes)
		_, seen, err := l.Repeat(ctx, t, batch)
		if err != nil {
			return session.Observation{}, err
		}
		for _, o := range seen {
			if o.Outcome != session.Passed {
				return o, nil
			}
			passes++
			last = o
		}
	}
	return last, nil
}

// Classify runs a trial until it is decided whether it fails every time,
// sometimes or never (rate.DefaultRule), and no further: the first run that
// differs from another ends it. After limit runs the answer is
// rate.Undecided.
func (l *Lab) Classify(ctx context.Context, t session.Trial, limit int) (rate.Decision, session.Count, []session.Observation, error) {
	var count session.Count
	var seen []session.Observation
	for {
		decision, more := rate.Classify(count)
		if n := min(more, l.slots, limit-len(seen)); decision == rate.Undecided && n > 0 {
			_, got, err := l.Repeat(ctx, t, n)
			for _, o := range got {
				count.Add(o.Outcome)
			}
			seen = append(seen, got...)
			if err != nil {
				return rate.Undecided, count, seen, err
			}
			continue
		}
		return decision, count, seen, nil
	}
}
