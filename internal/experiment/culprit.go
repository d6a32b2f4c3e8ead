package experiment

import (
	"context"
	"fmt"
	"slices"

	"culprit/internal/experiment/search"
	"culprit/internal/session"
)

// verifyRuns is how many decisive runs the culprit and its parent get: the one
// that located it and three more.
const verifyRuns = 4

// maxNested bounds how deep merges inside merges are followed.
const maxNested = 6

// located is where a culprit search ended.
type located struct {
	result     search.Result
	commits    []session.Commit // the range, oldest first
	below      session.Commit   // the good commit under it
	culprit    session.Commit
	parent     session.Commit // newest commit before culprit that is not one of the alternatives
	failing    session.Commit // oldest commit from culprit on that was seen to fail
	merge      *session.Commit
	mergeNote  string
	alternates []session.Commit
	record     session.Search
}

// candidates lists the commits along first parents that are reachable from bad
// and not from good, oldest first, and the commit below them.
func (st *study) candidates(ctx context.Context, good, bad string) (commits []session.Commit, below *session.Commit, err error) {
	line, err := st.lab.History.FirstParents(ctx, bad, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("list commits: %w", err)
	}
	side, err := st.lab.History.Between(ctx, good, bad)
	if err != nil {
		return nil, nil, fmt.Errorf("list commits: %w", err)
	}
	fresh := make(map[string]bool, len(side))
	for _, c := range side {
		fresh[c.SHA] = true
	}
	for i, c := range line {
		if !fresh[c.SHA] {
			below = &line[i]
			break
		}
		commits = append(commits, c)
	}
	slices.Reverse(commits)
	st.broughtBy(commits, side)
	return commits, below, nil
}

// broughtBy notes for each commit on a side branch the merge on the line that
// brought it, so that a suspect inside a merge makes the merge a suspect.
func (st *study) broughtBy(line, side []session.Commit) {
	if st.brought == nil {
		st.brought = map[string]string{}
	}
	parents := make(map[string][]string, len(side))
	for _, c := range side {
		parents[c.SHA] = c.Parents
	}
	seen := map[string]bool{}
	for _, c := range line {
		todo := []string{c.SHA}
		for len(todo) > 0 {
			sha := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if up, within := parents[sha]; within && !seen[sha] {
				seen[sha] = true
				st.brought[sha] = c.SHA
				todo = append(todo, up...)
			}
		}
	}
}

// locate searches the commits, oldest first, for the one that introduced the
// failure. below is the good commit under the oldest; the newest fails.
func (st *study) locate(ctx context.Context, commits []session.Commit, below session.Commit) (*located, error) {
	sr := search.New(len(commits), search.Options{
		Weights: st.weights(commits), Bad: st.seen(commits[len(commits)-1]), Good: st.seen(below),
		Flaky: st.s.Reproduction.Flaky, Verify: verifyRuns,
	})
	loc := &located{commits: commits, below: below, record: session.Search{Range: len(commits)}}
	commit := func(i int) session.Commit {
		if i == search.Good {
			return below
		}
		return commits[i]
	}
	// What the session knows already (from galloping back, or from before a
	// restart) is not run again.
	for i := range commits[:len(commits)-1] {
		for _, o := range st.lab.take(at(st.base, commits[i].SHA, "", "")) {
			sr.Observe(i, o.Outcome)
			loc.note(commits[i], i, session.Observation{Outcome: o.Outcome, Reason: o.Reason})
		}
	}
	for {
		next := sr.Next(st.lab.slots)
		if len(next) == 0 {
			break
		}
		trials := make([]session.Trial, len(next))
		for j, i := range next {
			trials[j] = at(st.base, commit(i).SHA, "culprit search", st.task.ID)
		}
		seen, err := st.lab.runAll(ctx, trials)
		for j, o := range seen {
			if o == nil {
				continue
			}
			sr.Observe(next[j], o.Outcome)
			loc.note(commit(next[j]), next[j], *o)
		}
		if err != nil {
			loc.finish(sr.Result())
			st.sofar(loc)
			return loc, err
		}
	}
	loc.finish(sr.Result())
	return loc, nil
}

// sofar keeps what a search knows when it is cut off.
func (st *study) sofar(loc *located) {
	if loc.result.Culprit >= 0 {
		st.conclude(session.Inconclusive, "%s is the most probable culprit of %s (probability %.0f %%), not verified.",
			titled(loc.culprit), plural(len(loc.commits), "commit"), 100*loc.result.Probability)
	}
}

func (loc *located) note(c session.Commit, i int, o session.Observation) {
	loc.record.Tried = append(loc.record.Tried, session.Probe{Commit: c, Index: i, Outcome: o.Outcome, Reason: o.Reason})
}

// finish names the commits that the result speaks of.
func (loc *located) finish(r search.Result) {
	loc.result = r
	loc.record.Runs, loc.record.Rounds = len(loc.record.Tried), r.Rounds
	if r.Culprit < 0 {
		return
	}
	group := append([]int{r.Culprit}, r.Alternatives...)
	slices.Sort(group)
	loc.culprit, loc.failing, loc.parent = loc.commits[r.Culprit], loc.commits[group[len(group)-1]], loc.below
	if group[0] > 0 {
		loc.parent = loc.commits[group[0]-1]
	}
	for _, i := range r.Alternatives {
		loc.alternates = append(loc.alternates, loc.commits[i])
	}
}

// seen is what the reproduction taught about a commit: its own counts for the
// bad commit, the recorded runs for any other.
func (st *study) seen(c session.Commit) session.Count {
	count := session.Count{}
	for _, o := range st.lab.take(at(st.base, c.SHA, "", "")) {
		count.Add(o.Outcome)
	}
	if st.s.Bad != nil && c.SHA == st.s.Bad.SHA && count.Runs < st.s.Reproduction.Count.Runs {
		return st.s.Reproduction.Count
	}
	return count
}

// weights makes suspects of archaeology more probable than the rest.
func (st *study) weights(commits []session.Commit) []float64 {
	if st.s.Archaeology == nil {
		return nil
	}
	factor := map[string]float64{}
	suspect := func(sha string, f float64) {
		for _, id := range []string{sha, st.brought[sha]} {
			factor[id] = max(factor[id], f)
		}
	}
	for _, s := range st.s.Archaeology.Suspects {
		switch s.Relevance {
		case session.High:
			suspect(s.Commit.SHA, 6)
		case session.Medium:
			suspect(s.Commit.SHA, 3)
		case session.Low:
			suspect(s.Commit.SHA, 1.5)
		}
	}
	if st.h.Suspect != "" {
		suspect(st.h.Suspect, 8)
	}
	out := make([]float64, len(commits))
	for i, c := range commits {
		out[i] = max(factor[c.SHA], 1)
	}
	return out
}

// inside looks into a merge that was found to be the culprit: its second
// parent's side, from the merge base to the tip. The answer is loc itself,
// with a note, when the merge is to blame as such.
func (st *study) inside(ctx context.Context, loc *located, depth int) (*located, error) {
	if len(loc.culprit.Parents) < 2 || len(loc.alternates) > 0 || depth > maxNested {
		return loc, nil
	}
	merge := loc.culprit
	for _, tip := range loc.culprit.Parents[1:] {
		obs, err := st.probe(ctx, st.base, tip, "inside the merge")
		if err != nil {
			return loc, err
		}
		if obs.Outcome != session.FailedSame {
			loc.mergeNote = fmt.Sprintf("its merged side %.8s %s", tip, verb(obs))
			continue
		}
		base, err := st.lab.History.MergeBase(ctx, merge.Parents[0], tip)
		if err != nil {
			return loc, fmt.Errorf("look inside merge %s: %w", merge.Short(), err)
		}
		if base == "" {
			loc.mergeNote = "it joins an unrelated history that fails"
			continue
		}
		if obs, err = st.probe(ctx, st.base, base, "inside the merge"); err != nil {
			return loc, err
		}
		if obs.Outcome != session.Passed {
			loc.mergeNote = fmt.Sprintf("where its sides part, at %.8s, the test %s", base, verb(obs))
			continue
		}
		commits, below, err := st.candidates(ctx, base, tip)
		if err != nil {
			return loc, err
		}
		if len(commits) == 0 || below == nil {
			continue
		}
		deep, err := st.locate(ctx, commits, *below)
		if err != nil {
			return loc, err
		}
		if !deep.result.Decided || deep.result.Culprit < 0 {
			loc.mergeNote = "the search inside its merged side was not decided"
			continue
		}
		for i := range deep.record.Tried {
			deep.record.Tried[i].Index = loc.result.Culprit // in the picture, the inner commits stand at their merge
		}
		deep.record.Tried = append(loc.record.Tried, deep.record.Tried...)
		deep.record.Runs, deep.record.Rounds = len(deep.record.Tried), loc.record.Rounds+deep.record.Rounds
		deep.record.Range = loc.record.Range
		deeper, err := st.inside(ctx, deep, depth+1)
		deeper.merge = &merge
		return deeper, err
	}
	if loc.mergeNote == "" {
		loc.mergeNote = "its sides pass alone"
	}
	return loc, nil
}
