package experiment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"culprit/internal/patch"
	"culprit/internal/session"
)

// maxTestChanges is how many of the last changes of the test are looked at.
const maxTestChanges = 3

// cellRuns is how often each cell of a table that confirms is run.
const cellRuns = 3

// testFault tests "the test is wrong, not the code" by swapping: the test
// before its last change on today's code, and today's test on the code before
// that change. Only a table in which the test's change alone turns pass into
// fail, on the old code as on the new, confirms it.
func testFault(ctx context.Context, st *study) error {
	files := st.testFiles()
	if len(files) == 0 {
		st.conclude(session.Inconclusive, "Which file holds the test is not known, so it cannot be swapped.")
		return nil
	}
	if good := st.carriedGood(files); good != nil {
		count := st.lab.Known(at(st.base, good.SHA, "", ""))
		st.contradicts("commit %s — today's test %s on the code of then", good.Short(), tally(count))
		st.conclude(session.Refuted, "Today's test passes on the older code of %s: what changed is the code, not the test.", titled(*good))
		return nil
	}
	changes, err := st.lab.History.Touching(ctx, st.s.Bad.SHA, files, maxTestChanges)
	if err != nil {
		return fmt.Errorf("list changes of the test: %w", err)
	}
	for _, change := range changes {
		if len(change.Parents) == 0 {
			continue
		}
		decided, err := st.swap(ctx, change, files)
		if err != nil || decided {
			return err
		}
	}
	if st.finding.Findings == "" {
		st.conclude(session.Inconclusive, "The test has not changed since it was written, so there is no older one to compare with.")
	}
	return nil
}

// testFiles are the files that hold the failing test.
func (st *study) testFiles() []string {
	var files []string
	add := func(path string) {
		if path != "" && st.lab.Language.IsTestFile(path) && !slices.Contains(files, path) {
			files = append(files, path)
		}
	}
	for _, f := range st.h.Files {
		add(f)
	}
	for _, o := range st.s.Reproduction.Overlay {
		add(o.Path)
	}
	if f := st.s.Reproduction.Failure; f != nil {
		add(f.File)
		for _, frame := range f.Stack {
			add(frame.File)
		}
	}
	return files
}

// carriedGood is the good commit, if today's test was carried there and passed.
func (st *study) carriedGood(files []string) *session.Commit {
	if st.s.Archaeology == nil || st.s.Archaeology.Good == nil {
		return nil
	}
	for _, f := range files {
		if !slices.ContainsFunc(st.base.Edits, func(e session.Edit) bool { return e.Path == f }) {
			return nil
		}
	}
	if good := st.s.Archaeology.Good; st.lab.Known(at(st.base, good.SHA, "", "")).Passes() > 0 {
		return good
	}
	return nil
}

// cell is one field of the table: whose test on whose code.
type cell struct {
	name  string
	trial session.Trial
	count session.Count
	last  session.Observation
}

// swap fills the table for one change of the test. decided is false when the
// older side shows nothing, so that an older change may be tried.
func (st *study) swap(ctx context.Context, change session.Commit, files []string) (decided bool, err error) {
	parent := change.Parents[0]
	today, err := st.withFiles(ctx, st.base, st.s.Bad.SHA, files)
	if err != nil {
		return false, err
	}
	before, err := st.withFiles(ctx, st.base, parent, files)
	if err != nil {
		return false, err
	}
	oldNew := &cell{name: "old test, new code", trial: at(before, st.s.Bad.SHA, "swap: old test, new code", st.task.ID)}
	newOld := &cell{name: "new test, old code", trial: at(today, parent, "swap: new test, old code", st.task.ID)}
	oldOld := &cell{name: "old test, old code", trial: at(before, parent, "swap: old test, old code", st.task.ID)}
	newNew := &cell{name: "new test, new code", trial: at(today, st.s.Bad.SHA, "swap: new test, new code", st.task.ID)}
	table := []*cell{oldNew, newOld, oldOld, newNew}
	if err := st.fill(ctx, table); err != nil {
		return false, err
	}
	what := fmt.Sprintf("the test's change in %s", titled(change))
	switch {
	case newOld.last.Outcome == session.Passed && oldNew.last.Outcome != session.Passed:
		st.contradicts("commit %.8s — today's test passes on the code of then", parent)
		st.conclude(session.Refuted, "Today's test passes on the code before %s: the code changed, not the test's demand.", what)
		return true, nil
	case oldNew.last.Outcome == session.FailedSame:
		st.contradicts("commit %s — with the test of %.8s it fails the same way", st.s.Bad.Short(), parent)
		st.conclude(session.Refuted, "The test as it was before %s fails on today's code too: that change is not what makes it fail.", what)
		return true, nil
	case oldNew.last.Outcome == session.Passed && oldOld.last.Outcome == session.Passed && newOld.last.Outcome == session.FailedSame && newNew.last.Outcome == session.FailedSame:
		return true, st.confirmSwap(ctx, table, change, parent, files)
	}
	st.conclude(session.Inconclusive, "Swapping at %s decides nothing: old test on new code %s; new test on old code %s; old test on old code %s.",
		titled(change), verb(oldNew.last), verb(newOld.last), verb(oldOld.last))
	return false, nil
}

// fill runs each cell once more, all at the same time.
func (st *study) fill(ctx context.Context, table []*cell) error {
	trials := make([]session.Trial, len(table))
	for i, c := range table {
		trials[i] = c.trial
	}
	seen, err := st.lab.runAll(ctx, trials)
	for i, o := range seen {
		if o != nil {
			table[i].count.Add(o.Outcome)
			table[i].last = *o
		}
	}
	return err
}

// confirmSwap repeats the table and names the test's change as the cause.
func (st *study) confirmSwap(ctx context.Context, table []*cell, change session.Commit, parent string, files []string) error {
	for range max(cellRuns, st.patience) - 1 {
		if err := st.fill(ctx, table); err != nil {
			return err
		}
	}
	oldNew, newOld, oldOld, newNew := table[0].count, table[1].count, table[2].count, table[3].count
	if oldNew.Failures > 0 || oldOld.Failures > 0 || newOld.Passes() > 0 || newNew.Failures == 0 {
		st.conclude(session.Inconclusive, "Swapping the test points to %s, but repeated runs disagree: old test on new code %s, new test on old code %s.",
			titled(change), tally(oldNew), tally(newOld))
		return nil
	}
	location := files[0]
	if diff, err := st.lab.History.Diff(ctx, parent, change.SHA); err == nil {
		if hunks, err := patch.Split(diff); err == nil {
			for _, h := range hunks {
				if slices.Contains(files, h.File) {
					location = h.Location()
					break
				}
			}
		}
	}
	was, err := st.lab.History.Resolve(ctx, parent)
	if err != nil {
		return fmt.Errorf("name the commit before the test's change: %w", err)
	}
	st.supports("%s — changed by %s; the test before that change %s on today's code", location, titled(change), tally(oldNew))
	st.supports("commit %s — today's test %s on the code of then, the test of then %s", was.Short(), tally(newOld), tally(oldOld))
	st.finding.Cause = &session.RootCause{
		Task: st.task.ID, Kind: session.TestFault, Location: location, Culprit: &change, Parent: &was, NoCodeChange: true,
		AtCulprit: newNew, AtParent: oldOld, MinimalNote: "the test is at fault: the code stays",
		Summary: fmt.Sprintf("%s changed the test so that it fails on code that did not change, at %s.", titled(change), location),
	}
	st.conclude(session.Confirmed, "The change of the test in %s, at %s, makes it fail: the test before it passes on old and new code (%d/%d, %d/%d), today's fails on both (%d/%d, %d/%d).",
		titled(change), location, oldOld.Passes(), oldOld.Runs, oldNew.Passes(), oldNew.Runs, newOld.Failures, newOld.Runs, newNew.Failures, newNew.Runs)
	return nil
}

// withFiles is the trial with files as they are at rev; a file that does not
// exist there is deleted.
func (st *study) withFiles(ctx context.Context, t session.Trial, rev string, files []string) (session.Trial, error) {
	edits := make([]session.Edit, 0, len(t.Edits)+len(files))
	for _, e := range t.Edits {
		if !slices.Contains(files, e.Path) {
			edits = append(edits, e)
		}
	}
	for _, f := range files {
		// What the overlay carries is today's version, whatever rev holds.
		if i := slices.IndexFunc(t.Edits, func(e session.Edit) bool { return e.Path == f }); i >= 0 && rev == st.s.Bad.SHA {
			edits = append(edits, t.Edits[i])
			continue
		}
		data, mode, err := st.lab.History.ShowMode(ctx, rev, f)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			edits = append(edits, session.Edit{Path: f, Delete: true})
		case err != nil:
			return t, fmt.Errorf("read %s at %.8s: %w", f, rev, err)
		default:
			edits = append(edits, session.Edit{Path: f, Content: data, Mode: editMode(mode)})
		}
	}
	t.Edits = edits
	return t, nil
}
