package search

import (
	"math"
	"slices"
)

// worthless is the information, in bits, below which no run is asked for.
const worthless = 1e-7

// Next returns up to k candidates to run now, in parallel; the same one may
// stand there more than once, and Good is the known good commit. It is empty
// when the search is decided, when nothing is left that could be learnt, or
// when MaxRuns is reached. Observe the outcomes before the next call.
func (s *Search) Next(k int) []int {
	if s.opts.MaxRuns > 0 {
		k = min(k, s.opts.MaxRuns-s.runs)
	}
	if k <= 0 || s.n == 0 {
		return nil
	}
	batch := s.choose(k)
	if len(batch) > 0 {
		s.rounds++
	}
	return batch
}

func (s *Search) choose(k int) []int {
	s.settle()
	if r := s.Result(); r.Decided {
		return nil
	}
	if s.post.sure > 0 { // nothing seen contradicts a deterministic test
		if open := s.open(); len(open) > 0 {
			return s.bisect(open, k)
		}
	}
	g := s.bestGroup(s.post)
	rival := max(g.p, s.post.p0)
	// A second introduction is settled by running what contradicts itself
	// again: at first because it is likely, at last because it is all that
	// stands between an answer and its confidence.
	if s.twice > 0.3 || (rival >= s.opts.Confidence && rival*(1-s.twice) < s.opts.Confidence) {
		if again := s.disputed(k); len(again) > 0 {
			return again
		}
	}
	if again := s.unsettled(); len(again) > 0 && rival*(1-s.twice) >= s.opts.Confidence {
		return again[:min(k, len(again))]
	}
	if g.p*(1-s.twice) >= s.opts.Confidence && s.holds(g) {
		if due := s.unverified(g); len(due) > 0 {
			return due[:min(k, len(due))]
		}
	}
	return s.mostTelling(k)
}

// unverified are the runs that Options.Verify still demands at the boundary of
// an answer, both sides in turn so that a small batch sees both.
func (s *Search) unverified(g group) []int {
	var due []int
	for done := range s.opts.Verify {
		for _, x := range []int{g.lo - 1, g.hi} {
			if s.runnable(x) && s.counts[x].Runs <= done {
				due = append(due, x)
			}
		}
	}
	return due
}

// bounds are the newest index that passed and the oldest that failed, as a
// deterministic test would have it.
func (s *Search) bounds() (lo, hi int) {
	lo, hi = s.from, s.n-1
	for _, x := range s.ran {
		if x < s.from {
			continue
		}
		if s.counts[x].Failures > 0 {
			hi = min(hi, x)
		} else {
			lo = max(lo, x)
		}
	}
	return lo, hi
}

// span is a range of indexes that may be run.
type span struct{ lo, hi int }

// open is what is left to bisect for a deterministic test: the untried indexes
// between the newest pass and the oldest failure. When that is nothing and
// nothing ever passed, it is the good commit itself.
func (s *Search) open() []span {
	lo, hi := s.bounds()
	var out []span
	for i := lo + 1; i < hi; {
		j, found := slices.BinarySearch(s.untestable, i)
		if found {
			i++
			continue
		}
		end := hi - 1
		if j < len(s.untestable) {
			end = min(end, s.untestable[j]-1)
		}
		out = append(out, span{i, end})
		i = end + 1
	}
	if len(out) == 0 && lo == Good && s.runnable(Good) && s.counts[Good].Runs == 0 {
		out = append(out, span{Good, Good})
	}
	return out
}

// bisect cuts the candidates left into k+1 parts of equal weight, moving a cut
// away from where candidates are likely to be untestable.
func (s *Search) bisect(open []span, k int) []int {
	if open[0].lo == Good {
		return []int{Good}
	}
	lo, hi := s.bounds()
	total := s.prior.between(lo+1, hi)
	var out []int
	for j := 1; j <= k; j++ {
		target := float64(j) / float64(k+1)
		best, bestScore := 0, -1.0
		for _, x := range s.near(s.prior.split(lo+1, hi, target*total), lo+1, hi-1) {
			if slices.Contains(out, x) {
				continue
			}
			cut := s.prior.between(lo+1, x) / total
			score := (1e-9 + entropy(0.5+(cut-target)*float64(k+1)/2)) * s.chance(x)
			if score > bestScore {
				best, bestScore = x, score
			}
		}
		if bestScore >= 0 {
			out = append(out, best)
		}
	}
	return out
}

// near lists runnable indexes of lo..hi around x, x first: all of a small
// range, thinning out with the distance in a large one.
func (s *Search) near(x, lo, hi int) []int {
	var out []int
	add := func(i int) bool {
		if i < lo || i > hi || !s.runnable(i) {
			return false
		}
		out = append(out, i)
		return true
	}
	if add(x) && s.chance(x) == 1 && hi-lo > 64 {
		return out
	}
	step := 1
	for d := 1; x-d >= lo || x+d <= hi; d += step {
		add(x - d)
		add(x + d)
		if d >= 32 {
			step = max(1, d/8)
		}
	}
	if len(out) == 0 {
		for i := lo; i <= hi; i++ {
			if add(i) {
				break
			}
		}
	}
	return out
}

// entropy of a coin, in bits.
func entropy(p float64) float64 {
	if p <= 0 || p >= 1 {
		return 0
	}
	return -p*math.Log2(p) - (1-p)*math.Log2(1-p)
}
