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
		among      int
		want       Comparison
	}{
		{"always against never", count(5, 5), count(0, 4), 10, 1, Different},
		{"too early to tell", count(5, 5), count(0, 1), 10, 1, Open},
		{"one failure more makes it hopeless", count(5, 5), count(1, 1), 4, 1, Alike},
		{"a coin that goes on", count(10, 20), count(3, 6), 16, 1, Alike},
		{"a coin that fell silent", count(10, 20), count(0, 16), 20, 1, Different},
		{"nothing is left", count(10, 20), count(0, 3), 3, 1, Alike},
		{"always against never, one of many", count(5, 5), count(0, 4), 10, 5, Open},
		{"always against never for longer, one of many", count(5, 5), count(0, 8), 10, 5, Different},
		{"a coin that fell silent, one of many", count(10, 20), count(0, 16), 28, 14, Open},
		{"a coin that stays silent, one of many", count(10, 20), count(0, 24), 28, 14, Different},
		{"too few runs for one of many", count(10, 20), count(0, 16), 20, 14, Alike},
	} {
		if got := Compare(test.base, test.seen, test.limit, max(test.among, 1)); got != test.want {
			t.Errorf("%s: %d, want %d (factor %.1f)", test.name, got, test.want, Factor(test.base, test.seen))
		}
	}
}

// A session compares the usual runs with many ways of running the test, and
// believes the first that differs.
func TestEqualRatesAreHardlyEverCalledDifferentInAnyOfManyWays(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	for _, ways := range []int{1, 14} {
		for _, p := range []float64{0.05, 0.3, 0.5, 0.9, 1} {
			const sessions = 500
			wrong, runs := 0, 0
			for range sessions {
				draw := func(c *session.Count) {
					c.Runs++
					if rng.Float64() < p {
						c.Failures++
					}
				}
				var base session.Count
				for range 20 {
					draw(&base)
				}
				for range ways {
					var seen session.Count
					for Compare(base, seen, 28, ways) == Open {
						draw(&seen)
					}
					runs += seen.Runs
					if Compare(base, seen, 28, ways) == Different {
						wrong++
						break
					}
				}
			}
			if wrong > sessions/100 || runs > 20*ways*sessions {
				t.Errorf("rate %g, %d ways: %d of %d sessions named a kind after %.1f runs on average", p, ways, wrong, sessions, float64(runs)/sessions)
			}
		}
	}
}
