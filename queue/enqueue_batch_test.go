package queue_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"testing"
	"time"

	"culprit/queue"
	"culprit/queue/queuetest"
)

// Redis hangs while many jobs come: two of them are on their way, all others go
// together when it goes on, and who gave up meanwhile is told at once.
func TestJobsThatComeTogetherGoTogetherAndAreEachAnswered(t *testing.T) {
	t.Parallel()
	p, rdb := server(t)
	q := openQueue(t, queue.Options{Redis: rdb})
	if _, err := q.Enqueue(t.Context(), queue.Job{}); err != nil { // loads the script
		t.Fatal(err)
	}
	before := scriptCalls(t, p)
	p.Hang()
	const jobs = 60
	var mu sync.Mutex
	outcomes, ids := map[queue.EnqueueOutcome]int{}, map[string]int{}
	var coming sync.WaitGroup
	come := func(n int) {
		coming.Go(func() {
			r, err := q.Enqueue(context.Background(), queue.Job{Delivery: fmt.Sprint("guid-", n), Key: fmt.Sprint("key-", n/2)})
			if err != nil {
				t.Errorf("job %d: %v", n, err)
			}
			mu.Lock()
			defer mu.Unlock()
			outcomes[r.Outcome]++
			ids[r.ID]++
		})
	}
	come(0)
	come(1)
	queuetest.Eventually(t, "two calls are under way", func() bool { calls, _ := q.Enqueueing(); return calls == 2 })
	for n := 2; n < jobs; n++ {
		come(n)
	}
	queuetest.Eventually(t, "the others wait", func() bool { _, waiting := q.Enqueueing(); return waiting == jobs-2 })
	hurried, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := q.Enqueue(hurried, queue.Job{Key: "hurried"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("who gave up got %v", err)
	}
	p.Go()
	coming.Wait()
	if outcomes[queue.Enqueued] != jobs/2 || outcomes[queue.Merged] != jobs/2 || len(ids) != jobs/2 {
		t.Errorf("got %v for %d jobs", outcomes, len(ids))
	}
	for id, n := range ids {
		if n != 2 {
			t.Errorf("job %s was answered to %d", id, n)
		}
	}
	queuetest.Eventually(t, "no call is left", func() bool { calls, waiting := q.Enqueueing(); return calls == 0 && waiting == 0 })
	// 2 alone, 58 and perhaps the hurried one by 32 at most; a connection that
	// hung may have sent its call again.
	if n := scriptCalls(t, p) - before; n > 8 {
		t.Errorf("%d calls for %d jobs", n, jobs)
	}
}

var evalshaCalls = regexp.MustCompile(`cmdstat_evalsha:calls=(\d+)`)

// scriptCalls is how many scripts the server ran.
func scriptCalls(t *testing.T, p *queuetest.Process) int {
	t.Helper()
	info, err := p.Client().Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if m := evalshaCalls.FindStringSubmatch(info); m != nil {
		_, _ = fmt.Sscan(m[1], &n)
	}
	return n
}

// A job that Redis refuses does not take others down that come with it.
func TestAJobThatRedisRefusesHarmsNoOtherThatComesWithIt(t *testing.T) {
	t.Parallel()
	p, rdb := server(t)
	q := openQueue(t, queue.Options{Redis: rdb})
	if _, err := q.Enqueue(t.Context(), queue.Job{}); err != nil {
		t.Fatal(err)
	}
	// The line of one repository is not what it must be.
	if err := p.Client().Set(t.Context(), "{culprit}:ready:1\to/broken", "x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	p.Hang()
	var coming sync.WaitGroup
	for n := range 12 {
		coming.Go(func() {
			repo := fmt.Sprint("o/", n)
			if n == 7 {
				repo = "o/broken"
			}
			_, err := q.Enqueue(context.Background(), queue.Job{Delivery: fmt.Sprint(n), Repository: repo, Installation: "1"})
			if (err != nil) != (n == 7) {
				t.Errorf("job %d: %v", n, err)
			}
		})
	}
	queuetest.Eventually(t, "all wait", func() bool { calls, waiting := q.Enqueueing(); return calls+waiting == 12 })
	p.Go()
	coming.Wait()
	if s, err := q.Stats(t.Context()); err != nil || s.Depth[queue.Queued] != 12 {
		t.Errorf("%v, %v; want 12 queued", s.Depth, err)
	}
}
