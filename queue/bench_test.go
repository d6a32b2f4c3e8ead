package queue_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"culprit/queue"
	"culprit/queue/queuetest"
)

func benchQueue(b *testing.B) *queue.Queue {
	b.Helper()
	rdb := queuetest.Real(b, "--appendonly", "yes", "--appendfsync", "everysec")
	q, err := queue.Open(b.Context(), queue.Options{
		Redis: rdb, Limits: queue.Limits{Repository: -1, Installation: -1},
	})
	if err != nil {
		b.Fatal(err)
	}
	return q
}

func benchJob(n int) queue.Job {
	return queue.Job{
		Delivery: fmt.Sprintf("72d3162e-cc78-11e3-81ab-%012d", n), Key: fmt.Sprintf("octo/repo@%040d/run/%d", n, n),
		Ref: fmt.Sprintf("octo/repo@refs/heads/branch-%d", n), SHA: fmt.Sprintf("%040d", n),
		Repository: fmt.Sprint("octo/repo", n%50), Installation: fmt.Sprint(n % 10),
		Payload: make([]byte, 256),
	}
}

// each runs n calls of f by the given number of workers.
func each(b *testing.B, workers, n int, f func(i int) error) {
	b.Helper()
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				if err := f(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// One operation is a job that is enqueued, claimed and completed, with all of
// its deduplication, on a Redis that writes its append-only file.
func BenchmarkEnqueueClaimComplete(b *testing.B) {
	for _, workers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			q := benchQueue(b)
			ctx := context.Background()
			b.ResetTimer()
			each(b, workers, b.N, func(i int) error {
				if _, err := q.Enqueue(ctx, benchJob(i)); err != nil {
					return err
				}
				c, err := q.Claim(ctx, "w")
				if errors.Is(err, queue.ErrEmpty) {
					return nil // another worker took it for its own
				}
				if err != nil {
					return err
				}
				return c.Complete(ctx, "done")
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}

// One operation is a claim and a release while 100,000 jobs of 1,000
// repositories in 100 installations wait.
func BenchmarkClaimFromBacklog(b *testing.B) {
	q := benchQueue(b)
	ctx := context.Background()
	each(b, 16, 100_000, func(i int) error {
		j := benchJob(i)
		j.Repository, j.Installation = fmt.Sprint("octo/repo", i%1000), fmt.Sprint(i%100)
		_, err := q.Enqueue(ctx, j)
		return err
	})
	for b.Loop() { // which prepares the backlog once
		c, err := q.Claim(ctx, "w")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Release(ctx); err != nil {
			b.Fatal(err)
		}
	}
}
