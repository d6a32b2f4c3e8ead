package queue

import (
	"context"
	"fmt"
	"time"
)

var (
	reapScript    = script("reap", moving)
	purgeScript   = script("purge", moving)
	abandonScript = script("abandon", moving)
)

// reapBatch bounds how long one script holds Redis.
const reapBatch = 100

// Reap takes up to 100 jobs from workers whose lease ran out. Each lost lease
// is a crash: the job goes back into the line (recovered), or is buried when
// it crashed Options.MaxCrashes workers in a row (dead), or ends as it was asked to
// (also in dead; see its State). Ends are told by whoever calls TakeReport. Any
// number of workers may reap at any time.
//
// Reap takes what is expired now, also when nobody could renew because Redis was
// away. A Pool waits a lease in that case.
func (q *Queue) Reap(ctx context.Context) (recovered, dead []Info, err error) {
	return q.reap(ctx, 0)
}

// reap is Reap for one who comes at least three times in a lease.
func (q *Queue) reap(ctx context.Context, lease time.Duration) (recovered, dead []Info, err error) {
	rows, err := q.run(ctx, reapScript, q.opts.MaxCrashes, reapBatch, lease.Microseconds()).Slice()
	if err != nil {
		return nil, nil, fmt.Errorf("reap jobs: %w", err)
	}
	for _, row := range rows {
		info, err := parseRow(row)
		if err != nil {
			return recovered, dead, fmt.Errorf("reap jobs: %w", err)
		}
		if info.State.Ended() {
			dead = append(dead, info)
		} else {
			recovered = append(recovered, info)
		}
	}
	return recovered, dead, nil
}

// Abandon takes a job from the worker that claimed it with this fence and is
// known to be dead, as after a restart on the same machine, so that nobody
// waits for its lease. It is a crash, as in Reap. It returns Queued or Dead, or
// the state of a stop that was asked. ErrLost: that claim is over already.
func (q *Queue) Abandon(ctx context.Context, id string, fence int64) (State, error) {
	got, err := q.run(ctx, abandonScript, id, fence, q.opts.MaxCrashes).StringSlice()
	if err != nil {
		return "", fmt.Errorf("abandon claim of job %s: %w", id, err)
	}
	if got[0] == "lost" {
		return "", fmt.Errorf("abandon claim of job %s: %w", id, ErrLost)
	}
	return State(got[1]), nil
}

// Purge forgets up to 100 jobs of each state that ended longer ago than they
// are kept, and checkpoints likewise. It returns how many jobs it forgot.
func (q *Queue) Purge(ctx context.Context) (int, error) {
	n, err := q.run(ctx, purgeScript,
		q.opts.KeepEnded.Microseconds(), q.opts.KeepCheckpoints.Microseconds(), reapBatch).Int()
	if err != nil {
		return 0, fmt.Errorf("purge ended jobs: %w", err)
	}
	return n, nil
}

func parseRow(row any) (Info, error) {
	fields, ok := row.([]any)
	if !ok {
		return Info{}, fmt.Errorf("read job: got %T", row)
	}
	flat := make([]string, len(fields))
	for i, f := range fields {
		if flat[i], ok = f.(string); !ok {
			return Info{}, fmt.Errorf("read job: field %d is %T", i, f)
		}
	}
	return parseInfo(flat)
}
