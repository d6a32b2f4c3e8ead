package search_test

import (
	"math/rand/v2"
	"slices"

	"culprit/internal/experiment/search"
	"culprit/internal/session"
)

// history is a made-up truth that answers runs.
type history struct {
	n       int
	culprit int // n: no candidate
	before  float64
	after   float64
	broken  map[int]bool // untestable
	rng     *rand.Rand
}

func (h *history) run(i int) session.Outcome {
	if h.broken[i] {
		return session.Untestable
	}
	rate := h.before
	if i >= h.culprit {
		rate = h.after
	}
	if rate >= 1 || (rate > 0 && h.rng.Float64() < rate) {
		return session.FailedSame
	}
	return session.Passed
}

// repeat is what a reproduction would have counted.
func (h *history) repeat(i, times int) session.Count {
	var c session.Count
	for range times {
		c.Add(h.run(i))
	}
	return c
}

// solve runs a search to its end, or to limit runs.
func (h *history) solve(opts search.Options, k, limit int) (*search.Search, search.Result) {
	s := search.New(h.n, opts)
	for runs := 0; runs < limit; {
		batch := s.Next(k)
		if len(batch) == 0 {
			break
		}
		for _, i := range batch {
			s.Observe(i, h.run(i))
		}
		runs += len(batch)
	}
	return s, s.Result()
}

// right says that the answer names the culprit, or it is among alternatives
// that nothing can tell from it: all that lies between them is untestable.
func (h *history) right(r search.Result) bool {
	return r.Culprit == h.culprit || slices.Contains(r.Alternatives, h.culprit)
}
