package queue_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"culprit/queue"
	"culprit/queue/connect"
	"culprit/queue/queuetest"
)

// server starts a Redis that can be hurt, and a client as the product makes it.
func server(t *testing.T, args ...string) (*queuetest.Process, redis.UniversalClient) {
	t.Helper()
	p := queuetest.StartProcess(t, append([]string{"--port", "0", "--save", ""}, args...)...)
	rdb, err := connect.Open(connect.Address{Kind: connect.Single, Path: p.Socket}, connect.Files{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	return p, rdb
}

func openQueue(t *testing.T, opts queue.Options) *queue.Queue {
	t.Helper()
	q, err := queue.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// runPool runs a pool until stop is called, which waits for its end.
func runPool(t *testing.T, q *queue.Queue, opts queue.PoolOptions) (stop func()) {
	t.Helper()
	p, err := queue.NewPool(q, opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func state(t *testing.T, q *queue.Queue, id string) queue.Info {
	t.Helper()
	info, err := q.Show(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// Redis is away for longer than a lease, once hung and once killed. Two workers
// come back; neither takes the other's job for a dead worker's.
func TestAnAbsenceOfRedisLongerThanTheLeaseCostsNoJobItsWorker(t *testing.T) {
	t.Parallel()
	const lease = time.Second
	for name, away := range map[string]func(*queuetest.Process) (back func()){
		"hung":   func(p *queuetest.Process) func() { p.Hang(); return p.Go },
		"killed": func(p *queuetest.Process) func() { p.Kill(); return p.Start },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, rdb := server(t, "--appendonly", "yes", "--appendfsync", "always")
			q := openQueue(t, queue.Options{Redis: rdb, Lease: lease})
			started, goOn := make(chan *queue.Claim, 2), make(chan struct{})
			handler := queue.HandlerFunc(func(ctx context.Context, c *queue.Claim) queue.Outcome {
				started <- c
				select {
				case <-goOn:
					return queue.Finished("")
				case <-ctx.Done():
					t.Errorf("job %s was stopped: %v", c.ID, context.Cause(ctx))
					return queue.GiveBack()
				}
			})
			var ids []string
			for range 2 {
				r, err := q.Enqueue(t.Context(), queue.Job{})
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, r.ID)
				runPool(t, q, queue.PoolOptions{Handler: handler, Poll: 20 * time.Millisecond})
				<-started
			}
			back := away(p)
			lasted := time.NewTimer(2 * lease)
			<-lasted.C
			back()
			// All have had the time to take what they would take.
			for _, id := range ids {
				was := state(t, q, id)
				queuetest.Eventually(t, "the lease is renewed twice", func() bool {
					return state(t, q, id).DueAt.After(was.DueAt.Add(lease / 2))
				})
			}
			close(goOn)
			for _, id := range ids {
				queuetest.Eventually(t, "the job ends", func() bool { return state(t, q, id).State.Ended() })
				if info := state(t, q, id); info.State != queue.Done || info.Crashes != 0 {
					t.Errorf("job %s is %s after %d crashes", id, info.State, info.Crashes)
				}
			}
		})
	}
}

func TestAPoolStopsItsJobWhenRedisStaysAwayAndGoesOnWithItLater(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100*time.Millisecond)
	id := r.enqueue(queue.Job{})
	started, stopped, goOn := make(chan int, 9), make(chan error, 9), make(chan struct{})
	stop := r.start(queue.PoolOptions{
		RedisGrace: 50 * time.Millisecond, Poll: 5 * time.Millisecond,
		Handler: queue.HandlerFunc(func(ctx context.Context, c *queue.Claim) queue.Outcome {
			started <- c.Crashes
			select {
			case <-goOn:
				return queue.Finished("")
			case <-ctx.Done():
				stopped <- context.Cause(ctx)
				return queue.Finished("not published: Valid was refused")
			}
		}),
	})
	<-started
	r.cut.Store(true)
	if err := <-stopped; !errors.Is(err, queue.ErrLost) {
		t.Errorf("stopped by %v", err)
	}
	r.cut.Store(false)
	close(goOn)
	<-started
	queuetest.Eventually(t, "the job ends", func() bool { return state(t, r.other, id).State == queue.Done })
	if err := stop(); err != nil {
		t.Error(err)
	}
	r.state(id, queue.Done)
}

// A server comes back with what it had some time before, as after a failover
// whose replica lagged. Whatever was done since is undone; nothing may stick:
// each job that is left ends, no claim of the lost time counts, and a lost job
// is taken again when its delivery comes again.
func TestNothingSticksAfterAFailoverThatLostTheLastWrites(t *testing.T) {
	t.Parallel()
	p, rdb := server(t)
	q := openQueue(t, queue.Options{
		Redis: rdb, Lease: 200 * time.Millisecond, Limits: queue.Limits{Repository: 1, Installation: 2},
		Backoff: queue.Backoff{Base: time.Millisecond, Max: time.Millisecond},
	})
	job := func(n int) queue.Job {
		return queue.Job{
			Delivery: fmt.Sprint("guid-", n), Key: fmt.Sprint("key-", n), Ref: fmt.Sprint("o/r@", n), SHA: "1",
			Repository: fmt.Sprint("o/", n%3), Installation: "1",
		}
	}
	enqueue := func(n int) queue.Receipt {
		t.Helper()
		r, err := q.Enqueue(t.Context(), job(n))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	claim := func() *queue.Claim {
		t.Helper()
		c, err := q.Claim(t.Context(), "w")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for n := range 8 {
		enqueue(n)
	}
	held := claim() // before the moment that is kept, and ended after it
	snoozed := claim()
	if _, err := snoozed.Snooze(t.Context(), time.Now().Add(time.Millisecond), ""); err != nil {
		t.Fatal(err)
	}
	if err := rdb.Do(t.Context(), "SAVE").Err(); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(filepath.Join(p.Dir, "dump.rdb"))
	if err != nil {
		t.Fatal(err)
	}

	// All kinds of things happen, and are lost.
	if err := held.Complete(t.Context(), "published"); err != nil {
		t.Fatal(err)
	}
	var zombies []*queue.Claim
	for range 2 {
		c := claim()
		if _, err := c.Checkpoint(t.Context(), []byte("far"), 7); err != nil {
			t.Fatal(err)
		}
		zombies = append(zombies, c)
	}
	if _, err := zombies[0].Fail(t.Context(), errors.New("x"), queue.Permanent, 0); err != nil {
		t.Fatal(err)
	}
	lost := enqueue(100)
	moved := job(3)
	moved.Delivery, moved.Key, moved.SHA = "guid-newer", "key-newer", "2"
	if _, err := q.Enqueue(t.Context(), moved); err != nil {
		t.Fatal(err)
	}
	p.Kill()
	if err := os.WriteFile(filepath.Join(p.Dir, "dump.rdb"), old, 0o600); err != nil {
		t.Fatal(err)
	}
	p.Start()

	queuetest.Eventually(t, "the old state is there", func() bool {
		_, err := q.Show(t.Context(), lost.ID)
		return errors.Is(err, queue.ErrNotFound)
	})
	for _, z := range zombies {
		if err := z.Valid(t.Context()); !errors.Is(err, queue.ErrLost) {
			t.Errorf("a claim of the lost time counts: %v", err)
		}
	}
	if r := enqueue(100); r.Outcome != queue.Enqueued {
		t.Errorf("a delivery whose job was lost is a %s", r.Outcome)
	}
	if r := enqueue(1); r.Outcome != queue.Duplicate {
		t.Errorf("a delivery from before is %s", r.Outcome)
	}
	var mu sync.Mutex
	newest := max(held.Fence, zombies[1].Fence)
	stop := runPool(t, q, queue.PoolOptions{Slots: 4, Poll: 10 * time.Millisecond, Handler: queue.HandlerFunc(
		func(ctx context.Context, c *queue.Claim) queue.Outcome {
			mu.Lock()
			defer mu.Unlock()
			if c.Fence <= newest {
				t.Errorf("fence %d was given out in the lost time, up to %d", c.Fence, newest)
			}
			if c.Resume != nil {
				t.Errorf("a checkpoint of the lost time is there")
			}
			return queue.Finished("")
		})})
	queuetest.Eventually(t, "all end", func() bool {
		s, err := q.Stats(t.Context())
		return err == nil && s.Depth[queue.Done] == 9 && s.ToReport == 0
	})
	stop()
	if info := state(t, q, held.ID); info.Crashes != 1 {
		t.Errorf("the job that was completed in the lost time had %d crashes, want 1: its worker is gone", info.Crashes)
	}
}
