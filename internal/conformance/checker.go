package conformance

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"culprit/internal/githubtest"
)

// Counts are what was held against the description.
type Counts struct {
	Requests, Answers, Payloads int
	Examples                    int // public payloads that were posted
	Violations                  int
}

// checker is the observer of one server. It checks in a goroutine of its own,
// so that nobody waits for it but the end of the test.
type checker struct {
	d *description
	// refusedMayBeWrong is for tests that send bad requests on purpose: a
	// request is checked only when it was accepted.
	refusedMayBeWrong bool

	mu      sync.Mutex
	wake    *sync.Cond
	waiting []func()
	closed  bool
	done    chan struct{}

	counts     Counts
	violations []string // each once
	seen       map[string]bool
}

var _ githubtest.Observer = (*checker)(nil)

func newChecker(d *description) *checker {
	c := &checker{d: d, done: make(chan struct{}), seen: map[string]bool{}}
	c.wake = sync.NewCond(&c.mu)
	go c.work()
	return c
}

// Exchanged queues a request and its answer for checking.
func (c *checker) Exchanged(e githubtest.Exchange) {
	c.add(func() {
		what := e.Method + " " + e.Path
		if e.Status < 400 || !c.refusedMayBeWrong {
			c.count(&c.counts.Requests, what, c.d.once(c.d.request, e, "request", e.Body))
		}
		if !e.Fault {
			c.count(&c.counts.Answers, what, c.d.once(c.d.answer, e, "answer", e.Answer))
		}
	})
}

// Sent queues a webhook payload for checking.
func (c *checker) Sent(event, action string, payload []byte) {
	c.add(func() { c.count(&c.counts.Payloads, "webhook "+event+" "+action, c.d.payload(event, action, payload)) })
}

func (c *checker) add(check func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, check)
	c.wake.Signal()
}

func (c *checker) work() {
	defer close(c.done)
	for {
		c.mu.Lock()
		for len(c.waiting) == 0 && !c.closed {
			c.wake.Wait()
		}
		if len(c.waiting) == 0 {
			c.mu.Unlock()
			return
		}
		check := c.waiting[0]
		c.waiting = c.waiting[1:]
		c.mu.Unlock()
		check()
	}
}

// count notes the result of one check. Only the worker calls it.
func (c *checker) count(n *int, what string, problems []string) {
	*n++
	c.counts.Violations += len(problems)
	for _, p := range problems {
		text := what + ": " + p
		if !c.seen[text] {
			c.seen[text] = true
			c.violations = append(c.violations, text)
		}
	}
}

// close checks what is waiting and returns the result.
func (c *checker) close() (Counts, []string) {
	c.mu.Lock()
	c.closed = true
	c.wake.Signal()
	c.mu.Unlock()
	<-c.done
	return c.counts, c.violations
}

// once answers from memory where the very same bytes were checked before, as
// when a client asks again and again whether something changed.
func (d *description) once(check func(githubtest.Exchange) []string, e githubtest.Exchange, kind string, body []byte) []string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%s\n%s\n%d\n%s\n", kind, e.Method, e.Route, e.Query, e.Status, e.AnswerHeader.Get("Content-Type"))
	if kind == "request" {
		fmt.Fprintf(h, "%v\n", e.Params)
	}
	h.Write(body)
	key := [sha256.Size]byte(h.Sum(nil))
	d.memory.Lock()
	problems, known := d.checked[key]
	d.memory.Unlock()
	if !known {
		problems = check(e)
		d.memory.Lock()
		d.checked[key] = problems
		d.memory.Unlock()
	}
	return problems
}
