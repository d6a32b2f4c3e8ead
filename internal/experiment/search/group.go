package search

import (
	"sort"

	"culprit/internal/session"
)

// group is an answer: candidates lo..hi that no testable commit separates.
type group struct {
	lo, hi int
	p      float64
	a, b   float64
}

// bestGroup is the most probable answer. Candidates c and c+1 belong together
// when c itself cannot be run.
func (s *Search) bestGroup(p *posterior) group {
	var best group
	best.p = -1
	for _, seg := range p.segments {
		if seg.p <= best.p {
			continue
		}
		lo, hi := s.largestGroup(seg.lo, seg.hi)
		share := s.prior.between(lo, hi) / s.prior.between(seg.lo, seg.hi)
		if share*seg.p > best.p {
			best = group{lo: lo, hi: hi, p: share * seg.p, a: seg.a, b: seg.b}
		}
	}
	return best
}

// doubt is the share of the greatest likelihood from which a pair of rates is
// taken as possible.
const doubt = 0.05

// holds says whether an answer is more than the opinion of the prior: it must
// have most of the confidence under the least favourable rates too, and all of
// it where the rates lie so close together that hundreds of runs leave many
// possible.
func (s *Search) holds(g group) bool {
	need := s.opts.Confidence
	if g.a > 3*g.b {
		need = 1 - 4*(1-need)
	}
	return s.post.surely(g) >= need
}

// surely is the probability of an answer under the least favourable pair of
// rates that the runs leave possible. For known rates the posterior is right
// as often as it says, however the search chooses and stops; for unknown ones
// it leans on the prior, which is an opinion: it would make a test that fails
// rarely before the culprit one that never does, and the first such failure a
// proof. While nothing contradicts a deterministic test it is 1: verification
// looks after that.
func (p *posterior) surely(g group) float64 {
	if p.sure > 0 {
		return 1
	}
	likelihood := make([]float64, len(p.grid.weight))
	var own []float64
	share := 0.0
	for _, seg := range p.segments {
		if seg.lo <= g.lo && g.hi <= seg.hi {
			own, share = seg.row, seg.mass*p.prior.between(g.lo, g.hi)/p.prior.between(seg.lo, seg.hi)
		}
		for j, l := range seg.row {
			likelihood[j] += l * seg.mass
		}
	}
	most := 0.0
	for j, l := range likelihood {
		if w := p.grid.weight[j]; w > 0 {
			most = max(most, l/w)
		}
	}
	least := 1.0
	for j, l := range likelihood {
		if w := p.grid.weight[j]; w > 0 && l > 0 && l/w >= doubt*most {
			least = min(least, own[j]*share/l)
		}
	}
	return least
}

// largestGroup finds the group of greatest prior weight within lo..hi.
func (s *Search) largestGroup(lo, hi int) (int, int) {
	bestLo, bestHi, bestW := lo, lo, -1.0
	take := func(l, h int) {
		if w := s.prior.between(l, h); w > bestW*(1+1e-12) {
			bestLo, bestHi, bestW = l, h, w
		}
	}
	if s.prior.sum != nil {
		for l := lo; l <= hi; {
			h := l
			for h < hi && s.dead(h) {
				h++
			}
			take(l, h)
			l = h + 1
		}
		return bestLo, bestHi
	}
	// All weights are equal: only stretches of untestable candidates matter.
	take(lo, lo)
	for i := sort.SearchInts(s.untestable, lo); i < len(s.untestable) && s.untestable[i] < hi; i++ {
		l := s.untestable[i]
		h := l
		for i < len(s.untestable) && s.untestable[i] == h && h < hi {
			h, i = h+1, i+1
		}
		i--
		take(l, h)
	}
	return bestLo, bestHi
}

// dead says that candidate i was tried and cannot be run.
func (s *Search) dead(i int) bool {
	c := s.counts[i]
	return c.Runs == 0 && c.Skipped > 0
}

// runnable says that a run at i may be asked for. A candidate that was
// untestable once is not tried again, even if it ran another time.
func (s *Search) runnable(i int) bool { return s.counts[i].Skipped == 0 }

// chance is the guessed probability that i can be run, from the broken
// stretches beside it. A stretch of length L is guessed to end within the
// next d commits with probability d/(L+d): there is no typical length.
func (s *Search) chance(i int) float64 {
	if s.counts[i].Runs > 0 || i == Good || len(s.untestable) == 0 {
		return 1
	}
	at := sort.SearchInts(s.untestable, i)
	below, above := at-1, at
	from, to := s.from, s.n // nearest index that ran, on each side
	if j := sort.SearchInts(s.ran, i); j > 0 {
		from = max(from, s.ran[j-1])
	}
	if j := sort.SearchInts(s.ran, i); j < len(s.ran) {
		to = s.ran[j]
	}
	q, inside := 1.0, 0
	if below >= 0 && s.untestable[below] > from {
		first := sort.SearchInts(s.untestable, from+1)
		d, length := i-s.untestable[below], s.untestable[below]-s.untestable[first]+1
		q *= float64(d) / float64(d+length)
		inside++
	}
	if above < len(s.untestable) && s.untestable[above] < to {
		last := sort.SearchInts(s.untestable, to) - 1
		d, length := s.untestable[above]-i, s.untestable[last]-s.untestable[above]+1
		q *= float64(d) / float64(d+length)
		inside++
	}
	if inside == 2 { // both sides broken: likely one stretch
		q *= 0.7
	}
	return q
}

// decisive maps an outcome to what it teaches about the failure.
func (s *Search) decisive(o session.Outcome) session.Outcome {
	if o == session.FailedElse {
		o = s.opts.Other
	}
	switch o {
	case session.Passed, session.FailedSame:
		return o
	}
	return session.Untestable
}
