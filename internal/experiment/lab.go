package experiment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"culprit/internal/session"
)

// ErrBudget means that the session's budget of runs or time is used up. What
// is known so far stays valid.
var ErrBudget = session.ErrBudget

// BudgetError says which budget; it matches ErrBudget.
type BudgetError struct {
	Runs    int           // executed so far
	MaxRuns int           // 0 = no limit
	Time    time.Duration // used so far
	MaxTime time.Duration // 0 = no limit
}

func (e *BudgetError) Error() string {
	if e.MaxRuns > 0 && e.Runs >= e.MaxRuns {
		return fmt.Sprintf("run trial: all %d runs of the session are used: raise --max-runs", e.MaxRuns)
	}
	return fmt.Sprintf("run trial: the session's time of %s is over: raise --timeout", e.MaxTime)
}

// Is makes errors.Is(err, ErrBudget) true.
func (e *BudgetError) Is(target error) bool { return target == ErrBudget }

// Outside is what the lab is plugged into. All fields are needed.
type Outside struct {
	History  History
	Trees    Trees
	Executor Executor
	Store    Store
	Language Language
}

// Options of a lab. The zero value is usable.
type Options struct {
	// Parallel is the number of runs at one time, over all hypotheses; also
	// the number of worktrees. 0 means one for each CPU, at most 5. A value
	// above the number of CPUs is lowered to it.
	Parallel int
	MaxRuns  int           // executed runs of the session, earlier ones included; 0 = no limit
	MaxTime  time.Duration // of the session's runs, wall time; 0 = no limit
	UsedTime time.Duration // of MaxTime, by earlier processes
	// Timeout bounds one run; 0 means DefaultRunTimeout.
	Timeout time.Duration
	// SetupTimeout bounds one set-up; 0 means twice Timeout.
	SetupTimeout time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Seen, if set, is called after each run; it must be quick.
	Seen func(t session.Trial, o session.Observation)
}

// DefaultRunTimeout bounds one run of a test command.
const DefaultRunTimeout = 10 * time.Minute

// Lab runs trials in a pool of worktrees and keeps the record of them. Its
// methods may be called concurrently. Close it to remove the worktrees.
type Lab struct {
	Outside
	opts  Options
	start time.Time

	free   chan *bench // idle worktrees, at most Parallel
	slots  int
	setups sync.Map // key of a trial → its set-up command
	asIs   sync.Map // commits that could be tested without being adapted

	mu       sync.Mutex
	runs     int                        // executions charged to the budget
	recorded map[string][]session.Entry // by key, in the order of the record
	asked    map[string]int             // repetitions answered by this process
	logs     map[string]int             // number of the last log
	closed   bool
}

// NewLab reads the session's record of runs and returns a lab that goes on
// from there.
func NewLab(out Outside, opts Options) (*Lab, error) {
	if out.History == nil || out.Trees == nil || out.Executor == nil || out.Store == nil || out.Language.Parse == nil || out.Language.Judge == nil {
		return nil, errors.New("open lab: history, trees, executor, store, parse and judge are all needed")
	}
	out.Language = out.Language.fill()
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Timeout <= 0 {
		opts.Timeout = DefaultRunTimeout
	}
	if opts.SetupTimeout <= 0 {
		opts.SetupTimeout = 2 * opts.Timeout
	}
	if opts.Parallel <= 0 {
		opts.Parallel = 5
	}
	opts.Parallel = max(1, min(opts.Parallel, runtime.NumCPU()))
	entries, err := out.Store.Entries()
	if err != nil {
		return nil, fmt.Errorf("open lab: %w", err)
	}
	l := &Lab{
		Outside: out, opts: opts, start: opts.Now(),
		free: make(chan *bench, opts.Parallel), slots: opts.Parallel,
		recorded: map[string][]session.Entry{}, asked: map[string]int{}, logs: map[string]int{},
	}
	for _, e := range entries {
		if e.Phase == "experiment" && e.Key != "" {
			l.recorded[e.Key] = append(l.recorded[e.Key], e)
			l.runs += max(e.Runs, 1)
		}
	}
	for range opts.Parallel {
		l.free <- &bench{}
	}
	return l, nil
}

// Parallel is the number of runs at one time.
func (l *Lab) Parallel() int { return l.slots }

// Used says how many runs were executed in the session, and the wall time
// spent since the lab was opened plus Options.UsedTime.
func (l *Lab) Used() (runs int, elapsed time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.runs, l.opts.UsedTime + l.opts.Now().Sub(l.start)
}

// Key identifies a trial by everything that can change its result.
func Key(t session.Trial) string {
	type edit struct {
		Path    string
		Sum     [32]byte
		Mode    uint32
		Deleted bool
	}
	edits := make([]edit, 0, len(t.Edits))
	for _, e := range t.Edits {
		edits = append(edits, edit{e.Path, sha256.Sum256(e.Content), e.Mode, e.Delete})
	}
	// Encoding these types cannot fail.
	data, _ := json.Marshal([]any{t.Rev, edits, t.Setup, t.Command, t.Env, t.Target, t.Adapt, t.Newer})
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:12])
}

// Run executes a trial once, or answers it from the record: the n-th
// repetition that this process asks for is the n-th that the session recorded.
// The error is about the machinery (context over, ErrBudget, disk full, no
// sandbox), never about what the trial showed.
func (l *Lab) Run(ctx context.Context, t session.Trial) (session.Observation, error) {
	key := Key(t)
	l.mu.Lock()
	n := l.asked[key]
	if n < len(l.recorded[key]) {
		l.asked[key]++
		entry := l.recorded[key][n]
		l.mu.Unlock()
		return l.replay(entry), nil
	}
	l.mu.Unlock()

	var b *bench
	select {
	case <-ctx.Done():
		return session.Observation{}, fmt.Errorf("run trial: %w", ctx.Err())
	case b = <-l.free:
	}
	defer func() { l.free <- b }()
	if err := ctx.Err(); err != nil {
		return session.Observation{}, fmt.Errorf("run trial: %w", err)
	}
	obs, runs, err := l.perform(ctx, b, t)
	if err != nil {
		return session.Observation{}, err
	}
	if err := l.record(key, t, &obs, runs); err != nil {
		return session.Observation{}, err
	}
	if l.opts.Seen != nil {
		l.opts.Seen(t, obs)
	}
	return obs, nil
}

// charge takes one execution from the budget.
func (l *Lab) charge() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := &BudgetError{Runs: l.runs, MaxRuns: l.opts.MaxRuns, Time: l.opts.UsedTime + l.opts.Now().Sub(l.start), MaxTime: l.opts.MaxTime}
	if (e.MaxRuns > 0 && e.Runs >= e.MaxRuns) || (e.MaxTime > 0 && e.Time >= e.MaxTime) {
		return e
	}
	if l.closed {
		return errors.New("run trial: the lab is closed")
	}
	l.runs++
	return nil
}

// Repeat executes a trial n times, in parallel as far as the lab allows, and
// returns what was seen in no particular order. The first error ends it; what
// was observed until then is returned with it.
func (l *Lab) Repeat(ctx context.Context, t session.Trial, n int) (session.Count, []session.Observation, error) {
	trials := make([]session.Trial, max(n, 0))
	for i := range trials {
		trials[i] = t
	}
	all, err := l.runAll(ctx, trials)
	var count session.Count
	var seen []session.Observation
	for _, o := range all {
		if o != nil {
			count.Add(o.Outcome)
			seen = append(seen, *o)
		}
	}
	return count, seen, err
}

// runAll executes trials in parallel. Entries of the answer are nil where a
// trial was not observed. When the budget ends, the runs that are under way
// are waited for: they are paid for.
func (l *Lab) runAll(ctx context.Context, trials []session.Trial) ([]*session.Observation, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := make([]*session.Observation, len(trials))
	next := make(chan int)
	var wg sync.WaitGroup
	var once sync.Once
	var first error
	for range min(l.slots, len(trials)) {
		wg.Go(func() {
			for i := range next {
				o, err := l.Run(ctx, trials[i])
				if err != nil {
					once.Do(func() { first = err })
					if !errors.Is(err, ErrBudget) {
						cancel(err)
					}
					continue
				}
				out[i] = &o
			}
		})
	}
	for i := range trials {
		next <- i
	}
	close(next)
	wg.Wait()
	return out, first
}

// Known returns what the session has observed for a trial, without running.
func (l *Lab) Known(t session.Trial) session.Count {
	l.mu.Lock()
	defer l.mu.Unlock()
	var c session.Count
	for _, e := range l.recorded[Key(t)] {
		c.Add(e.Outcome)
	}
	return c
}

// take returns everything that the session has recorded for a trial and counts
// it as answered: a later Run of the trial is a new one.
func (l *Lab) take(t session.Trial) []session.Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := Key(t)
	l.asked[key] = len(l.recorded[key])
	return append([]session.Entry(nil), l.recorded[key]...)
}

// Close waits for running trials and removes the worktrees. A second call does
// nothing.
func (l *Lab) Close(ctx context.Context) error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.mu.Unlock()
	var errs []error
	for range l.slots {
		b := <-l.free
		if b.tree != nil {
			errs = append(errs, b.tree.Remove(ctx))
			b.tree = nil
		}
	}
	for range l.slots {
		l.free <- &bench{}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close lab: %w", err)
	}
	return nil
}
