package handlers_test

import (
	"net/http"
	"testing"
	"time"

	"culprit/handlers"
	"culprit/queue"
	"culprit/queue/connect"
	"culprit/queue/queuetest"
)

// A Redis that hangs, and one that is gone: the webhook is answered 503 while
// GitHub still waits, so that the delivery counts as failed and comes again. What
// the hung Redis did with it after all is not done twice.
func TestWhileRedisIsAwayWebhooksAreAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]func(*queuetest.Process) (back func()){
		"hung":   func(p *queuetest.Process) func() { p.Hang(); return p.Go },
		"killed": func(p *queuetest.Process) func() { p.Kill(); return p.Start },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := queuetest.StartProcess(t, "--port", "0", "--save", "", "--appendonly", "yes", "--appendfsync", "always")
			rdb, err := connect.Open(connect.Address{Kind: connect.Single, Path: p.Socket}, connect.Files{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = rdb.Close() })
			q, err := queue.Open(t.Context(), queue.Options{Redis: rdb})
			if err != nil {
				t.Fatal(err)
			}
			s := serve(t, q, func(c *handlers.Config) { c.Timeout = 300 * time.Millisecond })
			s.Client().Timeout = 10 * time.Second // GitHub's
			d := delivery{event: "issues", body: payload(t, "issues.labeled", nil)}
			back := away(p)
			for range 3 {
				if status, answer := post(t, s, d); status != http.StatusServiceUnavailable {
					t.Errorf("answer is %d %v", status, answer)
				}
			}
			back()
			queuetest.Eventually(t, "the delivery is taken when it comes again", func() bool {
				status, _ := post(t, s, d)
				return status == http.StatusAccepted
			})
			stats, err := q.Stats(t.Context())
			if err != nil || stats.Depth[queue.Queued] != 1 {
				t.Errorf("want one job of one delivery, got %+v, %v", stats, err)
			}
		})
	}
}
