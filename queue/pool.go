package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

// PoolOptions of a Pool. Zero values take the default in parentheses.
type PoolOptions struct {
	Handler Handler // required
	Slots   int     // jobs at the same time (1)

	// Worker names this process among all that ever ran (host, process ID and
	// a random part).
	Worker string

	// Report tells people the end of a job that no worker told. Its context
	// ends before another pool may take the report over; with an error it is
	// tried again later. It must be idempotent, and return nil when there is
	// nobody left to tell. Nil: this pool tells nobody.
	Report func(ctx context.Context, r *Report) error

	// ShutdownGrace is how long handlers have after Run's context ended (25 s,
	// within the 30 s of Kubernetes).
	ShutdownGrace time.Duration

	// RedisGrace is how long a job runs on while Redis does not answer (5 min).
	// It cannot publish meanwhile, since Claim.Valid fails.
	RedisGrace time.Duration

	// Poll is the longest time between two looks for a job when no message
	// comes (5 s). Messages bring jobs at once; looks make up for lost ones.
	Poll time.Duration

	Log     *slog.Logger // (none)
	Observe func(Event)  // for metrics, called from many goroutines (none)
}

// An Event is something that a Pool saw happen to a job.
type Event struct {
	Kind EventKind
	Job  Job
	// State after the event; for Lost it is unknown and empty.
	State State
	// Took is how long the handler ran; for Claimed, how long the job stood in
	// the line (Claim.Waited).
	Took time.Duration
	Err  error
}

// EventKind says what happened.
type EventKind string

// The kinds of events.
const (
	EventClaimed   EventKind = "claimed"
	EventFinished  EventKind = "finished"  // the handler returned, see State
	EventLost      EventKind = "lost"      // the lease was lost under the handler
	EventRecovered EventKind = "recovered" // taken from a silent worker
	EventReported  EventKind = "reported"  // an end was told
)

// A Pool runs a Handler on the jobs of a queue: it claims for free slots, renews
// leases, ends the context of a job that must stop, turns outcomes into states,
// reaps silent workers' jobs, tells ends, and on shutdown gives everything back.
// The handler uses Heartbeat, Progress, Checkpoint and Valid of its Claim; the
// methods that end a claim are the pool's.
type Pool struct {
	q    *Queue
	opts PoolOptions
	wake *wakeups

	ended  chan *ended   // jobs that are done, for take
	freed  chan struct{} // a slot is free by another end
	leaves chan struct{} // closed when take takes no more

	mu      sync.Mutex
	running map[string]*task
}

// A task is a claim that this pool works on.
type task struct {
	claim     *Claim
	log       *slog.Logger // says which job it is
	ctx       context.Context
	cancel    context.CancelCauseFunc
	poke      chan struct{} // renew the lease now
	began     time.Time
	abandoned bool // under Pool.mu: given back while its handler still ran
	freed     bool // take knows that the slot is free
}

// NewPool checks the options.
func NewPool(q *Queue, opts PoolOptions) (*Pool, error) {
	if opts.Handler == nil {
		return nil, errors.New("make worker pool: no handler given")
	}
	setDefault(&opts.Slots, 1)
	if opts.Slots < 0 {
		return nil, fmt.Errorf("make worker pool: %d slots; give at least 1", opts.Slots)
	}
	setDefault(&opts.ShutdownGrace, 25*time.Second)
	setDefault(&opts.RedisGrace, 5*time.Minute)
	setDefault(&opts.Poll, 5*time.Second)
	if opts.Worker == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown"
		}
		opts.Worker = fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:8])
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Observe == nil {
		opts.Observe = func(Event) {}
	}
	return &Pool{
		q: q, opts: opts, running: map[string]*task{},
		ended: make(chan *ended), freed: make(chan struct{}), leaves: make(chan struct{}),
	}, nil
}

// Run works until the context ends. Then it claims no more, ends the contexts
// of its jobs with ErrShutdown, and gives back within ShutdownGrace what its
// handlers did not finish. It returns nil when all of its goroutines ended;
// otherwise an error that names the jobs whose handlers hung: they were given
// back too, and the process should exit. Run is called once.
func (p *Pool) Run(ctx context.Context) error {
	base := context.WithoutCancel(ctx)
	p.wake = newWakeups(base, p.q, p.poke)

	var helpers sync.WaitGroup
	helpersCtx, stopHelpers := context.WithCancel(base)
	helpers.Go(func() { p.reapRegularly(helpersCtx) })
	if p.opts.Report != nil {
		helpers.Go(func() { p.reportRegularly(helpersCtx) })
	}

	var working sync.WaitGroup
	hard, stopHard := context.WithCancel(base) // ends with the grace period
	defer stopHard()
	p.take(ctx, func(c *Claim) {
		t := p.add(base, c)
		working.Go(func() { p.work(hard, t) })
	})

	p.each(func(t *task) { t.cancel(ErrShutdown) })
	idle := make(chan struct{})
	go func() { working.Wait(); close(idle) }()
	grace := time.NewTimer(p.opts.ShutdownGrace)
	defer grace.Stop()
	var hung []string
	select {
	case <-idle:
	case <-grace.C:
		hung = p.abandon(base)
		stopHard()
	}
	stopHelpers()
	helpers.Wait()
	p.wake.close()
	if len(hung) > 0 {
		return fmt.Errorf("stop workers: handlers did not return within %v and their jobs were given back: %s",
			p.opts.ShutdownGrace, strings.Join(hung, ", "))
	}
	<-idle
	return nil
}

func (p *Pool) add(base context.Context, c *Claim) *task {
	t := &task{claim: c, poke: make(chan struct{}, 1), began: time.Now(), log: p.opts.Log.With("job", c.ID, "delivery", c.Delivery, "fence", c.Fence)}
	t.ctx, t.cancel = context.WithCancelCause(base)
	p.mu.Lock()
	p.running[c.ID] = t
	p.mu.Unlock()
	return t
}

func (p *Pool) remove(t *task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running[t.claim.ID] == t {
		delete(p.running, t.claim.ID)
	}
}

func (p *Pool) each(f func(*task)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.running {
		f(t)
	}
}

// poke makes the heartbeat of a job come now, if it runs here.
func (p *Pool) poke(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.running[id]; t != nil {
		select {
		case t.poke <- struct{}{}:
		default:
		}
	}
}

// abandon gives back the jobs of handlers that hang, so that another worker goes
// on at once. Their fence is void from here on.
func (p *Pool) abandon(base context.Context) []string {
	var left []*task
	p.each(func(t *task) {
		t.abandoned = true
		left = append(left, t)
	})
	var ids []string
	for _, t := range left {
		call, cancel := context.WithTimeout(base, 2*time.Second)
		if _, err := t.claim.Release(call); err != nil && !isLost(err) {
			t.log.Warn("cannot give back job", "error", err)
		}
		cancel()
		ids = append(ids, t.claim.ID)
	}
	return ids
}
