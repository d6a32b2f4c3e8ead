package jobqueues

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"culprit/bench/figures"
)

// A probe is a hook of the Redis client that measures calls by what they are.
type probe struct {
	classify func(cmd redis.Cmder) operation
	took     [operations]figures.Latencies
	jobs     atomic.Int64 // finished
	all      int64
	done     chan struct{} // closed when all are finished
	ended    time.Time     // when; to be read after done
}

type operation int

const (
	other operation = iota
	enqueue
	claim
	finish
	operations
)

func newProbe(jobs int, classify func(redis.Cmder) operation) *probe {
	return &probe{classify: classify, all: int64(jobs), done: make(chan struct{})}
}

func (p *probe) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (p *probe) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		op := p.classify(cmd)
		if op == other {
			return next(ctx, cmd)
		}
		began := time.Now()
		err := next(ctx, cmd)
		if err == nil || errors.Is(err, redis.Nil) {
			p.took[op].Add(time.Since(began))
		}
		if op == finish && err == nil {
			p.finished()
		}
		return err
	}
}

// finished counts one job.
func (p *probe) finished() {
	if p.jobs.Add(1) == p.all {
		p.ended = time.Now()
		close(p.done)
	}
}

func (p *probe) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
