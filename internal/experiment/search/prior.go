package search

// Prior probabilities. They are what a maintainer expects before any run; a few
// runs outweigh them.
const (
	priorDeterministic = 0.7  // of a test whose kind is unknown
	priorNoChange      = 0.03 // that no candidate introduced the failure
	priorNonMonotonic  = 0.02 // that it was introduced twice

	// Of a flaky test: it never failed before; or it fails and passes nearly
	// as it should, but for a little noise on both sides; the rest is neither.
	priorClean = 0.3
	priorNoisy = 0.35
)

// The grid of failure rates. It is denser near 0 and 1, where one run more or
// less changes the odds most.
var (
	ratesAfter  = []float64{0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.995, 1}
	ratesBefore = []float64{0, 0.003, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7}
)

// grid is the joint prior of the rates before and after the culprit. Entry 0 is
// the deterministic test.
type grid struct {
	before, after, weight []float64
}

// noChange is the prior of one rate everywhere. Entry 0 is rate 1: always so.
type noChange struct {
	rate, weight []float64
}

func newGrid(flaky bool) (grid, noChange) {
	deterministic := priorDeterministic
	if flaky {
		deterministic = 0
	}
	g := grid{before: []float64{0}, after: []float64{1}, weight: []float64{deterministic}}
	const clean, noisy, other = 0, 1, 2
	var kinds []int
	var sum [3]float64
	for _, a := range ratesAfter {
		first := len(kinds)
		for _, b := range ratesBefore {
			// A change that cannot be told from none in hundreds of runs is
			// none; and entry 0 stands already.
			if a < 1.5*b || a-b < 0.02 || (b == 0 && a == 1) {
				continue
			}
			kind := other
			switch {
			case b == 0:
				kind = clean
			case b <= 0.1 && a >= 0.9:
				kind = noisy
			}
			kinds = append(kinds, kind)
			g.before, g.after = append(g.before, b), append(g.after, a)
		}
		// Each rate after is as likely as the next, whatever lies below it.
		for _, kind := range kinds[first:] {
			w := 1.0
			if kind == other {
				w /= float64(len(kinds) - first)
			}
			sum[kind] += w
			g.weight = append(g.weight, w)
		}
	}
	share := [...]float64{clean: priorClean, noisy: priorNoisy, other: 1 - priorClean - priorNoisy}
	for i, kind := range kinds {
		g.weight[i+1] *= (1 - deterministic) * share[kind] / sum[kind]
	}
	h := noChange{rate: []float64{1}, weight: []float64{max(deterministic, 0.1)}}
	for _, r := range ratesAfter[:len(ratesAfter)-1] {
		h.rate = append(h.rate, r)
		h.weight = append(h.weight, (1-h.weight[0])/float64(len(ratesAfter)-1))
	}
	for i := range g.weight {
		g.weight[i] *= 1 - priorNoChange
	}
	for i := range h.weight {
		h.weight[i] *= priorNoChange
	}
	return g, h
}

// masses are cumulated prior weights of the candidates.
type masses struct {
	n   int
	sum []float64 // nil: all equal; else sum[i] is the weight below candidate i
}

// newMasses normalises weights to a sum of 1. A weight is an opinion, so none
// may make its candidate impossible.
func newMasses(n int, weights []float64) masses {
	if len(weights) != n || n == 0 {
		return masses{n: n}
	}
	usable := func(w float64) bool { return w >= 0 && w <= 1e300 }
	mean, count := 0.0, 0
	for _, w := range weights {
		if usable(w) {
			count++
			mean += (w - mean) / float64(count)
		}
	}
	if mean <= 0 {
		return masses{n: n}
	}
	sum := make([]float64, n+1)
	for i, w := range weights {
		if !usable(w) {
			w = mean
		}
		sum[i+1] = sum[i] + max(w/mean, 0.01)
	}
	total := sum[n]
	for i := range sum {
		sum[i] /= total
	}
	return masses{n: n, sum: sum}
}

// below is the prior weight of the candidates < i.
func (m masses) below(i int) float64 {
	if m.sum == nil {
		return float64(i) / float64(m.n)
	}
	return m.sum[i]
}

// between is the prior weight of the candidates lo..hi.
func (m masses) between(lo, hi int) float64 { return m.below(hi+1) - m.below(lo) }

// split is the x in lo..hi-1 for which the weight of lo..x is nearest to w.
func (m masses) split(lo, hi int, w float64) int {
	l, h := lo, hi-1
	for l < h {
		mid := int(uint(l+h) >> 1)
		if m.between(lo, mid) < w {
			l = mid + 1
		} else {
			h = mid
		}
	}
	if l > lo && w-m.between(lo, l-1) <= m.between(lo, l)-w {
		l--
	}
	return l
}
