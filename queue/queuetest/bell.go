package queuetest

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// A Bell hears what the scripts of a queue publish for its workers.
type Bell struct {
	rdb     redis.UniversalClient
	sub     *redis.PubSub
	channel string
	marks   int
}

// Listen hears the queue with this prefix from now on. The caller closes it.
func Listen(ctx context.Context, rdb redis.UniversalClient, prefix string) (*Bell, error) {
	b := &Bell{rdb: rdb, channel: "{" + prefix + "}:wake"}
	b.sub = rdb.Subscribe(ctx, b.channel)
	if _, err := b.sub.Receive(ctx); err != nil {
		return nil, fmt.Errorf("listen to the queue: %w", err)
	}
	return b, nil
}

// Heard returns what was published since the last call. Redis keeps the order of
// messages, so one of our own tells that those before it are there: no time is
// waited.
func (b *Bell) Heard(ctx context.Context) ([]string, error) {
	b.marks++
	mark := fmt.Sprint("mark ", b.marks)
	if err := b.rdb.Publish(ctx, b.channel, mark).Err(); err != nil {
		return nil, fmt.Errorf("mark what was heard: %w", err)
	}
	var heard []string
	for {
		m, err := b.sub.ReceiveMessage(ctx)
		if err != nil {
			return nil, fmt.Errorf("hear the queue: %w", err)
		}
		if m.Payload == mark {
			return heard, nil
		}
		heard = append(heard, m.Payload)
	}
}

// Close ends the subscription.
func (b *Bell) Close() error { return b.sub.Close() }
