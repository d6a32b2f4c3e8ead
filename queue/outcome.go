package queue

import (
	"context"
	"time"
)

// A Handler works on claimed jobs. Its context ends, with the cause ErrLost,
// ErrCancelled, ErrSuperseded or ErrShutdown, when it must stop; the slot is
// not used again before Handle returned, so Handle kills what it started first.
type Handler interface {
	Handle(ctx context.Context, c *Claim) Outcome
}

// HandlerFunc is a function as a Handler.
type HandlerFunc func(ctx context.Context, c *Claim) Outcome

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, c *Claim) Outcome { return f(ctx, c) }

// An Outcome is how a handler ended. The zero Outcome gives the job back.
type Outcome struct {
	kind    outcomeKind
	err     error
	summary string
	after   time.Duration
	until   time.Time
}

type outcomeKind int

const (
	outcomeRelease outcomeKind = iota
	outcomeDone
	outcomeRetry
	outcomeGiveUp
	outcomeSnooze
)

// Finished says that the work is done and published.
func Finished(summary string) Outcome { return Outcome{kind: outcomeDone, summary: summary} }

// RetryLater is for a transient failure (GitHub 5xx, rate limit, Redis, clone). It
// costs an attempt. The next one comes after the backoff, and not before after
// has passed (a Retry-After header; 0: none).
func RetryLater(err error, after time.Duration) Outcome {
	return Outcome{kind: outcomeRetry, err: err, after: after}
}

// GiveUp is for a permanent failure. The job is dead and reported; people can run it
// again with `bot jobs retry`.
func GiveUp(err error) Outcome { return Outcome{kind: outcomeGiveUp, err: err} }

// SnoozeUntil waits for a person or a limit: no slot is held and no attempt
// spent. A new job of the same Key wakes it early.
func SnoozeUntil(t time.Time, why string) Outcome {
	return Outcome{kind: outcomeSnooze, until: t, summary: why}
}

// GiveBack says that another worker shall go on from the checkpoint.
func GiveBack() Outcome { return Outcome{kind: outcomeRelease} }
