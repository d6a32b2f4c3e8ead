package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Jobs that come while others are on their way to Redis wait for these to be
// answered and then go together, in one script: under load a job costs Redis a
// fraction of a call, and at other times nobody waits.
const (
	enqueueCalls = 2         // at the same time
	enqueueBatch = 32        // jobs of one call, which bounds how long it holds Redis
	enqueueBytes = 256 << 10 // of their payloads and checkpoints, beside the first
)

// enqueueArgs is what the script wants of a job.
const enqueueArgs = 6

// An enqueueing is a job on its way. Its answer is sent once.
type enqueueing struct {
	ctx    context.Context //nolint:containedctx // that of the caller, who waits
	args   [enqueueArgs]any
	bytes  int
	answer chan enqueued
}

type enqueued struct {
	line string
	err  error
}

// enqueues holds the jobs that wait for a call to be answered.
type enqueues struct {
	mu      sync.Mutex
	waiting []*enqueueing
	calls   int // under way
}

// send brings a job to Redis and returns what became of it. It returns when its
// context ends; the job may then be enqueued or not, as after any lost answer.
func (q *Queue) send(e *enqueueing) (string, error) {
	b := &q.enqueues
	b.mu.Lock()
	if b.calls < enqueueCalls {
		b.calls++
		b.mu.Unlock()
		lines, err := q.enqueueAll(e.ctx, []*enqueueing{e})
		if batch := b.next(); len(batch) > 0 {
			go q.sendWaiting(batch) // ends with the last that waits
		}
		if err != nil {
			return "", err
		}
		return lines[0], nil
	}
	e.answer = make(chan enqueued, 1)
	b.waiting = append(b.waiting, e)
	b.mu.Unlock()
	select {
	case a := <-e.answer:
		return a.line, a.err
	case <-e.ctx.Done():
		return "", e.ctx.Err()
	}
}

// next takes what goes together in the next call. Without any the call is over.
func (b *enqueues) next() []*enqueueing {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, bytes := 0, 0
	for n < len(b.waiting) && n < enqueueBatch && (n == 0 || bytes+b.waiting[n].bytes <= enqueueBytes) {
		bytes += b.waiting[n].bytes
		n++
	}
	if n == 0 {
		b.calls--
		return nil
	}
	batch := b.waiting[:n:n]
	if b.waiting = b.waiting[n:]; len(b.waiting) == 0 {
		b.waiting = nil
	}
	return batch
}

func (q *Queue) sendWaiting(batch []*enqueueing) {
	for ; len(batch) > 0; batch = q.enqueues.next() {
		ctx, cancel := together(batch)
		lines, err := q.enqueueAll(ctx, batch)
		cancel()
		var refused redis.Error
		switch {
		case err == nil:
			for i, e := range batch {
				e.answer <- enqueued{line: lines[i]}
			}
		case len(batch) > 1 && errors.As(err, &refused):
			// Perhaps for one of them: nobody suffers for another.
			for _, e := range batch {
				lines, err := q.enqueueAll(e.ctx, []*enqueueing{e})
				if err != nil {
					lines = []string{""}
				}
				e.answer <- enqueued{lines[0], err}
			}
		default:
			for _, e := range batch {
				e.answer <- enqueued{err: err}
			}
		}
	}
}

// together is a context that ends when those of all jobs have ended.
func together(batch []*enqueueing) (context.Context, context.CancelFunc) {
	if len(batch) == 1 {
		return batch[0].ctx, func() {}
	}
	ctx := context.WithoutCancel(batch[0].ctx)
	var last time.Time
	for _, e := range batch {
		deadline, ok := e.ctx.Deadline()
		if !ok {
			last = time.Time{}
			break
		}
		if deadline.After(last) {
			last = deadline
		}
	}
	var cancel context.CancelFunc
	if last.IsZero() {
		ctx, cancel = context.WithCancel(ctx)
	} else {
		// The client interrupts a call by its deadline alone.
		ctx, cancel = context.WithDeadline(ctx, last)
	}
	left := new(atomic.Int64)
	left.Store(int64(len(batch)))
	stops := make([]func() bool, len(batch))
	for i, e := range batch {
		stops[i] = context.AfterFunc(e.ctx, func() {
			if left.Add(-1) == 0 {
				cancel()
			}
		})
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}

// enqueueAll returns the script's line for each job.
func (q *Queue) enqueueAll(ctx context.Context, batch []*enqueueing) ([]string, error) {
	args := make([]any, 1, 1+len(batch)*enqueueArgs)
	args[0] = q.opts.KeepDeliveries.Microseconds()
	for _, e := range batch {
		args = append(args, e.args[:]...)
	}
	text, err := q.run(ctx, enqueueScript, args...).Text()
	if err != nil {
		return nil, err
	}
	lines := strings.Split(text, "\n")
	if len(lines) != len(batch) {
		return nil, fmt.Errorf("read answer: %d lines for %d jobs", len(lines), len(batch))
	}
	return lines, nil
}
