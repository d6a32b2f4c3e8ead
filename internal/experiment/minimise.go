package experiment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"culprit/internal/experiment/ddmin"
	"culprit/internal/patch"
	"culprit/internal/session"
	"culprit/internal/toolchain"
)

// maxMinimise bounds the runs that one minimisation may cost.
const maxMinimise = 120

// maxUnresolved is how many combinations in a row may fail to build before a
// minimisation gives up: the hunks of a large refactoring stand and fall
// together, and trying on would only cost time.
const maxUnresolved = 24

// errEntangled ends a minimisation by maxUnresolved.
var errEntangled = errors.New("its hunks do not build apart from one another")

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
	cause.Location = st.decisive(ch.code)
	if len(ch.code) == 0 {
		cause.MinimalNote = "the culprit changes no code apart from tests"
		return
	}
	var always []session.Hunk
	minimal, stats, err := st.smallest(ctx, ch, nil)
	if errors.Is(err, ddmin.ErrNotReproduced) && len(ch.tests) > 0 {
		// Other test files of the same package may have to move with the code
		// before anything compiles.
		cause.MinimalNote = "with the culprit's changes of other test files in place"
		always = ch.tests
		minimal, stats, err = st.smallest(ctx, ch, always)
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
	var hunks []session.Hunk
	for _, i := range minimal {
		hunks = append(hunks, ch.code[i])
		cause.Minimal = append(cause.Minimal, kept(ch.code[i], len(minimal)))
	}
	switch {
	case errors.Is(err, errEntangled):
		cause.MinimalNote = "not proved minimal: " + errEntangled.Error()
	case errors.Is(err, ErrBudget):
		cause.MinimalNote = "not proved minimal: the session's limit was reached"
	case err != nil && !errors.Is(err, errSpent):
		cause.MinimalNote = "not proved minimal: " + firstLine(err.Error())
	case err != nil || stats.Exhausted:
		cause.MinimalNote = orWord(cause.MinimalNote, "not proved minimal: "+errSpent.Error())
	}
	cause.Location = st.decisive(hunks)
	if files := st.dependencyFiles(hunks); files != nil {
		st.takeApart(ctx, ch.from, ch.from, ch.to, files, cause)
		return
	}
	if err == nil && !stats.Exhausted {
		st.narrow(ctx, hunks, always, ch.from, cause)
	}
}

// dependencyFiles are the files of the hunks and their checksum files, when all
// of them say what is used; nil when any is something else.
func (st *study) dependencyFiles(hunks []session.Hunk) []string {
	var files []string
	add := func(f string) {
		if f != "" && !slices.Contains(files, f) {
			files = append(files, f)
		}
	}
	for _, h := range hunks {
		if !st.lab.Language.IsLockFile(h.File) && !slices.Contains(versionFiles, path.Base(h.File)) || h.OldFile != "" && h.OldFile != h.File {
			return nil
		}
		add(h.File)
		add(toolchain.Companion(h.File))
	}
	return files
}

// bookkeeping matches changed lines that import, comment or are empty: they are
// often needed and hardly ever the reason.
var bookkeeping = regexp.MustCompile(`^[+-]\s*((\w+\s+)?"[^"]*"|import\b.*|from\s.*\simport\b.*|#.*|//.*|/?\*.*|use\s.*|using\s.*|.*\brequire\(.*|[()]?)\s*$`)

// decisive is the place among hunks to look at first: in a file that the
// failure's stack names, else in code rather than in documents, and rather not
// an import.
func (st *study) decisive(hunks []session.Hunk) string {
	best, rank := "", -1
	for _, h := range hunks {
		r := 2
		switch path.Ext(h.File) {
		case ".md", ".txt", ".rst", ".adoc", ".yml", ".yaml", ".json", ".lock", ".sum", "":
			r = 0
		}
		if f := st.s.Reproduction.Failure; f != nil && slices.ContainsFunc(f.Stack, func(fr session.Frame) bool { return fr.File == h.File }) {
			r = 4
		}
		if real := slices.ContainsFunc(strings.Split(strings.TrimSpace(h.Text), "\n"), func(l string) bool { return !bookkeeping.MatchString(l) }); real && !h.Whole {
			r++
		}
		if r > rank {
			best, rank = h.Location(), r
		}
	}
	return best
}

// maxKept is how many hunks keep their text in the session.
const maxKept = 40

// kept is one of n hunks as the session stores it: large text is cut, because
// the hunk can be read again from the repository by its ID.
func kept(h session.Hunk, n int) session.Hunk {
	switch {
	case n > maxKept:
		h.Text, h.Raw = "", nil
	case len(h.Text) > maxHunkText:
		h.Text, h.Raw = clip(h.Text, maxHunkText), nil
	}
	return h
}

// smallest runs delta debugging over the change's code hunks, with always
// applied too. The result are indexes into code.
//
// Hunks of one change need one another to build. A combination that does not
// build is therefore completed by the hunks that the compiler misses before it
// counts as unresolved; what was completed is minimised again, this time to
// the letter.
func (st *study) smallest(ctx context.Context, ch change, always []session.Hunk) ([]int, ddmin.Stats, error) {
	var mu sync.Mutex
	completed := map[string][]session.Hunk{}
	try := &combinations{st: st, from: ch.from, always: always, name: "hunk", of: len(ch.code), limit: maxMinimise}
	test := func(ctx context.Context, hunks []session.Hunk) (ddmin.Verdict, error) {
		set := hunks
		for round := range maxRepairs {
			v, output, err := try.try(ctx, set)
			if err != nil || v != ddmin.Unresolved {
				if v == ddmin.Reproduces && len(set) > len(hunks) {
					mu.Lock()
					completed[ids(hunks)] = set
					mu.Unlock()
				}
				return v, err
			}
			more := needed(output, set, ch.code, round >= patientRepairs)
			if len(more) == 0 || len(set)+len(more) >= len(ch.code) {
				break // all of it is known already
			}
			set = inOrder(ch.code, append(slices.Clone(set), more...))
		}
		return ddmin.Unresolved, nil
	}
	opts := ddmin.Options{Parallel: st.lab.slots, MaxTests: maxMinimise}
	best, stats, err := minimal(ctx, ch.code, test, opts)
	if best == nil {
		return nil, stats, err
	}
	chosen := make([]session.Hunk, len(best))
	for i, j := range best {
		chosen[i] = ch.code[j]
	}
	set := completed[ids(chosen)]
	if set == nil {
		return best, stats, err
	}
	if err == nil {
		var exact []int
		exact, stats, err = minimal(ctx, set, func(ctx context.Context, hunks []session.Hunk) (ddmin.Verdict, error) {
			v, _, err := try.try(ctx, hunks)
			return v, err
		}, opts)
		if exact != nil {
			smaller := make([]session.Hunk, len(exact))
			for i, j := range exact {
				smaller[i] = set[j]
			}
			set = smaller
		}
	}
	best = best[:0]
	for i, h := range ch.code {
		if slices.ContainsFunc(set, func(x session.Hunk) bool { return x.ID == h.ID }) {
			best = append(best, i)
		}
	}
	return best, stats, err
}

// errSpent ends a minimisation after its limit of runs.
var errSpent = errors.New("the limit of runs for it was reached")

// ids is the identity of a combination of hunks.
func ids(hunks []session.Hunk) string {
	var b strings.Builder
	for _, h := range hunks {
		b.WriteString(h.ID + "\x00")
	}
	return b.String()
}

// inOrder lists the hunks of set in the order of all, each once.
func inOrder(all, set []session.Hunk) []session.Hunk {
	in := map[string]bool{}
	for _, h := range set {
		in[h.ID] = true
	}
	var out []session.Hunk
	for _, h := range all {
		if in[h.ID] {
			out = append(out, h)
		}
	}
	return out
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
	unresolved := 0
	try := func(ctx context.Context, indexes []int) (ddmin.Verdict, error) {
		key := fmt.Sprint(indexes)
		mu.Lock()
		v, known := asked[key]
		stuck := unresolved >= maxUnresolved
		mu.Unlock()
		if known {
			return v, nil
		}
		if stuck {
			return ddmin.Unresolved, errEntangled
		}
		chosen := make([]session.Hunk, len(indexes))
		for i, j := range indexes {
			chosen[i] = hunks[j]
		}
		v, err := test(ctx, chosen)
		if err == nil {
			mu.Lock()
			asked[key] = v
			if unresolved++; v != ddmin.Unresolved {
				unresolved = 0
			}
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
		if err != nil || stats.Exhausted || len(files) == 0 {
			if files == nil {
				return nil, stats, err
			}
			return append([]int{}, join(files)...), stats, err
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
