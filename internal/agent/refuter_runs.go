package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"culprit/internal/agent/tools"
	"culprit/internal/evidence"
	"culprit/internal/session"
)

// decidingRuns is how often a run that decides is seen.
const decidingRuns = 2

// decided says which of the runs decides against the cause, and why; empty:
// none does. Whether a line that was read, or a run that was made, has anything
// to do with the cause is a model's opinion. Two things are not:
//
//   - the test passes at a commit at which all files that the cause names are
//     the same: what makes it fail is elsewhere;
//   - it fails in the same way at a commit at which none of these files is
//     there: it fails without them.
//
// The test is run again for it, as the reproduction and not as whatever the
// model ran. (Runs that were made before are answered from the record.)
func (v *Refuter) decided(ctx context.Context, work *tools.Desk, s *session.Session, t session.Task, runs []evidence.Claim) (string, error) {
	record, err := v.desk.Store.Entries()
	if err != nil {
		return "", err
	}
	files := named(s.Causes[t.ID], t)
	if len(files) == 0 {
		return "", nil
	}
	seen := map[string]bool{"": true, work.Base.Rev: true}
	for _, r := range runs {
		for _, e := range record {
			if e.Phase != "experiment" || e.Source != r.Log || seen[e.Commit] {
				continue
			}
			seen[e.Commit] = true
			same, none, err := v.compared(ctx, work, e.Commit, files)
			if err != nil {
				return "", err
			}
			if !same && !none {
				continue
			}
			c, _, err := v.desk.Runner.Repeat(ctx, work.TrialAt(e.Commit), decidingRuns)
			if err != nil {
				return "", err
			}
			at := session.Commit{SHA: e.Commit}.Short()
			switch {
			case same && c.Runs == decidingRuns && c.Failures == 0:
				return fmt.Sprintf("the test passes at %s with the same %s", at, strings.Join(files, ", ")), nil
			case none && c.Runs == decidingRuns && c.Failures == c.Runs:
				return fmt.Sprintf("the test fails in the same way at %s without %s", at, strings.Join(files, ", ")), nil
			}
		}
	}
	return "", nil
}

// compared reports whether all files are at a commit what the worker sees, and
// whether none is there.
func (v *Refuter) compared(ctx context.Context, work *tools.Desk, rev string, files []string) (same, none bool, err error) {
	same, none = true, true
	for _, f := range files {
		if slices.ContainsFunc(work.Base.Edits, func(e session.Edit) bool { return e.Path == f }) {
			none = false // it is laid over every commit
			continue
		}
		now, err := work.Read(ctx, f)
		if err != nil {
			return false, false, err
		}
		then, _, err := v.desk.Repo.ShowMode(ctx, rev, f)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			same = false
		case err != nil:
			return false, false, err
		default:
			none = false
			same = same && bytes.Equal(now, then)
		}
	}
	return same, none, nil
}

// named are the files that a cause rests on.
func named(c *session.RootCause, t session.Task) []string {
	var out []string
	add := func(at string) {
		if file, _, ok := place(at); ok && !slices.Contains(out, file) {
			out = append(out, file)
		}
	}
	add(c.Location)
	for l := range strings.Lines(t.EvidenceFor) {
		at, _, _ := strings.Cut(l, " — ")
		add(at)
	}
	return out
}

// place takes "path:line" apart.
func place(at string) (file string, line int, ok bool) {
	i := strings.LastIndexByte(at, ':')
	if i <= 0 || strings.ContainsAny(at, " \t") {
		return "", 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(at[i+1:]))
	return at[:i], n, err == nil && n > 0
}
