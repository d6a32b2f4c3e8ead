package jobqueues

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"culprit/bench/redisserver"
)

// asynqSide is hibiken/asynq with its normal settings, or with those that its
// wiki and source offer for speed.
type asynqSide struct {
	unique bool // a task ID of the delivery and a uniqueness lock of an hour
	tuned  bool
}

func (s asynqSide) name() string {
	n := "asynq plain"
	if s.unique {
		n = "asynq unique"
	}
	if s.tuned {
		n += ", tuned"
	}
	return n
}

func (s asynqSide) open(_ context.Context, server *redisserver.Server, jobs int) (bench, error) {
	rdb := server.Client()
	b := &asynqBench{side: s, rdb: rdb, client: asynq.NewClientFromRedisClient(rdb), probe: newProbe(jobs, asynqOperation)}
	rdb.AddHook(b.probe)
	return b, nil
}

// asynqOperation tells asynq's scripts by their first key and number of keys
// (internal/rdb of v0.26.0).
func asynqOperation(cmd redis.Cmder) operation {
	args := cmd.Args()
	if (cmd.Name() != "evalsha" && cmd.Name() != "eval") || len(args) < 5 { // eval: the script's first call
		return other
	}
	keys, _ := args[2].(int)
	first, _ := args[3].(string)
	switch {
	case keys == 4 && strings.HasSuffix(first, ":pending"):
		return claim
	case (keys == 5 || keys == 6) && strings.HasSuffix(first, ":active"):
		return finish
	case keys == 2 && strings.Contains(first, ":t:"), keys == 3 && strings.Contains(first, ":unique:"):
		return enqueue
	}
	return other
}

type asynqBench struct {
	side   asynqSide
	rdb    *redis.Client
	client *asynq.Client
	probe  *probe
}

func (b *asynqBench) measured() *probe { return b.probe }

func (b *asynqBench) enqueue(ctx context.Context, n int) error {
	var opts []asynq.Option
	// Unique makes its key of type and payload, so the payload has to differ,
	// as it does in use.
	body := payload()
	copy(body, fmt.Sprintf("%012d", n))
	if b.side.unique {
		opts = append(opts, asynq.TaskID(fmt.Sprintf("72d3162e-cc78-11e3-81ab-%012d", n)), asynq.Unique(time.Hour))
	}
	_, err := b.client.EnqueueContext(ctx, asynq.NewTask("debug", body), opts...)
	return err
}

func (b *asynqBench) drain(ctx context.Context, processes, slots int) error {
	var servers []*asynq.Server
	defer func() {
		for _, s := range servers {
			s.Shutdown()
		}
	}()
	for range processes {
		// Its log of starting and stopping would stand between the tables; it
		// logs nothing per task.
		cfg := asynq.Config{Concurrency: slots / processes, LogLevel: asynq.ErrorLevel}
		if b.side.tuned {
			cfg.TaskCheckInterval = 10 * time.Millisecond // between polls of an empty queue (1 s)
			cfg.DelayedTaskCheckInterval = time.Minute    // (5 s)
			cfg.HealthCheckInterval = time.Minute         // (15 s)
			cfg.JanitorInterval = time.Hour               // (8 s)
		}
		s := asynq.NewServerFromRedisClient(b.rdb, cfg)
		if err := s.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { return nil })); err != nil {
			return err
		}
		servers = append(servers, s)
	}
	return wait(ctx, b.probe.done, nil)
}

func (b *asynqBench) close() error { return b.rdb.Close() }
