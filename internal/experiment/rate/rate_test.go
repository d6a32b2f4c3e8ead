package rate_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"culprit/internal/experiment/rate"
	"culprit/internal/session"
)

func count(failures, runs int) session.Count { return session.Count{Runs: runs, Failures: failures} }

// The first four are Table I of R. G. Newcombe, "Two-sided confidence intervals
// for the single proportion: comparison of seven methods", Statistics in
// Medicine 17, 1998, method 5 (Clopper-Pearson). The rest are closed forms:
// no failure in n runs has the upper limit 1-0.025^(1/n).
func TestIntervalAgreesWithTheLiterature(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		failures, runs int
		low, high      float64
	}{
		{81, 263, 0.2527, 0.3676},
		{15, 148, 0.0578, 0.1617},
		{0, 20, 0, 0.1684},
		{1, 29, 0.0009, 0.1776},
		{0, 1, 0, 0.975},
		{1, 1, 0.025, 1},
		{0, 3, 0, 1 - math.Pow(0.025, 1.0/3)},
		{10, 10, math.Pow(0.025, 0.1), 1},
		{0, 0, 0, 1},
		{0, 100000, 0, 1 - math.Pow(0.025, 1e-5)},
	} {
		got := rate.Interval(count(c.failures, c.runs))
		if math.Abs(got.Low-c.low) > 5e-5 || math.Abs(got.High-c.high) > 5e-5 {
			t.Errorf("%d of %d: %.4f..%.4f, want %.4f..%.4f", c.failures, c.runs, got.Low, got.High, c.low, c.high)
		}
	}
}

func TestIntervalHoldsTheObservedRateAndMirrors(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3000).Draw(t, "runs")
		f := rapid.IntRange(0, n).Draw(t, "failures")
		a, b := rate.Interval(count(f, n)), rate.Interval(count(n-f, n))
		if r := float64(f) / float64(n); a.Low > r || a.High < r || a.Low < 0 || a.High > 1 {
			t.Fatalf("%d of %d: %+v", f, n, a)
		}
		if math.Abs(a.Low-(1-b.High)) > 1e-9 || math.Abs(a.High-(1-b.Low)) > 1e-9 {
			t.Fatalf("%d of %d: %+v and mirrored %+v", f, n, a, b)
		}
	})
}

func TestIntervalCoversTheTruthAtLeastAsOftenAsItSays(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 10, 30} {
		for p := 0.01; p < 1; p += 0.01 {
			covered := 0.0
			for f := range n + 1 {
				if iv := rate.Interval(count(f, n)); iv.Low <= p && p <= iv.High {
					covered += math.Exp(lchoose(n, f) + float64(f)*math.Log(p) + float64(n-f)*math.Log(1-p))
				}
			}
			if covered < rate.Level-1e-9 {
				t.Errorf("rate %.2f, %d runs: covered with %.4f", p, n, covered)
			}
		}
	}
}

func lchoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

// The rule of three (J. A. Hanley and A. Lippman-Hand, "If nothing goes wrong,
// is everything all right?", JAMA 249, 1983): about 3/rate runs for 95 %.
func TestRunsFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rate, confidence float64
		want             int
	}{
		{0.5, 0.95, 5}, {0.1, 0.95, 29}, {0.05, 0.95, 59}, {0.01, 0.95, 299}, {0.001, 0.95, 2995},
		{0.5, 0.75, 2}, {0.9, 0.99, 2}, {0.9, 0.9, 1}, {1, 0.99, 1}, {2, 0.99, 1}, {0.3, 0, 1},
		{0, 0.95, 1_000_000}, {-1, 0.95, 1_000_000}, {0.5, 1, 1_000_000}, {math.NaN(), 0.95, 1_000_000}, {1e-12, 0.95, 1_000_000},
	} {
		if got := rate.RunsFor(c.rate, c.confidence); got != c.want {
			t.Errorf("rate %g, confidence %g: %d runs, want %d", c.rate, c.confidence, got, c.want)
		}
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		count session.Count
		want  rate.Decision
		more  int
	}{
		{count(0, 0), rate.Undecided, 29},
		{count(1, 1), rate.Undecided, 4},
		{count(4, 4), rate.Undecided, 1},
		{count(5, 5), rate.Deterministic, 0},
		{count(50, 50), rate.Deterministic, 0},
		{count(1, 2), rate.Flaky, 0},
		{count(99, 100), rate.Flaky, 0},
		{count(0, 28), rate.Undecided, 1},
		{count(0, 29), rate.Passing, 0},
		{session.Count{Other: 3, Skipped: 9}, rate.Undecided, 29},
	} {
		if d, more := rate.Classify(c.count); d != c.want || more != c.more {
			t.Errorf("%+v: %s, %d more; want %s, %d", c.count, d, more, c.want, c.more)
		}
	}
	if d, more := (rate.Rule{}).Classify(session.Count{}); d != rate.Undecided || more != 1 {
		t.Errorf("an empty rule decides without a run: %s, %d", d, more)
	}
}

func TestClassificationEndsWithTheRunsItAskedFor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var c session.Count
		asked := 0
		for _, failed := range rapid.SliceOfN(rapid.Bool(), 40, 40).Draw(t, "outcomes") {
			d, more := rate.Classify(c)
			if (d == rate.Undecided) != (more > 0) {
				t.Fatalf("%+v: %s, %d more", c, d, more)
			}
			if d != rate.Undecided {
				return
			}
			asked++
			if failed {
				c.Add(session.FailedSame)
			} else {
				c.Add(session.Passed)
			}
		}
		t.Fatalf("undecided after %d runs", asked)
	})
}

// The tea tasting of R. A. Fisher, The Design of Experiments, 1935 (17/70), and
// the twins' convictions of his Statistical Methods for Research Workers, 1925
// (0.00046535).
func TestFisherAgreesWithTheLiterature(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		a, b session.Count
		more float64
	}{
		{"tea", count(3, 4), count(1, 4), 17.0 / 70},
		{"twins", count(10, 12), count(3, 18), 0.00046535},
		{"all against none", count(3, 3), count(0, 3), 1.0 / 20},
		{"equal", count(2, 4), count(2, 4), 53.0 / 70},
		{"no runs", count(0, 0), count(2, 4), 1},
		{"no failures", count(0, 10), count(0, 10), 1},
	} {
		if got := rate.FisherMore(c.a, c.b); math.Abs(got-c.more) > 1e-6 {
			t.Errorf("%s: one-sided %.8f, want %.8f", c.name, got, c.more)
		}
	}
}
