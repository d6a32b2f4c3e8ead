// Package backlog measures the queue when much waits: what a claim takes and
// what a job costs in Redis' memory with 100,000 jobs in 1,000 groups, and how
// long a group with many jobs keeps another group's job waiting (GH4).
package backlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"culprit/bench/concurrently"
	"culprit/bench/figures"
	"culprit/bench/redisserver"
	"culprit/queue"
)

// Options of Measure.
type Options struct {
	Jobs, Groups int
	Claims       int // of them that are claimed and finished
	Fsync        string
}

const installations = 100

func job(n, group int) queue.Job {
	repo := fmt.Sprint("octo/repo", group)
	return queue.Job{
		Delivery: fmt.Sprintf("72d3162e-cc78-11e3-81ab-%012d", n), Key: fmt.Sprintf("%s@%040d/ci", repo, n),
		Ref: fmt.Sprintf("%s@refs/heads/branch-%d", repo, n), SHA: fmt.Sprintf("%040d", n),
		Repository: repo, Installation: fmt.Sprint(group % installations), Payload: make([]byte, 256),
	}
}

const producers = 16

// fill enqueues jobs by all producers.
func fill(ctx context.Context, q *queue.Queue, jobs int, group func(n int) int) error {
	return concurrently.Do(producers, jobs, func(_, n int) error {
		_, err := q.Enqueue(ctx, job(n, group(n)))
		return err
	})
}

// Measure fills the queue and prints what claims take and what jobs cost.
func Measure(ctx context.Context, w io.Writer, opts Options) (err error) {
	server, err := redisserver.Start(ctx, opts.Fsync)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	rdb := server.Client()
	defer rdb.Close()
	// Limits as they are by default, so that their cost is in the figures.
	q, err := queue.Open(ctx, queue.Options{Redis: rdb})
	if err != nil {
		return err
	}
	before, err := usedMemory(ctx, rdb)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := fill(ctx, q, opts.Jobs, func(n int) int { return n % opts.Groups }); err != nil {
		return err
	}
	took := time.Since(began)
	after, err := usedMemory(ctx, rdb)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s jobs of 256 bytes in %s groups of %d installations were enqueued at %s/s by %d producers.\n",
		figures.Count(opts.Jobs), figures.Count(opts.Groups), installations, figures.Rate(float64(opts.Jobs)/took.Seconds()), producers)
	fmt.Fprintf(w, "Redis' memory: %d bytes per job (used_memory). Append-only file: %d bytes per job.\n",
		(after-before)/opts.Jobs, server.FileSize()/int64(opts.Jobs))

	table := figures.Table{
		Title:  fmt.Sprintf("With %s jobs waiting, limits on (1 per repository, 4 per installation)", figures.Count(opts.Jobs)),
		Header: []string{"workers", "claims", "claim ms p50", "p99", "max", "complete ms p50", "p99"},
	}
	for _, workers := range []int{1, 16} {
		claims, ends, err := work(ctx, q, workers, opts.Claims)
		if err != nil {
			return err
		}
		c, e := claims.Percentiles(50, 99, 100), ends.Percentiles(50, 99)
		table.Row(workers, figures.Count(claims.Len()), figures.Ms(c[0]), figures.Ms(c[1]), figures.Ms(c[2]), figures.Ms(e[0]), figures.Ms(e[1]))
	}
	table.Print(w)
	return nil
}

// work claims and completes that many jobs.
func work(ctx context.Context, q *queue.Queue, workers, jobs int) (claims, ends *figures.Latencies, err error) {
	claims, ends = &figures.Latencies{}, &figures.Latencies{}
	err = concurrently.Do(workers, jobs, func(worker, _ int) error {
		began := time.Now()
		c, err := q.Claim(ctx, fmt.Sprint("worker", worker))
		if err != nil {
			return err
		}
		claims.Add(time.Since(began))
		began = time.Now()
		if err := c.Complete(ctx, ""); err != nil {
			return err
		}
		ends.Add(time.Since(began))
		return nil
	})
	return claims, ends, err
}

func usedMemory(ctx context.Context, rdb *redis.Client) (int, error) {
	info, err := rdb.Info(ctx, "memory").Result()
	if err != nil {
		return 0, fmt.Errorf("read Redis' memory: %w", err)
	}
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "used_memory:"); ok {
			return strconv.Atoi(v)
		}
	}
	return 0, errors.New("read Redis' memory: it does not tell used_memory")
}
