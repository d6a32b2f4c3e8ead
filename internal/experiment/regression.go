package experiment

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"culprit/internal/experiment/rate"
	"culprit/internal/session"
)

// regression tests "a commit introduced it": a culprit search between the
// newest good commit and the bad one, inside merges too, verification of the
// culprit and the commit before it, and the smallest part of the culprit that
// makes the test fail.
func regression(ctx context.Context, st *study) error {
	good, done, err := st.good(ctx)
	if err != nil || done {
		return err
	}
	commits, below, err := st.candidates(ctx, good.SHA, st.s.Bad.SHA)
	if err != nil {
		return err
	}
	if len(commits) == 0 {
		st.conclude(session.Refuted, "No commit lies between the good commit %s and %s: nothing can have introduced the failure.", good.Short(), st.s.Bad.Short())
		return nil
	}
	if below == nil {
		st.conclude(session.Inconclusive, "The good commit %s is not in the history of %s: give a good commit that is.", good.Short(), st.s.Bad.Short())
		return nil
	}
	if below.SHA != good.SHA {
		// The good commit lies on a side branch; what bounds the search is the
		// commit on the line itself.
		obs, err := st.probe(ctx, st.base, below.SHA, "commit below the range")
		if err != nil {
			return err
		}
		if obs.Outcome != session.Passed {
			st.conclude(session.Inconclusive, "The test passes at %s, which is not on the main line, and at %s below it on the main line it %s: give a good commit on the main line.",
				good.Short(), below.Short(), verb(obs))
			return nil
		}
	}
	loc, err := st.locate(ctx, commits, *below)
	if err != nil {
		return err
	}
	if !st.decided(loc) {
		return nil
	}
	if loc, err = st.inside(ctx, loc, 0); err != nil {
		return err
	}
	cause, ok, err := st.verify(ctx, loc)
	if err != nil || !ok {
		return err
	}
	st.finding.Cause = cause
	st.minimise(ctx, loc, cause)
	st.confirm(loc, cause)
	return nil
}

// good is the commit that bounds the search from below, from archaeology or
// by looking for one now. done means that there is none and the finding says
// why.
func (st *study) good(ctx context.Context) (good session.Commit, done bool, err error) {
	a := st.s.Archaeology
	if a == nil || (a.Good == nil && a.Boundary == "") {
		found, err := FindGood(ctx, st.lab, st.s)
		var fails *GoodFailsError
		if errors.As(err, &fails) {
			st.conclude(session.Inconclusive, "%s", fails.Error())
			return good, true, nil
		}
		if err != nil {
			return good, true, err
		}
		a = &found
	}
	if a.Good != nil {
		return *a.Good, false, nil
	}
	oldest := st.s.Bad
	if a.Oldest != nil {
		oldest = a.Oldest
	}
	switch a.Boundary {
	case "root":
		st.contradicts("commit %s — the test fails at the oldest commit there is", oldest.Short())
		st.conclude(session.Refuted, "The test fails at every commit that was tried, back to the oldest one (%s): no commit of this history made a passing test fail.", titled(*oldest))
	case "limit":
		st.conclude(session.Inconclusive, "The budget was used up before a passing commit was found; the oldest failing one is %s. Give a good commit with --good.", titled(*oldest))
	default:
		st.conclude(session.Inconclusive, "No passing commit was found: the test fails back to %s, and nothing older can be tested (%d tried). Give a good commit with --good, or files with --overlay.",
			titled(*oldest), a.Skipped)
	}
	return good, true, nil
}

// decided says whether the search named a culprit, and if not concludes with
// what it showed instead.
func (st *study) decided(loc *located) bool {
	r := loc.result
	switch {
	case r.AlwaysSo > 0.5:
		st.contradicts("commit %s — fails there too when it is run again", loc.below.Short())
		st.conclude(session.Refuted, "Run again, the test fails at %s too, which had passed: it is not one of these %s that introduced it.", titled(loc.below), plural(len(loc.commits), "commit"))
	case r.OnlyFlaky > 0.5:
		st.contradicts("commit %s — the failure rate is the same on both sides (probability %.0f %%)", loc.below.Short(), 100*r.OnlyFlaky)
		st.conclude(session.Refuted, "The test fails as often at %s as at %s: it is flaky, and none of these %s changed that.", loc.below.Short(), st.s.Bad.Short(), plural(len(loc.commits), "commit"))
	case !r.Decided || r.Culprit < 0:
		name := "no commit stands out"
		if r.Culprit >= 0 {
			name = fmt.Sprintf("%s is the most probable (%.0f %%)", titled(loc.culprit), 100*r.Probability)
		}
		st.conclude(session.Inconclusive, "The culprit search over %s was not decided after %s: %s.", plural(len(loc.commits), "commit"), plural(r.Runs, "run"), name)
	default:
		return true
	}
	return false
}

// verify runs the culprit and the commit before it until each has been seen
// often enough, and decides whether the failure really began there.
func (st *study) verify(ctx context.Context, loc *located) (cause *session.RootCause, ok bool, err error) {
	var before, after session.Count
	same := true
	for need := verifyRuns; same && need <= 4*max(st.patience, verifyRuns); need *= 2 {
		if after, err = st.count(ctx, loc.failing, need); err != nil {
			return nil, false, err
		}
		if before, err = st.count(ctx, loc.parent, need); err != nil {
			return nil, false, err
		}
		if !st.s.Reproduction.Flaky {
			same = before.Failures > 0 || after.Passes() > 0 || after.Failures == 0
			break
		}
		// A flaky test is run on until the rates differ by more than chance.
		same = need < st.patience || rate.FisherMore(after, before) > 1-rate.Level
	}
	if same {
		st.contradicts("commit %s — %s; commit %s — %s", loc.failing.Short(), tally(after), loc.parent.Short(), tally(before))
		st.conclude(session.Inconclusive, "The search named %s, and verification does not bear it out: there the test %s, before it the test %s.",
			titled(loc.culprit), tally(after), tally(before))
		return nil, false, nil
	}
	culprit, parent := loc.culprit, loc.parent
	return &session.RootCause{
		Task: st.task.ID, Kind: session.Regression, Culprit: &culprit, Parent: &parent, Merge: loc.merge,
		AtCulprit: after, AtParent: before, Probability: loc.result.Probability, Alternatives: loc.alternates,
		SearchSummary: &loc.record,
	}, true, nil
}

// count tops the decisive runs of a commit up to n, counting those that the
// session has.
func (st *study) count(ctx context.Context, c session.Commit, n int) (session.Count, error) {
	t := at(st.base, c.SHA, "verification", st.task.ID)
	known := st.lab.Known(t)
	for known.Runs < n {
		more, _, err := st.lab.Repeat(ctx, t, n-known.Runs)
		if err != nil {
			return known, err
		}
		if more.Runs == 0 {
			break // it cannot be tested any more: say what is known
		}
		known = st.lab.Known(t)
	}
	return known, nil
}

// confirm writes what was found.
func (st *study) confirm(loc *located, cause *session.RootCause) {
	c := *cause.Culprit
	st.supports("commit %s — %s (%q)", loc.failing.Short(), tally(cause.AtCulprit), clip(oneLine(loc.failing.Subject), 80))
	st.supports("commit %s — %s, the commit before", cause.Parent.Short(), tally(cause.AtParent))
	what := ""
	if n := len(cause.Minimal); n > 0 {
		what = fmt.Sprintf(" %d of its %s suffices to make the test fail, at %s.", n, plural(cause.Hunks, "hunk"), cause.Location)
		switch {
		case cause.MinimalNote != "" && n > 1:
			what = fmt.Sprintf(" %d of its %s together make the test fail, the first to look at is %s; %s.", n, plural(cause.Hunks, "hunk"), cause.Location, cause.MinimalNote)
		case n > 1:
			what = fmt.Sprintf(" %d of its %s are needed together to make the test fail, the first at %s.", n, plural(cause.Hunks, "hunk"), cause.Location)
		}
		st.supports("%s — %d of %s of the culprit on top of its parent: the test fails", cause.Location, n, plural(cause.Hunks, "hunk"))
		what += st.decidingLines(cause) + movedText(cause)
		st.movedEvidence(cause)
	} else if cause.Location != "" {
		st.supports("%s — changed by the culprit", cause.Location)
	}
	where := ""
	switch {
	case cause.Merge != nil:
		where = fmt.Sprintf(" It came in with merge %s.", cause.Merge.Short())
	case loc.mergeNote != "":
		where = fmt.Sprintf(" It is a merge; %s.", loc.mergeNote)
	}
	if n := len(cause.Alternatives); n > 0 {
		where += fmt.Sprintf(" %s beside it cannot be tested and may be the culprit as well.", plural(n, "commit"))
		for _, alt := range cause.Alternatives[:min(n, 5)] {
			st.contradicts("commit %s — untestable, cannot be told from the culprit", alt.Short())
		}
	}
	if loc.result.NonMonotonic {
		where += " The failure was there before, went away and came back: this is its newest introduction."
	}
	cause.Summary = fmt.Sprintf("%s introduced the failure.", titled(c))
	if cause.Location != "" {
		cause.Summary = fmt.Sprintf("%s introduced the failure, at %s.", titled(c), cause.Location)
	}
	for _, m := range cause.Moved {
		cause.Summary = clip(strings.TrimSuffix(cause.Summary, ".")+": "+m.String()+".", session.MaxFindings)
	}
	st.conclude(session.Confirmed, "%s introduced it: the test %s there and %s at %s before it.%s%s",
		titled(c), tally(cause.AtCulprit), tally(cause.AtParent), cause.Parent.Short(), what, where)
}
