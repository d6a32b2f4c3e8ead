package search

import (
	"math"
	"sort"
)

// outlook is what is expected of a few runs, in a form that answers what one
// more run would tell in constant time. An outcome of the runs is a number
// whose bit i is set when the i-th fails.
type outlook struct {
	s      *Search
	pieces []piece // no chosen run tells the candidates of a piece apart
	none   []float64
	total  []float64 // probability of each outcome
	known  float64   // its entropy, in bits
	// Of the first i pieces, and of all after them, each outcome with one run
	// more that fails: as the rates after, or before, the culprit have it.
	failsBelow, failsAbove [][]float64
	// Entropy of that run itself when the culprit is known, in bits.
	noiseBelow, noiseAbove []float64
}

// piece is the candidates lo..hi with the probability of each outcome and of
// the culprit being among them.
type piece struct {
	lo, hi  int
	p, a, b float64
	out     []float64
}

// outlook of runs at xs. The rates are taken at their expectation for each
// segment.
func (s *Search) outlook(xs []int) *outlook {
	size := 1 << len(xs)
	o := &outlook{s: s, total: make([]float64, size)}
	spread := func(p float64, rate func(x int) float64) []float64 {
		out := make([]float64, size)
		out[0] = p
		for i, x := range xs {
			r := rate(x)
			for j := range 1 << i {
				out[j|1<<i] = out[j] * r
				out[j] *= 1 - r
			}
		}
		for j, v := range out {
			o.total[j] += v
		}
		return out
	}
	for _, seg := range s.post.segments {
		if seg.p < negligible {
			continue
		}
		s.pieces(seg, xs, func(lo, hi int, p float64) {
			o.pieces = append(o.pieces, piece{lo: lo, hi: hi, p: p, a: seg.a, b: seg.b, out: spread(p, func(x int) float64 {
				if lo <= x {
					return seg.a
				}
				return seg.b
			})})
		})
	}
	o.none = spread(s.post.p0, func(int) float64 { return s.post.r0 })
	for _, v := range o.total {
		o.known -= plogp(v)
	}
	n := len(o.pieces)
	o.failsBelow, o.failsAbove = make([][]float64, n+1), make([][]float64, n+1)
	o.noiseBelow, o.noiseAbove = make([]float64, n+1), make([]float64, n+1)
	o.failsBelow[0], o.failsAbove[n] = make([]float64, size), make([]float64, size)
	for i, pc := range o.pieces {
		o.failsBelow[i+1] = plus(o.failsBelow[i], pc.out, pc.a)
		o.noiseBelow[i+1] = o.noiseBelow[i] + pc.p*entropy(pc.a)
	}
	for i := n - 1; i >= 0; i-- {
		pc := o.pieces[i]
		o.failsAbove[i] = plus(o.failsAbove[i+1], pc.out, pc.b)
		o.noiseAbove[i] = o.noiseAbove[i+1] + pc.p*entropy(pc.b)
	}
	return o
}

// gain is what a run at x is expected to tell about the answer on top of the
// chosen runs, in bits: the entropy of all outcomes less what is noise.
func (o *outlook) gain(x int) float64 {
	i := sort.Search(len(o.pieces), func(i int) bool { return o.pieces[i].hi > x }) // pieces below i have failed by x
	below, above := o.failsBelow[i], o.failsAbove[i]
	noise := o.noiseBelow[i] + o.noiseAbove[i] + o.s.post.p0*entropy(o.s.post.r0)
	part, split := 0.0, piece{}
	if i < len(o.pieces) && o.pieces[i].lo <= x {
		split = o.pieces[i]
		part = o.s.prior.between(split.lo, x) / o.s.prior.between(split.lo, split.hi)
		noise += part * split.p * (entropy(split.a) - entropy(split.b))
	}
	h := 0.0
	for j, all := range o.total {
		fails := below[j] + above[j] + o.none[j]*o.s.post.r0
		if part > 0 {
			fails += part * split.out[j] * (split.a - split.b)
		}
		h -= plogp(fails) + plogp(all-fails)
	}
	return h - o.known - noise
}

// plus is sum + by*add.
func plus(sum, add []float64, by float64) []float64 {
	out := make([]float64, len(sum))
	for i := range sum {
		out[i] = sum[i] + by*add[i]
	}
	return out
}

func plogp(p float64) float64 {
	if p <= 0 {
		return 0
	}
	return p * math.Log2(p)
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
