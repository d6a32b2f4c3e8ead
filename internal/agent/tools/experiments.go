package tools

import (
	"context"
	"fmt"

	"culprit/internal/session"
)

// maxRepeat bounds the repetitions of one call.
const maxRepeat = 20

func (d *Desk) repeat() Tool {
	return typed(Tool{
		Name:        "repeat",
		Description: "Runs the failing test several times, with the edits made so far, and counts. For failures that show only sometimes.",
		Parameters:  object(map[string]Schema{"times": number("how often", 2, maxRepeat)}),
	}, func(ctx context.Context, a struct{ Times int }) (Result, error) {
		c, _, err := d.Runner.Repeat(ctx, d.trial("agent: repetition"), a.Times)
		if err != nil {
			return Result{}, runFault(err)
		}
		return Result{Note: "[" + counted(c) + "]"}, nil
	})
}

func counted(c session.Count) string {
	return fmt.Sprintf("%d runs told something: it failed in the same way in %d of them and passed in %d; %d failed otherwise, %d could not be tested", c.Runs, c.Failures, c.Passes(), c.Other, c.Skipped)
}

func (d *Desk) runAt() Tool {
	return typed(Tool{
		Name:        "run_at",
		Description: "Runs the failing test at another commit, with the test's files laid over it: did it fail there already? Edits are left out.",
		Parameters:  object(map[string]Schema{"rev": text("commit")}),
	}, func(ctx context.Context, a struct{ Rev string }) (Result, error) {
		c, err := d.commit(ctx, a.Rev)
		if err != nil {
			return Result{}, err
		}
		o, err := d.Runner.Run(ctx, d.TrialAt(c.SHA))
		if err != nil {
			return Result{}, runFault(err)
		}
		r := d.observed(o)
		r.Note = "[at " + c.Short() + "] " + r.Note
		return r, nil
	})
}

// TrialAt is the reproduction at another commit, its files laid over that.
func (d *Desk) TrialAt(sha string) session.Trial {
	t := d.Base
	t.Name, t.Task = "agent: another commit", d.Task
	t.Newer, t.Rev, t.Adapt = d.Base.Rev, sha, true
	return t
}
