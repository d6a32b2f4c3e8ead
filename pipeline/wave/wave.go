// Package wave runs the rows of one wave of tasks.csv in parallel and merges
// what the workers report (QD6–QD9, QD11).
//
// The master table is the only truth. A wave writes its input columns to
// wave-N.csv, runs at most Concurrency workers at a time with a time limit
// each, writes every result to wave-N-results.csv and merges it into the
// master by ID as soon as it arrives, so that a process that is killed loses
// at most the rows that were running. When all rows have ended both files are
// deleted. Running a wave again takes only the rows that are still pending.
//
// Wave order is sacred: wave N refuses to start while a row of an earlier
// wave is pending.
package wave

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"culprit/internal/session"
)

// Report is what a worker says about its row, exactly once. Which columns are
// copied into the master depends on the wave (Format).
type Report struct {
	Row session.Task // lifecycle columns set, input columns ignored
	// Keep, when set, stores what the row found beyond its columns in the
	// session. It is called in the merge, before the master is saved.
	Keep func()
}

// Store is where the master table and the wave files are kept.
type Store interface {
	Save(s *session.Session) error
	Write(name string, data []byte) error
	Remove(name string) error
}

// Options of one wave.
type Options struct {
	Number      int
	Concurrency int           // parallel workers, at least 1
	RowTimeout  time.Duration // per row; 0 = none
	// Work does one row. It must come back soon after its context ends, and
	// reports inconclusive or fix_failed then; it never returns an error.
	// s is the session as it stood when the row began.
	Work func(ctx context.Context, s *session.Session, t session.Task) Report
	// Merged is called after each result is durable, one call at a time; no row
	// begins meanwhile, so that it may write to the session.
	Merged func(t session.Task)
}

// ErrOrder means that an earlier wave still has pending rows.
var ErrOrder = errors.New("an earlier wave is not finished")

// Run runs all pending rows of the wave. The error is about the store or the
// context; what a row's worker failed at stands in the row.
func Run(ctx context.Context, s *session.Session, store Store, o Options) error {
	for _, t := range s.Tasks {
		if t.Wave < o.Number && t.Status == session.Pending {
			return fmt.Errorf("start wave %d: row %s of wave %d is pending: %w", o.Number, t.ID, t.Wave, ErrOrder)
		}
	}
	var rows []session.Task
	for _, t := range s.Wave(o.Number) {
		if t.Status == session.Pending {
			t.PrevContext = prevContext(s, t)
			rows = append(rows, t)
		}
	}
	input, results := fmt.Sprintf("wave-%d.csv", o.Number), fmt.Sprintf("wave-%d-results.csv", o.Number)
	if len(rows) > 0 {
		if err := store.Write(input, encodeInput(rows)); err != nil {
			return err
		}
		if err := runRows(ctx, s, store, o, rows, results); err != nil {
			return err
		}
	}
	return errors.Join(store.Remove(input), store.Remove(results))
}

func runRows(ctx context.Context, s *session.Session, store Store, o Options, rows []session.Task, results string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var writing sync.Mutex // of the session: rows begin while others are merged
	begin := func() *session.Session {
		writing.Lock()
		defer writing.Unlock()
		return s.Snapshot()
	}
	reports := make(chan Report)
	slots := make(chan struct{}, max(1, o.Concurrency))
	go func() {
		defer close(reports)
		var wg sync.WaitGroup
		defer wg.Wait()
		for _, t := range rows { // in the order of the table: by rank
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			wg.Go(func() {
				if rep, ok := work(ctx, begin(), o, t); ok {
					reports <- rep // its slot is free when it is merged
				} else {
					<-slots
				}
			})
		}
	}()
	var done []session.Task
	var failed error
	for rep := range reports {
		if failed == nil { // else drain, so that no worker is left behind
			done = append(done, rep.Row)
			writing.Lock()
			failed = merge(s, store, o, rep, done, results)
			if failed == nil && o.Merged != nil {
				o.Merged(*s.Task(rep.Row.ID))
			}
			writing.Unlock()
			if failed != nil {
				cancel()
			}
		}
		<-slots
	}
	if failed != nil {
		return failed
	}
	return context.Cause(ctx)
}

// work runs one row under its time limit. A row whose wave was cancelled
// reports nothing: it stays pending and runs again.
func work(ctx context.Context, s *session.Session, o Options, t session.Task) (Report, bool) {
	rowCtx, cancel := ctx, context.CancelFunc(func() {})
	if o.RowTimeout > 0 {
		rowCtx, cancel = context.WithTimeout(ctx, o.RowTimeout)
	}
	defer cancel()
	rep := o.Work(rowCtx, s, t)
	if ctx.Err() != nil {
		return Report{}, false
	}
	rep.Row.ID = t.ID
	if rowCtx.Err() != nil && rep.Row.Error == "" {
		rep.Row.Error = "timeout"
	}
	return rep, true
}

// merge makes one result durable: first the results file, then the master.
func merge(s *session.Session, store Store, o Options, rep Report, done []session.Task, results string) error {
	if err := store.Write(results, encodeResults(o.Number, done)); err != nil {
		return err
	}
	t := s.Task(rep.Row.ID)
	if t == nil {
		return fmt.Errorf("merge wave %d: a worker reported unknown row %q", o.Number, rep.Row.ID)
	}
	apply(t, rep.Row, o.Number)
	if rep.Keep != nil {
		rep.Keep()
	}
	return store.Save(s)
}

// apply copies the lifecycle columns that the wave owns. A report that makes
// no sense counts as the cautious outcome: inconclusive or fix_failed (QD8,
// QD11).
func apply(t *session.Task, row session.Task, number int) {
	t.Status = row.Status
	if t.Status != session.Completed && t.Status != session.Failed {
		t.Status = session.Failed
	}
	t.Findings, t.Error = cut(row.Findings, session.MaxFindings), row.Error
	if number == 1 {
		t.Verdict, t.EvidenceFor, t.EvidenceAgainst = row.Verdict, row.EvidenceFor, row.EvidenceAgainst
		known := t.Verdict == session.Confirmed || t.Verdict == session.Refuted || t.Verdict == session.Inconclusive
		if !known || t.Status == session.Failed {
			t.Verdict = session.Inconclusive
		}
		if t.Verdict == session.Confirmed && t.EvidenceFor == "" {
			// The iron law: nothing is confirmed without evidence (QD20).
			t.Verdict, t.Error = session.Inconclusive, "confirmed without evidence"
		}
		return
	}
	t.FixResult, t.FixApplied, t.Verified = row.FixResult, row.FixApplied, row.Verified
	if t.FixResult != session.Fixed || t.Status == session.Failed {
		t.FixResult = session.FixFailed
	}
	if t.Verified != "true" || t.FixResult != session.Fixed {
		t.Verified = "false"
	}
}

// prevContext is what the rows named in context_from found, read from the
// master and never from memory (QD7).
func prevContext(s *session.Session, t session.Task) string {
	var parts []string
	for _, id := range t.ContextFrom {
		from := s.Task(id)
		if from == nil || from.Findings == "" && from.EvidenceFor == "" {
			continue
		}
		parts = append(parts, strings.TrimSpace("["+id+"] "+from.Findings+"\n"+from.EvidenceFor))
	}
	return strings.Join(parts, "\n\n")
}

// cut shortens s to n characters and says so by an ellipsis.
func cut(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}
