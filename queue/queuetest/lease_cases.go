package queuetest

import (
	"bytes"
	"crypto/rand"
	"time"

	"culprit/queue"
)

var leaseCases = map[string]func(*fixture){
	"a clock that jumps loses no job, repeats no fence and lets no two workers publish": func(f *fixture) {
		f.enqueue(queue.Job{Delivery: "first"})
		before := f.claim()
		f.clock.Advance(-time.Hour)
		f.enqueue(queue.Job{Delivery: "second"})
		during := f.claim()
		if during.Fence <= before.Fence {
			f.t.Fatalf("fence %d after %d", during.Fence, before.Fence)
		}
		f.ok(before.Valid(f.ctx()))
		f.ok(during.Valid(f.ctx()))
		f.clock.Advance(3 * time.Hour) // all leases seem over
		recovered, _, err := f.Reap(f.ctx())
		f.ok(err)
		if len(recovered) != 2 {
			f.t.Fatalf("recovered %+v", recovered)
		}
		f.is(before.Valid(f.ctx()), queue.ErrLost)
		f.is(during.Complete(f.ctx(), ""), queue.ErrLost)
		f.clock.Advance(-2 * time.Hour)
		for range 2 {
			c := f.claim()
			if c.Fence <= during.Fence {
				f.t.Fatalf("fence %d after %d", c.Fence, during.Fence)
			}
			f.ok(c.Complete(f.ctx(), ""))
		}
		f.empty()
	},
	"each claim gets a higher fence, at the same moment too": func(f *fixture) {
		for range 3 {
			f.enqueue(queue.Job{})
		}
		a, b := f.claim(), f.claim()
		_, err := a.Release(f.ctx())
		f.ok(err)
		c := f.claim()
		if a.Fence >= b.Fence || b.Fence >= c.Fence {
			f.t.Fatalf("fences %d, %d, %d", a.Fence, b.Fence, c.Fence)
		}
	},
	"a heartbeat keeps the lease": func(f *fixture) {
		f.enqueue(queue.Job{})
		c := f.claim()
		if left := f.show(c.ID).DueAt.Sub(f.clock.Now()); left != 30*time.Second {
			f.t.Fatalf("a new lease lasts %v", left)
		}
		for range 5 {
			f.clock.Advance(20 * time.Second)
			if s, err := c.Progress(f.ctx(), "half"); err != nil || s != queue.SignalNone {
				f.t.Fatalf("got %q, %v", s, err)
			}
			recovered, dead, err := f.Reap(f.ctx())
			f.ok(err)
			if len(recovered)+len(dead) > 0 {
				f.t.Fatal("reaped a job with a lease")
			}
		}
		if p := f.show(c.ID).Progress; p != "half" {
			f.t.Fatalf("progress %q", p)
		}
	},
	"a worker that lost its lease is refused everything": func(f *fixture) {
		r := f.enqueue(queue.Job{})
		old := f.claim()
		f.clock.Advance(31 * time.Second)
		recovered, _, err := f.Reap(f.ctx())
		f.ok(err)
		if len(recovered) != 1 || recovered[0].ID != r.ID || recovered[0].State != queue.Queued {
			f.t.Fatalf("recovered %+v", recovered)
		}
		for _, again := range []bool{false, true} {
			if again {
				f.claim() // by a worker of the same name
			}
			s, err := old.Heartbeat(f.ctx())
			f.is(err, queue.ErrLost)
			if s != queue.SignalLost {
				f.t.Fatalf("signal %q", s)
			}
			f.is(old.Valid(f.ctx()), queue.ErrLost)
			_, err = old.Checkpoint(f.ctx(), []byte("stale"), 9)
			f.is(err, queue.ErrLost)
			f.is(old.Complete(f.ctx(), ""), queue.ErrLost)
			_, err = old.Fail(f.ctx(), nil, queue.Permanent, 0)
			f.is(err, queue.ErrLost)
			_, err = old.Snooze(f.ctx(), f.clock.Now(), "")
			f.is(err, queue.ErrLost)
			_, err = old.Release(f.ctx())
			f.is(err, queue.ErrLost)
			_, err = old.Crash(f.ctx(), "")
			f.is(err, queue.ErrLost)
			_, err = f.Abandon(f.ctx(), old.ID, old.Fence)
			f.is(err, queue.ErrLost)
		}
		f.state(r.ID, queue.Running)
		_, err = f.LoadCheckpoint(f.ctx(), r.ID)
		f.is(err, queue.ErrNotFound)
	},
	"a late heartbeat saves a job that nobody took": func(f *fixture) {
		f.enqueue(queue.Job{})
		c := f.claim()
		f.clock.Advance(time.Hour)
		f.ok(c.Valid(f.ctx()))
		recovered, _, err := f.Reap(f.ctx())
		f.ok(err)
		if len(recovered) != 0 {
			f.t.Fatal("reaped after a heartbeat")
		}
	},
	"a checkpoint goes to the next worker and survives the end": func(f *fixture) {
		r := f.enqueue(queue.Job{})
		c := f.claim()
		state := bytes.Repeat([]byte("tasks.csv,"), 10000)
		_, err := c.Checkpoint(f.ctx(), []byte("old"), 0)
		f.ok(err)
		_, err = c.Checkpoint(f.ctx(), state, 0)
		f.ok(err)
		f.clock.Advance(minute)
		_, _, err = f.Reap(f.ctx())
		f.ok(err)
		c = f.claim()
		if !bytes.Equal(c.Resume, state) || c.Crashes != 1 || c.Attempt != 1 {
			f.t.Fatalf("resume %d bytes, crashes %d, attempt %d", len(c.Resume), c.Crashes, c.Attempt)
		}
		f.ok(c.Complete(f.ctx(), ""))
		got, err := f.LoadCheckpoint(f.ctx(), r.ID)
		f.ok(err)
		if !bytes.Equal(got, state) {
			f.t.Fatalf("loaded %d bytes", len(got))
		}
		f.clock.Advance(73 * time.Hour)
		_, err = f.Purge(f.ctx())
		f.ok(err)
		_, err = f.LoadCheckpoint(f.ctx(), r.ID)
		f.is(err, queue.ErrNotFound)
		f.state(r.ID, queue.Done)
	},
	"a checkpoint over the limit leaves the one before": func(f *fixture) {
		f.opts.MaxCheckpoint = 64 << 10
		q, err := queue.Open(f.ctx(), f.opts)
		f.ok(err)
		f.Queue = q
		f.enqueue(queue.Job{})
		c := f.claim()
		_, err = c.Checkpoint(f.ctx(), []byte("small"), 1)
		f.ok(err)
		noise := make([]byte, f.opts.MaxCheckpoint) // and what packing adds
		_, _ = rand.Read(noise)
		_, err = c.Checkpoint(f.ctx(), noise, 2)
		f.is(err, queue.ErrTooLarge)
		if _, err := c.Crash(f.ctx(), "panic"); err != nil {
			f.t.Fatal(err)
		}
		c = f.claim()
		_, err = c.Checkpoint(f.ctx(), noise, 3)
		f.is(err, queue.ErrTooLarge)
		if info := f.show(c.ID); info.CrashesInRow != 0 || info.Crashes != 1 {
			f.t.Fatalf("progress counts although its state is too large: %+v", info)
		}
		got, err := f.LoadCheckpoint(f.ctx(), c.ID)
		f.ok(err)
		if string(got) != "small" {
			f.t.Fatalf("got %q", got)
		}
	},
}
