package handlers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"culprit/queue"
)

// An Intake turns deliveries into jobs, whoever brings them: the webhook, or
// the recovery of deliveries that failed (GH3). Both decide by the same rules.
type Intake struct {
	Rules
	Queue Queue
	// MayWrite looks up whether a person may write to a repository; it is
	// asked only for /debug stop and the Stop button. Nil refuses those.
	MayWrite func(ctx context.Context, a Actor) (bool, error)
	Timeout  time.Duration // of the queue (1 s); MayWrite has five times as long
}

const defaultTimeout = time.Second

// Outcome says what became of a delivery. Those of an enqueued job are the
// queue's words.
type Outcome string

// What can become of a delivery besides queue.EnqueueOutcome.
const (
	Ignored   Outcome = "ignored"
	Cancelled Outcome = "cancelled"
)

// A Result is what became of a delivery, for GitHub's list of deliveries and
// for the log.
type Result struct {
	Outcome Outcome
	Reason  string
	Job     string // its ID, if there is one
}

// ErrPermission: GitHub did not tell whether a person may. The same delivery
// can be carried out later.
var ErrPermission = errors.New("look up permission")

// CarryOut makes a decision durable. at is when the event happened, if it is
// brought late: what was asked for after it is not called off by it; zero: it
// happens now. With an error nothing was done that another try would do twice.
func (i Intake) CarryOut(ctx context.Context, d Decision, at time.Time) (Result, error) {
	timeout := i.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	if d.CheckActor != nil {
		why, err := i.refuse(ctx, *d.CheckActor, 5*timeout)
		if why != "" || err != nil {
			return Result{Outcome: Ignored, Reason: why}, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	switch {
	case d.Job != nil:
		job := *d.Job
		job.Asked = at
		receipt, err := i.Queue.Enqueue(ctx, job)
		if errors.Is(err, queue.ErrInvalid) || errors.Is(err, queue.ErrTooLarge) {
			return Result{Outcome: Ignored, Reason: "the queue does not take such a job: " + err.Error()}, nil
		}
		if err != nil {
			return Result{}, err
		}
		return Result{Outcome: Outcome(receipt.Outcome), Reason: d.Reason, Job: receipt.ID}, nil
	case len(d.Cancels) > 0:
		for _, match := range d.Cancels {
			match.AskedBefore = at
			if _, err := i.Queue.CancelMatching(ctx, match, d.Reason); err != nil {
				return Result{}, err
			}
		}
		return Result{Outcome: Cancelled, Reason: d.Reason}, nil
	}
	return Result{Outcome: Ignored, Reason: d.Reason}, nil
}

// refuse returns why a person may not do what he wants, or nothing.
func (i Intake) refuse(ctx context.Context, a Actor, timeout time.Duration) (string, error) {
	if i.MayWrite == nil {
		return "permissions cannot be looked up here", nil
	}
	// Asking GitHub takes some calls, and a person waits for the answer.
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	may, err := i.MayWrite(ctx, a)
	switch {
	case err != nil:
		return "", fmt.Errorf("%w of %s: %w", ErrPermission, a.Login, err)
	case !may:
		return "the person has no write access", nil
	}
	return "", nil
}
