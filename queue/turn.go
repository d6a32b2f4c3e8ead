package queue

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"time"
)

var (
	takeTurnScript = script("take_turn", aside)
	endTurnScript  = script("end_turn", aside)
)

// A Turn is the right to do a task that every process could do and one at a
// time should: it saves calls to GitHub, whose limits all share. It is held by a
// lease that is renewed, so a process that dies gives it up. A process that is
// paused beyond its lease may believe to have it still: what is done in a turn
// must be harmless when it is done twice.
type Turn struct {
	q            *Queue
	task, holder string
	lease        time.Duration
}

// TakeTurn takes the turn at a task, when it is due and nobody has it. atOnce
// takes it before it is due. Without error a nil Turn means to come back after
// the wait.
func (q *Queue) TakeTurn(ctx context.Context, task string, lease time.Duration, atOnce bool) (*Turn, time.Duration, error) {
	t := &Turn{q: q, task: task, holder: rand.Text(), lease: lease}
	wait, err := t.take(ctx, atOnce)
	if err != nil {
		return nil, 0, fmt.Errorf("take the turn at %s: %w", task, err)
	}
	if wait > 0 {
		return nil, wait, nil
	}
	return t, 0, nil
}

// Renew keeps the turn for another lease. ErrLost: another process has it.
func (t *Turn) Renew(ctx context.Context) error {
	wait, err := t.take(ctx, true)
	if err == nil && wait > 0 {
		err = ErrLost
	}
	if err != nil {
		return fmt.Errorf("keep the turn at %s: %w", t.task, err)
	}
	return nil
}

// End gives the turn back; the next is due after d.
func (t *Turn) End(ctx context.Context, d time.Duration) error {
	got, err := t.q.run(ctx, endTurnScript, t.task, t.holder, d.Microseconds()).StringSlice()
	if err == nil && got[0] == "lost" {
		err = ErrLost
	}
	if err != nil {
		return fmt.Errorf("end the turn at %s: %w", t.task, err)
	}
	return nil
}

// take returns how long to wait; 0 means that it is taken.
func (t *Turn) take(ctx context.Context, atOnce bool) (time.Duration, error) {
	now := 0
	if atOnce {
		now = 1
	}
	got, err := t.q.run(ctx, takeTurnScript, t.task, t.holder, t.lease.Microseconds(), now).StringSlice()
	if err != nil || got[0] == "taken" {
		return 0, err
	}
	us, err := strconv.ParseInt(got[1], 10, 64)
	return max(time.Duration(us)*time.Microsecond, time.Millisecond), err
}
