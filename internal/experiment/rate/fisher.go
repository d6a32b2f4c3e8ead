package rate

import (
	"math"

	"culprit/internal/session"
)

// FisherMore is the probability, if both counts had the same failure rate, of
// at least as many failures in a as were seen (Fisher's exact test, one-sided).
// A small value means that a fails more often than b.
func FisherMore(a, b session.Count) float64 {
	seen, high, logp := table(a, b)
	if seen < 0 {
		return 1
	}
	p := 0.0
	for x := seen; x <= high; x++ {
		p += math.Exp(logp(x))
	}
	return min(p, 1)
}

// table returns the failures in a, the most that there may be with all margins
// fixed, and the logarithm of the hypergeometric probability. seen is -1 for an
// empty side.
func table(a, b session.Count) (seen, high int, logp func(int) float64) {
	if a.Runs <= 0 || b.Runs <= 0 {
		return -1, 0, nil
	}
	seen = min(max(a.Failures, 0), a.Runs)
	failures := seen + min(max(b.Failures, 0), b.Runs)
	total := logChoose(a.Runs+b.Runs, failures)
	logp = func(x int) float64 {
		return logChoose(a.Runs, x) + logChoose(b.Runs, failures-x) - total
	}
	return seen, min(a.Runs, failures), logp
}

func logChoose(n, k int) float64 {
	g := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	return g(n) - g(k) - g(n-k)
}
