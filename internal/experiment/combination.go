package experiment

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"culprit/internal/experiment/ddmin"
	"culprit/internal/patch"
	"culprit/internal/session"
)

// combinations tries parts of a change on top of its parent. What the session
// has run already is answered from its record, by the content that comes out.
type combinations struct {
	st     *study
	from   string         // commit that they are laid on
	always []session.Hunk // applied beside every part
	name   string         // "hunk" or "line", for the record
	of     int            // how many there are
	limit  int            // new combinations that may be run
	mu     sync.Mutex
	runs   int
}

// try says whether the test fails with these parts, and what the run printed.
// A part that cannot be put together, does not build or fails otherwise is
// unresolved. It is errSpent when the limit is reached.
func (c *combinations) try(ctx context.Context, hunks []session.Hunk) (ddmin.Verdict, string, error) {
	edits, err := patch.ApplyEdits(append(slices.Clone(c.always), hunks...), content{ctx, c.st.lab.History, c.from})
	if err != nil {
		return ddmin.Unresolved, "", ctx.Err() // this subset cannot be put together
	}
	t := at(c.st.base, c.from, fmt.Sprintf("minimise: %d of %s", len(hunks), plural(c.of, c.name)), c.st.task.ID)
	t.Edits = append(slices.Clone(c.st.base.Edits), edits...)
	if known := c.st.lab.Known(t); known.Failures > 0 || known.Passes() >= c.st.patience || known.Runs > 0 && len(edits) == 0 {
		// Without any part this is the parent, which was verified.
		if known.Failures > 0 {
			return ddmin.Reproduces, "", nil
		}
		return ddmin.Not, "", nil
	}
	c.mu.Lock()
	c.runs++
	spent := c.runs > c.limit
	c.mu.Unlock()
	if spent {
		return ddmin.Unresolved, "", errSpent
	}
	obs, err := c.st.lab.probe(ctx, t, c.st.patience)
	return verdict(obs.Outcome), obs.Output, err
}
