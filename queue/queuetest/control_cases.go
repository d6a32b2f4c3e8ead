package queuetest

import (
	"errors"
	"strings"
	"time"

	"culprit/queue"
)

var controlCases = map[string]func(*fixture){
	"cancelling works in every state": func(f *fixture) {
		queued := f.enqueue(queue.Job{})
		running := f.enqueue(queue.Job{Priority: queue.PriorityPerson})
		retrying := f.enqueue(queue.Job{Priority: queue.PriorityPerson})
		snoozed := f.enqueue(queue.Job{Priority: queue.PriorityPerson})
		done := f.enqueue(queue.Job{Priority: queue.PriorityPerson})
		claims := map[string]*queue.Claim{}
		for range 4 {
			c := f.claim()
			claims[c.ID] = c
		}
		_, err := claims[retrying.ID].Fail(f.ctx(), errors.New("x"), queue.Transient, 0)
		f.ok(err)
		_, err = claims[snoozed.ID].Snooze(f.ctx(), f.clock.Now().Add(minute), "")
		f.ok(err)
		f.ok(claims[done.ID].Complete(f.ctx(), ""))
		for id, want := range map[string]queue.State{
			queued.ID: queue.Cancelled, running.ID: queue.Running, retrying.ID: queue.Cancelled,
			snoozed.ID: queue.Cancelled, done.ID: queue.Done,
		} {
			for range 2 {
				got, err := f.Cancel(f.ctx(), id, "stop")
				f.ok(err)
				if got != want {
					f.t.Fatalf("got %s, want %s", got, want)
				}
			}
		}
		f.is(claims[running.ID].Valid(f.ctx()), queue.ErrCancelled)
		s, err := claims[running.ID].Fail(f.ctx(), errors.New("killed"), queue.Transient, 0)
		f.ok(err)
		if s != queue.Cancelled {
			f.t.Fatalf("got %s", s)
		}
		if info := f.show(running.ID); info.Reason != "stop" {
			f.t.Fatalf("reason %q", info.Reason)
		}
		_, err = f.Cancel(f.ctx(), "nosuchjob", "")
		f.is(err, queue.ErrNotFound)
	},
	"a worker that dies after a stop was asked ends the job": func(f *fixture) {
		r := f.enqueue(queue.Job{})
		f.claim()
		_, err := f.Cancel(f.ctx(), r.ID, "stop")
		f.ok(err)
		f.clock.Advance(minute)
		_, dead, err := f.Reap(f.ctx())
		f.ok(err)
		if len(dead) != 1 || dead[0].State != queue.Cancelled {
			f.t.Fatalf("got %+v", dead)
		}
		f.reports(r.ID + " cancelled")
	},
	"a result that was published before the stop counts": func(f *fixture) {
		r := f.enqueue(queue.Job{})
		c := f.claim()
		_, err := f.Cancel(f.ctx(), r.ID, "stop")
		f.ok(err)
		f.ok(c.Complete(f.ctx(), ""))
		f.state(r.ID, queue.Done)
		f.reports()
	},
	"jobs are cancelled by what they are about": func(f *fixture) {
		a := f.enqueue(queue.Job{Repository: "o/a", Installation: "1", Key: "a"})
		b := f.enqueue(queue.Job{Repository: "o/b", Installation: "1", Ref: "b", SHA: "1"})
		c := f.enqueue(queue.Job{Repository: "o/c", Installation: "2"})
		for _, step := range []struct {
			m    queue.Match
			want string
		}{
			{queue.Match{}, ""},
			{queue.Match{Ref: "b"}, b.ID},
			{queue.Match{Installation: "1"}, a.ID},
			{queue.Match{Repository: "o/c"}, c.ID},
		} {
			ids, err := f.CancelMatching(f.ctx(), step.m, "gone")
			f.ok(err)
			if got := strings.Join(ids, " "); got != step.want {
				f.t.Fatalf("%+v: got %q, want %q", step.m, got, step.want)
			}
		}
		f.empty()
	},
	"people can run an ended job again": func(f *fixture) {
		r := f.enqueue(queue.Job{Key: "k"})
		c := f.claim()
		_, err := c.Checkpoint(f.ctx(), []byte("half"), 1)
		f.ok(err)
		var state *queue.StateError
		if err := f.Retry(f.ctx(), r.ID); !errors.As(err, &state) || state.State != queue.Running {
			f.t.Fatalf("running: %v", err)
		}
		_, err = c.Fail(f.ctx(), errors.New("x"), queue.Permanent, 0)
		f.ok(err)
		other := f.enqueue(queue.Job{Key: "k"})
		if err := f.Retry(f.ctx(), r.ID); !errors.As(err, &state) || !strings.Contains(err.Error(), other.ID) {
			f.t.Fatalf("with another on the same: %v", err)
		}
		_, err = f.Cancel(f.ctx(), other.ID, "")
		f.ok(err)
		f.ok(f.Retry(f.ctx(), r.ID))
		f.reports(other.ID + " cancelled")
		c = f.claim()
		if c.ID != r.ID || c.Attempt != 1 || string(c.Resume) != "half" {
			f.t.Fatalf("got %+v", c)
		}
		if again := f.enqueue(queue.Job{Key: "k"}); again.Outcome != queue.Merged || again.ID != r.ID {
			f.t.Fatalf("got %+v", again)
		}
		f.is(f.Retry(f.ctx(), "nosuchjob"), queue.ErrNotFound)
	},
	"a snoozed job can be woken": func(f *fixture) {
		r := f.enqueue(queue.Job{})
		_, err := f.claim().Snooze(f.ctx(), f.clock.Now().Add(time.Hour), "")
		f.ok(err)
		f.ok(f.Retry(f.ctx(), r.ID))
		if c := f.claim(); c.ID != r.ID {
			f.t.Fatalf("got %s", c.ID)
		}
	},
	"a paused queue takes jobs in and gives none out": func(f *fixture) {
		f.enqueue(queue.Job{})
		f.enqueue(queue.Job{})
		c := f.claim()
		f.ok(f.Pause(f.ctx()))
		f.enqueue(queue.Job{})
		f.empty()
		f.ok(c.Complete(f.ctx(), ""))
		s, err := f.Stats(f.ctx())
		f.ok(err)
		if !s.Paused || s.Depth[queue.Queued] != 2 {
			f.t.Fatalf("got %+v", s)
		}
		f.ok(f.Resume(f.ctx()))
		f.claim()
	},
	"listing shows the jobs of a state": func(f *fixture) {
		a := f.enqueue(queue.Job{Payload: []byte("p")})
		f.clock.Advance(minute)
		b := f.enqueue(queue.Job{})
		infos, err := f.List(f.ctx(), queue.Queued, 10)
		f.ok(err)
		if len(infos) != 2 || infos[0].ID != a.ID || infos[1].ID != b.ID || string(infos[0].Payload) != "p" {
			f.t.Fatalf("got %+v", infos)
		}
		if infos, err = f.List(f.ctx(), queue.Queued, 1); err != nil || len(infos) != 1 {
			f.t.Fatalf("limit: %d, %v", len(infos), err)
		}
		if _, err = f.List(f.ctx(), "lost", 1); err == nil {
			f.t.Fatal("an unknown state has no error")
		}
		s, err := f.Stats(f.ctx())
		f.ok(err)
		if s.OldestAge != minute || s.Depth[queue.Queued] != 2 || s.Waiting[queue.PriorityCI] != 2 {
			f.t.Fatalf("got %+v", s)
		}
	},
	"ended jobs are forgotten, dead ones later": func(f *fixture) {
		done := f.enqueue(queue.Job{Payload: []byte("x")})
		f.ok(f.claim().Complete(f.ctx(), ""))
		dead := f.enqueue(queue.Job{})
		_, err := f.claim().Fail(f.ctx(), errors.New("x"), queue.Permanent, 0)
		f.ok(err)
		waiting := f.enqueue(queue.Job{})
		f.clock.Advance(8 * 24 * time.Hour)
		n, err := f.Purge(f.ctx())
		f.ok(err)
		_, showErr := f.Show(f.ctx(), done.ID)
		f.is(showErr, queue.ErrNotFound)
		f.state(dead.ID, queue.Dead)
		f.clock.Advance(30 * 24 * time.Hour)
		m, err := f.Purge(f.ctx())
		f.ok(err)
		if n != 1 || m != 1 {
			f.t.Fatalf("forgot %d, then %d", n, m)
		}
		f.state(waiting.ID, queue.Queued)
		f.reports()
	},
}
