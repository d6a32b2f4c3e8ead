package eval

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"
)

// Runner takes one case through the product. A *NotRunError says that the case
// cannot be run here; any other error that its session broke, after which
// Observed says what it has used.
type Runner interface {
	Run(ctx context.Context, c Case) (Observed, error)
}

// NotRunError is why a case cannot be run.
type NotRunError struct{ Err error }

func (e *NotRunError) Error() string { return e.Err.Error() }
func (e *NotRunError) Unwrap() error { return e.Err }

// Options of Run.
type Options struct {
	Results  string         // file that records are appended to
	Version  string         // of the program
	Settings string         // what else can change results: model, mode, limits
	Filter   *regexp.Regexp // of IDs; nil takes all cases
	Parallel int            // cases at a time; 0 means 1
	Again    bool           // run also what has a record
	Now      func() time.Time
	// Started and Ended tell of the cases; calls do not overlap. Ended has
	// skipped set for a record that was there.
	Started func(c Case)
	Ended   func(r Record, skipped bool)
}

// ErrNoCase means that the filter leaves no case.
var ErrNoCase = errors.New("no case of the manifest has such an ID")

// Run takes the manifest's cases to the runner and returns their records in
// the manifest's order. Each record is in the file before the next case is
// begun. When the context is over, the cases that are under way get no record,
// and the error is the context's.
func Run(ctx context.Context, m *Manifest, runner Runner, o Options) ([]Record, error) {
	old, err := ReadRecords(o.Results)
	if err != nil {
		return nil, err
	}
	have := map[string]Record{}
	for _, r := range old {
		have[r.key()] = r
	}
	r := &run{Options: o, runner: runner}
	var slots []*Record // in order; filled when the case has ended
	var todo []func()
	for _, c := range m.Cases {
		if o.Filter != nil && !o.Filter.MatchString(c.ID) {
			continue
		}
		slot := new(Record)
		slots = append(slots, slot)
		fresh := r.blank(c)
		if known, ok := have[fresh.key()]; ok && known.Status == Ran && !o.Again {
			*slot = known
			r.ended(known, true)
			continue
		}
		todo = append(todo, func() { r.one(ctx, c, slot) })
	}
	if len(slots) == 0 {
		return nil, fmt.Errorf("%w: %s", ErrNoCase, o.Filter)
	}
	r.all(ctx, todo)
	var out []Record
	for _, s := range slots {
		if s.Case != "" {
			out = append(out, *s)
		}
	}
	return out, errors.Join(r.err, ctx.Err())
}

// key is what two records of the same experiment share.
func (r Record) key() string {
	return fmt.Sprintf("%q %q %q %q", r.Case, r.Digest, r.Version, r.Settings)
}

type run struct {
	Options
	runner Runner

	mu  sync.Mutex
	err error // the first; no further case is begun then
}

// all does the work with as many workers as Parallel says, and waits for them.
func (r *run) all(ctx context.Context, todo []func()) {
	queue := make(chan func())
	var workers sync.WaitGroup
	for range min(max(r.Parallel, 1), len(todo)) {
		workers.Go(func() {
			for f := range queue {
				f()
			}
		})
	}
	for _, f := range todo {
		if ctx.Err() != nil || r.failed() {
			break
		}
		queue <- f
	}
	close(queue)
	workers.Wait()
}

func (r *run) failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err != nil
}

func (r *run) blank(c Case) Record {
	return Record{
		Schema: SchemaVersion, Case: c.ID, Digest: c.Digest(), Version: r.Version, Settings: r.Settings, Started: r.Now().UTC().Truncate(time.Second),
		ResultHit: Unknown, Reproduced: None, Culprit: Unknown, FileHit: Unknown, LineHit: Unknown, Fix: None, HeldOut: Unknown,
	}
}

// one runs one case.
func (r *run) one(ctx context.Context, c Case, slot *Record) {
	if ctx.Err() != nil || r.failed() {
		return
	}
	rec := r.blank(c)
	r.mu.Lock()
	if r.Started != nil {
		r.Started(c)
	}
	r.mu.Unlock()
	o, err := r.runner.Run(ctx, c)
	if ctx.Err() != nil {
		return // interrupted: nothing is known of it
	}
	rec.took(o)
	var not *NotRunError
	switch {
	case errors.As(err, &not):
		rec.Status, rec.Error = NotRun, not.Error()
	case err != nil:
		rec.Status, rec.Error = Broke, err.Error()
		rec.broke(c)
	default:
		rec.Status = Ran
		rec.judge(o)
	}
	r.mu.Lock()
	if err := rec.appendTo(r.Results); err != nil {
		r.err = errors.Join(r.err, err)
	}
	r.mu.Unlock()
	*slot = rec
	r.ended(rec, false)
}

// broke answers what the case asks: nothing was found.
func (r *Record) broke(c Case) {
	if c.Truth.Result != "" {
		r.ResultHit = None
	}
	if c.Truth.Culprit != "" {
		r.Culprit = None
	}
	if len(c.Truth.Cause) > 0 || c.Truth.Fix != "" || c.Truth.Patch != "" {
		r.FileHit, r.LineHit = None, None
	}
	if c.HeldOut.Test != "" {
		r.HeldOut = None
	}
}

func (r *run) ended(rec Record, skipped bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Ended != nil {
		r.Ended(rec, skipped)
	}
}
