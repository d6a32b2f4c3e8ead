package backlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"culprit/bench/figures"
	"culprit/bench/redisserver"
	"culprit/queue"
)

// A claimed job, as its handler saw it.
type claimed struct {
	group    string
	fence    int64 // numbers claims in their order, in microseconds of Redis' clock
	enqueued int64 // by the same clock
}

// Fairness lets one repository have 10,000 waiting jobs, enqueues single jobs of
// others while workers work, and counts the jobs of the large group that were
// claimed between a single job's coming and its claim.
func Fairness(ctx context.Context, w io.Writer, fsync string) error {
	const large, singles = 10_000, 40
	table := figures.Table{
		Title:  fmt.Sprintf("Jobs of a group with %s waiting that were claimed before another group's new job (%d tries; must be at most 1 per worker)", figures.Count(large), singles),
		Header: []string{"workers", "the other group is of", "most", "in all", "must be at most", "ms until claimed p50", "max"},
	}
	for _, workers := range []int{1, 4, 16} {
		for _, same := range []bool{false, true} {
			most, sum, waited, err := overtaken(ctx, fsync, workers, large, singles, same)
			if err != nil {
				return err
			}
			of := "another installation"
			if same {
				of = "the same installation"
			}
			p := waited.Percentiles(50, 100)
			table.Row(workers, of, most, sum, workers, figures.Ms(p[0]), figures.Ms(p[1]))
			if most > workers {
				defer fmt.Fprintf(w, "\nNOT HELD: %d jobs with %d workers.\n", most, workers)
			}
		}
	}
	table.Print(w)
	return nil
}

func overtaken(ctx context.Context, fsync string, workers, large, singles int, same bool) (most, sum int, waited *figures.Latencies, err error) {
	server, err := redisserver.Start(ctx, fsync)
	if err != nil {
		return 0, 0, nil, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	rdb := server.Client()
	defer rdb.Close()
	// With limits the large group would hold one slot at most, and delay nobody.
	q, err := queue.Open(ctx, queue.Options{Redis: rdb, Limits: queue.Limits{Repository: -1, Installation: -1}})
	if err != nil {
		return 0, 0, nil, err
	}
	if err := fill(ctx, q, large, func(int) int { return 0 }); err != nil {
		return 0, 0, nil, err
	}

	var mu sync.Mutex
	var all []claimed
	came := make(chan struct{}, singles)
	pool, err := queue.NewPool(q, queue.PoolOptions{Slots: workers, Handler: queue.HandlerFunc(func(_ context.Context, c *queue.Claim) queue.Outcome {
		mu.Lock()
		all = append(all, claimed{group: c.Repository, fence: c.Fence, enqueued: c.EnqueuedAt.UnixMicro()})
		mu.Unlock()
		if c.Repository != job(0, 0).Repository {
			came <- struct{}{}
		}
		time.Sleep(5 * time.Millisecond) // its work
		return queue.Finished("")
	})})
	if err != nil {
		return 0, 0, nil, err
	}
	working, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- pool.Run(working) }()
	for n := range singles {
		single := job(large+n, 1+n)
		single.Installation = fmt.Sprint(1 + n)
		if same {
			single.Installation = job(0, 0).Installation
		}
		if _, err = q.Enqueue(ctx, single); err != nil {
			break
		}
		select {
		case <-came:
		case <-time.After(30 * time.Second):
			err = errors.New("another group's job was not claimed within 30 s")
		}
		if err != nil {
			break
		}
	}
	stop()
	if err = errors.Join(err, <-ended); err != nil {
		return 0, 0, nil, err
	}
	waited = &figures.Latencies{}
	for _, s := range all {
		if s.group == job(0, 0).Repository {
			continue
		}
		before := 0
		for _, l := range all {
			if l.group == job(0, 0).Repository && l.fence > s.enqueued && l.fence < s.fence {
				before++
			}
		}
		most, sum = max(most, before), sum+before
		waited.Add(time.Duration(s.fence-s.enqueued) * time.Microsecond)
	}
	return most, sum, waited, nil
}
