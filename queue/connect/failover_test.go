package connect_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"culprit/queue"
	"culprit/queue/connect"
	"culprit/queue/queuetest"
)

// The master is killed while jobs run and others wait. Its replica takes over,
// and every job ends, each once.
func TestTheQueueGoesOnAfterASentinelFailover(t *testing.T) {
	t.Parallel()
	master, replica, sentinel := queuetest.FreePort(t), queuetest.FreePort(t), queuetest.FreePort(t)
	node := []string{"--bind", "127.0.0.1", "--save", "", "--requirepass", "pw", "--masterauth", "pw", "--repl-diskless-sync-delay", "0"}
	first := queuetest.StartProcess(t, append([]string{"--port", master}, node...)...)
	second := queuetest.StartProcess(t, append([]string{"--port", replica, "--replicaof", "127.0.0.1 " + master}, node...)...)
	conf := filepath.Join(t.TempDir(), "sentinel.conf") // it rewrites this file
	if err := os.WriteFile(conf, fmt.Appendf(nil, "port %s\nbind 127.0.0.1\nrequirepass sentinel-pw\nsentinel monitor main 127.0.0.1 %s 1\n"+
		"sentinel auth-pass main pw\nsentinel down-after-milliseconds main 500\nsentinel failover-timeout main 2000\n", sentinel, master), 0o600); err != nil {
		t.Fatal(err)
	}
	queuetest.StartProcess(t, conf, "--sentinel")
	admin := func(p *queuetest.Process) *redis.Client {
		c := redis.NewClient(&redis.Options{Network: "unix", Addr: p.Socket, Password: "pw"})
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	old, heir := admin(first), admin(second)
	watcher := redis.NewSentinelClient(&redis.Options{Addr: "127.0.0.1:" + sentinel, Password: "sentinel-pw"})
	t.Cleanup(func() { _ = watcher.Close() })
	queuetest.Eventually(t, "the Sentinel knows the replica", func() bool {
		replicas, err := watcher.Replicas(t.Context(), "main").Result()
		return err == nil && len(replicas) == 1 && replicas[0]["master-link-status"] == "ok"
	})

	rdb := open(t, "redis+sentinel://:pw@127.0.0.1:"+sentinel+"/main?sentinel_password=sentinel-pw", connect.Files{})
	q, err := queue.Open(t.Context(), queue.Options{Redis: rdb, Limits: queue.Limits{Repository: -1, Installation: -1}})
	if err != nil {
		t.Fatal(err)
	}
	const before, after = 6, 6
	goOn, running := make(chan struct{}), make(chan string, before)
	var mu sync.Mutex
	runs := map[string]int{}
	p, err := queue.NewPool(q, queue.PoolOptions{Slots: 2, Poll: 50 * time.Millisecond, Handler: queue.HandlerFunc(
		func(ctx context.Context, c *queue.Claim) queue.Outcome {
			mu.Lock()
			runs[c.ID]++
			mu.Unlock()
			running <- c.ID
			<-goOn
			return queue.Finished("")
		})})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	enqueue := func(n int, retry bool) {
		for i := range n {
			// A webhook that is answered 503 comes again, with its GUID.
			job := queue.Job{Delivery: fmt.Sprint(len(ids), "-", i)}
			queuetest.Eventually(t, "a job is taken", func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				r, err := q.Enqueue(ctx, job)
				if err != nil && !retry {
					t.Fatal(err)
				}
				if err == nil {
					ids = append(ids, r.ID)
				}
				return err == nil
			})
		}
	}
	enqueue(before, false)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	<-running
	<-running
	// What the replica has not got yet a failover may lose; here it has all.
	if n, err := old.Wait(t.Context(), 1, 20*time.Second).Result(); err != nil || n != 1 {
		t.Fatalf("the replica does not follow: %d, %v", n, err)
	}
	first.Kill()
	enqueue(after, true)
	close(goOn)
	go func() {
		for range running {
		}
	}()
	queuetest.Eventually(t, "all jobs end", func() bool {
		n, err := heir.ZCard(t.Context(), "{culprit}:state:done").Result()
		return err == nil && n == before+after
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	close(running)
	for _, id := range ids {
		info, err := q.Show(t.Context(), id)
		if err != nil || info.State != queue.Done || runs[id] != 1 || info.Crashes != 0 {
			t.Errorf("job %s ran %d times and is %+v, %v", id, runs[id], info, err)
		}
	}
}
