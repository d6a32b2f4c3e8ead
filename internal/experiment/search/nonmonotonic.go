package search

import "math"

// secondIntroduction is how well "introduced, fixed, and introduced again"
// explains the runs after s.from.
type secondIntroduction struct {
	p          float64 // posterior probability
	newestPass int     // newest index that was run and is surely not failing, when p is high
}

// states of a commit in such a history, in this order: good, broken, fixed,
// broken again.
const states = 4

// introducedTwice compares the monotonic history with one that has three
// changes, at any three candidates. It sums over all of them by the forward
// and backward passes of a hidden Markov model whose steps are the indexes
// that were run.
func (s *Search) introducedTwice() secondIntroduction {
	if !s.contradiction() {
		return secondIntroduction{newestPass: s.from}
	}
	var at []int
	for _, x := range s.ran {
		if x >= s.from {
			at = append(at, x)
		}
	}
	var total float64
	passing := make([]float64, len(at))
	for g := range s.grid.weight {
		a, b := s.grid.after[g], s.grid.before[g]
		// A weak contrast cannot show two introductions in any sensible number
		// of runs; leaving it out is cheaper than finding that out.
		if a-b < 0.5 || s.grid.weight[g] == 0 {
			continue
		}
		sum := s.paths(at, a, b, passing, s.grid.weight[g])
		total += sum * s.grid.weight[g]
	}
	twice := priorNonMonotonic * total
	p := twice / (twice + (1-priorNonMonotonic)*s.post.evidence)
	if math.IsNaN(p) {
		p = 0
	}
	out := secondIntroduction{p: p, newestPass: s.from}
	for i, x := range at {
		if s.counts[x].Passes() > 0 && passing[i] >= 0.9*total {
			out.newestPass = x
		}
	}
	return out
}

// paths returns the likelihood of the runs, scaled like the posterior, with
// all placements of three changes equally likely. To passing[i] it adds
// weight × the part of it in which the commit at[i] does not have the failure
// and is not before its first introduction only.
func (s *Search) paths(at []int, a, b float64, passing []float64, weight float64) float64 {
	m := len(at)
	emit := make([][2]float64, m)
	logScale := s.post.logScale / float64(m)
	for i, x := range at {
		c := s.counts[x]
		scale := math.Exp(logScale)
		emit[i] = [2]float64{
			scale * power(b, c.Failures) * power(1-b, c.Passes()),
			scale * power(a, c.Failures) * power(1-a, c.Passes()),
		}
	}
	forward := make([][states]float64, m)
	// Index s.from is good by definition; index n-1 is broken again.
	vec, pos := [states]float64{1}, s.from
	for i, x := range at {
		vec = advance(vec, x-pos)
		pos = x
		for st := range vec {
			vec[st] *= emit[i][st%2]
		}
		forward[i] = vec
	}
	end := advance(vec, s.n-1-pos)[states-1]
	size := float64(s.n - 1 - s.from)
	ways := size * (size - 1) * (size - 2) / 6
	if end <= 0 || ways <= 0 {
		return 0
	}
	back, pos := [states]float64{states - 1: 1}, s.n-1
	for i := m - 1; i >= 0; i-- {
		back = retreat(back, pos-at[i])
		pos = at[i]
		fixed := 0.0
		for st := 0; st < states; st += 2 {
			fixed += forward[i][st] * back[st]
		}
		passing[i] += weight * fixed / ways
		for st := range back {
			back[st] *= emit[i][st%2]
		}
	}
	return end / ways
}

// choose is the number of ways to place k changes on g steps.
func choose(g, k int) float64 {
	f := float64(g)
	switch k {
	case 0:
		return 1
	case 1:
		return f
	case 2:
		return f * (f - 1) / 2
	}
	return f * (f - 1) * (f - 2) / 6
}

func advance(v [states]float64, g int) (out [states]float64) {
	for to := range out {
		for from := range to + 1 {
			out[to] += v[from] * choose(g, to-from)
		}
	}
	return out
}

func retreat(v [states]float64, g int) (out [states]float64) {
	for from := range out {
		for to := from; to < states; to++ {
			out[from] += v[to] * choose(g, to-from)
		}
	}
	return out
}

// contradiction says that a failure was seen before a pass, after s.from.
func (s *Search) contradiction() bool {
	failed := false
	for _, x := range s.ran {
		if x < s.from {
			continue
		}
		c := s.counts[x]
		if failed && c.Passes() > 0 {
			return true
		}
		failed = failed || c.Failures > 0
	}
	return false
}

// disputed are the indexes that contradict one another: a failure with a pass
// after it, or a pass with a failure before it.
func (s *Search) disputed() []int {
	var out []int
	newestPass := s.from
	for _, x := range s.ran {
		if s.counts[x].Passes() > 0 {
			newestPass = x
		}
	}
	failed := false
	for _, x := range s.ran {
		c := s.counts[x]
		if x < s.from || !s.runnable(x) {
			continue
		}
		if (c.Failures > 0 && x < newestPass) || (c.Passes() > 0 && failed) {
			out = append(out, x)
		}
		failed = failed || c.Failures > 0
	}
	return out
}
