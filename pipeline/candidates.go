package pipeline

import (
	"context"
	"fmt"
	"slices"

	"culprit/internal/report"
	"culprit/internal/session"
)

// small is a change that no other needs to compete with: one line replaced.
const small = 2

// candidate is a fix with its proof.
type candidate struct {
	fix   *session.Fix
	proof *session.Confirmation
	told  session.FixReport // of one that was written after the first
}

// grade orders proofs: a suite that was compared is more than one that was not,
// and a patch of which every hunk is needed more than one with idle ones.
func (c candidate) grade() int {
	g := 0
	if c.proof.Suite != nil && c.proof.Suite.Note == "" {
		g += 2
	}
	if !slices.ContainsFunc(c.proof.Necessity, func(n session.Necessity) bool { return !n.Required }) {
		g++
	}
	return g
}

// beats reports whether c is better than the one that came before it: by proof,
// then by size.
func (c candidate) beats(other candidate) bool {
	if a, b := c.grade(), other.grade(); a != b {
		return a > b
	}
	return c.fix.Added+c.fix.Removed < other.fix.Added+other.fix.Removed
}

// better lets further fixes of the same cause be written beside the one that is
// proven, proves each in the same way, and keeps the best. What is proven is
// never lost by it: whatever ends a try leaves the session with what it had.
func (e *env) better(ctx context.Context) error {
	s := e.s
	row := s.Task(s.Fix.Task)
	if e.Rewriter == nil || row == nil || s.OpenRound() != nil {
		return nil
	}
	left := s.Budget.MaxTime - s.Budget.Used
	tries, cancel := context.WithTimeout(ctx, left/3)
	defer cancel()
	best := candidate{fix: s.Fix, proof: s.Confirmation}
	have := []*session.Fix{s.Fix}
	for len(have) < e.Candidates && best.fix.Added+best.fix.Removed > small && float64(s.Budget.Used) < nearly*float64(s.Budget.MaxTime) {
		r := e.Rewriter.Another(tries, s, *row, have)
		spend(s, r.Spent)
		if r.Fix == nil || r.Result != session.Fixed {
			e.decide("confirm", "no other candidate beside %s: %s", size(best.fix), r.Findings)
			break
		}
		have = append(have, r.Fix)
		s.Fix = r.Fix
		why, err := e.prove(tries)
		next := candidate{s.Fix, s.Confirmation, r}
		s.Fix, s.Confirmation = best.fix, best.proof
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			e.decide("confirm", "another candidate (%s) could not be proven to its end: %v", size(r.Fix), err)
		case why != "":
			e.decide("confirm", "another candidate (%s) is not taken: %s", size(r.Fix), why)
			continue
		case next.beats(best):
			e.decide("confirm", "another candidate (%s) is taken instead of the one before (%s): both are proven", size(r.Fix), size(best.fix))
			best = next
			continue
		default:
			e.decide("confirm", "another candidate (%s) is proven and no better than the one before (%s)", size(r.Fix), size(best.fix))
			continue
		}
		break
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if len(have) == 1 {
		return nil
	}
	return e.choose(best, row)
}

// choose makes a proven candidate the session's fix.
func (e *env) choose(c candidate, row *session.Task) error {
	s := e.s
	s.Fix, s.Confirmation, s.Fixes[c.fix.Task] = c.fix, c.proof, c.fix
	if c.told.Fix != nil {
		said := fixRow(c.told)
		row.Findings, row.FixApplied = said.Findings, said.FixApplied
	}
	if err := e.Store.Write("patches/"+c.fix.Task+".patch", []byte(c.fix.Patch)); err != nil {
		return err
	}
	return e.Store.Write("verify.sh", report.VerifyScript(s))
}

func size(f *session.Fix) string {
	return fmt.Sprintf("+%d −%d in %s", f.Added, f.Removed, list(f.Files))
}
