package search

import "math"

// exactBatch is how many runs of a batch are chosen by their joint
// information; its cost doubles with each.
const exactBatch = 6

// negligible is the probability below which a segment is left out of choices.
const negligible = 1e-6

// cut is a run that could be asked for.
type cut struct {
	x      int
	chance float64 // that x is testable
}

// mostTelling returns the k runs whose outcomes tell most about the culprit.
// The first is the best single run; each further one is the best together
// with those before it.
func (s *Search) mostTelling(k int) []int {
	cuts := s.cuts()
	var batch []int
	for len(batch) < k {
		chosen := batch
		if len(chosen) >= exactBatch {
			// Far ahead nothing is known about the outcomes before: spread a
			// second layer like the first.
			chosen = chosen[len(chosen)/exactBatch*exactBatch:]
		}
		best, bestScore := 0, worthless
		after := s.outlook(chosen)
		for _, c := range cuts {
			if score := after.gain(c.x) * c.chance; score > bestScore*(1+1e-9) {
				best, bestScore = c.x, score
			}
		}
		if bestScore <= worthless {
			break
		}
		batch = append(batch, best)
	}
	return batch
}

// cuts lists the runs worth considering: each boundary of a segment, the best
// place within it for a single run, and places that halve it.
func (s *Search) cuts() []cut {
	var out []cut
	seen := map[int]bool{}
	add := func(x int) {
		if !seen[x] && s.runnable(x) {
			seen[x] = true
			out = append(out, cut{x, s.chance(x)})
		}
	}
	p := s.post
	belowRate := 0.0
	aboveRate := p.p0 * p.r0
	for _, seg := range p.segments {
		aboveRate += seg.p * seg.b
	}
	for _, seg := range p.segments {
		if seg.p < negligible {
			belowRate += seg.p * seg.a
			aboveRate -= seg.p * seg.b
			continue
		}
		add(seg.lo - 1)
		if seg.hi > seg.lo && seg.a > seg.b {
			// The information of a run that has t of this segment's
			// probability below it is concave in t; where its derivative is
			// zero, the failure probability is as computed here.
			slope := (entropy(seg.a) - entropy(seg.b)) / (seg.a - seg.b)
			want := 1 / (1 + math.Exp2(slope))
			t := (want - belowRate - aboveRate) / (seg.a - seg.b) / seg.p
			all := s.prior.between(seg.lo, seg.hi)
			for _, share := range []float64{t, 1.0 / 8, 1.0 / 4, 1.0 / 2, 3.0 / 4, 7.0 / 8} {
				if share <= 0 || share >= 1 || (share != t && seg.p < 0.02) {
					continue
				}
				x := s.prior.split(seg.lo, seg.hi, share*all)
				if share == t {
					for _, y := range s.near(x, seg.lo, seg.hi-1) {
						add(y)
					}
				}
				add(x)
			}
		}
		add(seg.hi)
		belowRate += seg.p * seg.a
		aboveRate -= seg.p * seg.b
	}
	return out
}
