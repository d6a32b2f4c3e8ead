package rate

import (
	"math"
	"math/rand/v2"
	"testing"

	"culprit/internal/session"
)

func count(failures, runs int) session.Count { return session.Count{Runs: runs, Failures: failures} }

func TestFactorIsTheRatioOfMarginalLikelihoods(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b session.Count
		want float64
	}{
		{count(0, 0), count(0, 0), 1},
		{count(3, 7), count(0, 0), 1},
		// One failure each: (1/2 * 1/2) / B(5/2, 1/2)/B(1/2, 1/2) = (1/4) / (3/8).
		{count(1, 1), count(1, 1), 2.0 / 3},
		// A failure and a pass: (1/4) / (1/8).
		{count(1, 1), count(0, 1), 2},
	} {
		if got := Factor(test.a, test.b); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%v against %v: %g, want %g", test.a, test.b, got, test.want)
		}
	}
}

func TestCompareDecidesAsSoonAsItCan(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		base, seen session.Count
		limit      int
		want       Comparison
	}{
		{"always against never", count(5, 5), count(0, 4), 10, Different},
		{"too early to tell", count(5, 5), count(0, 1), 10, Open},
		{"one failure more makes it hopeless", count(5, 5), count(1, 1), 4, Alike},
		{"a coin that goes on", count(10, 20), count(3, 6), 16, Alike},
		{"a coin that fell silent", count(10, 20), count(0, 16), 20, Different},
		{"nothing is left", count(10, 20), count(0, 3), 3, Alike},
	} {
		if got := Compare(test.base, test.seen, test.limit); got != test.want {
			t.Errorf("%s: %d, want %d (factor %.1f)", test.name, got, test.want, Factor(test.base, test.seen))
		}
	}
}

func TestEqualRatesAreHardlyEverCalledDifferent(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	for _, p := range []float64{0.05, 0.3, 0.5, 0.9, 1} {
		const trials = 2000
		wrong, runs := 0, 0
		for range trials {
			draw := func(c *session.Count) {
				c.Runs++
				if rng.Float64() < p {
					c.Failures++
				}
			}
			var base, seen session.Count
			for range 16 {
				draw(&base)
			}
			for Compare(base, seen, 20) == Open {
				draw(&seen)
			}
			runs += seen.Runs
			if Compare(base, seen, 20) == Different {
				wrong++
			}
		}
		if wrong > trials/100+10 || runs > 16*trials {
			t.Errorf("rate %g: %d of %d called different after %.1f runs on average", p, wrong, trials, float64(runs)/trials)
		}
	}
}
