package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"culprit/internal/checkout"
	"culprit/internal/github"
	"culprit/internal/session"
	"culprit/pipeline"
	"culprit/queue"
)

// A fate is what becomes of a job whose handling ended with an error (GH4).
type fate string

const (
	released fate = "released" // the lease or the permission to publish is gone: the queue knows what next
	moot     fate = "moot"     // what it was about is gone: done, and nobody is left to tell
	buried   fate = "buried"   // a person must change something, or the same will be refused again
	snoozed  fate = "snoozed"  // GitHub's limit: costs no attempt
	waits    fate = "waits"    // another worker of this machine still ends what it lost: costs no attempt
	retried  fate = "retried"  // anything else may pass: network, GitHub 5xx, Redis, clone, disk
)

// fates tells errors apart, in this order: an error can be several of them.
var fates = []struct {
	is   error
	fate fate
}{
	{github.ErrFenced, released},
	{queue.ErrLost, released},
	{queue.ErrCancelled, released},
	{queue.ErrSuperseded, released},
	{github.ErrGone, moot},
	{github.ErrForbidden, buried},
	{github.ErrRefused, buried},
	{github.ErrNotFound, buried},
	{checkout.ErrAccess, buried},
	{checkout.ErrUnknownRevision, buried},
	{checkout.ErrRejected, buried},
	{github.ErrTransient, retried},
	{session.ErrBusy, waits},
}

// fateOf says what becomes of a job that ended with err.
func fateOf(err error) fate {
	if github.RetryAfter(err) > 0 {
		return snoozed
	}
	for _, f := range fates {
		if errors.Is(err, f.is) {
			return f.fate
		}
	}
	if user := (*session.UserError)(nil); errors.As(err, &user) {
		return buried
	}
	return retried
}

// outcome maps an error to what the queue does with the job (GH4).
func (w *worker) outcome(ctx context.Context, summary string, err error) queue.Outcome {
	switch {
	case err == nil:
		return queue.Finished(summary)
	case ctx.Err() != nil:
		// Stopped from outside: the pool knows why, and what to do.
		return queue.GiveBack()
	}
	if wait := (*pipeline.WaitError)(nil); errors.As(err, &wait) {
		return queue.SnoozeUntil(wait.Until, wait.Error())
	}
	switch fateOf(err) {
	case released:
		return queue.GiveBack()
	case moot:
		return queue.Finished("the repository or installation is gone")
	case buried:
		return queue.GiveUp(err)
	case waits:
		return queue.SnoozeUntil(w.now().Add(busyWait), "another worker of the machine still has the session's folder")
	case snoozed:
		return queue.SnoozeUntil(w.now().Add(spread(github.RetryAfter(err), rand.Float64())), "GitHub's rate limit")
	}
	return queue.RetryLater(err, 0)
}

// busyWait is how long a job waits for a session folder that is in use.
const busyWait = 3 * time.Second

// spread lengthens a wait for a limit by up to a tenth and five seconds, so that
// the jobs that wait for the same moment do not meet there again. random is in
// [0, 1).
func spread(wait time.Duration, random float64) time.Duration {
	return wait + time.Duration(random*float64(wait/10+5*time.Second))
}
