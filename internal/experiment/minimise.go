package experiment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"culprit/internal/experiment/ddmin"
	"culprit/internal/patch"
	"culprit/internal/session"
)

// maxMinimise bounds the runs that one minimisation may cost.
const maxMinimise = 120

// filesFirst is the number of hunks from which whole files are dropped before
// single hunks are.
const filesFirst = 8

// maxHunkText bounds the text of a hunk that is kept in the session, in bytes.
const maxHunkText = 4 << 10

// change is the difference of two commits, in hunks.
type change struct {
	from, to string
	code     []session.Hunk // what can be the cause
	tests    []session.Hunk // test files, not overlaid
	left     int            // submodules and other hunks that are never applied
}

// changeOf splits the difference of two commits. The files of the overlay are
// the same on both sides of an experiment and belong to neither part.
func (l *Lab) changeOf(ctx context.Context, from, to string, overlay []session.Edit) (change, error) {
	c := change{from: from, to: to}
	diff, err := l.History.Diff(ctx, from, to)
	if err != nil {
		return c, fmt.Errorf("compare %.8s with %.8s: %w", from, to, err)
	}
	hunks, err := patch.Split(diff)
	if err != nil {
		return c, fmt.Errorf("compare %.8s with %.8s: %w", from, to, err)
	}
	for _, h := range hunks {
		m, err := patch.MetaOf(h)
		if err != nil {
			return c, fmt.Errorf("compare %.8s with %.8s: %w", from, to, err)
		}
		switch {
		case slices.ContainsFunc(overlay, func(e session.Edit) bool { return e.Path == h.File }):
		case m.Submodule():
			c.left++
		case l.Language.IsTestFile(h.File):
			c.tests = append(c.tests, h)
		default:
			c.code = append(c.code, h)
		}
	}
	return c, nil
}

// content reads a commit's files for the patch package.
type content struct {
	ctx context.Context
	h   History
	rev string
}

func (c content) File(path string) ([]byte, error) {
	data, _, err := c.h.ShowMode(c.ctx, c.rev, path)
	return data, err
}

// Blob is never needed: History.Diff holds the content of binary files.
func (c content) Blob(id string) ([]byte, error) {
	return nil, fmt.Errorf("read object %s: the diff should hold it: %w", id, fs.ErrNotExist)
}

// minimise finds the smallest set of the culprit's hunks that makes the test
// fail on top of its parent. It is a bonus: whatever goes wrong here is noted
// and leaves the verdict alone.
func (st *study) minimise(ctx context.Context, loc *located, cause *session.RootCause) {
	ch, err := st.lab.changeOf(ctx, loc.parent.SHA, loc.failing.SHA, st.base.Edits)
	if err != nil {
		cause.MinimalNote = "the culprit's change could not be read: " + firstLine(err.Error())
		return
	}
	cause.Hunks = len(ch.code)
	if len(ch.code) > 0 {
		cause.Location = ch.code[0].Location()
	}
	if len(ch.code) == 0 {
		cause.MinimalNote = "the culprit changes no code apart from tests"
		return
	}
	minimal, stats, err := st.smallest(ctx, ch, nil)
	if errors.Is(err, ddmin.ErrNotReproduced) && len(ch.tests) > 0 {
		// Other test files of the same package may have to move with the code
		// before anything compiles.
		cause.MinimalNote = "with the culprit's changes of other test files in place"
		minimal, stats, err = st.smallest(ctx, ch, ch.tests)
	}
	switch {
	case errors.Is(err, ddmin.ErrNotReproduced):
		cause.MinimalNote = "its hunks alone do not make the test fail on top of the parent"
		return
	case err != nil && minimal == nil:
		cause.MinimalNote = "not minimised: " + firstLine(err.Error())
		return
	case len(minimal) == 0:
		cause.MinimalNote = "the test fails on top of the parent without any of its hunks"
		return
	}
	for _, i := range minimal {
		cause.Minimal = append(cause.Minimal, kept(ch.code[i]))
	}
	if err != nil || stats.Exhausted {
		cause.MinimalNote = orWord(cause.MinimalNote, "not proved minimal: the budget was used up")
	}
	cause.Location = cause.Minimal[0].Location()
}

// kept is a hunk as the session stores it: large text is cut, because the
// hunk can be read again from the repository by its ID.
func kept(h session.Hunk) session.Hunk {
	if len(h.Text) > maxHunkText {
		h.Text, h.Raw = clip(h.Text, maxHunkText), nil
	}
	return h
}

// smallest runs delta debugging over the change's code hunks, with always
// applied too. The result are indexes into code.
func (st *study) smallest(ctx context.Context, ch change, always []session.Hunk) ([]int, ddmin.Stats, error) {
	test := func(ctx context.Context, hunks []session.Hunk) (ddmin.Verdict, error) {
		edits, err := patch.ApplyEdits(append(slices.Clone(always), hunks...), content{ctx, st.lab.History, ch.from})
		if err != nil {
			if ctx.Err() != nil {
				return ddmin.Unresolved, ctx.Err()
			}
			return ddmin.Unresolved, nil // this subset cannot be put together
		}
		t := at(st.base, ch.from, fmt.Sprintf("minimise: %d of %s", len(hunks), plural(len(ch.code), "hunk")), st.task.ID)
		t.Edits = append(slices.Clone(st.base.Edits), edits...)
		if known := st.lab.Known(t); len(edits) == 0 && known.Runs > 0 {
			// Without any hunk this is the parent, which was verified.
			if known.Failures > 0 {
				return ddmin.Reproduces, nil
			}
			return ddmin.Not, nil
		}
		obs, err := st.lab.probe(ctx, t, st.patience)
		return verdict(obs.Outcome), err
	}
	return minimal(ctx, ch.code, test, ddmin.Options{Parallel: st.lab.slots, MaxTests: maxMinimise})
}

func verdict(o session.Outcome) ddmin.Verdict {
	switch o {
	case session.FailedSame:
		return ddmin.Reproduces
	case session.Passed:
		return ddmin.Not
	}
	return ddmin.Unresolved
}

// minimal is delta debugging in two passes: a large change first loses whole
// files, then hunks. The result are indexes into hunks.
func minimal(ctx context.Context, hunks []session.Hunk, test func(context.Context, []session.Hunk) (ddmin.Verdict, error), opts ddmin.Options) ([]int, ddmin.Stats, error) {
	// The second pass asks some questions of the first again.
	var mu sync.Mutex
	asked := map[string]ddmin.Verdict{}
	try := func(ctx context.Context, indexes []int) (ddmin.Verdict, error) {
		key := fmt.Sprint(indexes)
		mu.Lock()
		v, known := asked[key]
		mu.Unlock()
		if known {
			return v, nil
		}
		chosen := make([]session.Hunk, len(indexes))
		for i, j := range indexes {
			chosen[i] = hunks[j]
		}
		v, err := test(ctx, chosen)
		if err == nil {
			mu.Lock()
			asked[key] = v
			mu.Unlock()
		}
		return v, err
	}
	pool := make([]int, len(hunks))
	for i := range pool {
		pool[i] = i
	}
	var byFile [][]int
	at := map[string]int{}
	for i, h := range hunks {
		j, ok := at[h.File]
		if !ok {
			j = len(byFile)
			at[h.File] = j
			byFile = append(byFile, nil)
		}
		byFile[j] = append(byFile[j], i)
	}
	if len(hunks) > filesFirst && len(byFile) > 1 {
		join := func(files []int) []int {
			var out []int
			for _, f := range files {
				out = append(out, byFile[f]...)
			}
			slices.Sort(out)
			return out
		}
		files, stats, err := ddmin.Minimise(ctx, len(byFile), func(ctx context.Context, subset []int) (ddmin.Verdict, error) {
			return try(ctx, join(subset))
		}, opts)
		if files == nil || err != nil || stats.Exhausted || len(files) == 0 {
			return join(files), stats, err
		}
		pool = join(files)
		opts.MaxTests = max(opts.MaxTests-stats.Tests, 1)
	}
	subset, stats, err := ddmin.Minimise(ctx, len(pool), func(ctx context.Context, subset []int) (ddmin.Verdict, error) {
		chosen := make([]int, len(subset))
		for i, j := range subset {
			chosen[i] = pool[j]
		}
		return try(ctx, chosen)
	}, opts)
	if subset == nil {
		return nil, stats, err
	}
	out := make([]int, len(subset))
	for i, j := range subset {
		out[i] = pool[j]
	}
	return out, stats, err
}
