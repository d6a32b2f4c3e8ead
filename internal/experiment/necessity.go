package experiment

import (
	"context"
	"fmt"
	"slices"

	"culprit/internal/patch"
	"culprit/internal/session"
)

// Necessity leaves each hunk out of a fix and runs the trial, which is the
// reproduction at the fix's base commit: without a hunk that is needed the
// test does not pass. A hunk without which nothing compiles is needed as well;
// Outcome tells the two apart. n is how many passes it takes to call a hunk
// idle: 1 for a deterministic test.
func (l *Lab) Necessity(ctx context.Context, fix session.Fix, t session.Trial, n int) ([]session.Necessity, error) {
	var out []session.Necessity
	for i, h := range fix.Hunks {
		rest := slices.Delete(slices.Clone(fix.Hunks), i, i+1)
		edits, err := patch.ApplyEdits(rest, content{ctx, l.History, fix.Base})
		if err != nil {
			return out, fmt.Errorf("leave out hunk %s: %w", h.ID, err)
		}
		trial := t
		trial.Rev, trial.Name = fix.Base, "necessity of "+h.ID
		trial.Edits = append(slices.Clone(t.Edits), edits...)
		obs, err := l.probe(ctx, trial, max(n, 1))
		if err != nil {
			return out, fmt.Errorf("leave out hunk %s: %w", h.ID, err)
		}
		out = append(out, session.Necessity{Hunk: h.ID, Outcome: obs.Outcome, Required: obs.Outcome != session.Passed})
	}
	return out, nil
}
