package search

import "culprit/internal/session"

// Search is the state of one culprit search. It is not safe for concurrent use.
type Search struct {
	n      int
	opts   Options
	counts map[int]session.Count
	runs   int
	rounds int
}

// New starts a search over candidates 0 (the oldest, whose parent is the known
// good commit) to n-1 (the known bad commit).
func New(n int, opts Options) *Search {
	return &Search{n: n, opts: opts, counts: map[int]session.Count{}}
}

// Observe adds the outcome of one run at candidate i, or at the good commit
// (Good). Indexes outside the range are ignored.
func (s *Search) Observe(i int, o session.Outcome) {
	if i < Good || i >= s.n {
		return
	}
	c := s.counts[i]
	c.Add(o)
	s.counts[i] = c
	s.runs++
}

// bounds are the newest candidate that passed and the oldest that failed.
func (s *Search) bounds() (lo, hi int) {
	lo, hi = Good, s.n-1
	for i, c := range s.counts {
		if c.Failures > 0 {
			hi = min(hi, i)
		} else if c.Runs > 0 {
			lo = max(lo, i)
		}
	}
	return lo, hi
}

// Next returns up to k candidates to run now, the same one possibly more than
// once; it is empty when the search is over.
func (s *Search) Next(k int) []int {
	lo, hi := s.bounds()
	var free []int
	for i := lo + 1; i < hi; i++ {
		if _, seen := s.counts[i]; !seen {
			free = append(free, i)
		}
	}
	if k = min(k, len(free)); k <= 0 {
		return nil
	}
	s.rounds++
	out := make([]int, 0, k)
	for j := 1; j <= k; j++ {
		out = append(out, free[(j*len(free)-1)/(k+1)])
	}
	return out
}

// Result says what the observations show.
func (s *Search) Result() Result {
	lo, hi := s.bounds()
	r := Result{Culprit: hi, Probability: 1, Decided: true, Runs: s.runs, Rounds: s.rounds, Located: s.runs, After: 1}
	for i := lo + 1; i < hi; i++ {
		r.Alternatives = append(r.Alternatives, i)
		if _, seen := s.counts[i]; !seen {
			r.Decided = false
		}
	}
	return r
}
