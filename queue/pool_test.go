package queue_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"culprit/queue"
	"culprit/queue/queuetest"
)

// A rig is a queue on an embedded Redis whose wire can be cut, or lose answers.
type rig struct {
	*queue.Queue
	t      *testing.T
	rdb    *redis.Client
	prefix string
	cut    atomic.Bool
	deaf   atomic.Bool
	other  *queue.Queue // by a wire of its own
}

func newRig(t *testing.T, lease time.Duration) *rig {
	t.Helper()
	r := &rig{t: t, prefix: queuetest.Prefix()}
	good := queuetest.Embedded(t)
	opts := *good.Options()
	opts.MaxRetries = -1
	opts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return &wire{Conn: conn, cut: &r.cut, deaf: &r.deaf}, err
	}
	r.rdb = redis.NewClient(&opts)
	t.Cleanup(func() { _ = r.rdb.Close() })
	q, err := queue.Open(t.Context(), queue.Options{Redis: r.rdb, Prefix: r.prefix, Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	r.Queue = q
	r.other, err = queue.Open(t.Context(), queue.Options{Redis: good, Prefix: r.prefix, Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A wire can be cut, and can lose the answers to a worker called deaf, whose
// claims then have been granted.
type wire struct {
	net.Conn
	cut, deaf *atomic.Bool
	asked     atomic.Bool // the last request was that worker's
}

func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if w.deaf.Load() && w.asked.Load() {
		_ = w.Close()
		return 0, errors.New("answer is lost")
	}
	return n, err
}

func (w *wire) Write(b []byte) (int, error) {
	if w.cut.Load() {
		return 0, errors.New("wire is cut")
	}
	w.asked.Store(bytes.Contains(b, []byte("deaf")))
	return w.Conn.Write(b)
}

// start runs a pool and returns how to end it and wait for what Run returned.
func (r *rig) start(opts queue.PoolOptions) (stop func() error) {
	r.t.Helper()
	p, err := queue.NewPool(r.Queue, opts)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() { result <- p.Run(ctx) }()
	stop = sync.OnceValue(func() error { cancel(); return <-result })
	r.t.Cleanup(func() { _ = stop() })
	return stop
}

func (r *rig) enqueue(j queue.Job) string {
	r.t.Helper()
	receipt, err := r.Enqueue(r.t.Context(), j)
	if err != nil {
		r.t.Fatal(err)
	}
	return receipt.ID
}

func (r *rig) state(id string, want queue.State) queue.Info {
	r.t.Helper()
	info, err := r.Show(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	if info.State != want {
		r.t.Fatalf("job is %s, want %s: %+v", info.State, want, info)
	}
	return info
}

// untilStopped is a handler that waits for its context.
func untilStopped(started chan<- string, cause chan<- error, out queue.Outcome) queue.HandlerFunc {
	return func(ctx context.Context, c *queue.Claim) queue.Outcome {
		started <- c.ID
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return out
	}
}

func TestPoolTurnsOutcomesIntoStates(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		handler queue.HandlerFunc
		want    queue.State
		reason  string
	}{
		"finished": {func(context.Context, *queue.Claim) queue.Outcome { return queue.Finished("ok") }, queue.Done, ""},
		"retry": {func(context.Context, *queue.Claim) queue.Outcome {
			return queue.RetryLater(errors.New("502"), time.Hour)
		}, queue.Retrying, "502"},
		"give up": {func(context.Context, *queue.Claim) queue.Outcome {
			return queue.GiveUp(errors.New("gone"))
		}, queue.Dead, "gone"},
		"snooze": {func(context.Context, *queue.Claim) queue.Outcome {
			return queue.SnoozeUntil(time.Now().Add(time.Hour), "asks")
		}, queue.Snoozed, "asks"},
		"panic, three times": {func(context.Context, *queue.Claim) queue.Outcome { panic("boom") }, queue.Dead, "boom"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, time.Minute)
			id := r.enqueue(queue.Job{})
			events := make(chan queue.Event, 100)
			stop := r.start(queue.PoolOptions{Handler: tc.handler, Observe: func(e queue.Event) { events <- e }})
			for e := range events {
				if e.Kind == queue.EventFinished && e.State == tc.want {
					break
				}
			}
			if err := stop(); err != nil {
				t.Fatal(err)
			}
			if info := r.state(id, tc.want); !strings.Contains(info.Reason, tc.reason) {
				t.Fatalf("reason %q, want %q", info.Reason, tc.reason)
			}
		})
	}
}

func TestPoolUsesItsSlotsAndNoMore(t *testing.T) {
	t.Parallel()
	r := newRig(t, time.Minute)
	const jobs, slots = 20, 3
	for range jobs {
		r.enqueue(queue.Job{})
	}
	var now, most, all atomic.Int64
	full, done := make(chan struct{}), make(chan struct{})
	stop := r.start(queue.PoolOptions{Slots: slots, Handler: queue.HandlerFunc(
		func(context.Context, *queue.Claim) queue.Outcome {
			n := now.Add(1)
			defer now.Add(-1)
			if n > most.Load() {
				most.Store(n)
			}
			if k := all.Add(1); k == slots {
				close(full)
			} else if k == jobs {
				close(done)
			}
			<-full // the first ones are there at the same time
			return queue.Finished("")
		})})
	<-done
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if most.Load() != slots {
		t.Fatalf("%d at the same time, want %d", most.Load(), slots)
	}
}

func TestPoolIsWokenByAJobAndStopsACancelledOne(t *testing.T) {
	t.Parallel()
	r := newRig(t, time.Hour) // no heartbeat comes by itself
	started, cause := make(chan string), make(chan error, 1)
	reported := make(chan queue.State, 1)
	stop := r.start(queue.PoolOptions{
		Poll:    time.Hour, // and no look
		Handler: untilStopped(started, cause, queue.RetryLater(errors.New("killed"), 0)),
		Report: func(_ context.Context, rep *queue.Report) error {
			reported <- rep.State
			return nil
		},
	})
	first := r.enqueue(queue.Job{Ref: "r", SHA: "1"})
	<-started
	second := r.enqueue(queue.Job{Ref: "r", SHA: "2"})
	if err := <-cause; !errors.Is(err, queue.ErrSuperseded) {
		t.Fatalf("cause %v", err)
	}
	if s := <-reported; s != queue.Superseded {
		t.Fatalf("reported %s", s)
	}
	r.state(first, queue.Superseded)
	<-started
	if _, err := r.Cancel(t.Context(), second, "/debug stop"); err != nil {
		t.Fatal(err)
	}
	if err := <-cause; !errors.Is(err, queue.ErrCancelled) {
		t.Fatalf("cause %v", err)
	}
	if s := <-reported; s != queue.Cancelled {
		t.Fatalf("reported %s", s)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

func TestPoolGivesBackAtShutdownFromTheCheckpoint(t *testing.T) {
	t.Parallel()
	r := newRig(t, time.Hour)
	id := r.enqueue(queue.Job{})
	started := make(chan struct{})
	stop := r.start(queue.PoolOptions{Handler: queue.HandlerFunc(
		func(ctx context.Context, c *queue.Claim) queue.Outcome {
			close(started)
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), queue.ErrShutdown) {
				t.Errorf("cause %v", context.Cause(ctx))
			}
			if _, err := c.Checkpoint(context.WithoutCancel(ctx), []byte("half"), 1); err != nil {
				t.Error(err)
			}
			return queue.GiveUp(ctx.Err()) // what a careless handler does with a cancelled context
		})})
	<-started
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	r.state(id, queue.Queued)
	c, err := r.Claim(t.Context(), "next")
	if err != nil || string(c.Resume) != "half" || c.Attempt != 1 || c.Crashes != 0 {
		t.Fatalf("got %+v, %v", c, err)
	}
}

func TestPoolGivesBackTheJobOfAHandlerThatHangs(t *testing.T) {
	t.Parallel()
	r := newRig(t, time.Hour)
	id := r.enqueue(queue.Job{})
	started, let := make(chan struct{}), make(chan struct{})
	returned := make(chan struct{})
	stop := r.start(queue.PoolOptions{ShutdownGrace: time.Millisecond, Handler: queue.HandlerFunc(
		func(context.Context, *queue.Claim) queue.Outcome {
			defer close(returned)
			close(started)
			<-let
			return queue.Finished("too late")
		})})
	<-started
	if err := stop(); err == nil || !strings.Contains(err.Error(), id) {
		t.Fatalf("got %v, want the job's name", err)
	}
	r.state(id, queue.Queued)
	close(let)
	<-returned
	r.state(id, queue.Queued)
}

func TestPoolStopsAJobThatAnotherWorkerTook(t *testing.T) {
	t.Parallel()
	r := newRig(t, 300*time.Millisecond)
	id := r.enqueue(queue.Job{})
	started, cause := make(chan string), make(chan error, 1)
	lost := make(chan queue.Event, 10)
	stop := r.start(queue.PoolOptions{
		Handler: untilStopped(started, cause, queue.Finished("published by a zombie")),
		Observe: func(e queue.Event) {
			if e.Kind == queue.EventLost {
				lost <- e
			}
		},
	})
	<-started
	if err := r.Pause(t.Context()); err != nil { // the pool shall not take it again
		t.Fatal(err)
	}
	// A reaper whose clock is ahead takes the job as if the worker had slept.
	later, err := queue.Open(t.Context(), queue.Options{
		Redis: r.rdb, Prefix: r.prefix, Now: func() time.Time { return time.Now().Add(time.Hour) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if recovered, _, err := later.Reap(t.Context()); err != nil || len(recovered) != 1 {
		t.Fatalf("reap: %v, %v", recovered, err)
	}
	if err := <-cause; !errors.Is(err, queue.ErrLost) {
		t.Fatalf("cause %v", err)
	}
	if e := <-lost; e.Job.ID != id {
		t.Fatalf("got %+v", e)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	r.state(id, queue.Queued)
}

func TestPoolTakesOverFromADeadWorker(t *testing.T) {
	t.Parallel()
	r := newRig(t, 200*time.Millisecond)
	id := r.enqueue(queue.Job{})
	dead, err := r.Claim(t.Context(), "dead")
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan *queue.Claim, 1)
	stop := r.start(queue.PoolOptions{Handler: queue.HandlerFunc(
		func(_ context.Context, c *queue.Claim) queue.Outcome {
			got <- c
			return queue.Finished("")
		})})
	c := <-got
	if c.ID != id || c.Crashes != 1 || c.Fence <= dead.Fence {
		t.Fatalf("got %+v", c)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if err := dead.Valid(t.Context()); !errors.Is(err, queue.ErrLost) {
		t.Fatalf("the dead worker may still publish: %v", err)
	}
}

func TestPoolKeepsItsJobWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100*time.Millisecond)
	id := r.enqueue(queue.Job{})
	started, goOn := make(chan *queue.Claim), make(chan struct{})
	finished := make(chan queue.Event, 1)
	stop := r.start(queue.PoolOptions{
		Handler: queue.HandlerFunc(func(ctx context.Context, c *queue.Claim) queue.Outcome {
			started <- c
			select {
			case <-goOn:
				return queue.Finished("kept")
			case <-ctx.Done():
				return queue.GiveUp(context.Cause(ctx))
			}
		}),
		Observe: func(e queue.Event) {
			if e.Kind == queue.EventFinished {
				finished <- e
			}
		},
	})
	c := <-started
	r.cut.Store(true)
	if err := c.Valid(t.Context()); err == nil || errors.Is(err, queue.ErrLost) {
		t.Fatalf("publishing while Redis is away: %v", err)
	}
	close(goOn) // it ends while Redis is away, and that is not lost
	r.cut.Store(false)
	if e := <-finished; e.State != queue.Done {
		t.Fatalf("got %+v", e)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if info := r.state(id, queue.Done); info.Crashes != 0 {
		t.Fatalf("%d crashes", info.Crashes)
	}
}

func TestPoolTellsEndsAndLeavesThemToOthersAtShutdown(t *testing.T) {
	t.Parallel()
	r := newRig(t, time.Hour)
	told := r.enqueue(queue.Job{})
	if _, err := r.Cancel(t.Context(), told, "stop"); err != nil {
		t.Fatal(err)
	}
	done, hangs := make(chan queue.Event, 1), make(chan struct{})
	stop := r.start(queue.PoolOptions{
		Handler: queue.HandlerFunc(func(context.Context, *queue.Claim) queue.Outcome { return queue.GiveBack() }),
		Report: func(ctx context.Context, rep *queue.Report) error {
			if rep.ID == told {
				return nil
			}
			close(hangs)
			<-ctx.Done()
			return fmt.Errorf("tell: %w", ctx.Err())
		},
		Observe: func(e queue.Event) {
			if e.Kind == queue.EventReported {
				done <- e
			}
		},
	})
	if e := <-done; e.Job.ID != told {
		t.Fatalf("got %+v", e)
	}
	if err := r.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	untold := r.enqueue(queue.Job{})
	if _, err := r.Cancel(t.Context(), untold, "stop"); err != nil {
		t.Fatal(err)
	}
	<-hangs
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	rep, err := r.TakeReport(t.Context())
	if err != nil || rep.ID != untold || rep.Try != 2 {
		t.Fatalf("got %+v, %v", rep, err)
	}
}

func TestPoolRefusesBadOptions(t *testing.T) {
	t.Parallel()
	r := newRig(t, time.Minute)
	for _, opts := range []queue.PoolOptions{{}, {Handler: queue.HandlerFunc(nil), Slots: -1}} {
		if _, err := queue.NewPool(r.Queue, opts); err == nil {
			t.Errorf("%+v: no error", opts)
		}
	}
}
