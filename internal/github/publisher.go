package github

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"culprit/internal/session"
)

// PublisherConfig is what one session's publisher needs.
type PublisherConfig struct {
	Repo  *Repo
	Texts Texts
	// Push makes the fix branch; see Push. Nil: no fix is proposed.
	Push func(ctx context.Context, p Push) (commit string, err error)
	// Fence is asked before every write; its error ends publishing. A worker
	// that lost its lease is stopped by it. Nil: always allowed.
	Fence func(ctx context.Context) error
	// Hold is how long the fence's answer counts: a write that would be sent
	// later fails with ErrFenced. Clearly less than the lease. 0: no limit.
	Hold time.Duration
	// Existing: only what stands there already is brought up to date, and no
	// comment, check run or label is made.
	Existing bool

	Interval time.Duration // between two updates while the session runs (3 s)
	Label    string        // prefix of the labels that show the state ("debug")
	Logger   *slog.Logger
}

// Push asks for a branch with one commit. It must be idempotent: the same Push
// makes the same commit, a branch that has it already is left alone, and one
// that has other commits is an error and is never overwritten.
type Push struct {
	Branch string // without refs/heads/
	// Onto is the commit that the branch must stand at, which is Base then. A
	// branch that somebody moved meanwhile is left alone: no commit, no error.
	// Empty: there must be no such branch.
	Onto    string
	Base    string // commit that the patch applies to
	Patch   string // unified diff
	Message string
	Date    time.Time // of author and committer
}

// A Publisher shows one session on one repository. Its methods may be called
// by one goroutine at a time.
type Publisher struct {
	cfg   PublisherConfig
	log   *slog.Logger
	guard guard

	mu       sync.Mutex // also held by the delayed update
	comment  *posted    // nil: not looked for
	place    thread     // of comment
	check    *postedCheck
	label    string    // state label that is on the issue
	lastAt   time.Time // of the last update
	deferred deferred
}

// ErrFenced is wrapped by the error of a publisher whose worker may not
// publish any more.
var ErrFenced = errors.New("this worker may not publish any more")

// NewPublisher checks the configuration; it makes no call.
func NewPublisher(c PublisherConfig) (*Publisher, error) {
	if c.Repo == nil || c.Texts == nil {
		return nil, errors.New("set up publisher: no repository or no texts")
	}
	if c.Interval <= 0 {
		c.Interval = 3 * time.Second
	}
	if c.Label == "" {
		c.Label = "debug"
	}
	if c.Logger == nil {
		c.Logger = c.Repo.app.cfg.Logger
	}
	return &Publisher{cfg: c, log: c.Logger, guard: guard{now: c.Repo.app.now}}, nil
}

// Progress shows the state while the session runs: the comment on the issue or
// pull request, the check run on the commit, the label. Updates that come
// faster than Interval are put off; the last one is shown when the interval is
// over. What is not possible there (a locked issue) is left for Final.
func (p *Publisher) Progress(ctx context.Context, s *session.Session) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx = p.guard.with(ctx)
	v := p.render(s, false)
	if wait := p.cfg.Interval - p.cfg.Repo.app.now().Sub(p.lastAt); !p.lastAt.IsZero() && wait > 0 {
		p.putOff(ctx, v, wait)
		return nil
	}
	p.deferred.drop()
	err := p.show(ctx, v, &s.Published)
	p.lastAt = p.cfg.Repo.app.now()
	return err
}

// Final shows the end result, whatever was shown before. Where the session
// came from nothing that has a thread (red CI of a branch without pull
// request), the comment stands on the fix pull request or, without one, on the
// commit.
func (p *Publisher) Final(ctx context.Context, s *session.Session) error {
	p.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.show(p.guard.with(ctx), p.render(s, true), &s.Published)
}

// Close drops an update that was put off and waits for one that is under way.
// Final does it too.
func (p *Publisher) Close() {
	p.mu.Lock()
	p.deferred.drop()
	p.mu.Unlock()
	p.deferred.wait()
}

// show publishes a view. One part that fails does not keep the others from
// being tried, unless nothing can work any more.
func (p *Publisher) show(ctx context.Context, v view, pub *session.Published) error {
	var errs []error
	for _, part := range []func(context.Context, view, *session.Published) error{p.showComment, p.showCheck, p.showLabel} {
		err := part(ctx, v, pub)
		if err == nil {
			continue
		}
		err = p.cfg.Repo.ifGone(ctx, err)
		errs = append(errs, err)
		if errors.Is(err, ErrFenced) || errors.Is(err, ErrGone) || RetryAfter(err) > 0 || ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// allowed asks the fence.
func (p *Publisher) allowed(ctx context.Context) error {
	if p.cfg.Fence == nil {
		return nil
	}
	// An answer that was long in coming is old already: it is asked for once more.
	for tried := 1; ; tried++ {
		asked := p.guard.now()
		if err := p.cfg.Fence(ctx); err != nil {
			return fmt.Errorf("%w: %w", ErrFenced, err)
		}
		if p.cfg.Hold <= 0 {
			return nil
		}
		if tried == 2 || p.guard.now().Sub(asked) < p.cfg.Hold/2 {
			p.guard.allow(asked.Add(p.cfg.Hold))
			return nil
		}
	}
}

func (p *Publisher) redact(s string) string { return p.cfg.Repo.app.redact(s) }

// deferred is one update that waits for its time.
type deferred struct {
	view  view
	timer *time.Timer
	done  sync.WaitGroup
}

// putOff replaces the waiting update. It runs with the context of the call
// that came with it, so it ends with the job.
func (p *Publisher) putOff(ctx context.Context, v view, wait time.Duration) {
	d := &p.deferred
	d.view = v
	if d.timer != nil {
		return
	}
	d.done.Add(1)
	var t *time.Timer
	t = time.AfterFunc(wait, func() {
		defer d.done.Done()
		p.mu.Lock()
		defer p.mu.Unlock()
		if d.timer != t || ctx.Err() != nil {
			return
		}
		d.timer = nil
		var pub session.Published // IDs are known already; Progress notes new ones
		if err := p.show(ctx, d.view, &pub); err != nil {
			p.log.Warn("publish progress", "session", v.id, "error", err)
		}
		p.lastAt = p.cfg.Repo.app.now()
	})
	d.timer = t
}

// drop forgets the waiting update; the caller holds the lock.
func (d *deferred) drop() {
	if d.timer != nil && d.timer.Stop() {
		d.done.Done()
	}
	d.timer = nil
}

func (d *deferred) wait() { d.done.Wait() }
