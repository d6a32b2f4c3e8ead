package search

import (
	"slices"

	"culprit/internal/session"
)

// Search is the state of one culprit search. It is not safe for concurrent use.
type Search struct {
	n         int
	opts      Options
	grid      grid
	none      noChange
	prior     masses
	contrasts []contrast

	counts     map[int]session.Count // by index; Skipped counts what taught nothing
	ran        []int                 // indexes with a decisive run, ascending
	untestable []int                 // indexes tried without one, ascending
	runs       int
	located    int
	rounds     int

	whole *posterior // over the whole range, kept up to date
	// What follows from the runs; see settle.
	settled bool
	from    int        // the good commit: Good, or the newest pass of a non-monotonic history
	post    *posterior // over from+1..n-1
	twice   float64    // probability of a second introduction after from
}

// New starts a search over candidates 0 (the oldest, whose parent is the known
// good commit) to n-1 (the known bad commit). With n < 1 there is nothing to
// search, and nothing is decided.
func New(n int, opts Options) *Search {
	if !(opts.Confidence > 0.5 && opts.Confidence < 1) {
		opts.Confidence = DefaultConfidence
	}
	if opts.Other == "" {
		opts.Other = session.Untestable
	}
	s := &Search{n: max(n, 0), opts: opts, from: Good, counts: map[int]session.Count{}}
	s.grid, s.none = newGrid(opts.Flaky)
	s.prior = newMasses(s.n, opts.Weights)
	s.contrasts = s.grid.contrasts()
	if s.n == 0 {
		return s
	}
	s.whole = newPosterior(s.grid, s.none, s.prior, 0, s.n-1)
	s.whole.summarise()
	s.know(s.n-1, opts.Bad)
	s.know(Good, opts.Good)
	return s
}

// know takes decisive runs that were made before the search.
func (s *Search) know(i int, c session.Count) {
	c.Runs = max(c.Runs, 0)
	c.Failures = min(max(c.Failures, 0), c.Runs)
	if c.Runs == 0 {
		return
	}
	s.add(i, session.Count{Runs: c.Runs, Failures: c.Failures})
}

func (s *Search) add(i int, c session.Count) {
	old := s.counts[i]
	sum := session.Count{Runs: old.Runs + c.Runs, Failures: old.Failures + c.Failures, Skipped: old.Skipped + c.Skipped}
	s.counts[i] = sum
	s.ran = member(s.ran, i, sum.Runs > 0)
	s.untestable = member(s.untestable, i, s.dead(i))
	if c.Runs > 0 {
		s.whole.observe(i, c.Failures, c.Passes())
	}
	s.settled = false
}

// member puts i into the ascending list, or takes it out.
func member(list []int, i int, in bool) []int {
	at, found := slices.BinarySearch(list, i)
	switch {
	case in && !found:
		return slices.Insert(list, at, i)
	case !in && found:
		return slices.Delete(list, at, at+1)
	}
	return list
}

// Observe adds the outcome of one run at candidate i, or at the good commit
// (Good). Indexes outside the range are ignored.
func (s *Search) Observe(i int, o session.Outcome) {
	if i < Good || i >= s.n {
		return
	}
	s.runs++
	switch s.decisive(o) {
	case session.Passed:
		s.add(i, session.Count{Runs: 1})
	case session.FailedSame:
		s.add(i, session.Count{Runs: 1, Failures: 1})
	default:
		s.add(i, session.Count{Skipped: 1})
	}
	if s.located == 0 && len(s.open()) == 0 {
		s.located = s.runs
	}
}

// settle draws the conclusions from all runs: whether the history is
// monotonic, from where on it is searched, and the posterior there.
func (s *Search) settle() {
	if s.settled {
		return
	}
	s.settled = true
	s.from, s.post = Good, s.whole
	for {
		s.twice = 0
		h := s.introducedTwice()
		if h.p < 0.5 || h.newestPass <= s.from {
			s.twice = h.p
			return
		}
		s.from = h.newestPass
		s.post = newPosterior(s.grid, s.none, s.prior, s.from+1, s.n-1)
		s.post.summarise()
		for _, x := range s.ran {
			if x >= s.from {
				s.post.observe(x, s.counts[x].Failures, s.counts[x].Passes())
			}
		}
	}
}

// enoughForNone is the probability at which "no candidate changed anything" is
// an answer. A small change of a flaky test's rate looks like none for hundreds
// of runs, so four times the certainty is asked for.
func (s *Search) enoughForNone() float64 {
	if s.post.sure > 0 {
		return s.opts.Confidence
	}
	return 1 - (1-s.opts.Confidence)/4
}

// Result says what the observations show.
func (s *Search) Result() Result {
	r := Result{Culprit: Good, Runs: s.runs, Rounds: s.rounds, Located: s.located}
	if s.n == 0 {
		return r
	}
	s.settle()
	p := s.post
	once := 1 - s.twice
	r.NonMonotonic = s.from != Good
	r.AlwaysSo, r.OnlyFlaky = p.alwaysSo*once, (p.p0-p.alwaysSo)*once
	g := s.bestGroup(p)
	if p.p0 > g.p {
		r.Probability, r.Before, r.After = p.p0*once, p.r0, p.r0
		r.Decided = r.Probability >= s.enoughForNone() && len(s.unsettled()) == 0
		return r
	}
	r.Probability, r.Before, r.After = g.p*once, g.b, g.a
	// Within a group the weights alone decide; of equals, the newest has
	// itself been seen to fail.
	r.Culprit = g.hi
	for i := g.hi - 1; i >= g.lo; i-- {
		if s.prior.between(i, i) > s.prior.between(r.Culprit, r.Culprit)*(1+1e-9) {
			r.Culprit = i
		}
	}
	for i := g.lo; i <= g.hi; i++ {
		if i != r.Culprit {
			r.Alternatives = append(r.Alternatives, i)
		}
	}
	r.Decided = r.Probability >= s.opts.Confidence && s.holds(g) && len(s.unsettled()) == 0 && len(s.unverified(g)) == 0
	return r
}
