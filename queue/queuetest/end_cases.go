package queuetest

import (
	"errors"
	"strings"
	"time"

	"culprit/queue"
)

var endCases = map[string]func(*fixture){
	"done is the worker's to tell": func(f *fixture) {
		r := f.enqueue(queue.Job{})
		c := f.claim()
		f.ok(c.Complete(f.ctx(), "fixed"))
		f.ok(c.Complete(f.ctx(), "fixed")) // sent again after a lost answer
		info := f.show(r.ID)
		if info.State != queue.Done || info.Summary != "fixed" || !info.EndedAt.Equal(f.clock.Now()) {
			f.t.Fatalf("got %+v", info)
		}
		f.reports()
		s, err := f.Stats(f.ctx())
		f.ok(err)
		if s.Totals["done"] != 1 {
			f.t.Fatalf("totals %v", s.Totals)
		}
	},
	"a transient failure waits, longer each time, and then buries the job": func(f *fixture) {
		r := f.enqueue(queue.Job{})
		var waits []time.Duration
		for n := 1; n <= 5; n++ {
			c := f.claim()
			if c.Attempt != n {
				f.t.Fatalf("attempt %d, want %d", c.Attempt, n)
			}
			s, err := c.Fail(f.ctx(), errors.New("502"), queue.Transient, 0)
			f.ok(err)
			if n == 5 {
				if s != queue.Dead {
					f.t.Fatalf("got %s", s)
				}
				break
			}
			if s != queue.Retrying {
				f.t.Fatalf("got %s", s)
			}
			f.empty()
			wait := f.show(r.ID).DueAt.Sub(f.clock.Now())
			waits = append(waits, wait)
			f.clock.Advance(wait)
		}
		for i, w := range waits {
			full := 10 * time.Second << i
			if w < full/2 || w > full {
				f.t.Fatalf("wait %d is %v, want %v to %v", i, w, full/2, full)
			}
		}
		if info := f.show(r.ID); info.Reason != "502" || info.Attempt != 5 {
			f.t.Fatalf("got %+v", info)
		}
		f.reports(r.ID + " dead")
	},
	"a retry does not come before the server allows": func(f *fixture) {
		r := f.enqueue(queue.Job{})
		_, err := f.claim().Fail(f.ctx(), errors.New("429"), queue.Transient, time.Hour)
		f.ok(err)
		if wait := f.show(r.ID).DueAt.Sub(f.clock.Now()); wait < time.Hour || wait > time.Hour+minute {
			f.t.Fatalf("got %v", wait)
		}
	},
	"a job that comes due brings its payload, whatever it waited for": func(f *fixture) {
		f.enqueue(queue.Job{Key: "k", Payload: []byte("what to do")})
		waits := []func(c *queue.Claim) error{
			func(c *queue.Claim) error {
				_, err := c.Fail(f.ctx(), errors.New("x"), queue.Transient, 0)
				return err
			},
			func(c *queue.Claim) error {
				_, err := c.Snooze(f.ctx(), f.clock.Now().Add(minute), "a limit")
				return err
			},
			func(c *queue.Claim) error {
				_, err := c.Release(f.ctx())
				return err
			},
		}
		for n := 0; ; n++ {
			c := f.claim()
			if string(c.Payload) != "what to do" {
				f.t.Fatalf("claim %d brings the payload %q", n+1, c.Payload)
			}
			if n == len(waits) {
				return
			}
			f.ok(waits[n](c))
			f.clock.Advance(time.Hour)
		}
	},
	"a permanent failure is never tried again": func(f *fixture) {
		r := f.enqueue(queue.Job{Key: "k"})
		s, err := f.claim().Fail(f.ctx(), errors.New("no such repository"), queue.Permanent, 0)
		f.ok(err)
		if s != queue.Dead {
			f.t.Fatalf("got %s", s)
		}
		f.clock.Advance(time.Hour)
		f.empty()
		f.reports(r.ID + " dead")
		if r := f.enqueue(queue.Job{Key: "k"}); r.Outcome != queue.Enqueued {
			f.t.Fatalf("a dead job holds its key: %+v", r)
		}
	},
	"three crashes bury the job, told once, and failures don't count": func(f *fixture) {
		r := f.enqueue(queue.Job{})
		_, err := f.claim().Fail(f.ctx(), errors.New("x"), queue.Transient, 0)
		f.ok(err)
		f.clock.Advance(time.Hour)
		for n := range 3 {
			c := f.claim()
			if c.Crashes != n || c.Attempt != 2 {
				f.t.Fatalf("crashes %d, attempt %d", c.Crashes, c.Attempt)
			}
			if n == 1 {
				_, err := c.Crash(f.ctx(), "panic")
				f.ok(err)
				continue
			}
			f.clock.Advance(minute)
			recovered, dead, err := f.Reap(f.ctx())
			f.ok(err)
			if n == 2 && (len(dead) != 1 || dead[0].ID != r.ID || dead[0].State != queue.Dead) || n == 0 && len(recovered) != 1 {
				f.t.Fatalf("round %d: recovered %v, dead %v", n, recovered, dead)
			}
		}
		_, dead, err := f.Reap(f.ctx())
		f.ok(err)
		if len(dead) != 0 {
			f.t.Fatal("buried twice")
		}
		f.reports(r.ID + " dead")
		f.reports()
	},
	"crashes with progress between them never bury the job, and without it three do": func(f *fixture) {
		r := f.enqueue(queue.Job{})
		crash := func() queue.Info {
			f.clock.Advance(minute)
			_, _, err := f.Reap(f.ctx())
			f.ok(err)
			return f.show(r.ID)
		}
		for n := 1; n <= 5; n++ {
			c := f.claim()
			if want := min(n-1, 1); c.Crashes != n-1 || c.CrashesInRow != want {
				f.t.Fatalf("claim %d: %d crashes, %d in a row, want %d", n, c.Crashes, c.CrashesInRow, want)
			}
			_, err := c.Checkpoint(f.ctx(), []byte("further"), int64(n))
			f.ok(err)
			if info := f.show(r.ID); info.CrashesInRow != 0 {
				f.t.Fatalf("%d in a row after progress", info.CrashesInRow)
			}
			crash()
		}
		// The same step again and one before it are no progress.
		for n := 2; n <= 3; n++ {
			c := f.claim()
			for _, step := range []int64{5, 1} {
				_, err := c.Checkpoint(f.ctx(), []byte("again"), step)
				f.ok(err)
			}
			info := crash()
			if info.Crashes != 4+n || info.CrashesInRow != n || info.State.Ended() != (n == 3) {
				f.t.Fatalf("got %+v", info)
			}
		}
		f.state(r.ID, queue.Dead)
		if why := f.show(r.ID).Reason; !strings.Contains(why, "3 in a row") {
			f.t.Fatalf("reason %q", why)
		}
		f.ok(f.Retry(f.ctx(), r.ID))
		c := f.claim()
		if c.Crashes != 0 || c.CrashesInRow != 0 {
			f.t.Fatalf("after a retry: %+v", c)
		}
		// The counts began anew, so the first step is progress again.
		f.ok2(c.Crash(f.ctx(), "panic"))
		f.ok2(f.claim().Checkpoint(f.ctx(), nil, 1))
		if info := f.show(r.ID); info.CrashesInRow != 0 || info.Crashes != 1 {
			f.t.Fatalf("got %+v", info)
		}
	},
	"who knows that a worker is dead need not wait for its lease": func(f *fixture) {
		r := f.enqueue(queue.Job{Repository: "o/r", Installation: "1"})
		c := f.claim()
		_, err := f.Abandon(f.ctx(), r.ID, c.Fence-1)
		f.is(err, queue.ErrLost)
		_, err = f.Abandon(f.ctx(), "nosuchjob", c.Fence)
		f.is(err, queue.ErrLost)
		for range 2 { // sent again after a lost answer
			if s, err := f.Abandon(f.ctx(), r.ID, c.Fence); err != nil || s != queue.Queued {
				f.t.Fatalf("got %s, %v", s, err)
			}
		}
		f.is(c.Valid(f.ctx()), queue.ErrLost)
		for n := 1; n <= 2; n++ {
			c = f.claim()
			if c.Crashes != n || c.Attempt != 1 {
				f.t.Fatalf("crashes %d, attempt %d", c.Crashes, c.Attempt)
			}
			_, err = f.Abandon(f.ctx(), r.ID, c.Fence)
			f.ok(err)
		}
		f.state(r.ID, queue.Dead)
		f.reports(r.ID + " dead")
	},
	"a job that was asked to stop ends when its dead worker is found": func(f *fixture) {
		r := f.enqueue(queue.Job{})
		c := f.claim()
		f.ok2(f.Cancel(f.ctx(), r.ID, "stop"))
		if s, err := f.Abandon(f.ctx(), r.ID, c.Fence); err != nil || s != queue.Cancelled {
			f.t.Fatalf("got %s, %v", s, err)
		}
		f.reports(r.ID + " cancelled")
	},
	"a snooze costs no attempt and holds no slot": func(f *fixture) {
		r := f.enqueue(queue.Job{Repository: "o/r", Payload: []byte("what")})
		second := f.enqueue(queue.Job{Repository: "o/r"})
		_, err := f.claim().Snooze(f.ctx(), f.clock.Now().Add(time.Hour), "waits for an answer")
		f.ok(err)
		c := f.claim()
		if c.ID != second.ID {
			f.t.Fatalf("got %s", c.ID)
		}
		f.ok(c.Complete(f.ctx(), ""))
		f.empty()
		f.clock.Advance(time.Hour)
		if c := f.claim(); c.ID != r.ID || c.Attempt != 1 || c.Crashes != 0 || string(c.Payload) != "what" {
			f.t.Fatalf("got %+v", c)
		}
	},
	"a job of the same key wakes a snoozed one": func(f *fixture) {
		f.enqueue(queue.Job{Key: "k", Payload: []byte("question")})
		_, err := f.claim().Snooze(f.ctx(), f.clock.Now().Add(time.Hour), "")
		f.ok(err)
		f.enqueue(queue.Job{Key: "k", Payload: []byte("answer")})
		if c := f.claim(); string(c.Payload) != "answer" {
			f.t.Fatalf("got %q", c.Payload)
		}
	},
	"a released job is first in its line again, without cost": func(f *fixture) {
		first := f.enqueue(queue.Job{Repository: "o/r"})
		f.clock.Advance(time.Second)
		f.enqueue(queue.Job{Repository: "o/r"})
		c := f.claim()
		s, err := c.Release(f.ctx())
		f.ok(err)
		if s != queue.Queued {
			f.t.Fatalf("got %s", s)
		}
		if c = f.claim(); c.ID != first.ID || c.Attempt != 1 || c.Crashes != 0 {
			f.t.Fatalf("got %+v", c)
		}
	},
	"an end is told by one teller at a time, and by another if that dies": func(f *fixture) {
		r := f.enqueue(queue.Job{})
		_, err := f.Cancel(f.ctx(), r.ID, "stop")
		f.ok(err)
		first, err := f.TakeReport(f.ctx())
		f.ok(err)
		_, err = f.TakeReport(f.ctx())
		f.is(err, queue.ErrEmpty)
		f.clock.Advance(minute)
		second, err := f.TakeReport(f.ctx())
		f.ok(err)
		f.is(first.Done(f.ctx()), queue.ErrLost)
		if second.Try != 2 || second.Reason != "stop" || !second.StartedAt.IsZero() {
			f.t.Fatalf("got %+v", second)
		}
		f.ok(second.Later(f.ctx(), time.Hour))
		_, err = f.TakeReport(f.ctx())
		f.is(err, queue.ErrEmpty)
		f.clock.Advance(time.Hour)
		third, err := f.TakeReport(f.ctx())
		f.ok(err)
		f.ok(third.Done(f.ctx()))
		f.ok(third.Done(f.ctx())) // sent again after a lost answer
		if !f.show(r.ID).Reported {
			f.t.Fatal("not marked as reported")
		}
		f.reports()
	},
}
