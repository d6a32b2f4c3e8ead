package experiment

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"culprit/internal/patch"
	"culprit/internal/session"
)

// versionFiles pin the toolchain; they move like dependencies.
var versionFiles = []string{
	".nvmrc", ".node-version", ".python-version", ".ruby-version", ".go-version", ".java-version", ".tool-versions",
	"rust-toolchain", "rust-toolchain.toml", "global.json", "runtime.txt", "gradle-wrapper.properties", "maven-wrapper.properties",
}

// dependency tests "a dependency or the toolchain moved" by swapping the files
// that say what is used: those of the good commit into the bad one, and the
// other way round where that cannot be run.
func dependency(ctx context.Context, st *study) error {
	good := st.knownGood()
	if good == nil {
		st.conclude(session.Inconclusive, "No good commit is known whose dependencies could be compared with today's.")
		return nil
	}
	changed, err := st.lab.History.Changed(ctx, good.SHA, st.s.Bad.SHA)
	if err != nil {
		return fmt.Errorf("compare dependencies: %w", err)
	}
	var files []string
	for _, c := range changed {
		for _, p := range []string{c.Path, c.OldPath} {
			if p != "" && !slices.Contains(files, p) && (st.lab.Language.IsLockFile(p) || slices.Contains(versionFiles, path.Base(p))) {
				files = append(files, p)
			}
		}
	}
	if len(files) == 0 {
		st.contradicts("commit %s — no manifest, lock file or toolchain version differs from %s", st.s.Bad.Short(), good.Short())
		st.conclude(session.Refuted, "No dependency or toolchain version changed between %s, which passes, and %s.", good.Short(), st.s.Bad.Short())
		return nil
	}
	lines, location := st.moved(ctx, good.SHA, files)
	swapped, err := st.withFiles(ctx, st.base, good.SHA, files)
	if err != nil {
		return err
	}
	swapped.Adapt = false
	old, err := st.probe(ctx, swapped, st.s.Bad.SHA, "swap: dependencies of the good commit")
	if err != nil {
		return err
	}
	if old.Outcome == session.FailedSame {
		st.contradicts("commit %s — fails the same way with the dependencies of %s", st.s.Bad.Short(), good.Short())
		st.conclude(session.Refuted, "With %s of the good commit %s the test still fails at %s: the dependencies are not the cause.", strings.Join(files, ", "), good.Short(), st.s.Bad.Short())
		return nil
	}
	forward, err := st.withFiles(ctx, st.base, st.s.Bad.SHA, files)
	if err != nil {
		return err
	}
	forward.Adapt = false
	today, err := st.probe(ctx, forward, good.SHA, "swap: today's dependencies at the good commit")
	if err != nil {
		return err
	}
	switch {
	case today.Outcome == session.Passed && old.Outcome != session.Passed:
		st.contradicts("commit %s — passes with today's dependencies", good.Short())
		st.conclude(session.Refuted, "The good commit %s passes with today's %s: the dependencies alone do not bring the failure. (Today's code with the older ones %s.)",
			good.Short(), strings.Join(files, ", "), verb(old))
		return nil
	case old.Outcome != session.Passed && today.Outcome != session.FailedSame:
		st.conclude(session.Inconclusive, "Swapping %s decides nothing: today's code with the older ones %s; the good commit with today's ones %s.",
			strings.Join(files, ", "), verb(old), verb(today))
		return nil
	}
	if err := st.confirmMove(ctx, good, files, lines, location, swapped, old, today); err != nil || st.finding.Cause == nil {
		return err
	}
	rev := st.s.Bad.SHA
	if old.Outcome != session.Passed {
		rev = good.SHA
	}
	cause := st.finding.Cause
	st.takeApart(ctx, rev, good.SHA, st.s.Bad.SHA, files, cause)
	if len(cause.Moved) > 0 {
		cause.MinimalNote = ""
		cause.Summary = clip(oneLine(cause.Summary+movedText(cause)), session.MaxFindings)
	}
	st.movedEvidence(cause)
	st.conclude(session.Confirmed, "%s%s", st.finding.Findings, movedText(cause))
	return nil
}

// confirmMove repeats the swap and names what moved.
func (st *study) confirmMove(ctx context.Context, good *session.Commit, files, lines []string, location string, swapped session.Trial, old, today session.Observation) error {
	var with session.Count
	if old.Outcome == session.Passed {
		var err error
		with, _, err = st.lab.Repeat(ctx, at(swapped, st.s.Bad.SHA, "swap: dependencies of the good commit", st.task.ID), max(cellRuns, st.patience))
		if err != nil {
			return err
		}
		if with.Failures > 0 {
			st.conclude(session.Inconclusive, "With the dependencies of %s the test passed once and then %s: the swap decides nothing.", good.Short(), tally(with))
			return nil
		}
		st.supports("commit %s — %s with the dependencies of %s", st.s.Bad.Short(), tally(with), good.Short())
	}
	st.supports("commit %s — %s with today's dependencies", good.Short(), verb(today))
	for _, l := range lines[:min(len(lines), 5)] {
		st.supports("%s", l)
	}
	bad := *st.s.Bad
	summary := fmt.Sprintf("A move of dependencies or toolchain in %s brings the failure: with the files of %s the test passes at %s.", strings.Join(files, ", "), good.Short(), bad.Short())
	if old.Outcome != session.Passed {
		summary = fmt.Sprintf("A move of dependencies or toolchain in %s brings the failure: with today's files the good commit %s fails too.", strings.Join(files, ", "), good.Short())
	}
	st.finding.Cause = &session.RootCause{
		Task: st.task.ID, Kind: session.DependencyMove, Location: location, Parent: good, AtCulprit: st.s.Reproduction.Count, AtParent: with,
		Summary: clip(summary, session.MaxFindings), MinimalNote: fmt.Sprintf("the unit of the swap was the whole file: %s", strings.Join(files, ", ")),
	}
	st.conclude(session.Confirmed, "%s", summary)
	return nil
}

// movedEvidence adds the neighbouring releases to the evidence.
func (st *study) movedEvidence(cause *session.RootCause) {
	for _, m := range cause.Moved {
		st.supports("%s — %s", m.File, m)
	}
}

// moved quotes the changed lines of the files, and where the first stands.
func (st *study) moved(ctx context.Context, good string, files []string) (lines []string, location string) {
	location = files[0]
	diff, err := st.lab.History.Diff(ctx, good, st.s.Bad.SHA)
	if err != nil {
		return nil, location
	}
	hunks, err := patch.Split(diff)
	if err != nil {
		return nil, location
	}
	first := true
	for _, h := range hunks {
		if !slices.Contains(files, h.File) || strings.HasSuffix(h.File, ".sum") {
			continue
		}
		if first {
			location, first = h.Location(), false
		}
		if !h.Whole {
			lines = append(lines, fmt.Sprintf("%s — %s", h.Location(), clip(oneLine(h.Text), 160)))
		}
	}
	return lines, location
}

// knownGood is the good commit of archaeology, if there is one.
func (st *study) knownGood() *session.Commit {
	if st.s.Archaeology == nil {
		return nil
	}
	return st.s.Archaeology.Good
}
