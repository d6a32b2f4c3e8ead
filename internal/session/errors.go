package session

import "errors"

// ErrBudget means that the session may run nothing more: its run or time
// limit is reached. What is known by then is published.
var ErrBudget = errors.New("budget of the session is spent")

// UserError is an error that a person sees: what happened and what to do.
// Internals stay in Err and reach logs only.
type UserError struct {
	Code string // stable, kebab-case: "unknown-revision"
	What string // what happened, one sentence without a full stop
	Do   string // what to do about it
	Err  error
}

func (e *UserError) Error() string {
	if e.Do == "" {
		return e.What
	}
	return e.What + ": " + e.Do
}

func (e *UserError) Unwrap() error { return e.Err }
