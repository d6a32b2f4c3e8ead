package handlers

import (
	"context"
	"errors"
	"time"

	"culprit/queue"
)

// An Intake turns deliveries into jobs, whoever brings them: the webhook, or
// the recovery of deliveries that failed (GH3). Both decide by the same rules.
type Intake struct {
	Rules
	Queue Queue // of sessions
	// Commands takes what people want (labels, commands, buttons), apart from
	// Queue: nothing of it may meet a session's job before the permission of the
	// person was looked up, and no running session keeps it waiting.
	Commands Queue
	Timeout  time.Duration // of a queue (1 s)
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

// CarryOut makes a decision durable. at is when the event happened, if it is
// brought late: what was asked for after it is not called off by it; zero: it
// happens now. With an error nothing was done that another try would do twice.
func (i Intake) CarryOut(ctx context.Context, d Decision, at time.Time) (Result, error) {
	timeout := i.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for _, match := range d.Cancels {
		match.AskedBefore = at
		if _, err := i.Queue.CancelMatching(ctx, match, d.Reason); err != nil {
			return Result{}, err
		}
	}
	switch {
	case d.Job != nil:
		job := *d.Job
		job.Asked = at
		q := i.Queue
		if d.ByPerson {
			q = i.Commands
		}
		receipt, err := q.Enqueue(ctx, job)
		if errors.Is(err, queue.ErrInvalid) || errors.Is(err, queue.ErrTooLarge) {
			return Result{Outcome: Ignored, Reason: "the queue does not take such a job: " + err.Error()}, nil
		}
		if err != nil {
			return Result{}, err
		}
		return Result{Outcome: Outcome(receipt.Outcome), Reason: d.Reason, Job: receipt.ID}, nil
	case len(d.Cancels) > 0:
		return Result{Outcome: Cancelled, Reason: d.Reason}, nil
	}
	return Result{Outcome: Ignored, Reason: d.Reason}, nil
}
