package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"culprit/queue"
)

// redisPatience is how long a job waits for a Redis that does not answer before
// that counts as a failed attempt. The pool ends the job's context at about the
// same time, when it was not heard of either.
const redisPatience = 5 * time.Minute

// patiently repeats an operation on a claim while Redis does not answer: a
// restart or failover must cost a job time, not one of its attempts. What the
// queue decided is returned at once.
func patiently(ctx context.Context, op func(context.Context) error) error {
	began := time.Now()
	for {
		err := op(ctx)
		if err == nil || isAnswer(err) || time.Since(began) > redisPatience {
			return err
		}
		wait := time.NewTimer(200*time.Millisecond + rand.N(300*time.Millisecond))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// isAnswer reports whether an error is the queue's answer.
func isAnswer(err error) bool {
	for _, answer := range []error{queue.ErrLost, queue.ErrCancelled, queue.ErrSuperseded, queue.ErrTooLarge} {
		if errors.Is(err, answer) {
			return true
		}
	}
	return false
}

// fence is asked before each effect of a claim's work that others see.
func (w *worker) fence(c *queue.Claim) func(context.Context) error {
	valid := (*queue.Claim).Valid
	if w.seams.valid != nil {
		valid = func(c *queue.Claim, ctx context.Context) error { return w.seams.valid(ctx, c) }
	}
	return func(ctx context.Context) error {
		return patiently(ctx, func(ctx context.Context) error { return valid(c, ctx) })
	}
}
