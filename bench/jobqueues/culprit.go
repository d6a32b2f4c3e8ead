package jobqueues

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"culprit/bench/redisserver"
	"culprit/queue"
)

// culpritSide is the product's queue. Its limits are off, since asynq has none:
// with one running job per repository a benchmark would measure the limit.
type culpritSide struct{}

func (culpritSide) name() string { return "culprit" }

func (culpritSide) open(ctx context.Context, server *redisserver.Server, jobs int) (bench, error) {
	rdb := server.Client()
	b := &culpritBench{rdb: rdb, shas: map[string]operation{}}
	q, err := queue.Open(ctx, queue.Options{Redis: rdb, Limits: queue.Limits{Repository: -1, Installation: -1}})
	if err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	b.q = q
	if err := b.learn(ctx); err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	b.probe = newProbe(jobs, func(cmd redis.Cmder) operation { return b.shas[scriptOf(cmd)] })
	rdb.AddHook(b.probe)
	return b, nil
}

type culpritBench struct {
	rdb   *redis.Client
	q     *queue.Queue
	shas  map[string]operation
	probe *probe
}

func scriptOf(cmd redis.Cmder) string {
	if cmd.Name() != "evalsha" {
		return ""
	}
	sha, _ := cmd.Args()[1].(string)
	return sha
}

// learn runs each operation once in a queue of its own and notes which script
// it calls: their names are the package's own business.
func (b *culpritBench) learn(ctx context.Context) error {
	rdb := redis.NewClient(b.rdb.Options())
	defer rdb.Close()
	var now operation
	rdb.AddHook(newProbe(0, func(cmd redis.Cmder) operation {
		if sha := scriptOf(cmd); sha != "" {
			b.shas[sha] = now
		}
		return other // nothing is measured yet
	}))
	q, err := queue.Open(ctx, queue.Options{Redis: rdb, Prefix: "learn"})
	if err != nil {
		return err
	}
	now = enqueue
	if _, err := q.Enqueue(ctx, queue.Job{Payload: []byte("x")}); err != nil {
		return err
	}
	// One script completes jobs and claims others; a pool does both in one call.
	now = claim
	_, err = q.Claim(ctx, "learn")
	return err
}

func (b *culpritBench) measured() *probe { return b.probe }

func (b *culpritBench) enqueue(ctx context.Context, n int) error {
	r, err := b.q.Enqueue(ctx, queue.Job{
		Delivery: fmt.Sprintf("72d3162e-cc78-11e3-81ab-%012d", n),
		Key:      fmt.Sprintf("octo/repo%d@%040d/ci", n%50, n),
		Ref:      fmt.Sprintf("octo/repo%d@refs/heads/branch-%d", n%50, n), SHA: fmt.Sprintf("%040d", n),
		Repository: fmt.Sprint("octo/repo", n%50), Installation: fmt.Sprint(n % 10),
		Payload: payload(),
	})
	if err == nil && r.Outcome != queue.Enqueued {
		return fmt.Errorf("job %d was %s", n, r.Outcome)
	}
	return err
}

// drain runs the given number of pools, which share the slots, until all jobs
// are finished.
func (b *culpritBench) drain(ctx context.Context, processes, slots int) error {
	ctx, stop := context.WithCancel(ctx)
	var pools sync.WaitGroup
	failed := make(chan error, processes)
	for range processes {
		pool, err := queue.NewPool(b.q, queue.PoolOptions{
			Slots: slots / processes,
			Observe: func(e queue.Event) {
				if e.Kind == queue.EventFinished {
					b.probe.finished()
				}
			},
			Handler: queue.HandlerFunc(func(context.Context, *queue.Claim) queue.Outcome { return queue.Finished("") }),
		})
		if err != nil {
			stop()
			return err
		}
		pools.Go(func() {
			if err := pool.Run(ctx); err != nil {
				failed <- err
			}
		})
	}
	err := wait(ctx, b.probe.done, failed)
	stop()
	pools.Wait()
	return err
}

func (b *culpritBench) close() error { return b.rdb.Close() }

// wait returns when all jobs are finished.
func wait(ctx context.Context, done <-chan struct{}, failed <-chan error) error {
	limit := time.NewTimer(2 * time.Minute)
	defer limit.Stop()
	select {
	case <-done:
		return nil
	case err := <-failed:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-limit.C:
		return errors.New("drain: jobs are left after two minutes")
	}
}
