package queuetest

import (
	"errors"
	"fmt"
	"strings"

	"culprit/queue"
)

var findCases = map[string]func(*fixture){
	"a job tells its history": func(f *fixture) {
		r := f.enqueue(queue.Job{Repository: "o/r"})
		f.clock.Advance(minute)
		_, err := f.claim().Fail(f.ctx(), errors.New("clone:\n\x1b[2Jtimed out "+strings.Repeat("ü", 200)), queue.Transient, 0)
		f.ok(err)
		f.clock.Advance(minute)
		_, err = f.claim().Release(f.ctx())
		f.ok(err)
		f.claim()
		f.clock.Advance(minute)
		_, _, err = f.Reap(f.ctx())
		f.ok(err)
		f.ok(f.claim().Complete(f.ctx(), "fixed"))
		f.ok(f.Retry(f.ctx(), r.ID))
		info := f.show(r.ID)
		var got []string
		for _, c := range info.History {
			got = append(got, string(c.To)+" "+c.Why)
			if len(c.Why) > 170 || strings.ContainsAny(c.Why, "\n\x1b") {
				f.t.Errorf("history has %q", c.Why)
			}
		}
		want := []string{
			"queued ", "running w", "retrying clone:", "queued due", "running w", "queued given back by w", "running w",
			"queued worker w stopped", "running w", "done ", "queued retried by a person",
		}
		if len(got) != len(want) {
			f.t.Fatalf("got %q", got)
		}
		for i := range want {
			if !strings.HasPrefix(got[i], want[i]) {
				f.t.Errorf("step %d is %q, want %q", i, got[i], want[i])
			}
		}
		if first, last := info.History[0].At, info.History[len(want)-1].At; last.Sub(first) != 3*minute || !info.Since.Equal(last) {
			f.t.Errorf("history runs from %s to %s, and the job is in its state since %s", first, last, info.Since)
		}
	},
	"a claim tells how long the job stood in the line before it": func(f *fixture) {
		f.enqueue(queue.Job{})
		f.clock.Advance(minute)
		c := f.claim()
		_, err := c.Snooze(f.ctx(), f.clock.Now().Add(5*minute), "asks")
		f.ok(err)
		f.clock.Advance(10 * minute)
		again := f.claim() // it came into the line by this look
		_, err = again.Release(f.ctx())
		f.ok(err)
		f.clock.Advance(2 * minute)
		if last := f.claim(); c.Waited != minute || again.Waited != 0 || last.Waited != 2*minute {
			f.t.Errorf("waited %s, %s and %s", c.Waited, again.Waited, last.Waited)
		}
	},
	"a long history loses its oldest lines": func(f *fixture) {
		r := f.enqueue(queue.Job{})
		for range 200 {
			_, err := f.claim().Release(f.ctx())
			f.ok(err)
		}
		h := f.show(r.ID).History
		if len(h) < 40 || len(h) > 300 || h[0].At.IsZero() || h[len(h)-1].To != queue.Queued {
			f.t.Errorf("%d lines, from %+v to %+v", len(h), h[0], h[len(h)-1])
		}
	},
	"jobs are found by state, repository and installation": func(f *fixture) {
		f.opts.Limits = queue.Limits{Repository: -1, Installation: -1}
		for i := range 6 {
			f.enqueue(queue.Job{Repository: fmt.Sprint("o/", i%2), Installation: fmt.Sprint(i % 3)})
		}
		f.claim()
		for _, tt := range []struct {
			filter      queue.Filter
			limit       int
			found, left int
		}{
			{queue.Filter{}, 0, 6, 0},
			{queue.Filter{}, 4, 4, 2},
			{queue.Filter{States: []queue.State{queue.Queued}}, 2, 2, 3},
			{queue.Filter{States: []queue.State{queue.Queued, queue.Queued}}, 0, 5, 0},
			{queue.Filter{Repository: "o/1"}, 0, 3, 0},
			{queue.Filter{Repository: "o/1", Installation: "1"}, 0, 1, 0},
			{queue.Filter{Repository: "o/1"}, 1, 1, 2},
			{queue.Filter{Repository: "o/9"}, 0, 0, 0},
			{queue.Filter{States: []queue.State{queue.Dead}}, 0, 0, 0},
		} {
			found, left, err := f.Find(f.ctx(), tt.filter, tt.limit)
			f.ok(err)
			if len(found) != tt.found || left != tt.left {
				f.t.Errorf("%+v, at most %d: found %d and left %d, want %d and %d", tt.filter, tt.limit, len(found), left, tt.found, tt.left)
			}
		}
		if _, _, err := f.Find(f.ctx(), queue.Filter{States: []queue.State{"lost"}}, 0); err == nil {
			f.t.Error("a state that is none was taken")
		}
	},
}
