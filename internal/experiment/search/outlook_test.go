package search

import (
	"math"
	"math/rand/v2"
	"testing"

	"culprit/internal/session"
)

// informationOf is the definition that outlook answers quickly: H(outcomes) -
// H(outcomes | culprit), summed over every candidate.
func informationOf(s *Search, xs []int) float64 {
	joint := make([]float64, 1<<len(xs))
	noise := 0.0
	take := func(p float64, rate func(x int) float64) {
		for o := range joint {
			q := p
			for i, x := range xs {
				if o>>i&1 == 1 {
					q *= rate(x)
				} else {
					q *= 1 - rate(x)
				}
			}
			joint[o] += q
		}
		for _, x := range xs {
			noise += p * entropy(rate(x))
		}
	}
	for _, seg := range s.post.segments {
		if seg.p < negligible {
			continue
		}
		for c := seg.lo; c <= seg.hi; c++ {
			take(seg.p*s.prior.between(c, c)/s.prior.between(seg.lo, seg.hi), func(x int) float64 {
				if c <= x {
					return seg.a
				}
				return seg.b
			})
		}
	}
	take(s.post.p0, func(int) float64 { return s.post.r0 })
	h := 0.0
	for _, v := range joint {
		h -= plogp(v)
	}
	return h - noise
}

func TestGainIsTheInformationByItsDefinition(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 3))
		n := 5 + rng.IntN(30)
		weights := make([]float64, n)
		for i := range weights {
			weights[i] = rng.Float64()
		}
		s := New(n, Options{Flaky: true, Weights: weights, Bad: session.Count{Runs: 6, Failures: 4}})
		for range rng.IntN(25) {
			o := session.Passed
			if rng.IntN(2) == 0 {
				o = session.FailedSame
			}
			s.Observe(rng.IntN(n+1)-1, o)
		}
		s.settle()
		var chosen []int
		for range 4 {
			after, base := s.outlook(chosen), informationOf(s, chosen)
			for range 5 {
				x := rng.IntN(n+1) - 1
				want := informationOf(s, append(chosen[:len(chosen):len(chosen)], x)) - base
				if got := after.gain(x); math.Abs(got-want) > 1e-9 {
					t.Fatalf("seed %d: %d after %v tells %g bits, want %g", seed, x, chosen, got, want)
				}
			}
			chosen = append(chosen, rng.IntN(n))
		}
	}
}
