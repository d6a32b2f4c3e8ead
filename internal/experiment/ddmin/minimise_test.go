package ddmin_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"culprit/internal/experiment/ddmin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// needs reproduces when all of the given elements are there.
func needs(elements ...int) ddmin.Test {
	return func(_ context.Context, subset []int) (ddmin.Verdict, error) {
		for _, e := range elements {
			if !slices.Contains(subset, e) {
				return ddmin.Not, nil
			}
		}
		return ddmin.Reproduces, nil
	}
}

func TestNeededElementsAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		n        int
		needed   []int
		maxTests int
	}{
		{"one of one", 1, []int{0}, 2},
		{"one of six", 6, []int{4}, 8},
		{"two of six", 6, []int{0, 5}, 25},
		{"one of a thousand", 1000, []int{617}, 30},
		{"three of 128", 128, []int{3, 64, 127}, 200},
		{"all", 5, []int{0, 1, 2, 3, 4}, 40},
	} {
		got, stats, err := ddmin.Minimise(t.Context(), c.n, needs(c.needed...), ddmin.Options{})
		if err != nil || !slices.Equal(got, c.needed) || !stats.Minimal || stats.Exhausted {
			t.Errorf("%s: %v, %+v, %v", c.name, got, stats, err)
		}
		if stats.Tests > c.maxTests || stats.Speculated != 0 {
			t.Errorf("%s: %d tests, %d ahead; want at most %d and none", c.name, stats.Tests, stats.Speculated, c.maxTests)
		}
	}
}

func TestResultReproducesAndNoElementCanBeLeftOut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 24).Draw(t, "n")
		seed := rapid.Uint64().Draw(t, "seed")
		kind := rapid.SampledFrom([]string{"monotone", "arbitrary", "dependent"}).Draw(t, "kind")
		share := rapid.IntRange(0, 9).Draw(t, "share")
		var needed []int
		for i := range n {
			if rand.New(rand.NewPCG(seed, uint64(i))).IntN(10) < 2 {
				needed = append(needed, i)
			}
		}
		verdict := func(subset []int) ddmin.Verdict {
			if len(subset) == n {
				return ddmin.Reproduces
			}
			h := seed
			for _, e := range subset {
				h = rand.New(rand.NewPCG(h, uint64(e))).Uint64()
			}
			switch kind {
			case "arbitrary":
				return ddmin.Verdict(h % 3)
			case "dependent":
				// An element does not build without its neighbour below.
				for _, e := range subset {
					if e%2 == 1 && !slices.Contains(subset, e-1) {
						return ddmin.Unresolved
					}
				}
				if int(h%10) < share {
					return ddmin.Unresolved
				}
			}
			v, _ := needs(needed...)(context.Background(), subset)
			return v
		}
		opts := ddmin.Options{Parallel: rapid.IntRange(1, 6).Draw(t, "parallel")}
		var mu sync.Mutex
		calls := map[string]int{}
		got, stats, err := ddmin.Minimise(context.Background(), n, func(_ context.Context, subset []int) (ddmin.Verdict, error) {
			mu.Lock()
			defer mu.Unlock()
			calls[string(intsToRunes(subset))]++
			return verdict(subset), nil
		}, opts)
		if err != nil || !stats.Minimal {
			t.Fatalf("%+v, %v", stats, err)
		}
		for subset, times := range calls {
			if times > 1 {
				t.Fatalf("%v tested %d times", []rune(subset), times)
			}
		}
		if stats.Tests != len(calls) {
			t.Fatalf("%d tests, %d said", len(calls), stats.Tests)
		}
		if v := verdict(got); v != ddmin.Reproduces {
			t.Fatalf("%v %s", got, v)
		}
		for i := range got {
			less := slices.Delete(slices.Clone(got), i, i+1)
			if verdict(less) == ddmin.Reproduces {
				t.Fatalf("%v is not minimal: %v reproduces", got, less)
			}
		}
		// The same again, sequentially: the outcome may depend on the order of
		// the candidates only.
		if opts.Parallel > 1 {
			again, second, err := ddmin.Minimise(context.Background(), n, func(_ context.Context, subset []int) (ddmin.Verdict, error) {
				return verdict(subset), nil
			}, opts)
			if err != nil || !slices.Equal(again, got) || second != stats {
				t.Fatalf("%v %+v became %v %+v, %v", got, stats, again, second, err)
			}
		}
	})
}

func intsToRunes(v []int) []rune {
	out := make([]rune, len(v))
	for i, e := range v {
		out[i] = rune(e)
	}
	return out
}

func TestParallelTestsRunAtTheSameTimeAndNotMore(t *testing.T) {
	t.Parallel()
	var running, most atomic.Int32
	full := make(chan struct{})
	var once sync.Once
	_, stats, err := ddmin.Minimise(t.Context(), 8, func(ctx context.Context, subset []int) (ddmin.Verdict, error) {
		now := running.Add(1)
		defer running.Add(-1)
		for {
			old := most.Load()
			if now <= old || most.CompareAndSwap(old, now) {
				break
			}
		}
		if len(subset) == 1 { // the singles: wait until three of them are here
			if now == 3 {
				once.Do(func() { close(full) })
			}
			select {
			case <-full:
			case <-ctx.Done():
				return ddmin.Unresolved, ctx.Err()
			}
		}
		v, _ := needs(0, 7)(ctx, subset)
		return v, nil
	}, ddmin.Options{Parallel: 3})
	if err != nil || most.Load() != 3 || stats.Waves >= stats.Tests {
		t.Errorf("%d at a time, %+v, %v", most.Load(), stats, err)
	}
}

func TestWholeSetThatDoesNotReproduceIsAnError(t *testing.T) {
	t.Parallel()
	for _, v := range []ddmin.Verdict{ddmin.Not, ddmin.Unresolved} {
		got, _, err := ddmin.Minimise(t.Context(), 3, func(context.Context, []int) (ddmin.Verdict, error) { return v, nil }, ddmin.Options{})
		if got != nil || !errors.Is(err, ddmin.ErrNotReproduced) {
			t.Errorf("%s: %v, %v", v, got, err)
		}
	}
}

func TestFailureWithoutAnyElementNeedsNone(t *testing.T) {
	t.Parallel()
	got, stats, err := ddmin.Minimise(t.Context(), 9, needs(), ddmin.Options{Parallel: 4})
	if err != nil || got == nil || len(got) != 0 || !stats.Minimal {
		t.Errorf("%v, %+v, %v", got, stats, err)
	}
}

func TestSpentBudgetReturnsTheBestSoFar(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		budget, parallel := rapid.IntRange(1, 60).Draw(t, "budget"), rapid.IntRange(1, 5).Draw(t, "parallel")
		test := needs(5, 20, 40)
		got, stats, err := ddmin.Minimise(context.Background(), 64, test, ddmin.Options{MaxTests: budget, Parallel: parallel})
		if err != nil || stats.Tests > budget || stats.Minimal == stats.Exhausted {
			t.Fatalf("%v, %+v, %v", got, stats, err)
		}
		if v, _ := test(context.Background(), got); v != ddmin.Reproduces {
			t.Fatalf("%v does not reproduce", got)
		}
	})
}

func TestEndedContextReturnsTheBestSoFar(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	got, stats, err := ddmin.Minimise(ctx, 64, func(ctx context.Context, subset []int) (ddmin.Verdict, error) {
		if calls++; calls == 4 {
			cancel()
		}
		return needs(1)(ctx, subset)
	}, ddmin.Options{})
	if !errors.Is(err, context.Canceled) || len(got) == 0 || len(got) >= 64 || stats.Minimal {
		t.Errorf("%v, %+v, %v", got, stats, err)
	}
}

func TestErrorOfTheTestEndsTheSearch(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk full")
	got, _, err := ddmin.Minimise(t.Context(), 4, func(_ context.Context, subset []int) (ddmin.Verdict, error) {
		if len(subset) < 4 {
			return ddmin.Not, broken
		}
		return ddmin.Reproduces, nil
	}, ddmin.Options{})
	if !errors.Is(err, broken) || len(got) != 4 {
		t.Errorf("%v, %v", got, err)
	}
	if _, _, err := ddmin.Minimise(t.Context(), -1, needs(), ddmin.Options{}); err == nil {
		t.Error("a negative number is accepted")
	}
}
