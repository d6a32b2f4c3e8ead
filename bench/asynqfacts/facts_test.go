package asynqfacts

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"culprit/bench/redisserver"
	"culprit/internal/requiretest"
)

const patience = 20 * time.Second

// world is a Redis with asynq's client and inspector on it.
type world struct {
	rdb     *redis.Client
	addr    string
	client  *asynq.Client
	inspect *asynq.Inspector
}

func newWorld(t *testing.T) *world {
	t.Helper()
	requiretest.Program(t, "redis-server")
	s, err := redisserver.Start(t.Context(), "everysec")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	rdb := s.Client()
	t.Cleanup(func() { _ = rdb.Close() })
	return &world{
		rdb: rdb, addr: s.Addr,
		client: asynq.NewClientFromRedisClient(rdb), inspect: asynq.NewInspectorFromRedisClient(rdb),
	}
}

// config has the normal settings but for intervals of polling, which would
// only make the tests slower.
func config(onError func()) asynq.Config {
	return asynq.Config{
		Concurrency: 1, LogLevel: asynq.FatalLevel,
		TaskCheckInterval: 20 * time.Millisecond, DelayedTaskCheckInterval: 50 * time.Millisecond,
		RetryDelayFunc:  func(int, error, *asynq.Task) time.Duration { return 50 * time.Millisecond },
		ShutdownTimeout: time.Millisecond,
		ErrorHandler:    asynq.ErrorHandlerFunc(func(context.Context, *asynq.Task, error) { onError() }),
	}
}

func (w *world) serve(t *testing.T, cfg asynq.Config, handle asynq.HandlerFunc) {
	t.Helper()
	s := asynq.NewServerFromRedisClient(w.rdb, cfg)
	if err := s.Start(handle); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
}

func (w *world) enqueue(t *testing.T, id string, opts ...asynq.Option) {
	t.Helper()
	if _, err := w.client.Enqueue(asynq.NewTask("debug", []byte(id)), append(opts, asynq.TaskID(id))...); err != nil {
		t.Fatal(err)
	}
}

func (w *world) task(t *testing.T, id string) *asynq.TaskInfo {
	t.Helper()
	info, err := w.inspect.GetTaskInfo("default", id)
	if err != nil {
		t.Fatalf("look at task %s: %v", id, err)
	}
	return info
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	limit := time.After(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-limit:
			t.Fatalf("not within %v: %s", patience, what)
		case <-tick.C:
		}
	}
}

// A worker process for the tests that kill one: this test binary again.
func TestMain(m *testing.M) {
	if addr := os.Getenv("ASYNQFACTS_WORKER"); addr != "" {
		s := asynq.NewServer(asynq.RedisClientOpt{Addr: addr}, config(func() {}))
		if err := s.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { select {} })); err != nil {
			panic(err)
		}
		select {} // until it is killed
	}
	os.Exit(m.Run())
}

// killWorkerOf starts a worker process, waits until it has the task, kills it
// with SIGKILL, and lets the lease that it leaves be long over.
func (w *world) killWorkerOf(t *testing.T, id string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "ASYNQFACTS_WORKER="+w.addr)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Signal(syscall.SIGKILL) }()
	eventually(t, "the worker process takes the task", func() bool {
		return w.task(t, id).State == asynq.TaskStateActive
	})
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	past := float64(time.Now().Add(-5 * time.Minute).Unix())
	n, err := w.rdb.ZAddArgs(t.Context(), leases, redis.ZAddArgs{XX: true, Ch: true, Members: []redis.Z{{Score: past, Member: id}}}).Result()
	if err != nil || n != 1 {
		t.Fatalf("set the lease back: %d changed, %v", n, err)
	}
}

const leases = "asynq:{default}:lease"

func TestSlotIsFreedOnTimeoutWhileTheHandlerStillRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	var inside, most atomic.Int32
	w.enqueue(t, "hangs", asynq.Timeout(time.Second), asynq.MaxRetry(0))
	w.enqueue(t, "next", asynq.MaxRetry(0))
	w.serve(t, config(func() {}), func(_ context.Context, _ *asynq.Task) error {
		most.Store(max(most.Load(), inside.Add(1)))
		defer inside.Add(-1)
		<-release // as a handler that waits for a child process does
		return nil
	})
	eventually(t, "with Concurrency 1 two handlers run at the same time", func() bool { return most.Load() == 2 })
}

func TestCrashSpendsARetry(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.enqueue(t, "job", asynq.MaxRetry(1))
	w.killWorkerOf(t, "job")
	retried := make(chan int, 1)
	w.serve(t, config(func() {}), func(ctx context.Context, _ *asynq.Task) error {
		n, _ := asynq.GetRetryCount(ctx)
		retried <- n
		return nil
	})
	select {
	case n := <-retried:
		if n != 1 {
			t.Errorf("after one crash and no failure the retry count is %d; asynq used to count the crash", n)
		}
	case <-time.After(patience):
		t.Fatal("the task did not come back")
	}
}

func TestLastCrashArchivesWithoutTellingTheErrorHandler(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var told atomic.Int32
	w.enqueue(t, "job", asynq.MaxRetry(0))
	w.killWorkerOf(t, "job")
	w.serve(t, config(func() { told.Add(1) }), func(context.Context, *asynq.Task) error {
		return errors.New("fails")
	})
	eventually(t, "the task is archived", func() bool { return w.task(t, "job").State == asynq.TaskStateArchived })
	if err := w.task(t, "job").LastErr; !strings.Contains(err, "lease expired") {
		t.Errorf("archived for another reason: %s", err)
	}
	// A failure that comes after it is told, so the handler does work.
	w.enqueue(t, "fails", asynq.MaxRetry(0))
	eventually(t, "a failure is told", func() bool { return told.Load() > 0 })
	if n := told.Load(); n != 1 {
		t.Errorf("the error handler was called %d times, want 1: for the failure, not for the crash", n)
	}
}

func TestActiveTaskWithoutLeaseIsNeverRecovered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.enqueue(t, "no-lease", asynq.MaxRetry(5))
	w.killWorkerOf(t, "no-lease")
	if n, err := w.rdb.ZRem(t.Context(), leases, "no-lease").Result(); err != nil || n != 1 {
		t.Fatalf("remove the lease: %d removed, %v", n, err)
	}
	w.enqueue(t, "with-lease", asynq.MaxRetry(5))
	w.killWorkerOf(t, "with-lease")

	handled := make(chan string, 10)
	w.serve(t, config(func() {}), func(_ context.Context, task *asynq.Task) error {
		handled <- string(task.Payload())
		return nil
	})
	select {
	case id := <-handled: // the recoverer has looked at everything by then
		if id != "with-lease" {
			t.Fatalf("%s was recovered; asynq used to look at leases only", id)
		}
	case <-time.After(patience):
		t.Fatal("the task with a lease did not come back either")
	}
	if s := w.task(t, "no-lease").State; s != asynq.TaskStateActive {
		t.Errorf("the task without a lease is %v, want active for ever", s)
	}
}
