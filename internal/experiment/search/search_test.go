package search_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"culprit/internal/experiment/search"
	"culprit/internal/session"
)

func TestDeterministicCulpritIsFoundInLogarithmicRuns(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 70; n++ {
		for c := range n {
			h := &history{n: n, culprit: c, after: 1}
			_, r := h.solve(search.Options{}, 1, 1000)
			if !r.Decided || r.Culprit != c || len(r.Alternatives) > 0 {
				t.Fatalf("n %d, culprit %d: %+v", n, c, r)
			}
			if r.Located > log2ceil(n)+1 {
				t.Errorf("n %d, culprit %d: %d runs before verification, want at most %d", n, c, r.Located, log2ceil(n)+1)
			}
			if r.Runs > log2ceil(n)+5 {
				t.Errorf("n %d, culprit %d: %d runs in all", n, c, r.Runs)
			}
		}
	}
}

func TestLargeDeterministicSearchStaysWithinTheBound(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1000, 4096, 60429} {
		for _, c := range []int{0, 1, n / 3, n / 2, n/2 + 1, n - 2, n - 1} {
			h := &history{n: n, culprit: c, after: 1}
			_, r := h.solve(search.Options{Bad: session.Count{Runs: 5, Failures: 5}, Good: session.Count{Runs: 1}}, 1, 1000)
			if !r.Decided || r.Culprit != c || r.Located > log2ceil(n)+1 || r.Runs > log2ceil(n)+6 {
				t.Errorf("n %d, culprit %d: %+v", n, c, r)
			}
		}
	}
}

func TestParallelSearchTakesFewerRounds(t *testing.T) {
	t.Parallel()
	// log of 4096 to the base k+1, rounded up; and verification.
	for k, rounds := range map[int]int{1: 12, 2: 8, 4: 6, 8: 4} {
		for _, c := range []int{0, 5, 2047, 2048, 3000, 4095} {
			h := &history{n: 4096, culprit: c, after: 1}
			_, r := h.solve(search.Options{Verify: 3, Bad: session.Count{Runs: 3, Failures: 3}, Good: session.Count{Runs: 3}}, k, 1000)
			verification := (6 + k - 1) / k
			if !r.Decided || r.Culprit != c || r.Rounds > rounds+verification+1 {
				t.Errorf("k %d, culprit %d: %+v, want at most %d rounds", k, c, r, rounds+verification+1)
			}
		}
	}
}

func TestDeterministicHistoryWithUntestableCandidates(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "n")
		h := &history{n: n, culprit: rapid.IntRange(0, n-1).Draw(t, "culprit"), after: 1, broken: map[int]bool{}}
		for _, i := range rapid.SliceOf(rapid.IntRange(0, n-1)).Draw(t, "untestable") {
			h.broken[i] = i != n-1
		}
		k := rapid.IntRange(1, 8).Draw(t, "k")
		// 100 good runs, so that "it was always so" is no serious rival even
		// where one candidate stands for all.
		s, r := h.solve(search.Options{Good: session.Count{Runs: 100}, Verify: rapid.IntRange(0, 3).Draw(t, "verify")}, k, 1000)
		if !r.Decided || !h.right(r) {
			t.Fatalf("culprit %d: %+v", h.culprit, r)
		}
		// The answer is the stretch around the culprit, no more and no less.
		lo, hi := h.culprit, h.culprit
		for lo > 0 && h.broken[lo-1] {
			lo--
		}
		for h.broken[hi] {
			hi++
		}
		all := append(slices.Clone(r.Alternatives), r.Culprit)
		slices.Sort(all)
		if all[0] != lo || all[len(all)-1] != hi || len(all) != hi-lo+1 {
			t.Fatalf("answers %v, want %d..%d", all, lo, hi)
		}
		if again := s.Next(k); len(again) > 0 {
			t.Fatalf("decided, and still asks for %v", again)
		}
	})
}

func TestUntestableCandidateIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		k := rapid.IntRange(1, 8).Draw(t, "k")
		outcomes := rapid.SampledFrom([]session.Outcome{session.Passed, session.FailedSame, session.FailedElse, session.Untestable})
		s := search.New(n, search.Options{Flaky: rapid.Bool().Draw(t, "flaky")})
		tried := map[int]bool{}
		for range 60 {
			batch := s.Next(k)
			if len(batch) > k {
				t.Fatalf("asked for %d runs of %d", len(batch), k)
			}
			if len(batch) == 0 {
				break
			}
			for _, i := range batch {
				if i < search.Good || i >= n {
					t.Fatalf("asked for %d of %d", i, n)
				}
				if tried[i] {
					t.Fatalf("asked again for %d, which cannot be run", i)
				}
			}
			for _, i := range batch {
				o := outcomes.Draw(t, "outcome")
				tried[i] = tried[i] || o == session.Untestable || o == session.FailedElse
				s.Observe(i, o)
			}
		}
		r := s.Result()
		if sum := r.Probability + r.AlwaysSo + r.OnlyFlaky; !(r.Probability >= 0 && r.Probability <= 1+1e-9) || (r.Culprit >= 0 && sum > 1+1e-9) {
			t.Fatalf("probabilities do not add up: %+v", r)
		}
	})
}

func TestReplayInAnyOrderRebuildsTheSearch(t *testing.T) {
	t.Parallel()
	type seen struct {
		i int
		o session.Outcome
	}
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		h := &history{n: 50, culprit: rng.IntN(50), before: 0.05, after: 0.8, rng: rng, broken: map[int]bool{7: true, 8: true}}
		opts := search.Options{Flaky: seed%2 == 0}
		s := search.New(h.n, opts)
		var log []seen
		for len(log) < 30 {
			batch := s.Next(2)
			if len(batch) == 0 {
				break
			}
			for _, i := range batch {
				o := h.run(i)
				log = append(log, seen{i, o})
				s.Observe(i, o)
			}
		}
		rng.Shuffle(len(log), func(i, j int) { log[i], log[j] = log[j], log[i] })
		again := search.New(h.n, opts)
		for _, l := range log {
			again.Observe(l.i, l.o)
		}
		a, b := s.Result(), again.Result()
		if a.Culprit != b.Culprit || fmt.Sprintf("%.6f", a.Probability) != fmt.Sprintf("%.6f", b.Probability) {
			t.Errorf("seed %d: %+v became %+v", seed, a, b)
		}
		if x, y := s.Next(3), again.Next(3); !slices.Equal(x, y) {
			t.Errorf("seed %d: next %v became %v", seed, x, y)
		}
	}
}

func TestFailureThatWasAlwaysThereIsToldApart(t *testing.T) {
	t.Parallel()
	for _, k := range []int{1, 4} {
		h := &history{n: 100, culprit: search.Good, after: 1}
		if _, r := h.solve(search.Options{}, k, 1000); !r.Decided || r.Culprit != search.Good || r.AlwaysSo < 0.8 {
			t.Errorf("deterministic, k %d: %+v", k, r)
		}
		h = &history{n: 100, culprit: search.Good, after: 0.5, rng: rand.New(rand.NewPCG(1, 1))}
		if _, r := h.solve(search.Options{Flaky: true}, k, 1000); !r.Decided || r.Culprit != search.Good || r.OnlyFlaky < 0.95 {
			t.Errorf("flaky, k %d: %+v", k, r)
		}
	}
}

func TestHistoryThatWasFixedAndBrokenAgainIsReported(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(12, 80).Draw(t, "n")
		first := rapid.IntRange(0, n-9).Draw(t, "first")
		fixed := rapid.IntRange(first+3, n-6).Draw(t, "fixed")
		again := rapid.IntRange(fixed+3, n-1).Draw(t, "again")
		failing := func(i int) bool { return i >= first && i < fixed || i >= again }
		s := search.New(n, search.Options{Bad: session.Count{Runs: 5, Failures: 5}, Good: session.Count{Runs: 3}, Verify: 3})
		// Somebody has already run a broken commit and a fixed one.
		observe := func(i int) {
			o := session.Passed
			if failing(i) {
				o = session.FailedSame
			}
			s.Observe(i, o)
		}
		observe(first + 1)
		observe(fixed + 1)
		for range 60 {
			batch := s.Next(rapid.IntRange(1, 4).Draw(t, "k"))
			if len(batch) == 0 {
				break
			}
			for _, i := range batch {
				observe(i)
			}
		}
		r := s.Result()
		if !r.Decided || !r.NonMonotonic || r.Culprit != again {
			t.Fatalf("introduced at %d, fixed at %d, introduced again at %d: %+v", first, fixed, again, r)
		}
	})
}

func TestFlakyMonotonicHistoryIsNotCalledNonMonotonic(t *testing.T) {
	t.Parallel()
	wrong := 0
	for seed := range uint64(100) {
		h := &history{n: 40, culprit: int(seed % 40), before: 0.05, after: 0.7, rng: rand.New(rand.NewPCG(seed, 5))}
		if _, r := h.solve(search.Options{Flaky: true, Bad: h.repeat(39, 10), Good: h.repeat(0, 0)}, 2, 400); r.NonMonotonic {
			wrong++
		}
	}
	if wrong > 3 {
		t.Errorf("%d of 100 flaky histories are called non-monotonic", wrong)
	}
}

func TestWeightsGuideTheFirstRunsAndNeverExclude(t *testing.T) {
	t.Parallel()
	weights := make([]float64, 1000)
	for i := range weights {
		weights[i] = 1
	}
	weights[700] = 1000
	h := &history{n: 1000, culprit: 700, after: 1}
	if _, r := h.solve(search.Options{Weights: weights}, 1, 100); r.Culprit != 700 || r.Located > 4 {
		t.Errorf("suspect is right: %+v", r)
	}
	weights[123] = 0
	h.culprit = 123
	if _, r := h.solve(search.Options{Weights: weights}, 1, 100); r.Culprit != 123 || !r.Decided {
		t.Errorf("suspect is wrong: %+v", r)
	}
}

func TestBadInputIsHarmless(t *testing.T) {
	t.Parallel()
	for _, n := range []int{-3, 0} {
		s := search.New(n, search.Options{Bad: session.Count{Runs: 3, Failures: 3}})
		s.Observe(0, session.FailedSame)
		if next := s.Next(2); len(next) > 0 || s.Result().Decided {
			t.Errorf("n %d asks for %v", n, next)
		}
	}
	s := search.New(3, search.Options{Weights: []float64{1}, Confidence: 7, Bad: session.Count{Runs: 2, Failures: 9}})
	s.Observe(-2, session.Passed)
	s.Observe(3, session.Passed)
	if r := s.Result(); r.Runs != 0 {
		t.Errorf("counts runs outside the range: %+v", r)
	}
	if next := s.Next(0); next != nil {
		t.Errorf("asked for no run, got %v", next)
	}
}

func TestMaxRunsEndsTheSearch(t *testing.T) {
	t.Parallel()
	h := &history{n: 100, culprit: 50, after: 0.1, rng: rand.New(rand.NewPCG(3, 3))}
	_, r := h.solve(search.Options{Flaky: true, MaxRuns: 10}, 4, 1000)
	if r.Runs != 10 || r.Decided {
		t.Errorf("%+v", r)
	}
}

func TestOtherFailureCountsAsConfigured(t *testing.T) {
	t.Parallel()
	for other, culprit := range map[session.Outcome]int{session.Passed: 1, session.FailedSame: 0} {
		s := search.New(2, search.Options{Other: other, Good: session.Count{Runs: 50}, Bad: session.Count{Runs: 5, Failures: 5}})
		s.Observe(0, session.FailedElse)
		if r := s.Result(); r.Culprit != culprit {
			t.Errorf("%s: %+v", other, r)
		}
	}
}
