package queue

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var (
	cancelScript = script("cancel", moving)
	retryScript  = script("retry", moving)
)

// Cancel calls a job off in any state: a waiting one ends now, a running one is
// asked to stop, an ended one stays as it is. It returns the state after;
// Running means that the worker was asked.
func (q *Queue) Cancel(ctx context.Context, id, reason string) (State, error) {
	got, err := q.run(ctx, cancelScript, id, clip(reason)).StringSlice()
	if err != nil {
		return "", fmt.Errorf("cancel job %s: %w", id, err)
	}
	if got[0] == "none" {
		return "", fmt.Errorf("cancel job %s: %w", id, ErrNotFound)
	}
	return State(got[2]), nil
}

// A Match selects jobs that have not ended. Empty fields match all; an empty
// Match selects nothing.
type Match struct {
	Key          string // /debug stop, a closed issue
	Ref          string // a deleted branch
	Repository   string // a deleted repository
	Installation string // an uninstalled App

	// AskedBefore spares jobs that were asked for at this time or later, so
	// that a call-off that comes late does not hit what people started after
	// it. A job into which others were merged counts as the latest of them.
	// Zero: spares none.
	AskedBefore time.Time
}

func (m Match) matches(j Job) bool {
	ok := func(want, have string) bool { return want == "" || want == have }
	if !m.AskedBefore.IsZero() && !j.Asked.Before(m.AskedBefore) {
		return false
	}
	m.AskedBefore = time.Time{}
	return m != Match{} && ok(m.Key, j.Key) && ok(m.Ref, j.Ref) &&
		ok(m.Repository, j.Repository) && ok(m.Installation, j.Installation)
}

// CancelMatching cancels the selected jobs and returns their IDs. Each is
// cancelled for itself: a job that comes while this goes on may be missed.
func (q *Queue) CancelMatching(ctx context.Context, m Match, reason string) ([]string, error) {
	var cancelled []string
	for _, state := range States() {
		if state.Ended() {
			continue
		}
		ids, err := q.rdb.ZRange(ctx, q.base+"state:"+string(state), 0, -1).Result()
		if err != nil {
			return cancelled, fmt.Errorf("cancel jobs: list %s: %w", state, err)
		}
		for len(ids) > 0 {
			batch := ids[:min(500, len(ids))]
			ids = ids[len(batch):]
			infos, err := q.load(ctx, batch)
			if err != nil {
				return cancelled, fmt.Errorf("cancel jobs: read %s: %w", state, err)
			}
			for _, info := range infos {
				if info.State.Ended() || !m.matches(info.Job) {
					continue
				}
				if _, err := q.Cancel(ctx, info.ID, reason); err != nil && !errors.Is(err, ErrNotFound) {
					return cancelled, err
				}
				cancelled = append(cancelled, info.ID)
			}
		}
	}
	return cancelled, nil
}

// Retry runs an ended job again, from its last checkpoint if that is still
// kept, with fresh counts of failures and crashes; a snoozed or retrying one is
// due now. A *StateError tells that it runs, or that another job is on the same.
func (q *Queue) Retry(ctx context.Context, id string) error {
	got, err := q.run(ctx, retryScript, id).StringSlice()
	if err != nil {
		return fmt.Errorf("retry job %s: %w", id, err)
	}
	switch got[0] {
	case "none":
		return fmt.Errorf("retry job %s: %w", id, ErrNotFound)
	case "state":
		return &StateError{Op: "retry", ID: id, State: State(got[1]), Why: got[2]}
	}
	return nil
}

// Pause stops all workers from claiming. Jobs are still taken in, and those
// that run go on.
func (q *Queue) Pause(ctx context.Context) error {
	if err := q.rdb.HSet(ctx, q.base+"index", "paused", 1).Err(); err != nil {
		return fmt.Errorf("pause queue: %w", err)
	}
	return nil
}

// Resume undoes Pause.
func (q *Queue) Resume(ctx context.Context) error {
	if err := q.rdb.HDel(ctx, q.base+"index", "paused").Err(); err != nil {
		return fmt.Errorf("resume queue: %w", err)
	}
	if err := q.rdb.Publish(ctx, q.base+"wake", "job").Err(); err != nil {
		return fmt.Errorf("resume queue: wake workers: %w", err)
	}
	return nil
}
