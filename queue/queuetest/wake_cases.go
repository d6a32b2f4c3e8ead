package queuetest

import (
	"slices"

	"culprit/queue"
)

// wakeCases are about messages that bring workers a job at once. Nothing depends
// on them, but without one a job waits for the next look.
var wakeCases = map[string]func(*fixture){
	"a job that may run at once wakes workers, one behind it does not": func(f *fixture) {
		f.enqueue(queue.Job{Repository: "1/a", Installation: "1"})
		f.woken(true)
		f.enqueue(queue.Job{Repository: "1/a", Installation: "1"})
		f.woken(false)
		f.claim()
		f.woken(false) // the repository is full
	},
	"a full repository with room again wakes workers": func(f *fixture) {
		f.enqueue(queue.Job{Repository: "1/a", Installation: "1"})
		f.enqueue(queue.Job{Repository: "1/a", Installation: "1"})
		c := f.claim()
		f.woken(true)
		f.ok(c.Complete(f.ctx(), ""))
		f.woken(true)
	},
	// The job that ends is the last of its repository, so that nothing but the
	// installation comes back into the line.
	"a full installation with room again wakes workers": func(f *fixture) {
		f.opts.Limits = queue.Limits{Installation: 1}
		f.reopen()
		for _, end := range []func(*queue.Claim) error{
			func(c *queue.Claim) error { return c.Complete(f.ctx(), "") },
			func(c *queue.Claim) error {
				_, err := c.Fail(f.ctx(), nil, queue.Permanent, 0)
				return err
			},
			func(c *queue.Claim) error {
				_, err := c.Snooze(f.ctx(), f.clock.Now().Add(minute), "")
				return err
			},
		} {
			f.enqueue(queue.Job{Repository: "1/a", Installation: "1"})
			c := f.claim()
			f.enqueue(queue.Job{Repository: "1/b", Installation: "1"})
			f.woken(true)
			f.ok(end(c))
			f.woken(true)
			f.ok(f.claim().Complete(f.ctx(), ""))
			f.woken(false)
		}
	},
	"a full queue with room again wakes workers": func(f *fixture) {
		f.opts.Limits = queue.Limits{Total: 1}
		f.reopen()
		f.enqueue(queue.Job{Repository: "1/a", Installation: "1"})
		c := f.claim()
		f.enqueue(queue.Job{Repository: "2/a", Installation: "2"})
		f.woken(true)
		f.ok2(c.Release(f.ctx()))
		f.woken(true)
	},
	"an end that nobody told wakes those who tell": func(f *fixture) {
		r := f.enqueue(queue.Job{})
		f.ok2(f.Cancel(f.ctx(), r.ID, "stop"))
		if heard := f.heard(); !slices.Contains(heard, "report") {
			f.t.Fatalf("heard %q", heard)
		}
	},
	"the worker of a job that is called off is told": func(f *fixture) {
		r := f.enqueue(queue.Job{})
		f.claim()
		f.ok2(f.Cancel(f.ctx(), r.ID, "stop"))
		if heard := f.heard(); !slices.Contains(heard, "stop "+r.ID) {
			f.t.Fatalf("heard %q", heard)
		}
	},
}
