package queuetest

import (
	"errors"
	"strings"

	"culprit/queue"
)

// evict drops the hash of a job, as a Redis does that evicts.
func (f *fixture) evict(id string) {
	f.t.Helper()
	f.ok(f.opts.Redis.Del(f.ctx(), "{"+f.opts.Prefix+"}:job:"+id).Err())
}

// evictedCases are about jobs that a Redis dropped that was told to evict. They
// are lost; all others go on.
var evictedCases = map[string]func(*fixture){
	"a job that Redis dropped lets others of its key and ref in": func(f *fixture) {
		for what, j := range map[string]queue.Job{
			"ref": {Ref: "o/r@main", SHA: "b"},
			"key": {Key: "k"},
		} {
			lost := j
			if lost.SHA != "" {
				lost.SHA = "a"
			}
			f.evict(f.enqueue(lost).ID)
			r := f.enqueue(j)
			if r.Outcome != queue.Enqueued || len(r.Superseded) > 0 {
				f.t.Fatalf("the next job of its %s: %+v", what, r)
			}
			if c := f.claim(); c.ID != r.ID {
				f.t.Fatalf("claimed %s, want %s", c.ID, r.ID)
			}
			f.empty()
		}
	},
	"an ended job runs again when Redis dropped the one of its key": func(f *fixture) {
		r := f.enqueue(queue.Job{Key: "k"})
		f.ok2(f.Cancel(f.ctx(), r.ID, "stop"))
		f.evict(f.enqueue(queue.Job{Key: "k"}).ID)
		f.ok(f.Retry(f.ctx(), r.ID))
		if c := f.claim(); c.ID != r.ID {
			f.t.Fatalf("claimed %s, want %s", c.ID, r.ID)
		}
	},
	"a waiting job that Redis dropped stops no claim": func(f *fixture) {
		for _, end := range []func(*queue.Claim) (queue.State, error){
			func(c *queue.Claim) (queue.State, error) {
				return c.Fail(f.ctx(), errors.New("502"), queue.Transient, 0)
			},
			func(c *queue.Claim) (queue.State, error) { return c.Snooze(f.ctx(), f.clock.Now().Add(minute), "") },
			func(c *queue.Claim) (queue.State, error) { return c.Release(f.ctx()) },
		} {
			lost := f.enqueue(queue.Job{Repository: "o/r"})
			f.ok2(end(f.claim()))
			f.evict(lost.ID)
			f.clock.Advance(60 * minute)
			next := f.enqueue(queue.Job{Repository: "o/r"})
			c := f.claim()
			if c.ID != next.ID {
				f.t.Fatalf("claimed %s, want %s", c.ID, next.ID)
			}
			f.ok(c.Complete(f.ctx(), ""))
		}
		f.settled()
	},
	"a running job that Redis dropped gives its place to others": func(f *fixture) {
		f.opts.Limits = queue.Limits{Installation: 2}
		f.reopen()
		other := f.enqueue(queue.Job{Repository: "1/b", Installation: "1"})
		held := f.claim()
		lost := f.enqueue(queue.Job{Repository: "1/a", Installation: "1"})
		c := f.claim()
		next := f.enqueue(queue.Job{Repository: "1/a", Installation: "1"})
		f.evict(lost.ID)
		f.is(c.Valid(f.ctx()), queue.ErrLost)
		f.empty()
		f.heard()
		f.clock.Advance(10 * minute)
		got, _, err := f.Reap(f.ctx())
		f.ok(err)
		if len(got) != 1 || got[0].ID != other.ID {
			f.t.Fatalf("reaped %+v", got)
		}
		f.woken(true)
		f.is(held.Valid(f.ctx()), queue.ErrLost)
		for _, want := range []string{next.ID, other.ID} {
			f.state(want, queue.Queued)
		}
		first, second := f.claim(), f.claim()
		f.enqueue(queue.Job{Repository: "1/c", Installation: "1"})
		f.empty() // the limit counts again
		f.ok(first.Complete(f.ctx(), ""))
		f.ok(second.Complete(f.ctx(), ""))
		f.ok(f.claim().Complete(f.ctx(), ""))
		f.settled()
	},
	"an end that Redis dropped leaves the other ends to be told": func(f *fixture) {
		lost, kept := f.enqueue(queue.Job{}), f.enqueue(queue.Job{})
		f.ok2(f.Cancel(f.ctx(), lost.ID, "stop"))
		f.ok2(f.Cancel(f.ctx(), kept.ID, "stop"))
		f.evict(lost.ID)
		f.reports(kept.ID + " cancelled")
	},
}

// settled checks that the index keeps nothing of jobs that wait or run.
func (f *fixture) settled() {
	f.t.Helper()
	index, err := f.opts.Redis.HGetAll(f.ctx(), "{"+f.opts.Prefix+"}:index").Result()
	f.ok(err)
	for name, value := range index {
		switch kind, _, _ := strings.Cut(name, ":"); kind {
		case "c", "g", "i":
			f.t.Fatalf("%s=%q is left", name, value)
		}
	}
	s, err := f.Stats(f.ctx())
	f.ok(err)
	for _, state := range []queue.State{queue.Queued, queue.Running, queue.Retrying, queue.Snoozed} {
		if s.Depth[state] != 0 {
			f.t.Fatalf("%d jobs are left that are %s", s.Depth[state], state)
		}
	}
}
