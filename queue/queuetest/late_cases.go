package queuetest

import (
	"time"

	"culprit/queue"
)

// lateCases are about what comes to the queue after its time: deliveries that
// were recovered, and jobs that Redis lost.
var lateCases = map[string]func(*fixture){
	"a late call-off spares what was asked for after it": func(f *fixture) {
		began := f.clock.Now()
		at := func(m int) time.Time { return began.Add(time.Duration(m) * time.Minute) }
		f.clock.Advance(time.Hour)
		before := f.enqueue(queue.Job{Key: "a", Repository: "o/r", Asked: at(4)})
		same := f.enqueue(queue.Job{Key: "b", Repository: "o/r", Asked: at(5)})
		after := f.enqueue(queue.Job{Key: "c", Repository: "o/r", Asked: at(6)})
		now := f.enqueue(queue.Job{Key: "d", Repository: "o/r"})
		again := f.enqueue(queue.Job{Key: "e", Repository: "o/r", Asked: at(6)})
		f.enqueue(queue.Job{Key: "e", Repository: "o/r", Asked: at(3)}) // merged, and older
		_, err := f.CancelMatching(f.ctx(), queue.Match{Repository: "o/r", AskedBefore: at(5)}, "stop")
		f.ok(err)
		f.state(before.ID, queue.Cancelled)
		for _, r := range []queue.Receipt{same, after, now, again} {
			f.state(r.ID, queue.Queued)
		}
		if got := f.show(again.ID).Asked; !got.Equal(at(6)) {
			f.t.Fatalf("asked %v, want %v", got, at(6))
		}
		_, err = f.CancelMatching(f.ctx(), queue.Match{AskedBefore: at(100)}, "stop")
		f.ok(err)
		f.state(now.ID, queue.Queued) // a time alone selects nothing
		_, err = f.CancelMatching(f.ctx(), queue.Match{Repository: "o/r"}, "stop")
		f.ok(err)
		f.empty()
	},
	"an ended job that is run again was asked for now": func(f *fixture) {
		began := f.clock.Now()
		r := f.enqueue(queue.Job{Key: "a"})
		_, err := f.Cancel(f.ctx(), r.ID, "stop")
		f.ok(err)
		f.clock.Advance(time.Hour)
		f.ok(f.Retry(f.ctx(), r.ID))
		_, err = f.CancelMatching(f.ctx(), queue.Match{Key: "a", AskedBefore: began.Add(time.Minute)}, "stop")
		f.ok(err)
		f.state(r.ID, queue.Queued)
	},
	"a turn belongs to one process until it ends or its lease runs out": func(f *fixture) {
		take := func(atOnce bool) (*queue.Turn, time.Duration) {
			turn, wait, err := f.TakeTurn(f.ctx(), "sweep", minute, atOnce)
			f.ok(err)
			return turn, wait
		}
		first, _ := take(false)
		if first == nil {
			f.t.Fatal("the first turn is not to be had")
		}
		if turn, wait := take(true); turn != nil || wait <= 0 || wait > minute {
			f.t.Fatalf("a second process got the turn %v, wait %v", turn, wait)
		}
		f.ok(first.Renew(f.ctx()))
		f.ok(first.End(f.ctx(), 5*minute))
		f.is(first.End(f.ctx(), minute), queue.ErrLost)
		if turn, wait := take(false); turn != nil || wait != 5*minute {
			f.t.Fatalf("before it is due: turn %v, wait %v", turn, wait)
		}
		second, _ := take(true)
		if second == nil {
			f.t.Fatal("at once was not to be had")
		}
		f.clock.Advance(2 * minute)
		third, _ := take(true)
		if third == nil {
			f.t.Fatal("the turn of a silent process was not to be had")
		}
		f.is(second.Renew(f.ctx()), queue.ErrLost)
		f.is(second.End(f.ctx(), 0), queue.ErrLost)
		f.ok(third.End(f.ctx(), 0))
	},
	"what is known of failed deliveries": func(f *fixture) {
		now := f.clock.Now()
		known := func(guid string) queue.Trial {
			m, err := f.Trials(f.ctx(), []string{"other", guid})
			f.ok(err)
			return m[guid]
		}
		f.enqueue(queue.Job{Delivery: "job"})
		if got := known("job"); !got.Settled {
			f.t.Fatalf("a delivery that led to a job: %+v", got)
		}
		for i := range 2 {
			n, err := f.NoteDelivery(f.ctx(), "slow", now, false)
			f.ok(err)
			if n != i+1 {
				f.t.Fatalf("%d tries", n)
			}
		}
		if got := known("slow"); got.Settled || got.Tries != 2 || !got.Last.Equal(now) {
			f.t.Fatalf("a delivery that failed twice: %+v", got)
		}
		_, err := f.NoteDelivery(f.ctx(), "slow", now, true)
		f.ok(err)
		if got := known("slow"); !got.Settled {
			f.t.Fatalf("a settled delivery: %+v", got)
		}
		if mark, err := f.Recovered(f.ctx()); err != nil || !mark.IsZero() {
			f.t.Fatalf("mark %v, %v", mark, err)
		}
		f.ok(f.SetRecovered(f.ctx(), now.Add(minute), 2*minute))
		if mark, err := f.Recovered(f.ctx()); err != nil || !mark.Equal(now.Add(minute)) || !known("slow").Settled {
			f.t.Fatalf("mark %v, %v; %+v", mark, err, known("slow"))
		}
		f.ok(f.SetRecovered(f.ctx(), now.Add(3*minute), 2*minute))
		if got := known("slow"); got.Settled || got.Tries != 0 {
			f.t.Fatalf("one that is not looked at again is remembered: %+v", got)
		}
	},
	"a job that Redis lost goes on from the state that was kept": func(f *fixture) {
		r := f.enqueue(queue.Job{Key: "a", Checkpoint: []byte("half done")})
		c := f.claim()
		if c.ID != r.ID || string(c.Resume) != "half done" {
			f.t.Fatalf("got job %s with state %q", c.ID, c.Resume)
		}
		// One that merges leaves the state of the job that is there.
		f.enqueue(queue.Job{Key: "a", Checkpoint: []byte("other")})
		state, err := f.LoadCheckpoint(f.ctx(), r.ID)
		f.ok(err)
		if string(state) != "half done" {
			f.t.Fatalf("state %q", state)
		}
	},
}
