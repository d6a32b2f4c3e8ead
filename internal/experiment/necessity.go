package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"culprit/internal/patch"
	"culprit/internal/session"
)

// maxNecessity is how many hunks of a fix are left out one by one: the revert
// of a large change has hundreds.
const maxNecessity = 16

// Necessity leaves each of a fix's hunks, the first maxNecessity of them, out
// and runs the trial, which is the reproduction at the fix's base commit:
// without a hunk that is needed the test does not pass. A hunk without which
// nothing compiles is needed as well; Outcome tells the two apart. n is how
// many passes it takes to call a hunk idle: 1 for a deterministic test. Where
// the session's budget ends, so does the answer, without an error.
func (l *Lab) Necessity(ctx context.Context, fix session.Fix, t session.Trial, n int) ([]session.Necessity, error) {
	hunks := fix.Hunks[:min(len(fix.Hunks), maxNecessity)]
	found := make([]*session.Necessity, len(hunks))
	errs := make([]error, len(hunks))
	var wg sync.WaitGroup
	for i, h := range hunks {
		rest := slices.Delete(slices.Clone(fix.Hunks), i, i+1)
		edits, err := patch.ApplyEdits(rest, content{ctx, l.History, fix.Base})
		if err != nil {
			errs[i] = err
			break
		}
		trial := t
		trial.Rev, trial.Name = fix.Base, "necessity of "+h.ID
		trial.Edits = append(slices.Clone(t.Edits), edits...)
		wg.Go(func() { // the lab bounds how many run at a time
			obs, err := l.probe(ctx, trial, max(n, 1))
			if err != nil {
				errs[i] = err
				return
			}
			found[i] = &session.Necessity{Hunk: h.ID, Outcome: obs.Outcome, Required: obs.Outcome != session.Passed}
		})
	}
	wg.Wait()
	var out []session.Necessity
	for i, f := range found {
		if f != nil {
			out = append(out, *f)
		} else if err := errs[i]; err != nil && !errors.Is(err, ErrBudget) {
			return out, fmt.Errorf("leave out hunk %s: %w", hunks[i].ID, err)
		}
	}
	return out, nil
}
