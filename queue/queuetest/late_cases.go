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
