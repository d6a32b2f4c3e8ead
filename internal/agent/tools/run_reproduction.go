package tools

import (
	"context"
	"fmt"
	"strings"

	"culprit/internal/session"
)

func (d *Desk) runTest() Tool {
	return typed(Tool{
		Name:        "run_test",
		Description: "Runs the failing test (the reproduction) once in the sandbox, with the edits made so far, and says whether it passes, fails the same way, fails otherwise, or cannot be tested.",
		Parameters:  object(nil),
	}, func(ctx context.Context, _ struct{}) (Result, error) {
		o, err := d.Runner.Run(ctx, d.trial("agent: the failing test"))
		if err != nil {
			return Result{}, runFault(err)
		}
		return d.observed(o), nil
	})
}

// outcomes in words.
var outcomes = map[session.Outcome]string{
	session.Passed: "the test passes", session.FailedSame: "the test fails in the same way as reported",
	session.FailedElse: "the command fails, but for another reason", session.Untestable: "nothing was learnt: it could not be tested",
}

// maxTail of a run's output is shown: what failed stands at its end.
const maxTail = 12 << 10

// observed tells a run. What the pipeline saw stands outside the data.
func (d *Desk) observed(o session.Observation) Result {
	r := Result{Text: d.safe(o.Output), Note: fmt.Sprintf("[outcome %s: %s; exit code %d, %.1f s; log %s]", o.Outcome, outcomes[o.Outcome], o.Exit, o.Duration.Seconds(), o.Log)}
	if o.TimedOut {
		r.Note = "[it ran out of time] " + r.Note
	}
	if o.Reason != "" {
		r.Text = "reason: " + o.Reason + "\n\n" + r.Text
	}
	if cut := len(r.Text) - maxTail; cut > 0 {
		r.Text = strings.ToValidUTF8(r.Text[cut:], "")
		r.Note += fmt.Sprintf("\n[the first %d bytes of the output are not shown]", cut)
	}
	return r
}

// runFault tells the model that a run was not possible.
func runFault(err error) error {
	return fmt.Errorf("the run was not made (%w): go on by reading, or report what you have", err)
}
