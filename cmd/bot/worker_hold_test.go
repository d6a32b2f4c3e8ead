package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"culprit/internal/config"
	"culprit/internal/redact"
	"culprit/internal/session"
	"culprit/queue"
	"culprit/queue/embedded"
)

// heldWorker is a worker with a queue and a data folder, and nothing else.
func heldWorker(t *testing.T) *worker {
	t.Helper()
	server, err := embedded.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	q, err := queue.Open(t.Context(), queue.Options{Redis: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return &worker{cfg: config.Config{Data: t.TempDir(), RedisGrace: time.Minute}, queue: q, redactor: redact.New(), log: slog.New(slog.DiscardHandler), now: time.Now}
}

// claim enqueues a job about issue 1 and claims it.
func (w *worker) claim(t *testing.T) *queue.Claim {
	t.Helper()
	if _, err := w.queue.Enqueue(t.Context(), queue.Job{Key: "o/r#1", Repository: "o/r", Installation: "1", Payload: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	c, err := w.queue.Claim(t.Context(), "w")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// copyOf leaves the session of a claim on the machine, unfinished.
func (w *worker) copyOf(t *testing.T, c *queue.Claim, s *session.Session) string {
	t.Helper()
	folder, made, err := w.create(c, s)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	made.Attempt = c.Fence
	if err := errors.Join(keep(folder, c, c.Fence), (&checkpointed{folder, t.Context(), c, time.Minute}).Save(made)); err != nil {
		t.Fatal(err)
	}
	return folder.Dir()
}

// A restart of Redis costs a job time, not an attempt.
func TestAnAbsentRedisIsWaitedForAndAnAnswerIsNot(t *testing.T) {
	t.Parallel()
	away, calls := errors.New("connection refused"), 0
	if err := patiently(t.Context(), time.Minute, func(context.Context) error {
		if calls++; calls < 3 {
			return away
		}
		return nil
	}); err != nil || calls != 3 {
		t.Errorf("after %d calls: %v", calls, err)
	}
	for _, answer := range []error{queue.ErrLost, queue.ErrCancelled, queue.ErrSuperseded, queue.ErrTooLarge} {
		calls = 0
		if err := patiently(t.Context(), time.Minute, func(context.Context) error { calls++; return answer }); !errors.Is(err, answer) || calls != 1 {
			t.Errorf("%v is asked for %d times: %v", answer, calls, err)
		}
	}
	ctx, stop := context.WithCancelCause(t.Context())
	if err := patiently(ctx, time.Minute, func(context.Context) error { stop(queue.ErrShutdown); return away }); !errors.Is(err, queue.ErrShutdown) || !errors.Is(err, away) {
		t.Errorf("stopped while waiting: %v", err)
	}
}

// A session that another worker finished is not taken up again from the copy
// that a worker left when it died or lost its lease.
func TestACopyOfASessionThatEndedElsewhereIsNotTakenUp(t *testing.T) {
	t.Parallel()
	w := heldWorker(t)
	first := w.claim(t)
	dir := w.copyOf(t, first, &session.Session{Symptom: session.Symptom{Title: "Sums are wrong"}})
	if err := first.Complete(t.Context(), "done elsewhere"); err != nil {
		t.Fatal(err)
	}
	// The same issue again: a new job and a new session.
	second := w.claim(t)
	if folder, s, err := w.open(t.Context(), second); folder != nil || err != nil {
		t.Errorf("the new job goes on with session %v of the old one: %v", s, err)
	}
	torn := filepath.Join(filepath.Dir(dir), "20261130-debug-torn")
	if err := os.MkdirAll(filepath.Join(torn, "logs"), 0o755); err != nil {
		t.Fatal(err)
	}
	if n, err := w.requeue(t.Context()); n != 0 || err != nil {
		t.Errorf("%d sessions are taken up: %v", n, err)
	}
	for what, dir := range map[string]string{"the copy": dir, "a folder whose making was cut off": torn} {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s stays on the machine for ever", what)
		}
	}
}

// A paused worker saves its session after another one took over; when the job
// comes back to its machine, the later claim's state counts, whatever the
// clocks say.
func TestTheLaterClaimsStateGoesOn(t *testing.T) {
	t.Parallel()
	w := heldWorker(t)
	c := w.claim(t)
	now := time.Now().UTC()
	dir := w.copyOf(t, c, &session.Session{State: "investigate", UpdatedAt: now.Add(time.Hour)})
	if err := os.WriteFile(filepath.Join(dir, "wave-1.csv"), []byte("id\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Elsewhere it gets on.
	elsewhere := &worker{cfg: config.Config{Data: t.TempDir(), RedisGrace: time.Minute}, queue: w.queue, redactor: w.redactor, log: w.log, now: w.now}
	c, err := w.queue.Claim(t.Context(), "elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	folder, s, err := elsewhere.open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	s.Attempt, s.State, s.UpdatedAt = c.Fence, "publish", now
	if err := errors.Join((&checkpointed{folder, t.Context(), c, time.Minute}).Save(s), folder.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c, err = w.queue.Claim(t.Context(), "w"); err != nil {
		t.Fatal(err)
	}
	if folder, s, err = w.open(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if folder.Dir() != dir || s.State != "publish" {
		t.Errorf("goes on in %s at %q, want the later claim's publish", filepath.Base(folder.Dir()), s.State)
	}
	if _, err := folder.Read("wave-1.csv"); err == nil {
		t.Error("the table of the wave that was cut off stays")
	}
}

// A folder that another worker of the machine still has is no failure.
func TestAFolderInUseCostsNoAttempt(t *testing.T) {
	t.Parallel()
	w := heldWorker(t)
	c := w.claim(t)
	dir := w.copyOf(t, c, &session.Session{})
	busy, err := session.OpenFolder(dir, w.redactor.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	_, _, inUse := w.open(t.Context(), c)
	if !errors.Is(inUse, session.ErrBusy) {
		t.Fatalf("error is %v, want that it is in use", inUse)
	}
	pool, err := queue.NewPool(w.queue, queue.PoolOptions{Handler: queue.HandlerFunc(func(ctx context.Context, _ *queue.Claim) queue.Outcome {
		return w.outcome(ctx, "", inUse)
	})})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- pool.Run(ctx) }()
	var info queue.Info
	eventually(t, 20*time.Second, "the job waits", func() bool {
		info, _ = w.queue.Show(t.Context(), c.ID)
		return info.State == queue.Snoozed
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if info.Attempt != 0 {
		data, _ := json.Marshal(info)
		t.Errorf("it counts as a failure: %s", data)
	}
}
