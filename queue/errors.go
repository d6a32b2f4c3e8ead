package queue

import (
	"errors"
	"fmt"
)

// Errors by which a caller decides.
var (
	// ErrEmpty: no job is due and within its limits right now.
	ErrEmpty = errors.New("no job is due")

	// ErrLost: the lease ran out or was given up, and the job may be another
	// worker's. Whatever presents a stale fencing number gets it; the caller
	// stops at once and publishes nothing.
	ErrLost = errors.New("job lease lost: another worker may have the job")

	// ErrCancelled and ErrSuperseded are the causes of a job's context that
	// ended because somebody called the job off or a newer SHA came.
	ErrCancelled  = errors.New("job cancelled")
	ErrSuperseded = errors.New("job superseded by a newer commit of its ref")

	// ErrShutdown is the cause of a job's context that ended because the
	// worker shuts down: checkpoint and return.
	ErrShutdown = errors.New("worker is shutting down")

	// ErrNotFound: no such job, or it ended longer ago than jobs are kept.
	ErrNotFound = errors.New("no such job")

	// ErrTooLarge: a payload or checkpoint is over its limit.
	ErrTooLarge = errors.New("too large")

	// ErrInvalid: a job that can never be enqueued.
	ErrInvalid = errors.New("invalid job")
)

// A StateError says that an operation does not apply to a job's present state.
type StateError struct {
	ID    string
	State State
	Op    string // the operation that was refused
	Why   string // what to do, or empty
}

func (e *StateError) Error() string {
	s := fmt.Sprintf("%s job %s: it is %s", e.Op, e.ID, e.State)
	if e.Why != "" {
		s += "; " + e.Why
	}
	return s
}
