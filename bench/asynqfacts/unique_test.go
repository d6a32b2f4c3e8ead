package asynqfacts

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hibiken/asynq"
)

// archivedUnique enqueues a task with a uniqueness lock of an hour to a server
// on which every task fails for good, and waits until it is archived.
func (w *world) archivedUnique(t *testing.T) (task *asynq.Task, id string) {
	t.Helper()
	task = asynq.NewTask("debug", []byte("octo/repo@abc/ci"))
	info, err := w.client.Enqueue(task, asynq.Unique(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	w.serve(t, config(func() {}), func(context.Context, *asynq.Task) error {
		return fmt.Errorf("cannot work: %w", asynq.SkipRetry)
	})
	eventually(t, "the task has ended for good", func() bool {
		return w.task(t, info.ID).State == asynq.TaskStateArchived
	})
	return task, info.ID
}

func TestUniquenessLockHoldsOnAfterTheTaskHasEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	task, _ := w.archivedUnique(t)
	if _, err := w.client.Enqueue(task, asynq.Unique(time.Hour)); !errors.Is(err, asynq.ErrDuplicateTask) {
		t.Errorf("enqueue the same again: %v, want %v", err, asynq.ErrDuplicateTask)
	}
}

// The archive is trimmed to its newest tasks and by age with a script that
// removes the tasks and leaves their locks.
func TestUniquenessLockOutlivesATaskThatIsNoLongerThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	task, id := w.archivedUnique(t)
	// 91 days old: over the age at which the next archiving drops it.
	const archived = "asynq:{default}:archived"
	past := time.Now().AddDate(0, 0, -91).Unix()
	if err := w.rdb.Do(t.Context(), "ZADD", archived, "XX", past, id).Err(); err != nil {
		t.Fatal(err)
	}
	other, err := w.client.Enqueue(asynq.NewTask("debug", []byte("another")))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "another task is archived", func() bool {
		return w.task(t, other.ID).State == asynq.TaskStateArchived
	})
	if n, err := w.rdb.ZCard(t.Context(), archived).Result(); err != nil || n != 1 {
		t.Fatalf("%d archived tasks, %v; want only the newer one", n, err)
	}
	if _, err := w.client.Enqueue(task, asynq.Unique(time.Hour)); !errors.Is(err, asynq.ErrDuplicateTask) {
		t.Errorf("enqueue what is neither waiting, running nor archived: %v, want %v", err, asynq.ErrDuplicateTask)
	}
}

func TestUniquenessLockRunsOutWhileTheTaskWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t) // and nobody works
	task := asynq.NewTask("debug", []byte("octo/repo@abc/ci"))
	for range 2 {
		if _, err := w.client.Enqueue(task, asynq.Unique(time.Second)); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the lock runs out", func() bool {
			keys, err := w.rdb.Keys(t.Context(), "asynq:{default}:unique:*").Result()
			return err == nil && len(keys) == 0
		})
	}
	q, err := w.inspect.GetQueueInfo("default")
	if err != nil {
		t.Fatal(err)
	}
	if q.Pending != 2 {
		t.Errorf("%d tasks wait, want 2 of the same that was to be unique", q.Pending)
	}
}
