package jobqueues

import (
	"context"
	"net"

	"github.com/redis/go-redis/v9"
)

// A learner is a hook that sees each command.
type learner func(redis.Cmder)

func (l learner) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (l learner) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		l(cmd)
		return next(ctx, cmd)
	}
}

func (l learner) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
