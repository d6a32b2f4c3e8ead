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

// maxFixRuns bounds the runs that the search for one candidate may cost.
const maxFixRuns = 60

// maxFixRunsLarge bounds them for a change of more than maxKept hunks: they
// stand and fall together, as the investigation has found, and a revert of most
// of them is no fix that a bot should offer.
const maxFixRunsLarge = 16

// maxSingles is how many hunks are tried one by one when they do not revert
// together.
const maxSingles = 12

// Fixer makes fixes without understanding: it takes the smallest part of what
// brought the failure away again. It never touches a test, never forces a
// conflict, and offers nothing that it has not seen pass.
type Fixer struct {
	lab *Lab

	mu     sync.Mutex
	series map[string]*Candidates // by session and row: where a rejected fix is followed by the next one
}

// NewFixer returns a fixer that runs its trials in lab.
func NewFixer(lab *Lab) *Fixer { return &Fixer{lab: lab, series: map[string]*Candidates{}} }

// ErrNoMore is returned by Candidates.Next when nothing is left to offer.
var ErrNoMore = errors.New("no further candidate")

// Fix attempts the fix of row t for the session's root cause and reports once.
// Asked again it offers the same fix, or the next one when s.Rejected has that:
// so it goes on where a process that was killed stood.
func (f *Fixer) Fix(ctx context.Context, s *session.Session, t session.Task) session.FixReport {
	rep := session.FixReport{ID: t.ID, Status: session.Completed, Result: session.FixFailed}
	cause := s.RootCause
	if cause == nil || (len(t.Deps) > 0 && !slices.Contains(t.Deps, cause.Task)) {
		rep.Status, rep.Error = session.Failed, "no confirmed cause belongs to this row"
		rep.Findings = "Nothing was changed: " + rep.Error + "."
		return rep
	}
	key := s.ID + "/" + t.ID
	f.mu.Lock()
	c := f.series[key]
	f.mu.Unlock()
	if c == nil || c.cause.Task != cause.Task || c.cause.Summary != cause.Summary {
		var err error
		if c, err = f.Candidates(ctx, s, t, cause); err != nil {
			return failedFix(rep, err)
		}
		f.mu.Lock()
		f.series[key] = c
		f.mu.Unlock()
	}
	for {
		fix, err := c.last, error(nil)
		if fix == nil || slices.Contains(s.Rejected, fix.Digest()) {
			fix, err = c.Next(ctx)
		}
		if errors.Is(err, ErrNoMore) {
			rep.Findings = clip(c.why(), session.MaxFindings)
			rep.Fix = &session.Fix{Task: t.ID, Base: s.Bad.SHA}
			if len(c.tried) == 0 {
				rep.Fix.Conflicts = c.conflicts // they alone are the reason
			}
			return rep
		}
		if err != nil {
			return failedFix(rep, err)
		}
		if slices.Contains(s.Rejected, fix.Digest()) {
			continue // tried by an earlier process
		}
		rep.Result, rep.Verified, rep.Fix = session.Fixed, true, fix
		for _, h := range fix.Hunks {
			rep.FixApplied = append(rep.FixApplied, fmt.Sprintf("%s — %s", h.Location(), sizeOf(h)))
		}
		rep.Findings = clip(fmt.Sprintf("%s: %s removed and %s added in %s; the test passes with it.", fix.Strategy,
			plural(fix.Removed, "line"), plural(fix.Added, "line"), strings.Join(fix.Files, ", ")), session.MaxFindings)
		return rep
	}
}

func failedFix(rep session.FixReport, err error) session.FixReport {
	text := clip(oneLine(err.Error()), session.MaxFindings)
	if errors.Is(err, ErrBudget) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		rep.Findings = clip("No fix was found in the budget: "+text, session.MaxFindings)
		return rep
	}
	rep.Status, rep.Error = session.Failed, text
	rep.Findings = clip("The fix could not be attempted: "+text, session.MaxFindings)
	return rep
}

func sizeOf(h session.Hunk) string {
	if h.Whole {
		return "the whole file"
	}
	return fmt.Sprintf("%s removed, %s added", plural(h.OldLines, "line"), plural(h.NewLines, "line"))
}

// Candidates offers fixes, the smallest first. It is used by one goroutine.
type Candidates struct {
	lab       *Lab
	s         *session.Session
	task      session.Task
	cause     *session.RootCause
	base      session.Trial
	patience  int
	rev       *reverter
	hunks     []session.Hunk // of the change that is to be reverted
	steps     []func(context.Context) ([]session.Hunk, error)
	offered   []string // patches
	last      *session.Fix
	conflicts []string
	refused   string // why a revert is not allowed as a fix
	note      string

	mu    sync.Mutex                     // combinations are tried in parallel
	tried map[string]session.Observation // by the trial's key: none is tried twice
}

// Candidates prepares the fixes for a cause. A cause that no change of code
// can mend (a wrong test, chance, the environment) has none.
func (f *Fixer) Candidates(ctx context.Context, s *session.Session, t session.Task, cause *session.RootCause) (*Candidates, error) {
	c := &Candidates{lab: f.lab, s: s, task: t, cause: cause, patience: patience(s), tried: map[string]session.Observation{}}
	base, err := Reproduction(ctx, f.lab.History, s)
	if err != nil {
		return nil, fmt.Errorf("prepare fix: %w", err)
	}
	c.base = base
	var ch change
	switch {
	case cause.NoCodeChange || cause.Parent == nil:
		c.note = "No change of the code is right here: " + orWord(cause.MinimalNote, "the code is not at fault") + "."
		return c, nil
	case cause.Kind == session.Regression && cause.Culprit != nil:
		newest, err := f.newest(ctx, cause)
		if err != nil {
			return nil, err
		}
		if ch, err = f.lab.changeOf(ctx, cause.Parent.SHA, newest, base.Edits); err != nil {
			return nil, err
		}
	case cause.Kind == session.DependencyMove:
		if ch, err = f.lab.changeOf(ctx, cause.Parent.SHA, s.Bad.SHA, base.Edits); err != nil {
			return nil, err
		}
		ch.code = slices.DeleteFunc(ch.code, func(h session.Hunk) bool { return !f.lab.Language.IsLockFile(h.File) })
	default:
		c.note = fmt.Sprintf("A cause of kind %s has no fix by reverting.", cause.Kind)
		return c, nil
	}
	if c.rev, err = f.lab.reverter(ctx, ch, s.Bad.SHA); err != nil {
		return nil, err
	}
	c.hunks = ch.code
	c.steps = []func(context.Context) ([]session.Hunk, error){c.decidingLines, c.smallestOfMinimal, c.smallestOfAll, c.wholeMinimal, c.wholeCulprit}
	return c, nil
}

// newest is the newest of the culprit and the commits that cannot be told from
// it: the one that was seen to fail.
func (f *Fixer) newest(ctx context.Context, cause *session.RootCause) (string, error) {
	best, most := cause.Culprit.SHA, -1
	for _, c := range append([]session.Commit{*cause.Culprit}, cause.Alternatives...) {
		between, err := f.lab.History.Between(ctx, cause.Parent.SHA, c.SHA)
		if err != nil {
			return "", fmt.Errorf("prepare fix: %w", err)
		}
		if len(between) > most {
			best, most = c.SHA, len(between)
		}
	}
	return best, nil
}

// Next computes the next candidate and runs the test with it. The fix that is
// returned passed; ErrNoMore ends the series.
func (c *Candidates) Next(ctx context.Context) (*session.Fix, error) {
	for len(c.steps) > 0 {
		step := c.steps[0]
		c.steps = c.steps[1:]
		hunks, err := step(ctx)
		if err != nil {
			return nil, err
		}
		if len(hunks) == 0 {
			continue
		}
		fix, err := c.candidate(ctx, hunks)
		if err != nil {
			return nil, err
		}
		if fix != nil {
			c.last = fix
			return fix, nil
		}
	}
	return nil, ErrNoMore
}

// candidate makes the fix that reverts the hunks, if it is new and passes.
func (c *Candidates) candidate(ctx context.Context, hunks []session.Hunk) (*session.Fix, error) {
	edits, conflicts, err := c.rev.revert(ctx, hunks)
	if err != nil {
		return nil, err
	}
	if conflicts != nil || len(edits) == 0 {
		c.conflict(conflicts)
		return nil, nil
	}
	fix, err := c.lab.rendered(ctx, c.s.Bad.SHA, edits)
	if err != nil {
		return nil, err
	}
	if slices.Contains(c.offered, fix.Patch) {
		return nil, nil
	}
	c.offered = append(c.offered, fix.Patch)
	if bad := patch.Check(fix.Hunks, patch.Policy{IsTestFile: c.lab.Language.IsTestFile, Protected: c.s.Flags.Protected}); len(bad) > 0 {
		c.refused = bad[0].String()
		return nil, nil
	}
	obs, err := c.run(ctx, edits, "fix")
	if err != nil {
		return nil, err
	}
	if obs.Outcome != session.Passed {
		return nil, nil
	}
	fix.Task = c.task.ID
	fix.Strategy, fix.Summary = c.words(len(hunks))
	if !slices.ContainsFunc(c.hunks, func(h session.Hunk) bool { return h.ID == hunks[0].ID }) {
		fix.Strategy = fmt.Sprintf("minimal revert of %s (%d of %s)", c.cause.Culprit.Short(), len(hunks), plural(c.cause.ChangedLines, "changed line"))
	}
	fix.Patch = mail(fix)
	return &fix, nil
}

func (c *Candidates) words(n int) (strategy, summary string) {
	what := "the test"
	if tests := c.s.Reproduction.Target.Tests; len(tests) > 0 {
		what = clip(oneLine(tests[0]), 80)
	}
	if c.cause.Kind == session.DependencyMove {
		return fmt.Sprintf("revert of the dependency move (%d of %s)", n, plural(len(c.hunks), "hunk")), what + " fails with the newer dependencies"
	}
	culprit := *c.cause.Culprit
	strategy = fmt.Sprintf("minimal revert of %s (%d of %s)", culprit.Short(), n, plural(len(c.hunks), "hunk"))
	if n == len(c.hunks) && n > 1 {
		strategy = fmt.Sprintf("revert of %s (all %s of code)", culprit.Short(), plural(n, "hunk"))
	}
	return strategy, fmt.Sprintf("%s fails since %s", what, titled(culprit))
}

// run tries edits at the bad commit.
func (c *Candidates) run(ctx context.Context, edits []session.Edit, name string) (session.Observation, error) {
	t := at(c.base, c.s.Bad.SHA, name, c.task.ID)
	t.Edits = append(slices.Clone(c.base.Edits), edits...)
	key := Key(t)
	c.mu.Lock()
	obs, known := c.tried[key]
	c.mu.Unlock()
	if known {
		return obs, nil
	}
	obs, err := c.lab.probe(ctx, t, c.patience)
	if err == nil {
		c.mu.Lock()
		c.tried[key] = obs
		c.mu.Unlock()
	}
	return obs, err
}

// conflict notes why something cannot be reverted, once.
func (c *Candidates) conflict(why []string) {
	for _, w := range why {
		if !slices.Contains(c.conflicts, w) && len(c.conflicts) < 20 {
			c.conflicts = append(c.conflicts, oneLine(w))
		}
	}
}

// why says why nothing is left to offer.
func (c *Candidates) why() string {
	n, stuck := map[session.Outcome]int{}, ""
	for _, o := range c.tried {
		n[o.Outcome]++
		if o.Outcome == session.Untestable && (stuck == "" || o.Reason < stuck) {
			stuck = o.Reason // whichever, but always the same one
		}
	}
	conflicts := strings.Join(c.conflicts, "; ")
	switch {
	case c.note != "":
		return c.note
	case len(c.hunks) == 0:
		return "The culprit changes no file that a fix may touch."
	case c.last != nil:
		return "No revert is left that makes the test pass and was not found wanting."
	case c.refused != "":
		return fmt.Sprintf("The smallest revert that was found is not allowed as a fix: %s.", c.refused)
	case len(c.tried) == 0 && conflicts != "":
		return fmt.Sprintf("No revert applies without force: %s.", conflicts)
	}
	var seen []string
	for _, o := range []struct {
		outcome session.Outcome
		words   string
	}{{session.FailedSame, "fails as before"}, {session.FailedElse, "fails otherwise"}, {session.Untestable, "cannot be tested"}} {
		if k := n[o.outcome]; k > 0 {
			seen = append(seen, fmt.Sprintf("%d × %s", k, o.words))
		}
	}
	out := fmt.Sprintf("No part of the culprit makes the test pass when it is taken off today's code: %s tried, %s",
		plural(len(c.tried), "combination"), orWord(strings.Join(seen, ", "), "none of which applies"))
	if stuck != "" {
		out += fmt.Sprintf(" (%s)", clip(oneLine(stuck), 200))
	}
	if conflicts != "" {
		out += "; the rest conflicts with later changes: " + conflicts
	}
	return out + "."
}

// minimalHunks are the hunks that the investigation found to bring the
// failure, as they stand in the change.
func (c *Candidates) minimalHunks() []session.Hunk {
	var out []session.Hunk
	for _, h := range c.hunks {
		if slices.ContainsFunc(c.cause.Minimal, func(m session.Hunk) bool { return m.ID == h.ID }) {
			out = append(out, h)
		}
	}
	return out
}

// decidingLines are the lines without which the test passes, where they are
// known: less to take off than their hunks.
func (c *Candidates) decidingLines(context.Context) ([]session.Hunk, error) {
	if c.cause.LinesNote != "" || c.cause.Culprit == nil || len(c.cause.Lines) > maxKept {
		return nil, nil
	}
	var out []session.Hunk
	for _, h := range c.minimalHunks() {
		for _, l := range patch.Lines(h) {
			if slices.ContainsFunc(c.cause.Lines, func(x session.Hunk) bool { return x.ID == l.ID }) {
				out = append(out, l)
			}
		}
	}
	return out, nil
}

// smallestOfMinimal: of the hunks that bring the failure together, perhaps
// taking one off suffices.
func (c *Candidates) smallestOfMinimal(ctx context.Context) ([]session.Hunk, error) {
	return c.smallest(ctx, c.minimalHunks())
}

// smallestOfAll: any part of the culprit whose absence mends the test today.
func (c *Candidates) smallestOfAll(ctx context.Context) ([]session.Hunk, error) {
	if c.refused != "" && len(c.cause.Minimal) > maxKept {
		return nil, nil // what is hardly more leads no further
	}
	return c.smallest(ctx, c.hunks)
}

// wholeMinimal and wholeCulprit are offered where a smaller revert was found
// wanting: it passes the test and breaks something else.
func (c *Candidates) wholeMinimal(context.Context) ([]session.Hunk, error) {
	return c.minimalHunks(), nil
}

func (c *Candidates) wholeCulprit(context.Context) ([]session.Hunk, error) { return c.hunks, nil }

// smallest runs delta debugging over reverts: the smallest part of the hunks
// whose reversal makes the test pass.
func (c *Candidates) smallest(ctx context.Context, hunks []session.Hunk) ([]session.Hunk, error) {
	pool, conflicts, err := c.rev.clean(ctx, hunks)
	if err != nil {
		return nil, err
	}
	c.conflict(conflicts)
	if len(pool) == 0 {
		return nil, nil
	}
	test := func(ctx context.Context, subset []session.Hunk) (ddmin.Verdict, error) {
		edits, conflicts, err := c.rev.revert(ctx, subset)
		if err != nil {
			return ddmin.Unresolved, err
		}
		if conflicts != nil {
			return ddmin.Unresolved, nil
		}
		if len(edits) == 0 {
			return ddmin.Not, nil // nothing changes: the test fails as before
		}
		obs, err := c.run(ctx, edits, fmt.Sprintf("fix: revert %d of %s", len(subset), plural(len(c.hunks), "hunk")))
		switch obs.Outcome {
		case session.Passed:
			return ddmin.Reproduces, err
		case session.FailedSame:
			return ddmin.Not, err
		}
		return ddmin.Unresolved, err
	}
	limit := maxFixRuns
	if len(pool) > maxKept {
		limit = maxFixRunsLarge
	}
	best, _, err := minimal(ctx, pool, test, ddmin.Options{Parallel: c.lab.slots, MaxTests: limit})
	switch {
	case errors.Is(err, ddmin.ErrNotReproduced):
		// What is left of the change without its conflicts may not build as a
		// whole, and one part of it may still mend the test.
		if len(pool) > 1 && len(pool) <= maxSingles {
			for i := range pool {
				v, err := test(ctx, pool[i:i+1])
				if err != nil || v == ddmin.Reproduces {
					return pool[i : i+1], err
				}
			}
		}
		return nil, nil
	case err != nil && best == nil:
		return nil, err
	}
	out := make([]session.Hunk, len(best))
	for i, j := range best {
		out[i] = pool[j]
	}
	return out, nil
}
