package search

import (
	"math"
	"sort"
)

// posterior holds, for each segment of candidates that no run has told apart,
// the likelihood of all runs at each point of the grid of rates.
type posterior struct {
	grid     grid
	none     noChange
	prior    masses
	segments []segment
	noneRow  []float64 // weight × likelihood at each rate, no change
	logScale float64   // rows are multiplied by exp(-logScale)

	// Set by summarise.
	p0, r0   float64 // probability of no change, and its expected rate
	alwaysSo float64
	sure     float64 // probability that the test is deterministic
	evidence float64 // sum over everything, scaled like the rows
}

// segment is the candidates lo..hi.
type segment struct {
	lo, hi int
	mass   float64
	row    []float64 // weight × likelihood at each pair of rates, per unit of mass

	p, a, b float64 // posterior probability and expected rates, set by summarise
}

// newPosterior starts with the candidates lo..hi in one segment.
func newPosterior(g grid, none noChange, prior masses, lo, hi int) *posterior {
	return &posterior{
		grid: g, none: none, prior: prior,
		segments: []segment{{lo: lo, hi: hi, mass: 1, row: append([]float64(nil), g.weight...)}},
		noneRow:  append([]float64(nil), none.weight...),
	}
}

// observe takes failures and passes at index x.
func (p *posterior) observe(x, failures, passes int) {
	p.splitAfter(x)
	times := func(row, rates []float64) {
		for i := range row {
			row[i] *= power(rates[i], failures) * power(1-rates[i], passes)
		}
	}
	once := func(row, rates []float64) {
		if failures == 1 {
			for i := range row {
				row[i] *= rates[i]
			}
			return
		}
		for i := range row {
			row[i] *= 1 - rates[i]
		}
	}
	if failures+passes == 1 {
		times = once
	}
	for i := range p.segments {
		s := &p.segments[i]
		if s.lo <= x {
			times(s.row, p.grid.after)
		} else {
			times(s.row, p.grid.before)
		}
	}
	times(p.noneRow, p.none.rate)
	p.summarise()
}

func power(base float64, n int) float64 {
	switch n {
	case 0:
		return 1
	case 1:
		return base
	}
	return math.Pow(base, float64(n))
}

// splitAfter makes x the last candidate of its segment.
func (p *posterior) splitAfter(x int) {
	i := sort.Search(len(p.segments), func(i int) bool { return p.segments[i].hi > x })
	if i == len(p.segments) || p.segments[i].lo > x {
		return
	}
	s := p.segments[i]
	left, right := s, s
	left.hi, right.lo = x, x+1
	all := p.prior.between(s.lo, s.hi)
	left.mass = s.mass * p.prior.between(s.lo, x) / all
	right.mass = s.mass - left.mass
	right.row = append([]float64(nil), s.row...)
	p.segments = append(p.segments, segment{})
	copy(p.segments[i+1:], p.segments[i:])
	p.segments[i], p.segments[i+1] = left, right
}

// summarise computes probabilities and expected rates from the rows.
func (p *posterior) summarise() {
	total, sure := 0.0, 0.0
	for i := range p.segments {
		s := &p.segments[i]
		sum, a, b := 0.0, 0.0, 0.0
		for j, l := range s.row {
			sum += l
			a += l * p.grid.after[j]
			b += l * p.grid.before[j]
		}
		s.p, s.a, s.b = sum*s.mass, 1, 0
		if sum > 0 {
			s.a, s.b = min(a/sum, 1), b/sum
		}
		total += s.p
		sure += s.row[0] * s.mass
	}
	sum, r := 0.0, 0.0
	for j, l := range p.noneRow {
		sum += l
		r += l * p.none.rate[j]
	}
	p.r0 = 1
	if sum > 0 {
		p.r0 = min(r/sum, 1)
	}
	total += sum
	p.evidence = total
	if total <= 0 { // not reachable: some rate of the grid explains any run
		return
	}
	for i := range p.segments {
		p.segments[i].p /= total
	}
	p.p0, p.alwaysSo, p.sure = sum/total, p.noneRow[0]/total, (sure+p.noneRow[0])/total
	if total < 1e-60 {
		p.rescale(1 / total)
	}
}

// rescale keeps the rows away from the smallest number.
func (p *posterior) rescale(by float64) {
	for i := range p.segments {
		for j := range p.segments[i].row {
			p.segments[i].row[j] *= by
		}
	}
	for j := range p.noneRow {
		p.noneRow[j] *= by
	}
	p.evidence *= by
	p.logScale -= math.Log(by)
}
