package queue

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"
)

// A Filter selects jobs for people. Empty fields match all.
type Filter struct {
	States       []State // in the order of the result; empty: all, as States has them
	Repository   string
	Installation string
}

// findBatch is how many jobs are read in one round trip.
const findBatch = 500

// Find returns up to limit of the selected jobs (0: all), those of one state
// together and in the order of List, and how many it left out. Each batch is read
// for itself: a job that changes meanwhile can be missed, and is never there
// twice.
func (q *Queue) Find(ctx context.Context, f Filter, limit int) (found []Info, left int, err error) {
	states := f.States
	if len(states) == 0 {
		states = States()
	}
	seen := map[string]bool{}
	for _, state := range states {
		if !state.valid() {
			return nil, 0, fmt.Errorf("find jobs: %q is not a state; there are %v", state, States())
		}
		ids, err := q.rdb.ZRangeArgs(ctx, redis.ZRangeArgs{
			Key: q.base + "state:" + string(state), Start: 0, Stop: -1, Rev: state.Ended(),
		}).Result()
		if err != nil {
			return nil, 0, fmt.Errorf("find jobs: list %s: %w", state, err)
		}
		for batch := range slices.Chunk(ids, findBatch) {
			if f.Repository == "" && f.Installation == "" && limit > 0 && len(found) >= limit {
				left += len(batch) // they match, and need not be read for that
				continue
			}
			infos, err := q.load(ctx, batch)
			if err != nil {
				return nil, 0, fmt.Errorf("find jobs: read %s: %w", state, err)
			}
			for _, info := range infos {
				switch {
				case seen[info.ID], f.Repository != "" && info.Repository != f.Repository, f.Installation != "" && info.Installation != f.Installation:
				case limit > 0 && len(found) >= limit:
					left++
				default:
					seen[info.ID] = true
					found = append(found, info)
				}
			}
		}
	}
	return found, left, nil
}
