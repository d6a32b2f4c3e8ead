package rate

import (
	"math"

	"culprit/internal/session"
)

// Level is the two-sided confidence of Interval.
const Level = 0.95

// Interval is the exact 95 % confidence interval of the failure rate
// (C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits
// illustrated in the case of the binomial", Biometrika 26, 1934). Without a
// decisive run it is [0, 1].
func Interval(c session.Count) session.Interval {
	n, f := c.Runs, min(max(c.Failures, 0), max(c.Runs, 0))
	if n <= 0 {
		return session.Interval{Low: 0, High: 1}
	}
	tail := (1 - Level) / 2
	iv := session.Interval{Low: 0, High: 1}
	if f > 0 {
		// P(X >= f) = I_p(f, n-f+1) = tail
		iv.Low = solve(func(p float64) float64 { return betaInc(float64(f), float64(n-f+1), p) - tail })
	}
	if f < n {
		// P(X <= f) = 1 - I_p(f+1, n-f) = tail
		iv.High = solve(func(p float64) float64 { return betaInc(float64(f+1), float64(n-f), p) - (1 - tail) })
	}
	return iv
}

// solve finds the root of an increasing function on [0, 1].
func solve(f func(float64) float64) float64 {
	lo, hi := 0.0, 1.0
	for range 60 {
		mid := (lo + hi) / 2
		if f(mid) < 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2
}

// betaInc is the regularised incomplete beta function I_x(a, b), by the
// continued fraction of DLMF 8.17.22, evaluated with Lentz's method.
func betaInc(a, b, x float64) float64 {
	if x <= 0 {
		return 0
	}
	if x >= 1 {
		return 1
	}
	// The fraction converges fast for x below the mean; mirror otherwise.
	if x > (a+1)/(a+b+2) {
		return 1 - betaInc(b, a, 1-x)
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) / a

	const tiny, eps = 1e-300, 1e-15
	away := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/away(1-(a+b)*x/(a+1))
	h := d
	for m := 1.0; m <= 10000; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d = 1 / away(1+even*d)
		c = away(1 + even/c)
		h *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d = 1 / away(1+odd*d)
		c = away(1 + odd/c)
		step := d * c
		h *= step
		if math.Abs(step-1) < eps {
			break
		}
	}
	return front * h
}
