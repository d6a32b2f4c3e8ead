package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"culprit/internal/session"
	"culprit/internal/toolchain"
)

// another looks for the next fix in the place of the one that a review or CI
// found wanting. Before that, CI's failures are made to happen here: a fix is
// not given up for what fails without it as well. False: there is none, and the
// remarks have their answers.
func (e *env) another(ctx context.Context, r *session.Round) (bool, error) {
	s := e.s
	row := s.Task(r.Fix.Task)
	if row == nil {
		return false, fmt.Errorf("revise fix %s: its row is gone from tasks.csv", r.Fix.Task)
	}
	there, err := e.branch(ctx, r)
	if err != nil {
		return false, err
	}
	broken, asked, err := e.broken(ctx, r, there)
	if err != nil || !asked && len(broken) == 0 {
		return false, err
	}
	switch {
	case r.Head != s.Published.FixCommit:
		r.Answer(session.ReplyForeign, "")
		return false, nil
	case s.FixBase() != r.Fix.Base:
		r.Answer(session.ReplyNoOther, "the fix was put onto the branch as that had moved on, and the others are for the commit that failed")
		return false, nil
	case slices.ContainsFunc(s.Review.Rounds, func(x session.Round) bool { return x.Commit != "" && x.Way == session.BySuggestion }):
		r.Answer(session.ReplyNoOther, "the branch holds what a reviewer suggested, and every other fix is without that")
		return false, nil
	}
	old, err := e.again(ctx, *r.Fix)
	if err != nil {
		return false, fmt.Errorf("revise fix %s: %w", r.Fix.Task, err)
	}
	s.Rejected = append(s.Rejected, old.Digest())
	for range maxCandidates {
		next := e.Fixer.Fix(ctx, s, *row)
		spend(s, next.Spent)
		if err := ctx.Err(); err != nil {
			return false, context.Cause(ctx)
		}
		if next.Fix == nil || next.Result != session.Fixed {
			r.Answer(session.ReplyNoOther, next.Findings)
			return false, nil
		}
		holds, err := e.holds(ctx, broken, next.Fix.Edits)
		if err != nil {
			return false, err
		}
		if !holds {
			s.Rejected = append(s.Rejected, next.Fix.Digest())
			continue
		}
		s.Fix = next.Fix
		s.Fixes[s.Fix.Task] = s.Fix
		return true, e.onTop(ctx, r)
	}
	r.Answer(session.ReplyNoOther, fmt.Sprintf("%d others were tried, and each breaks the same tests", maxCandidates))
	return false, nil
}

// broken are the runs that fail with the fix and pass without it, of those that
// failed in CI. asked is set when a person wants another fix in any case.
// Remarks of CI that lead to nothing get their answers.
func (e *env) broken(ctx context.Context, r *session.Round, fix []session.Edit) (broken []session.Trial, asked bool, err error) {
	for i := range r.Remarks {
		m := &r.Remarks[i]
		if m.Answer.Kind != "" {
			continue
		}
		if m.Kind != session.RemarkCI {
			asked = true
			continue
		}
		var elsewhere, here []string
		trials, err := e.failed(ctx, m.Failures)
		if err != nil {
			return nil, false, err
		}
		n := len(broken)
		for _, t := range trials {
			with, err := e.fails(ctx, t, fix)
			if err != nil {
				return nil, false, err
			}
			if !with {
				here = append(here, t.Command)
				continue
			}
			without, err := e.fails(ctx, t, nil)
			if err != nil {
				return nil, false, err
			}
			if without {
				elsewhere = append(elsewhere, t.Command)
			} else {
				broken = append(broken, t)
			}
		}
		switch {
		case len(broken) > n:
		case len(elsewhere) > 0:
			m.Answer = session.Reply{Kind: session.ReplyElsewhere, Detail: strings.Join(elsewhere, "; ")}
		default:
			m.Answer = session.Reply{Kind: session.ReplyNotHere, Detail: strings.Join(here, "; ")}
		}
	}
	return broken, asked, nil
}

// failed are the runs that show the failures of a CI log, the first three.
func (e *env) failed(ctx context.Context, failures []session.Failure) ([]session.Trial, error) {
	files, err := e.Workspace.List(ctx, e.s.Bad.SHA)
	if err != nil {
		return nil, err
	}
	tree := toolchain.FS(files, func(name string) ([]byte, error) { return e.Workspace.Show(ctx, e.s.Bad.SHA, name) })
	failures = slices.Clone(failures)
	place(failures, tree)
	var out []session.Trial
	for _, f := range failures {
		for _, k := range toolchain.Detect(tree, failures) {
			command, ok := k.One(f)
			if !ok || len(out) == 3 {
				continue
			}
			t := e.trial("what failed in CI")
			t.Task, t.Command, t.Target, t.Adapt = e.s.Fix.Task, command, targetOf(f, []session.Failure{f}), false
			out = append(out, t)
			break
		}
	}
	return out, nil
}

// fails reports whether a run fails with edits, twice in a row: once may be
// chance.
func (e *env) fails(ctx context.Context, t session.Trial, edits []session.Edit) (bool, error) {
	t.Edits = append(slices.Clone(t.Edits), edits...)
	for range 2 {
		o, err := e.Runner.Run(ctx, t)
		if err != nil || o.Outcome != session.FailedSame {
			return false, err
		}
	}
	return true, nil
}

// holds reports whether all runs pass with a fix.
func (e *env) holds(ctx context.Context, trials []session.Trial, fix []session.Edit) (bool, error) {
	for _, t := range trials {
		t.Edits = append(slices.Clone(t.Edits), fix...)
		if o, err := e.Runner.Run(ctx, t); err != nil || o.Outcome != session.Passed {
			return false, err
		}
	}
	return true, nil
}
