package queuetest

import (
	"errors"
	"fmt"
	"time"

	"culprit/queue"
)

var orderCases = map[string]func(*fixture){
	"a person goes before an issue, an issue before red CI": func(f *fixture) {
		for _, p := range []queue.Priority{queue.PriorityCI, queue.PriorityPerson, queue.PriorityIssue, queue.PriorityPerson} {
			f.enqueue(queue.Job{Priority: p, Repository: fmt.Sprint("o/", p), Installation: "1"})
		}
		for _, want := range []queue.Priority{queue.PriorityPerson, queue.PriorityIssue, queue.PriorityCI} {
			if c := f.claim(); c.Priority != want {
				f.t.Fatalf("got %s, want %s", c.Priority, want)
			}
		}
	},
	"who waited long enough goes before a person": func(f *fixture) {
		ci := f.enqueue(queue.Job{Repository: "o/a", Installation: "1"})
		f.clock.Advance(61 * minute)
		f.enqueue(queue.Job{Priority: queue.PriorityPerson, Repository: "o/b", Installation: "2"})
		if c := f.claim(); c.ID != ci.ID {
			f.t.Fatalf("got %+v", c)
		}
	},
	"a stream of urgent jobs does not starve red CI": func(f *fixture) {
		ci := f.enqueue(queue.Job{Repository: "o/a", Installation: "1"})
		for range 100 {
			f.enqueue(queue.Job{Priority: queue.PriorityPerson, Repository: "o/b", Installation: "2"})
			c := f.claim()
			if c.ID == ci.ID {
				return
			}
			f.ok(c.Complete(f.ctx(), ""))
			f.clock.Advance(minute)
		}
		f.t.Fatal("never came")
	},
	"a group with many jobs delays another by one job": func(f *fixture) {
		for range 200 {
			f.enqueue(queue.Job{Repository: "big/r", Installation: "1"})
		}
		for range 5 {
			f.clock.Advance(time.Second)
			f.ok(f.claim().Complete(f.ctx(), ""))
		}
		small := f.enqueue(queue.Job{Repository: "small/r", Installation: "2"})
		same := f.enqueue(queue.Job{Repository: "big/other", Installation: "1"})
		place := map[string]int{}
		for i := range 5 {
			c := f.claim()
			place[c.ID] = i + 1
			f.ok(c.Complete(f.ctx(), ""))
		}
		if p := place[small.ID]; p == 0 || p > 2 {
			f.t.Fatalf("small group was served as number %d", p)
		}
		if p := place[same.ID]; p == 0 || p > 4 {
			f.t.Fatalf("other repository of the big installation was served as number %d", p)
		}
	},
	"groups take turns": func(f *fixture) {
		for g := range 3 {
			for range 3 {
				f.enqueue(queue.Job{Repository: fmt.Sprint("o/", g), Installation: fmt.Sprint(g)})
			}
		}
		for range 3 {
			seen := map[string]bool{}
			for range 3 {
				c := f.claim()
				seen[c.Repository] = true
				f.ok(c.Complete(f.ctx(), ""))
			}
			if len(seen) != 3 {
				f.t.Fatalf("one round served %v", seen)
			}
		}
	},
	"limits hold and a full group costs the others nothing": func(f *fixture) {
		for repo := range 6 {
			for range 2 {
				f.enqueue(queue.Job{Repository: fmt.Sprint("full/", repo), Installation: "1", Priority: queue.PriorityPerson})
			}
		}
		other := f.enqueue(queue.Job{Repository: "free/r", Installation: "2"})
		running := map[string]*queue.Claim{}
		for range 4 {
			c := f.claim()
			if c.Installation != "1" || running[c.Repository] != nil {
				f.t.Fatalf("got a second job of %s", c.Repository)
			}
			running[c.Repository] = c
		}
		if c := f.claim(); c.ID != other.ID {
			f.t.Fatalf("the full installation is served: %+v", c)
		}
		f.empty()
		for _, c := range running {
			f.ok(c.Complete(f.ctx(), ""))
			break
		}
		f.claim()
		f.empty()
	},
	"a worker with lower limits keeps to them": func(f *fixture) {
		strict, err := queue.Open(f.ctx(), f.opts)
		f.ok(err)
		f.opts.Limits = queue.Limits{Repository: 3, Installation: 6, Total: 8}
		loose, err := queue.Open(f.ctx(), f.opts)
		f.ok(err)
		for n := range 12 {
			_, err := loose.Enqueue(f.ctx(), queue.Job{Repository: fmt.Sprint("o/", n/6), Installation: "1"})
			f.ok(err)
			_, err = loose.Enqueue(f.ctx(), queue.Job{Repository: fmt.Sprint("p/", n), Installation: "2"})
			f.ok(err)
		}
		running := map[string]int{}
		claim := func(q *queue.Queue, n int) {
			f.t.Helper()
			for range n {
				c, err := q.Claim(f.ctx(), "w")
				f.ok(err)
				running[c.Repository]++
				running[c.Installation]++
			}
		}
		claim(loose, 6)
		if running["1"] < 2 || running["1"] > 4 {
			f.t.Fatalf("turns: %v", running)
		}
		before := running["o/0"] + running["o/1"]
		for {
			c, err := strict.Claim(f.ctx(), "w")
			if errors.Is(err, queue.ErrEmpty) {
				break
			}
			f.ok(err)
			running[c.Repository]++
			running[c.Installation]++
		}
		if running["o/0"]+running["o/1"] != before || running["1"] > 4 || running["2"] > 4 {
			f.t.Fatalf("limits of 1 and 4: %v", running)
		}
	},
	"no more run than the limit over all": func(f *fixture) {
		f.opts.Limits = queue.Limits{Total: 2}
		q, err := queue.Open(f.ctx(), f.opts)
		f.ok(err)
		var claims []*queue.Claim
		for range 4 {
			_, err := q.Enqueue(f.ctx(), queue.Job{})
			f.ok(err)
			c, err := q.Claim(f.ctx(), "w")
			if len(claims) == 2 {
				f.is(err, queue.ErrEmpty)
				continue
			}
			f.ok(err)
			claims = append(claims, c)
		}
		f.ok(claims[0].Complete(f.ctx(), ""))
		_, err = q.Claim(f.ctx(), "w")
		f.ok(err)
	},
	"a job without repository or installation has no such limit": func(f *fixture) {
		for range 6 {
			f.enqueue(queue.Job{})
		}
		for range 6 {
			f.claim()
		}
	},
}
