package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"culprit/internal/experiment/ddmin"
	"culprit/internal/patch"
	"culprit/internal/session"
)

// Bounds of taking hunks apart into lines.
const (
	maxLineRuns = 48  // new combinations
	maxLines    = 400 // changed lines of all hunks
	minLineRuns = 6   // fewer decide nothing
	fewLines    = 12  // so many are read sooner than they are told apart
)

// narrow goes on from the smallest hunks to the fewest lines of them, and tells
// causes from conditions: without a cause the test passes, without a condition
// the rest does not build. A combination that does not build shows nothing and
// is never taken for one that passes. Hunks of dependency files are left whole.
//
// It is a bonus like the rest of the minimisation, and takes no more than a
// quarter of the runs that the session has left.
func (st *study) narrow(ctx context.Context, hunks, always []session.Hunk, from string, cause *session.RootCause) {
	var lines []session.Hunk
	fixed := slices.Clone(always)
	for _, h := range hunks {
		if parts := patch.Lines(h); len(parts) > 1 && !st.lab.Language.IsLockFile(h.File) {
			lines = append(lines, parts...)
		} else if h.Whole || st.lab.Language.IsLockFile(h.File) {
			fixed = append(fixed, h)
		} else {
			lines = append(lines, h)
		}
	}
	limit := st.lab.spare(maxLineRuns) / st.patience
	switch {
	case len(lines) < 2, len(lines) <= fewLines && st.s.Mode != session.Deep:
		return
	case len(lines) > maxLines:
		cause.LinesNote = fmt.Sprintf("%d changed lines are too many to be told apart by runs", len(lines))
		return
	case limit < minLineRuns:
		cause.LinesNote = "the lines were not told apart: too few runs are left for a test of this failure rate"
		return
	}
	n := &narrowing{lines: lines, asked: map[string]ddmin.Verdict{}, opts: ddmin.Options{Parallel: st.lab.slots},
		try: &combinations{st: st, from: from, always: fixed, name: "line", of: len(lines), limit: limit}}
	err := n.run(ctx)
	if n.best == nil {
		cause.LinesNote = "the lines were not told apart: the hunks did not make the test fail again when they were put together from lines"
		return
	}
	switch {
	case errors.Is(err, errSpent), errors.Is(err, errEntangled):
		cause.LinesNote = "perhaps fewer lines suffice: " + strings.Replace(err.Error(), "its hunks", "they", 1)
	case errors.Is(err, ErrBudget):
		cause.LinesNote = "perhaps fewer lines suffice: the session's limit was reached"
	case err != nil:
		cause.LinesNote = "perhaps fewer lines suffice: " + firstLine(err.Error())
	}
	switch {
	case err == nil && len(n.best) == len(lines):
		cause.LinesNote = fmt.Sprintf("all %d changed lines of it are needed", len(lines))
		return
	case err != nil && 2*len(n.best) > len(lines):
		cause.LinesNote = "the lines were not told apart: " + strings.TrimPrefix(cause.LinesNote, "perhaps fewer lines suffice: ")
		return
	}
	cause.ChangedLines = len(lines)
	causes, conditions := n.best, []int(nil)
	if err == nil {
		causes, conditions = n.roles()
	}
	for _, i := range causes {
		cause.Lines = append(cause.Lines, kept(lines[i], len(n.best)))
	}
	for _, i := range conditions {
		cause.Conditions = append(cause.Conditions, kept(lines[i], len(n.best)))
	}
	cause.Location = st.decisive(cause.Lines)
}

// decidingLines says in a sentence which lines it comes down to, and adds each
// to the evidence.
func (st *study) decidingLines(cause *session.RootCause) string {
	if len(cause.Lines) == 0 {
		return ""
	}
	for _, l := range cause.Lines[:min(len(cause.Lines), 5)] {
		st.supports("%s — without this changed line the test passes: %s", l.Location(), clip(oneLine(changedText(l)), 120))
	}
	decide := "1 decides"
	if n := len(cause.Lines); n > 1 {
		decide = fmt.Sprintf("%d decide", n)
	}
	out := fmt.Sprintf(" Of %d changed lines %s", cause.ChangedLines, decide)
	if n := len(cause.Conditions); n > 0 {
		out += fmt.Sprintf(", with %d more that the code does not build without", n)
	}
	if cause.LinesNote != "" {
		out += " (" + cause.LinesNote + ")"
	}
	return out + "."
}

// spare is how many of n runs a bonus may take: a quarter of what is left of
// the session's.
func (l *Lab) spare(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opts.MaxRuns > 0 {
		n = min(n, (l.opts.MaxRuns-l.runs)/4)
	}
	return max(n, 0)
}

// narrowing is delta debugging over lines by their blocks: first the outermost
// statements, then what is inside of those that remain, in the end each line.
type narrowing struct {
	lines []session.Hunk
	try   *combinations
	opts  ddmin.Options
	best  []int // reproduces; nil before anything has

	mu      sync.Mutex
	asked   map[string]ddmin.Verdict
	refused int // unresolved in a row
}

// verdict of a set of lines, ascending.
func (n *narrowing) verdict(ctx context.Context, set []int) (ddmin.Verdict, error) {
	key := fmt.Sprint(set)
	n.mu.Lock()
	v, known := n.asked[key]
	stuck := n.refused >= maxUnresolved
	n.mu.Unlock()
	if known {
		return v, nil
	}
	if stuck {
		return ddmin.Unresolved, errEntangled
	}
	hunks := make([]session.Hunk, len(set))
	for i, j := range set {
		hunks[i] = n.lines[j]
	}
	v, _, err := n.try.try(ctx, hunks)
	if err != nil {
		return v, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked[key] = v
	if n.refused++; v != ddmin.Unresolved {
		n.refused = 0
	}
	return v, nil
}

// run minimises; best is what it came to, whatever ended it.
func (n *narrowing) run(ctx context.Context) error {
	level := blocksOf(n.lines)
	var above []int // lines of outer blocks that remain
	for len(level) > 0 {
		units := make([][]int, len(level))
		for i, b := range level {
			units[i] = b.all()
		}
		chosen, err := n.reduce(ctx, above, units)
		if err != nil {
			return err
		}
		var next []*block
		for _, i := range chosen {
			above = append(above, level[i].lines...)
			next = append(next, level[i].inner...)
		}
		level = next
	}
	// An outer block may be idle around inner ones that are needed; and to
	// know of each line what happens without it, each is tried.
	units := make([][]int, 0, len(n.best))
	for _, i := range n.best {
		units = append(units, []int{i})
	}
	_, err := n.reduce(ctx, nil, units)
	return err
}

// reduce minimises over units, with the lines of above always there.
func (n *narrowing) reduce(ctx context.Context, above []int, units [][]int) ([]int, error) {
	join := func(subset []int) []int {
		set := slices.Clone(above)
		for _, i := range subset {
			set = append(set, units[i]...)
		}
		slices.Sort(set)
		return set
	}
	chosen, _, err := ddmin.Minimise(ctx, len(units), func(ctx context.Context, subset []int) (ddmin.Verdict, error) {
		return n.verdict(ctx, join(subset))
	}, n.opts)
	if chosen != nil {
		n.best = join(chosen)
	}
	return chosen, err
}

// roles tells the lines of best apart: causes are those without which the test
// passes, conditions those without which the rest does not build. Where none
// can be left out and built, all count as causes.
func (n *narrowing) roles() (causes, conditions []int) {
	for i, line := range n.best {
		without := slices.Delete(slices.Clone(n.best), i, i+1)
		if v, known := n.asked[fmt.Sprint(without)]; known && v == ddmin.Unresolved {
			conditions = append(conditions, line)
			continue
		}
		causes = append(causes, line)
	}
	if len(causes) == 0 {
		return conditions, nil
	}
	return causes, conditions
}
