package search_test

import (
	"math"
	"slices"

	"culprit/internal/experiment/search"
	"culprit/internal/session"
)

// verdictOf runs one candidate as a person would who bisects by hand, and says
// good or bad. ok is false when it cannot be tested.
type verdictOf func(h *history, i int) (bad bool, runs int, ok bool)

// once believes the first run: plain `git bisect run`.
func once(h *history, i int) (bool, int, bool) {
	o := h.run(i)
	return o == session.FailedSame, 1, o != session.Untestable
}

// twoAlike repeats until two runs agree; this is the benchmark's "git bisect
// with tests repeated" in the repository of robust-git-bisect.
func twoAlike(h *history, i int) (bool, int, bool) {
	fails, passes := 0, 0
	for fails < 2 && passes < 2 {
		switch h.run(i) {
		case session.FailedSame:
			fails++
		case session.Passed:
			passes++
		default:
			return false, 1, false
		}
	}
	return fails == 2, fails + passes, true
}

// patient repeats until the first failure, and believes in a pass only after
// so many that the failure, at the rate which this person was told, would have
// been missed in 5 % of whole bisections. It is the best that can be done by
// hand for a test that never fails before the culprit.
func patient(h *history, i int) (bool, int, bool) {
	steps := max(math.Log2(float64(h.n)), 1)
	need := 1
	if h.after < 1 {
		need = int(math.Ceil(math.Log(1-math.Pow(0.95, 1/steps)) / math.Log(1-h.after)))
	}
	for n := 1; ; n++ {
		switch h.run(i) {
		case session.FailedSame:
			return true, n, true
		case session.Untestable:
			return false, n, false
		}
		if n >= need {
			return false, n, true
		}
	}
}

// gitBisect bisects the line of commits as git does: it tests the middle, and
// where that is skipped the nearest one that is not. It ends when nothing
// between the newest good and the oldest bad commit can be tested.
func gitBisect(h *history, ask verdictOf) (r search.Result) {
	lo, hi := search.Good, h.n-1 // both known, as git bisect has them
	skipped := map[int]bool{}
	for {
		x, found := 0, false
		for d := 0; d <= hi-lo && !found; d++ {
			for _, y := range []int{(lo+hi)/2 - d, (lo+hi)/2 + d} {
				if y > lo && y < hi && !skipped[y] {
					x, found = y, true
					break
				}
			}
		}
		if !found {
			break
		}
		bad, runs, ok := ask(h, x)
		r.Runs += runs
		switch {
		case !ok:
			skipped[x] = true
		case bad:
			hi = x
		default:
			lo = x
		}
	}
	r.Culprit, r.Decided, r.Rounds, r.Located = hi, true, r.Runs, r.Runs
	for i := lo + 1; i < hi; i++ {
		r.Alternatives = append(r.Alternatives, i)
	}
	return r
}

// part of the candidates that no run has told apart, for allKnowing.
type part struct {
	lo, hi int
	p      float64
}

// allKnowing is the bound: a searcher that is told both failure rates, and that
// exactly one candidate is to blame. It halves what is left of the probability
// until one candidate has the confidence. The rates must mirror each other
// (before = 1 - after); for them halving tells most.
func allKnowing(h *history, confidence float64) (r search.Result) {
	parts := []part{{0, h.n - 1, 1}}
	for {
		best := 0
		for i, s := range parts {
			if s.p/float64(s.hi-s.lo+1) > parts[best].p/float64(parts[best].hi-parts[best].lo+1) {
				best = i
			}
		}
		r.Culprit, r.Probability = parts[best].lo, parts[best].p/float64(parts[best].hi-parts[best].lo+1)
		if r.Probability >= confidence {
			r.Decided = true
			return r
		}
		x := halfway(parts, h.n)
		failed := h.run(x) == session.FailedSame
		r.Runs, r.Rounds = r.Runs+1, r.Rounds+1
		at := slices.IndexFunc(parts, func(s part) bool { return s.hi >= x })
		if s := parts[at]; s.hi > x {
			below := float64(x-s.lo+1) / float64(s.hi-s.lo+1)
			parts = slices.Replace(parts, at, at+1, part{s.lo, x, s.p * below}, part{x + 1, s.hi, s.p * (1 - below)})
		}
		total := 0.0
		for i := range parts {
			if (parts[i].lo <= x) == failed {
				parts[i].p *= h.after
			} else {
				parts[i].p *= 1 - h.after
			}
			total += parts[i].p
		}
		for i := range parts {
			parts[i].p /= total
		}
	}
}

// halfway is the candidate up to which the probability is nearest to one half.
func halfway(parts []part, n int) int {
	below, at, off := 0.0, 0, math.Inf(1)
	for _, s := range parts {
		each := s.p / float64(s.hi-s.lo+1)
		k := math.Round((0.5 - below) / each)
		k = min(max(k, 1), float64(s.hi-s.lo+1))
		if x := s.lo + int(k) - 1; x < n-1 {
			if d := math.Abs(below + k*each - 0.5); d < off {
				at, off = x, d
			}
		}
		below += s.p
	}
	return at
}
