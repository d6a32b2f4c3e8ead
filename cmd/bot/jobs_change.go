package main

import (
	"errors"
	"fmt"

	"culprit/queue"
)

// changed is what became of one job, as --json prints it.
type changed struct {
	ID    string      `json:"id"`
	State queue.State `json:"state,omitempty"` // after
	Did   string      `json:"did,omitempty"`
	Error string      `json:"error,omitempty"`
}

// notEnded are the states in which there is something to cancel.
var notEnded = []queue.State{queue.Running, queue.Queued, queue.Retrying, queue.Snoozed}

func (j *jobsRun) retry() error {
	return j.change([]queue.State{queue.Dead}, func(q namedQueue, id string) (changed, error) {
		if err := q.Retry(j.ctx, id); err != nil {
			return changed{}, err
		}
		return changed{State: queue.Queued, Did: "queued again"}, nil
	})
}

func (j *jobsRun) cancel() error {
	return j.change(notEnded, func(q namedQueue, id string) (changed, error) {
		state, err := q.Cancel(j.ctx, id, j.flags.reason)
		switch {
		case err != nil:
			return changed{}, err
		case state == queue.Running:
			return changed{State: state, Did: "its worker is asked to stop"}, nil
		case state == queue.Cancelled:
			return changed{State: state, Did: "cancelled"}, nil
		}
		return changed{State: state, Did: "had ended before: " + string(state)}, nil
	})
}

// change does something to each of the given or selected jobs, and goes on
// after one to which it cannot be done.
func (j *jobsRun) change(states []queue.State, do func(q namedQueue, id string) (changed, error)) error {
	ids := j.ids
	if len(ids) == 0 {
		found, left, err := j.queues[0].Find(j.ctx, j.filter(states), j.flags.limit)
		if err != nil {
			return err
		}
		for _, info := range found {
			ids = append(ids, info.ID)
		}
		if len(found) == 0 {
			j.note("no job is selected")
		}
		if left > 0 {
			j.note("%d more are selected and left alone because of --limit", left)
		}
	}
	all := []changed{}
	for _, id := range ids {
		q, info, err := j.find(id)
		c := changed{State: info.State, Did: "would be changed"}
		if err == nil && !j.flags.dryRun {
			c, err = do(q, id)
		}
		c.ID = id
		var state *queue.StateError
		switch {
		case errors.Is(err, queue.ErrNotFound):
			c = changed{ID: id, Error: "there is no such job"}
		case errors.As(err, &state):
			c = changed{ID: id, State: state.State, Error: "not possible: it is " + string(state.State)}
			if state.Why != "" {
				c.Error += "; " + state.Why
			}
		case err != nil:
			return fmt.Errorf("%w (%d of %d jobs are done)", err, len(all), len(ids))
		}
		if c.Error != "" {
			j.code = exitUsage
		}
		all = append(all, c)
		switch {
		case j.flags.json:
		case c.Error != "":
			j.note("%s  %s", id, c.Error)
		case j.flags.dryRun:
			fmt.Fprintf(j.Stdout, "%s  is %s, %s\n", id, c.State, c.Did)
		default:
			fmt.Fprintf(j.Stdout, "%s  %s\n", id, c.Did)
		}
	}
	if j.flags.json {
		return printJSON(j.Stdout, all)
	}
	return nil
}
