package queuetest

import (
	"bytes"
	"strings"
	"time"

	"culprit/queue"
)

var enqueueCases = map[string]func(*fixture){
	"a job comes out as it went in": func(f *fixture) {
		in := queue.Job{
			Delivery: "d", Key: "o/r@1/run/2", Ref: "o/r@refs/heads/é x", SHA: "1", RefTime: f.clock.Now(),
			Repository: "o/r", Installation: "7", Priority: queue.PriorityIssue, Payload: []byte("\x00\xff{}\r\n"),
		}
		r := f.enqueue(in)
		c := f.claim()
		in.ID = r.ID
		got, want := c.Job, in
		if !got.RefTime.Equal(want.RefTime) || !bytes.Equal(got.Payload, want.Payload) {
			f.t.Fatalf("got %+v, want %+v", got, want)
		}
		got.RefTime, want.RefTime, got.Payload, want.Payload = time.Time{}, time.Time{}, nil, nil
		if got.ID != want.ID || got.Key != want.Key || got.Ref != want.Ref || got.SHA != want.SHA ||
			got.Repository != want.Repository || got.Installation != want.Installation ||
			got.Priority != want.Priority || got.Delivery != want.Delivery {
			f.t.Fatalf("got %+v, want %+v", got, want)
		}
		if c.Attempt != 1 || c.Crashes != 0 || c.Resume != nil || !c.EnqueuedAt.Equal(f.clock.Now()) {
			f.t.Fatalf("fresh claim: %+v", c)
		}
	},
	"a delivery is taken once until it is forgotten": func(f *fixture) {
		first := f.enqueue(queue.Job{Delivery: "guid"})
		again := f.enqueue(queue.Job{Delivery: "guid"})
		if again.Outcome != queue.Duplicate || again.ID != first.ID {
			f.t.Fatalf("got %+v", again)
		}
		f.clock.Advance(97 * time.Hour)
		if r := f.enqueue(queue.Job{Delivery: "guid"}); r.Outcome != queue.Enqueued {
			f.t.Fatalf("got %+v", r)
		}
	},
	"a delivery that was merged is taken once too": func(f *fixture) {
		first := f.enqueue(queue.Job{Delivery: "1", Key: "k"})
		f.enqueue(queue.Job{Delivery: "2", Key: "k"})
		f.ok(f.claim().Complete(f.ctx(), ""))
		if r := f.enqueue(queue.Job{Delivery: "2", Key: "k"}); r.Outcome != queue.Duplicate || r.ID != first.ID {
			f.t.Fatalf("got %+v", r)
		}
	},
	"jobs of one key are merged until the first has ended": func(f *fixture) {
		first := f.enqueue(queue.Job{Key: "k"})
		for range 2 {
			if r := f.enqueue(queue.Job{Key: "k"}); r.Outcome != queue.Merged || r.ID != first.ID {
				f.t.Fatalf("queued: got %+v", r)
			}
		}
		c := f.claim()
		if r := f.enqueue(queue.Job{Key: "k"}); r.Outcome != queue.Merged {
			f.t.Fatalf("running: got %+v", r)
		}
		f.empty()
		if n := f.show(first.ID).Merges; n != 3 {
			f.t.Fatalf("got %d merges", n)
		}
		f.ok(c.Complete(f.ctx(), ""))
		if r := f.enqueue(queue.Job{Key: "k"}); r.Outcome != queue.Enqueued {
			f.t.Fatalf("done: got %+v", r)
		}
	},
	"a merged job brings its urgency and what it asks": func(f *fixture) {
		f.enqueue(queue.Job{Key: "other", Repository: "a"})
		f.clock.Advance(time.Second)
		first := f.enqueue(queue.Job{Key: "k", Repository: "a", Payload: []byte("ci")})
		f.enqueue(queue.Job{Key: "k", Priority: queue.PriorityPerson, Payload: []byte("person")})
		f.enqueue(queue.Job{Key: "k", Payload: []byte("ci again")})
		c := f.claim()
		if c.ID != first.ID || c.Priority != queue.PriorityPerson || string(c.Payload) != "person" {
			f.t.Fatalf("got %+v", c)
		}
		s, err := f.Stats(f.ctx())
		f.ok(err)
		if s.Waiting[queue.PriorityCI] != 1 || s.Waiting[queue.PriorityPerson] != 0 {
			f.t.Fatalf("waiting: %v", s.Waiting)
		}
	},
	"a merged job that is urgent moves its repository forward": func(f *fixture) {
		f.enqueue(queue.Job{Repository: "a", Installation: "1"})
		f.clock.Advance(time.Second)
		r := f.enqueue(queue.Job{Key: "k", Repository: "b", Installation: "2"})
		f.enqueue(queue.Job{Key: "k", Priority: queue.PriorityIssue})
		if c := f.claim(); c.ID != r.ID {
			f.t.Fatalf("got %+v", c)
		}
	},
	"a newer SHA drops waiting jobs of its ref and asks the running one to stop": func(f *fixture) {
		ref := "o/r@refs/heads/main"
		running := f.enqueue(queue.Job{Ref: ref, SHA: "1", Key: "1"})
		c := f.claim()
		other := f.enqueue(queue.Job{Ref: "o/r@refs/heads/x", SHA: "1"})
		waiting := f.enqueue(queue.Job{Ref: ref, SHA: "1", Key: "1/second run"})
		newer := f.enqueue(queue.Job{Ref: ref, SHA: "2", Key: "2"})
		if len(newer.Superseded) != 2 {
			f.t.Fatalf("got %+v", newer)
		}
		f.state(waiting.ID, queue.Superseded)
		f.state(other.ID, queue.Queued)
		f.state(running.ID, queue.Running)
		if s, err := c.Heartbeat(f.ctx()); err != nil || s != queue.SignalSuperseded {
			f.t.Fatalf("heartbeat: %q, %v", s, err)
		}
		f.is(c.Valid(f.ctx()), queue.ErrSuperseded)
		f.clock.Advance(time.Second)
		s, err := c.Release(f.ctx())
		f.ok(err)
		if s != queue.Superseded || f.show(running.ID).Replaced != newer.ID {
			f.t.Fatalf("released into %s, %+v", s, f.show(running.ID))
		}
		f.reports(waiting.ID+" superseded", running.ID+" superseded")
	},
	"a delivery that comes late does not undo a newer one": func(f *fixture) {
		at := f.clock.Now()
		newer := f.enqueue(queue.Job{Ref: "r", SHA: "2", RefTime: at})
		older := f.enqueue(queue.Job{Ref: "r", SHA: "1", RefTime: at.Add(-minute)})
		if older.Outcome != queue.Stale || older.ID != newer.ID {
			f.t.Fatalf("got %+v", older)
		}
		f.state(newer.ID, queue.Queued)
	},
	"after a stop was asked the same key is a new job": func(f *fixture) {
		first := f.enqueue(queue.Job{Key: "k"})
		c := f.claim()
		_, err := f.Cancel(f.ctx(), first.ID, "stop")
		f.ok(err)
		second := f.enqueue(queue.Job{Key: "k"})
		if second.Outcome != queue.Enqueued {
			f.t.Fatalf("got %+v", second)
		}
		_, err = c.Release(f.ctx())
		f.ok(err)
		if r := f.enqueue(queue.Job{Key: "k"}); r.Outcome != queue.Merged || r.ID != second.ID {
			f.t.Fatalf("the end of the first job freed the key of the second: %+v", r)
		}
	},
	"what cannot be a job is refused": func(f *fixture) {
		for name, j := range map[string]queue.Job{
			"priority": {Priority: 3}, "control": {Repository: "a\tb"}, "long": {Key: strings.Repeat("k", 2000)},
			"no SHA": {Ref: "r"},
		} {
			if _, err := f.Enqueue(f.ctx(), j); err == nil {
				f.t.Errorf("%s: no error", name)
			} else {
				f.is(err, queue.ErrInvalid)
			}
		}
		_, err := f.Enqueue(f.ctx(), queue.Job{Payload: make([]byte, 1<<20)})
		f.is(err, queue.ErrTooLarge)
	},
}
