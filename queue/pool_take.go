package queue

import (
	"context"
	"crypto/rand"
	"fmt"
	"runtime"
	"time"
)

// callTimeout bounds one call to Redis, whose client retries by itself.
const callTimeout = 10 * time.Second

// takeBatch bounds how many jobs one call completes, and so how long it holds
// Redis.
const takeBatch = 32

// An ended is a job that its handler finished. take answers it once.
type ended struct {
	completion
	answer chan error
}

// complete ends a job together with the claim of the next one. It reports false
// if that came to nothing: the caller then ends the job by itself, which is
// harmless if it was ended.
func (p *Pool) complete(hard context.Context, t *task, summary string) (err error, ok bool) { // not a failure of complete
	e := &ended{completion{t.claim, summary}, make(chan error, 1)}
	select {
	case p.ended <- e:
	case <-p.leaves:
		return nil, false
	case <-hard.Done():
		return nil, false
	}
	select {
	case err := <-e.answer:
		t.freed = err == nil || isLost(err)
		return err, t.freed
	case <-hard.Done():
		return nil, false
	}
}

// free tells take of a slot that it does not know of.
func (p *Pool) free(t *task) {
	if t.freed {
		return
	}
	select {
	case p.freed <- struct{}{}:
	case <-p.leaves:
	}
}

// take claims jobs for free slots and starts them until the context ends. It
// also completes jobs: those that end while a call is under way go with the next
// one, which claims as many as it ends. Beside these it claims one job at a time,
// so that idle pools share what waits.
func (p *Pool) take(ctx context.Context, start func(*Claim)) {
	defer close(p.leaves)
	token := rand.Text()
	unanswered, failures, used := false, 0, 0
	look := time.NewTimer(0)
	defer look.Stop()
	due := true // a look for a job is due
	for ctx.Err() == nil {
		var done []*ended
		if !due || used >= p.opts.Slots {
			select {
			case e := <-p.ended:
				done = append(done, e)
			case <-p.freed:
				used--
			case <-p.wake.job:
				due = true
			case <-look.C:
				due = true
			case <-ctx.Done():
			}
			if len(done) > 0 && p.opts.Slots > 1 {
				runtime.Gosched() // jobs that end at the same time come along
			}
		}
		for more := true; more && len(done) < takeBatch; {
			select {
			case e := <-p.ended:
				done = append(done, e)
			case <-p.freed:
				used--
			default:
				more = false
			}
		}
		most := min(p.opts.Slots-used+len(done), len(done)+1)
		if !due && len(done) == 0 || ctx.Err() != nil {
			most = 0
		} else if unanswered {
			most = max(most, 1) // it may have been granted
		}
		if most <= 0 && len(done) == 0 {
			continue
		}
		completions := make([]completion, len(done))
		for i, e := range done {
			completions[i] = e.completion
		}
		// A claim that was cut off may have taken jobs; so it is not cut off by a
		// shutdown, and is repeated with its token until it is answered.
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		got, err := p.q.work(call, p.opts.Worker, token, max(most, 0), completions)
		cancel()
		if err != nil {
			for _, e := range done {
				e.answer <- fmt.Errorf("complete job %s: %w", e.claim.ID, err)
			}
			unanswered = unanswered || most > 0
			failures++
			due = false
			wait := Backoff{Base: 100 * time.Millisecond, Max: p.opts.Poll}.next(failures, 0)
			look.Reset(wait)
			p.opts.Log.Warn("cannot claim jobs", "error", err, "again_in", wait)
			continue
		}
		failures = 0
		used -= len(done)
		for i, e := range done {
			var err error
			if got.lost[i] {
				err = fmt.Errorf("complete job %s: %w", e.claim.ID, ErrLost)
			}
			e.answer <- err
		}
		for _, c := range got.claims {
			used++
			start(c)
		}
		if most > 0 {
			unanswered = false
			if len(got.claims) > 0 {
				token = rand.Text()
			}
			if due = len(got.claims) == most; !due {
				look.Reset(p.pause(got))
			}
		}
	}
	if unanswered {
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		defer cancel()
		if err := p.q.unclaim(call, token); err != nil {
			p.opts.Log.Warn("an unanswered claim may hold a job until its lease ends", "error", err)
		}
	}
}

// pause is how long to wait for the next look when no message comes.
func (p *Pool) pause(got worked) time.Duration {
	wait := got.wait
	if wait < 0 {
		wait = p.opts.Poll
	}
	return min(max(wait, 10*time.Millisecond), p.opts.Poll) // an expired lease is the reaper's
}
