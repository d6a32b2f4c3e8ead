package search

import (
	"math"
	"slices"
)

// secondIntroduction is how well "introduced, fixed, and introduced again"
// explains the runs after s.from.
type secondIntroduction struct {
	p          float64 // posterior probability
	newestPass int     // newest index that was run and is surely not failing, when p is high
}

// states of a commit in such a history, in this order: good, broken, fixed,
// broken again.
const states = 4

// introducedTwice compares the monotonic history with one that has three
// changes, at any three candidates. It sums over all of them by the forward
// and backward passes of a hidden Markov model whose steps are the indexes
// that were run.
func (s *Search) introducedTwice() secondIntroduction {
	if !s.contradiction() {
		return secondIntroduction{newestPass: s.from}
	}
	var at []int
	for _, x := range s.ran {
		if x >= s.from {
			at = append(at, x)
		}
	}
	size := float64(s.n - 1 - s.from)
	ways := size * (size - 1) * (size - 2) / 6
	if ways <= 0 {
		return secondIntroduction{newestPass: s.from}
	}
	total := 0.0
	for _, g := range s.contrasts {
		total += g.weight * newChain(s, at, g.before, g.after).likelihood / ways
	}
	twice := priorNonMonotonic * total
	out := secondIntroduction{p: twice / (twice + (1-priorNonMonotonic)*s.post.evidence), newestPass: s.from}
	if !(out.p >= 0.5) { // or not a number, when both are too small to tell
		return out
	}
	fixed := make([]float64, len(at))
	for _, g := range s.contrasts {
		newChain(s, at, g.before, g.after).addFixed(fixed, g.weight/ways)
	}
	for i, x := range at {
		if s.counts[x].Passes() > 0 && fixed[i] >= 0.9*total {
			out.newestPass = x
		}
	}
	return out
}

// contrast is a pair of rates at which two introductions can be told from one.
type contrast struct{ before, after, weight float64 }

// contrasts thins the grid: a weak contrast cannot show two introductions in
// any sensible number of runs, and for a strong one a few points do.
func (g grid) contrasts() []contrast {
	var out []contrast
	all, kept := 0.0, 0.0
	for i, w := range g.weight {
		a, b := g.after[i], g.before[i]
		if a-b < 0.5 || i == 0 {
			continue
		}
		all += w
		if slices.Contains([]float64{0, 0.02, 0.1}, b) && slices.Contains([]float64{0.7, 0.9, 0.98}, a) {
			kept += w
			out = append(out, contrast{b, a, w})
		}
	}
	for i := range out {
		out[i].weight *= all / kept
	}
	return append(out, contrast{g.before[0], g.after[0], g.weight[0]})
}

// chain is the hidden Markov model for one pair of rates: its steps are the
// indexes that were run.
type chain struct {
	s          *Search
	at         []int
	emit       [][2]float64      // likelihood of the runs there: without, with the failure
	forward    [][states]float64 // after the runs there
	likelihood float64           // summed over all placements of the changes, scaled like the posterior
}

func newChain(s *Search, at []int, before, after float64) *chain {
	c := &chain{s: s, at: at, emit: make([][2]float64, len(at)), forward: make([][states]float64, len(at))}
	scale := math.Exp(s.post.logScale / float64(len(at)))
	// Index s.from is good by definition; index n-1 is broken again.
	vec, pos := [states]float64{1}, s.from
	for i, x := range at {
		n := s.counts[x]
		c.emit[i] = [2]float64{
			scale * power(before, n.Failures) * power(1-before, n.Passes()),
			scale * power(after, n.Failures) * power(1-after, n.Passes()),
		}
		vec, pos = advance(vec, x-pos), x
		for st := range vec {
			vec[st] *= c.emit[i][st%2]
		}
		c.forward[i] = vec
	}
	c.likelihood = advance(vec, s.n-1-pos)[states-1]
	return c
}

// addFixed adds to fixed[i] the part of the likelihood, times weight, in which
// commit at[i] does not have the failure.
func (c *chain) addFixed(fixed []float64, weight float64) {
	back, pos := [states]float64{states - 1: 1}, c.s.n-1
	for i := len(c.at) - 1; i >= 0; i-- {
		back, pos = retreat(back, pos-c.at[i]), c.at[i]
		fixed[i] += weight * (c.forward[i][0]*back[0] + c.forward[i][2]*back[2])
		for st := range back {
			back[st] *= c.emit[i][st%2]
		}
	}
}

// advance moves a forward vector over g steps. At most one change may lie
// there: a second introduction counts only when commits were run in its broken
// and in its fixed part. One that hides between two runs can neither be seen
// nor mislead the search.
func advance(v [states]float64, g int) (out [states]float64) {
	for st := range out {
		out[st] = v[st]
		if st > 0 {
			out[st] += v[st-1] * float64(g)
		}
	}
	return out
}

// retreat is advance for a backward vector.
func retreat(v [states]float64, g int) (out [states]float64) {
	for st := range out {
		out[st] = v[st]
		if st < states-1 {
			out[st] += v[st+1] * float64(g)
		}
	}
	return out
}

// contradiction says that a failure was seen before a pass, after s.from.
func (s *Search) contradiction() bool {
	failed := false
	for _, x := range s.ran {
		if x < s.from {
			continue
		}
		c := s.counts[x]
		if failed && c.Passes() > 0 {
			return true
		}
		failed = failed || c.Failures > 0
	}
	return false
}

// unsettled are contradictions that must be run again before an answer stands.
// Where the reproduction saw no flakiness, one odd outcome is as likely a
// second introduction as noise, and few runs tell.
func (s *Search) unsettled() []int {
	const enough = 3
	if s.twice < 0.005 || s.opts.Flaky || s.opts.Bad.Passes() > 0 || s.opts.Good.Failures > 0 {
		return nil
	}
	fewer, _ := s.dispute()
	var out []int
	for _, x := range fewer {
		if s.counts[x].Runs < enough {
			out = append(out, x)
		}
	}
	return out
}

// disputed returns up to k indexes that contradict one another, to be run
// again: a failure with a pass after it, and a pass with a failure before it.
// The fewer of the two kinds come first, since each of them contradicts many.
func (s *Search) disputed(k int) []int {
	fewer, more := s.dispute()
	out := slices.Concat(fewer, more)
	return out[:min(k, len(out))]
}

// dispute splits the indexes that contradict one another by what they mostly
// showed, the smaller kind first; of a kind those that were run least lead.
func (s *Search) dispute() (fewer, more []int) {
	oldestFailure, newestPass := s.n, s.from
	for _, x := range s.ran {
		if x < s.from {
			continue
		}
		if s.counts[x].Failures > 0 {
			oldestFailure = min(oldestFailure, x)
		}
		if s.counts[x].Passes() > 0 {
			newestPass = x
		}
	}
	var failed, passed []int
	for _, x := range s.ran {
		if x < oldestFailure || x > newestPass || !s.runnable(x) {
			continue
		}
		if c := s.counts[x]; 2*c.Failures >= c.Runs {
			failed = append(failed, x)
		} else {
			passed = append(passed, x)
		}
	}
	for _, kind := range [][]int{failed, passed} {
		slices.SortStableFunc(kind, func(a, b int) int { return s.counts[a].Runs - s.counts[b].Runs })
	}
	if len(failed) > len(passed) {
		return passed, failed
	}
	return failed, passed
}
