package queue

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// wakeups listens to what the scripts publish. Messages can be lost, so they
// only make things happen sooner.
type wakeups struct {
	sub    *redis.PubSub
	done   sync.WaitGroup
	job    chan struct{}
	report chan struct{}
}

// newWakeups subscribes; stop is called with the ID of a job whose worker is
// asked to stop. The client connects again by itself.
func newWakeups(ctx context.Context, q *Queue, stop func(id string)) *wakeups {
	w := &wakeups{
		sub: q.rdb.Subscribe(ctx, q.base+"wake"),
		job: make(chan struct{}, 1), report: make(chan struct{}, 1),
	}
	messages := w.sub.Channel()
	w.done.Go(func() {
		for m := range messages {
			switch id, isStop := strings.CutPrefix(m.Payload, "stop "); {
			case isStop:
				stop(id)
			case m.Payload == "report":
				ring(w.report)
			default:
				ring(w.job)
			}
		}
	})
	return w
}

func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default: // it rings already
	}
}

// waitReport returns when an end may be there to be told, after d, or when the
// context ends.
func (w *wakeups) waitReport(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-w.report:
	case <-t.C:
	}
}

// close ends the subscription and waits for its goroutine.
func (w *wakeups) close() {
	_ = w.sub.Close() // the connection is gone either way
	w.done.Wait()
}
