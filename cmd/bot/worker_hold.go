package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"culprit/internal/github"
	"culprit/internal/session"
	"culprit/queue"
)

// patiently repeats an operation on a claim while Redis does not answer: a
// restart or failover must cost a job time, not one of its attempts. What the
// queue decided is returned at once. The patience is --redis-grace, after which
// the pool ends the job's context too.
func patiently(ctx context.Context, patience time.Duration, op func(context.Context) error) error {
	began := time.Now()
	for {
		err := op(ctx)
		if err == nil || isAnswer(err) || time.Since(began) > patience {
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
		return patiently(ctx, w.cfg.RedisGrace, func(ctx context.Context) error { return valid(c, ctx) })
	}
}

// held notes in a session that GitHub's rate limit ended its run, so that what is
// shown next says why nothing was shown before.
func (w *worker) held(ctx context.Context, store *checkpointed, s *session.Session, err error) error {
	wait := github.RetryAfter(err)
	if wait <= 0 || ctx.Err() != nil {
		return nil //nolint:nilerr // it is the caller's to tell
	}
	now := w.now().UTC()
	s.Held = &session.Hold{Since: now, Until: now.Add(wait)}
	return store.Save(s)
}
