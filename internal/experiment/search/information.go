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
		before := s.information(chosen)
		for _, c := range cuts {
			if score := (s.information(append(chosen[:len(chosen):len(chosen)], c.x)) - before) * c.chance; score > bestScore*(1+1e-9) {
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

// information is what the joint outcome of runs at xs is expected to tell
// about the answer, in bits: H(outcomes) - H(outcomes | answer). The rates are
// taken at their expectation for each segment.
func (s *Search) information(xs []int) float64 {
	if len(xs) == 0 {
		return 0
	}
	size := 1 << len(xs)
	joint := make([]float64, size)
	rates := make([]float64, len(xs))
	conditional := 0.0
	part := make([]float64, size)
	take := func(p float64) {
		if p <= 0 {
			return
		}
		part[0] = p
		for i, r := range rates {
			conditional += p * entropy(r)
			for o := range 1 << i {
				part[o|1<<i] = part[o] * r
				part[o] *= 1 - r
			}
		}
		for o, v := range part {
			joint[o] += v
		}
	}
	for _, seg := range s.post.segments {
		if seg.p < negligible {
			continue
		}
		s.pieces(seg, xs, func(lo, hi int, p float64) {
			for i, x := range xs {
				rates[i] = seg.b
				if lo <= x {
					rates[i] = seg.a
				}
			}
			take(p)
		})
	}
	for i := range rates {
		rates[i] = s.post.r0
	}
	take(s.post.p0)
	h := 0.0
	for _, v := range joint {
		if v > 0 {
			h -= v * math.Log2(v)
		}
	}
	return h - conditional
}

// pieces cuts a segment at the xs that lie within it.
func (s *Search) pieces(seg segment, xs []int, yield func(lo, hi int, p float64)) {
	all := s.prior.between(seg.lo, seg.hi)
	lo := seg.lo
	for {
		hi := seg.hi
		for _, x := range xs {
			if x >= lo && x < hi {
				hi = x
			}
		}
		yield(lo, hi, seg.p*s.prior.between(lo, hi)/all)
		if hi == seg.hi {
			return
		}
		lo = hi + 1
	}
}
