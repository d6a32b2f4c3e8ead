package queue

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	unclaimScript   = script("unclaim", moving)
	heartbeatScript = script("heartbeat", leasing)
	failScript      = script("fail", moving)
	snoozeScript    = script("snooze", moving)
	releaseScript   = script("release", moving)
	crashScript     = script("crash", moving)
)

// A Claim is a job that a worker holds by a lease. It is safe for concurrent
// use. Each method presents the fencing number; ErrLost means that the lease is
// over and nothing was changed.
type Claim struct {
	Job
	Fence        int64  // higher than that of any earlier claim of any job
	Attempt      int    // from 1; failures count, crashes and releases do not
	Crashes      int    // earlier workers that died or lost the lease
	CrashesInRow int    // those of them since the work last made progress, see Checkpoint
	Resume       []byte // the last checkpoint; nil: none

	// EnqueuedAt and StartedAt are when the job came and was first claimed.
	EnqueuedAt, StartedAt time.Time
	// Waited is how long it stood in the line before this claim, not counting
	// earlier attempts and times in which it was not due.
	Waited time.Duration

	q      *Queue
	worker string
	token  string
}

// Claim leases the next job to the worker, whose name must be unique among
// running workers. ErrEmpty: none is due within its limits.
func (q *Queue) Claim(ctx context.Context, worker string) (*Claim, error) {
	token := rand.Text()
	c, _, err := q.claim(ctx, worker, token)
	return c, err
}

// claim is Claim with a token, see work. With ErrEmpty it returns how long until
// another job becomes due or a lease runs out; negative: nothing is known to.
func (q *Queue) claim(ctx context.Context, worker, token string) (*Claim, time.Duration, error) {
	got, err := q.work(ctx, worker, token, 1, nil)
	if err != nil {
		return nil, 0, fmt.Errorf("claim job: %w", err)
	}
	if len(got.claims) == 0 {
		return nil, got.wait, ErrEmpty
	}
	return got.claims[0], 0, nil
}

// unclaim gives back the jobs that a claim with this token may have taken.
func (q *Queue) unclaim(ctx context.Context, token string) error {
	if err := q.run(ctx, unclaimScript, token).Err(); err != nil {
		return fmt.Errorf("give back an unanswered claim: %w", err)
	}
	return nil
}

func (c *Claim) call(ctx context.Context, op string, s *redis.Script, args ...any) (string, error) {
	all := append([]any{c.ID, c.Fence, c.worker}, args...)
	got, err := c.q.run(ctx, s, all...).StringSlice()
	switch {
	case err != nil:
		return "", fmt.Errorf("%s job %s: %w", op, c.ID, err)
	case got[0] == "lost":
		return "", fmt.Errorf("%s job %s: %w", op, c.ID, ErrLost)
	}
	return got[1], nil
}

// Heartbeat renews the lease and returns what the worker is asked. SignalLost
// comes together with ErrLost; with any other error nothing is known.
func (c *Claim) Heartbeat(ctx context.Context) (Signal, error) {
	return c.Progress(ctx, "")
}

// Progress is a Heartbeat that leaves a line for `bot jobs show`.
func (c *Claim) Progress(ctx context.Context, line string) (Signal, error) {
	s, err := c.call(ctx, "renew lease of", heartbeatScript, c.q.opts.Lease.Microseconds(), clip(line))
	if isLost(err) {
		return SignalLost, err
	}
	return Signal(s), err
}

// Valid renews the lease and returns nil if the worker may publish now:
// ErrLost, ErrCancelled or ErrSuperseded if it must not. Call it right before
// each effect that others see.
func (c *Claim) Valid(ctx context.Context) error {
	s, err := c.Heartbeat(ctx)
	if err != nil {
		return err
	}
	if cause := s.cause(); cause != nil {
		return fmt.Errorf("check lease of job %s: %w", c.ID, cause)
	}
	return nil
}

// Complete ends the job after its result was published.
func (c *Claim) Complete(ctx context.Context, summary string) error {
	got, err := c.q.work(ctx, c.worker, "", 0, []completion{{claim: c, summary: summary}})
	if err == nil && got.lost[0] {
		err = ErrLost
	}
	if err != nil {
		return fmt.Errorf("complete job %s: %w", c.ID, err)
	}
	return nil
}

// Fail ends the attempt. Transient: the job is tried again after the backoff,
// and not before retryAfter, until Options.MaxAttempts buries it. It returns
// the job's new state: Retrying or Dead, or that of a stop that was asked.
func (c *Claim) Fail(ctx context.Context, cause error, kind FailureKind, retryAfter time.Duration) (State, error) {
	delay := int64(-1)
	if kind == Transient {
		delay = c.q.opts.Backoff.next(c.Attempt, retryAfter).Microseconds()
	}
	s, err := c.call(ctx, "fail", failScript, clip(errText(cause)), delay, c.q.opts.MaxAttempts)
	return State(s), err
}

// Snooze frees the worker until the given time without cost to the job. It
// returns Snoozed, or the state of a stop that was asked.
func (c *Claim) Snooze(ctx context.Context, until time.Time, why string) (State, error) {
	s, err := c.call(ctx, "snooze", snoozeScript, clip(why), until.UnixMicro())
	return State(s), err
}

// Release gives the job back to be claimed at once. It returns Queued, or the
// state of a stop that was asked: releasing is how a worker obeys a signal.
func (c *Claim) Release(ctx context.Context) (State, error) {
	s, err := c.call(ctx, "release", releaseScript)
	return State(s), err
}

// Crash gives the job back as Reap would have: the worker lives, but the
// handler panicked. It returns Queued or Dead, or the state of a stop.
func (c *Claim) Crash(ctx context.Context, why string) (State, error) {
	s, err := c.call(ctx, "give up crashed", crashScript, clip(why), c.q.opts.MaxCrashes)
	return State(s), err
}

// FailureKind decides whether a failure is worth another attempt.
type FailureKind int

// The kinds of failure.
const (
	Permanent FailureKind = iota // trying again cannot help
	Transient                    // GitHub 5xx, rate limit, Redis, clone
)

func (s Signal) cause() error {
	switch s {
	case SignalCancel:
		return ErrCancelled
	case SignalSuperseded:
		return ErrSuperseded
	case SignalLost:
		return ErrLost
	}
	return nil
}
