package queue_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"culprit/queue"
	"culprit/queue/queuetest"
)

// loseClaim lets the server give a job to the pool without the pool hearing it.
func (r *rig) loseClaim() (id string) {
	r.t.Helper()
	if err := r.other.Pause(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.other.Claim(r.t.Context(), "loads the script"); !errors.Is(err, queue.ErrEmpty) {
		r.t.Fatal(err)
	}
	r.deaf.Store(true)
	if err := r.other.Resume(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	receipt, err := r.other.Enqueue(r.t.Context(), queue.Job{})
	if err != nil {
		r.t.Fatal(err)
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 60_000 {
		info, err := r.other.Show(r.t.Context(), receipt.ID)
		if err != nil {
			r.t.Fatal(err)
		}
		if info.State == queue.Running {
			return receipt.ID
		}
		<-tick.C
	}
	r.t.Fatal("the pool never claimed")
	return ""
}

func TestPoolGetsAJobWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	r := newRig(t, time.Hour) // no reaper brings it back
	got := make(chan *queue.Claim, 2)
	stop := r.start(queue.PoolOptions{Worker: "deaf", Poll: time.Millisecond, Handler: queue.HandlerFunc(
		func(_ context.Context, c *queue.Claim) queue.Outcome {
			got <- c
			return queue.Finished("")
		})})
	id := r.loseClaim()
	r.deaf.Store(false)
	if c := <-got; c.ID != id || c.Crashes != 0 {
		t.Fatalf("got %+v", c)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	r.state(id, queue.Done)
}

func TestPoolGivesBackAJobWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	r := newRig(t, time.Hour)
	stop := r.start(queue.PoolOptions{Worker: "deaf", Poll: time.Millisecond, Handler: queue.HandlerFunc(
		func(context.Context, *queue.Claim) queue.Outcome { return queue.Finished("") })})
	id := r.loseClaim()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	r.deaf.Store(false)
	r.state(id, queue.Queued)
}

// One call completes a job and claims the next; its answer is lost.
func TestPoolWhoseAnswerWasLostCompletesOnceAndGetsTheNextJob(t *testing.T) {
	t.Parallel()
	r := newRig(t, time.Hour) // no reaper brings it back
	got, goOn := make(chan *queue.Claim, 3), make(chan struct{}, 2)
	stop := r.start(queue.PoolOptions{Worker: "deaf", Poll: time.Millisecond, Handler: queue.HandlerFunc(
		func(_ context.Context, c *queue.Claim) queue.Outcome {
			got <- c
			<-goOn
			return queue.Finished(c.ID)
		})})
	first := r.enqueue(queue.Job{})
	<-got
	second := r.enqueue(queue.Job{})
	r.deaf.Store(true)
	goOn <- struct{}{}
	queuetest.Eventually(t, "the second job is given out", func() bool { return state(t, r.other, second).State == queue.Running })
	r.deaf.Store(false)
	goOn <- struct{}{}
	if c := <-got; c.ID != second || c.Crashes != 0 {
		t.Fatalf("got %+v", c)
	}
	queuetest.Eventually(t, "it ends", func() bool { return state(t, r.other, second).State == queue.Done })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{first, second} {
		if info := r.state(id, queue.Done); info.Summary != id || info.Crashes != 0 {
			t.Errorf("got %+v", info)
		}
	}
	if s, err := r.Stats(t.Context()); err != nil || s.Totals["done"] != 2 || s.Totals["claimed"] != 2 {
		t.Errorf("%v, %v", s.Totals, err)
	}
}

func TestPoolsShareAQueue(t *testing.T) {
	t.Parallel()
	q, err := queue.Open(t.Context(), queue.Options{Redis: queuetest.Real(t)})
	if err != nil {
		t.Fatal(err)
	}
	const jobs, repos = 120, 9
	var mu sync.Mutex
	runs, busy := map[string]int{}, map[string]int{}
	done := make(chan struct{})
	handler := queue.HandlerFunc(func(ctx context.Context, c *queue.Claim) queue.Outcome {
		mu.Lock()
		runs[c.ID]++
		busy[c.Repository]++
		if busy[c.Repository] > 1 {
			t.Errorf("two jobs of %s at once", c.Repository)
		}
		if runs[c.ID] == 1 && len(runs) == jobs {
			close(done)
		}
		mu.Unlock()
		_, err := c.Checkpoint(context.WithoutCancel(ctx), []byte("half"), 1)
		mu.Lock()
		busy[c.Repository]--
		mu.Unlock()
		if err != nil {
			t.Error(err)
		}
		return queue.Finished("")
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var pools sync.WaitGroup
	for range 3 {
		p, err := queue.NewPool(q, queue.PoolOptions{Slots: 4, Handler: handler})
		if err != nil {
			t.Fatal(err)
		}
		pools.Go(func() {
			if err := p.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	for n := range jobs {
		if _, err := q.Enqueue(t.Context(), queue.Job{
			Repository: fmt.Sprint("o/", n%repos), Installation: fmt.Sprint(n % 3),
		}); err != nil {
			t.Fatal(err)
		}
	}
	<-done
	cancel()
	pools.Wait()
	for id, n := range runs {
		if n != 1 {
			t.Errorf("job %s ran %d times", id, n)
		}
	}
}
