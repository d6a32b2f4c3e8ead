package pipeline

import (
	"context"
	"errors"

	"culprit/internal/session"
)

// A Rebaser puts the session's fix onto its branch as it is now. Nil: the branch
// stands where it stood, or is gone, which the publisher sees. It changes
// nothing that others see.
type Rebaser interface {
	Rebase(ctx context.Context, s *session.Session) (*session.Rebase, error)
}

// rebaseFix brings a proven fix to a branch that moved while the session ran,
// and proves it there: what is proposed was seen to fail before and to pass
// after, on the code that it is to be merged into. It reports whether the fix is
// to be proposed.
func (e *env) rebaseFix(ctx context.Context) (bool, error) {
	s := e.s
	// A branch that is published already is not moved under its readers.
	if e.Rebaser == nil || s.Published.FixCommit != "" {
		return true, nil
	}
	r, err := e.Rebaser.Rebase(ctx, s)
	if err != nil || r == nil {
		return err == nil, err
	}
	s.Rebase = r
	if err := e.proveRebased(ctx, r); err != nil {
		return false, err
	}
	if err := e.Store.Save(s); err != nil {
		return false, err
	}
	at := r.Branch + " moved on to " + (session.Commit{SHA: r.Head}).Short() + " while the session ran"
	if why := r.Against(); why != "" {
		e.note("No fix pull request was opened: %s, which %s.", at, why)
		return false, nil
	}
	switch {
	case r.Conflict != "":
		e.note("%s, and the fix does not apply there (%s): its branch starts where it was proven, and merging it means to solve the conflict.", at, r.Conflict)
	case r.Note != "":
		e.note("%s. The fix applies there, but its proof was not run again: %s.", at, r.Note)
	}
	e.decide("publish", "%s: the fix starts at %s", at, (session.Commit{SHA: s.FixBase()}).Short())
	return true, nil
}

// proveRebased runs both sides of the proof on the branch as it is now; of a fix
// that does not apply there, the side without it, since somebody may have fixed
// it.
func (e *env) proveRebased(ctx context.Context, r *session.Rebase) error {
	with, without := e.trial("after the fix, on the branch as it is now"), e.trial("before the fix, on the branch as it is now")
	with.Task, without.Task = e.s.Fix.Task, e.s.Fix.Task
	with.Rev, without.Rev = r.Commit, r.Head
	runs := e.proofRuns()
	var err error
	if r.Before, _, err = e.Runner.Repeat(ctx, without, runs); err == nil && r.Commit != "" {
		r.After, _, err = e.Runner.Repeat(ctx, with, runs)
	}
	switch {
	case errors.Is(err, session.ErrBudget):
		r.Note = "the session's limit of runs is reached"
	case err != nil:
		return err
	case r.Before.Runs == 0 || r.Commit != "" && r.After.Runs+r.After.Other == 0:
		r.Note = "the test cannot be run to its end there"
	}
	return nil
}
