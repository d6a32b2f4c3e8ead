package rate

import (
	"math"

	"culprit/internal/session"
)

// Strong is the Bayes factor from which Compare calls two rates different, if
// there is one comparison. By Ville's inequality a factor of 100 is ever reached,
// however often one looks, in at most 1 % of comparisons of equal rates. Among n
// comparisons each needs n times as much (Bonferroni), so that the 1 % holds for
// all of them together.
const Strong = 100

// Comparison is what two counts say about their rates so far.
type Comparison int

// Results of Compare.
const (
	Open      Comparison = iota // further runs can decide
	Different                   // the rates differ
	Alike                       // no outcome of the runs that are left would show a difference
)

// Compare says whether the failure rate of seen differs from that of base, as
// a sequential test: it may be asked after every run, and the first answer
// that is not Open ends it. limit is how many runs seen may have at most; when
// not even runs that are all alike could show a difference before it, the answer
// is Alike. among is how many comparisons there may be, this one included, of
// which any would be believed.
func Compare(base, seen session.Count, limit, among int) Comparison {
	enough := float64(Strong * max(among, 1))
	if Factor(base, seen) >= enough {
		return Different
	}
	left := max(limit-seen.Runs, 0)
	for _, failures := range []int{0, left} {
		best := session.Count{Runs: seen.Runs + left, Failures: seen.Failures + failures}
		if left > 0 && Factor(base, best) >= enough {
			return Open
		}
	}
	return Alike
}

// Factor is the Bayes factor of "each count has a rate of its own" against
// "both have the same one", with Jeffreys' prior on every rate (H. Jeffreys,
// "Theory of Probability", 3rd edition, 1961). It is 1 without runs.
func Factor(a, b session.Count) float64 {
	own := marginal(a) + marginal(b)
	same := marginal(session.Count{Runs: a.Runs + b.Runs, Failures: a.Failures + b.Failures})
	return math.Exp(own - same)
}

// marginal is the logarithm of the probability of a sequence of outcomes.
func marginal(c session.Count) float64 {
	n := max(c.Runs, 0)
	f := min(max(c.Failures, 0), n)
	return logBeta(float64(f)+0.5, float64(n-f)+0.5) - logBeta(0.5, 0.5)
}

func logBeta(a, b float64) float64 {
	x, _ := math.Lgamma(a)
	y, _ := math.Lgamma(b)
	z, _ := math.Lgamma(a + b)
	return x + y - z
}
