package queuetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"culprit/queue"
)

var prefixes atomic.Int64

// Prefix returns one that no other test of this process uses.
func Prefix() string { return fmt.Sprintf("test%d", prefixes.Add(1)) }

// fixture is a queue of its own with a clock that stands still.
type fixture struct {
	*queue.Queue
	t     *testing.T
	clock *Clock
	opts  queue.Options
	bell  *Bell
}

func newFixture(t *testing.T, rdb redis.UniversalClient) *fixture {
	t.Helper()
	f := &fixture{t: t, clock: NewClock()}
	f.opts = queue.Options{Redis: rdb, Prefix: Prefix(), Now: f.clock.Now}
	f.reopen()
	bell, err := Listen(t.Context(), rdb, f.opts.Prefix)
	f.ok(err)
	f.bell = bell
	t.Cleanup(func() { f.ok(bell.Close()) })
	return f
}

// reopen gives the queue the fixture's options.
func (f *fixture) reopen() {
	f.t.Helper()
	q, err := queue.Open(f.ctx(), f.opts)
	f.ok(err)
	f.Queue = q
}

// heard returns what was published since it was asked last.
func (f *fixture) heard() []string {
	f.t.Helper()
	heard, err := f.bell.Heard(f.ctx())
	f.ok(err)
	return heard
}

// woken checks whether workers were told of a job.
func (f *fixture) woken(want bool) {
	f.t.Helper()
	if heard := f.heard(); slices.Contains(heard, "job") != want {
		f.t.Fatalf("heard %q, want word of a job: %t", heard, want)
	}
}

func (f *fixture) ctx() context.Context { return f.t.Context() }

func (f *fixture) enqueue(j queue.Job) queue.Receipt {
	f.t.Helper()
	r, err := f.Enqueue(f.ctx(), j)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

func (f *fixture) claim() *queue.Claim {
	f.t.Helper()
	c, err := f.Claim(f.ctx(), "w")
	if err != nil {
		f.t.Fatalf("claim: %v", err)
	}
	return c
}

func (f *fixture) empty() {
	f.t.Helper()
	if c, err := f.Claim(f.ctx(), "w"); !errors.Is(err, queue.ErrEmpty) {
		f.t.Fatalf("claim: got %v, %v; want ErrEmpty", c, err)
	}
}

func (f *fixture) ok(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// ok2 is ok for operations that also answer something else.
func (f *fixture) ok2(_ any, err error) {
	f.t.Helper()
	f.ok(err)
}

func (f *fixture) is(err, want error) {
	f.t.Helper()
	if !errors.Is(err, want) {
		f.t.Fatalf("got error %v, want %v", err, want)
	}
}

func (f *fixture) show(id string) queue.Info {
	f.t.Helper()
	info, err := f.Show(f.ctx(), id)
	if err != nil {
		f.t.Fatal(err)
	}
	return info
}

func (f *fixture) state(id string, want queue.State) {
	f.t.Helper()
	if got := f.show(id).State; got != want {
		f.t.Fatalf("job %s is %s, want %s", id, got, want)
	}
}

func (f *fixture) reports(want ...string) {
	f.t.Helper()
	var got []string
	for {
		r, err := f.TakeReport(f.ctx())
		if errors.Is(err, queue.ErrEmpty) {
			break
		}
		f.ok(err)
		got = append(got, r.ID+" "+string(r.State))
		f.ok(r.Done(f.ctx()))
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		f.t.Fatalf("ends to report: got %q, want %q", got, want)
	}
}

// Run checks that a Redis carries a queue as it must.
func Run(t *testing.T, rdb redis.UniversalClient) {
	for _, group := range []map[string]func(*fixture){
		enqueueCases, leaseCases, endCases, controlCases, orderCases, findCases, lateCases, wakeCases, evictedCases,
	} {
		for name, check := range group {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				check(newFixture(t, rdb))
			})
		}
	}
}

const minute = time.Minute
