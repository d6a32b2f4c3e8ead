package queue_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"culprit/queue"
	"culprit/queue/queuetest"
)

// With noeviction a full Redis refuses what is new and keeps what it has.
func TestAFullRedisRefusesJobsAndLosesNone(t *testing.T) {
	t.Parallel()
	rdb := queuetest.Real(t, "--maxmemory", "4mb")
	clock := queuetest.NewClock()
	q, err := queue.Open(t.Context(), queue.Options{Redis: rdb, Limits: queue.Limits{Repository: -1, Installation: -1}, Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	enqueue := func(n int) error {
		_, err := q.Enqueue(t.Context(), queue.Job{Delivery: fmt.Sprint(n), Repository: fmt.Sprint("o/", n), Payload: make([]byte, 32<<10)})
		return err
	}
	if err := enqueue(0); err != nil {
		t.Fatal(err)
	}
	running, err := q.Claim(t.Context(), "w")
	if err != nil {
		t.Fatal(err)
	}
	taken := 1
	for ; taken < 1000; taken++ {
		if err = enqueue(taken); err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Fatalf("after %d jobs: %v", taken, err)
	}
	// Fuller still: whoever works is told nothing, as if Redis were away, and not
	// that it lost its job.
	if err := rdb.ConfigSet(t.Context(), "maxmemory", "1mb").Err(); err != nil {
		t.Fatal(err)
	}
	if err := running.Valid(t.Context()); err == nil || strings.Contains(err.Error(), queue.ErrLost.Error()) {
		t.Errorf("publishing on a full Redis: %v", err)
	}
	if _, err := q.Stats(t.Context()); err != nil {
		t.Errorf("a full Redis does not tell how it stands: %v", err)
	}
	if err := rdb.ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	if err := running.Complete(t.Context(), ""); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if err := enqueue(taken); err != nil {
		t.Errorf("the refused delivery, again: %v", err)
	}
	clock.Advance(time.Minute)
	s, err := q.Stats(t.Context())
	if err != nil || s.Depth[queue.Queued] != taken || s.Depth[queue.Done] != 1 {
		t.Errorf("%v: %v, want %d queued and 1 done", err, s.Depth, taken)
	}
	for range taken {
		c, err := q.Claim(t.Context(), "w")
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Complete(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
}
