package search_test

import (
	"fmt"
	"testing"

	"culprit/internal/experiment/search"
)

// TestClaimedConfidenceHolds is the small part of make bench-culprit that is
// run with every test.
func TestClaimedConfidenceHolds(t *testing.T) {
	t.Parallel()
	const histories = 60
	for _, s := range []setting{
		usual(16, 0, 1, 0.3, 4),
		usual(64, 0.1, 1, 0.1, 2),
		usual(32, 0, 0.5, 0.3, 1),
		usual(32, 0.1, 0.5, 0.1, 8),
		usual(256, 0.01, 1, 0, 1),
		usual(256, 0.1, 1, 0, 1),
	} {
		// A searcher that is right 95 % of the time falls 2.6 standard
		// deviations below in one of 200 draws.
		if x := s.summary(histories, 9); !holds(1-x.wrong, 0.95, histories, 2.6) || x.decided < 0.95 {
			t.Errorf("%+v: %.1f %% right, %.1f %% decided, %.1f %% claimed", s, 100*x.right, 100*x.decided, 100*x.claimed)
		}
	}
}

func TestDeterministicTestsCostTheLogarithm(t *testing.T) {
	t.Parallel()
	for _, n := range []int{16, 100, 256, 1000, 4096} {
		s := setting{n: n, after: 1, hint: 5, verify: 4, k: 1}
		x := s.summary(100, 3)
		if x.right < 1-1e-9 || x.overLocated > 1 || x.runs.most > log2ceil(n)+8 {
			t.Errorf("n %d: %.1f %% right, %d runs to locate above the logarithm (history %d), at most %d runs in all", n, 100*x.right, x.overLocated, x.mostOf, x.runs.most)
		}
	}
}

// The mean of 50 histories has a standard deviation of 0.65 runs; make
// bench-culprit takes thousands.
func TestTheSearchBeatsBisectionOnThePublishedSetting(t *testing.T) {
	t.Parallel()
	const histories = 50
	for _, test := range []struct {
		name       string
		hint       int
		confidence float64
	}{
		{"rates known", 1000, 0.992},
		{"nothing known", 0, 0.9},
	} {
		s := published
		s.hint, s.confidence = test.hint, test.confidence
		if x := s.summary(histories, 4); !holds(x.right, 0.995, histories, 2.6) || x.mean >= 29.66+3*0.65 {
			t.Errorf("%s: %.2f runs, %.2f %% right; robust-git-bisect: 29.66 runs, 99.54 %%", test.name, x.mean, 100*x.right)
		}
	}
}

// The peers must be what they are called, or the comparison says nothing.
func TestPeersAreWhatTheyAreCalled(t *testing.T) {
	t.Parallel()
	const histories = 200
	peer := func(n int, before, after, broken float64, search func(h *history) search.Result) summary {
		return setting{n: n, before: before, after: after, broken: broken, peer: search}.summary(histories, 5)
	}
	for _, ask := range []verdictOf{once, twoAlike, patient} {
		bisect := func(h *history) search.Result { return gitBisect(h, ask) }
		for _, broken := range []float64{0, 0.3} {
			if x := peer(500, 0, 1, broken, bisect); x.right < 1-1e-9 {
				t.Errorf("a bisection of a deterministic test is right in %.1f %%", 100*x.right)
			}
		}
	}
	plain := peer(60429, 0.05, 0.95, 0, func(h *history) search.Result { return gitBisect(h, once) })
	// 0.95 to the power of 16 is 44 %.
	if plain.mean < 15.5 || plain.mean > 16.5 || plain.right < 0.34 || plain.right > 0.54 {
		t.Errorf("plain bisection: %.2f runs, %.1f %% right", plain.mean, 100*plain.right)
	}
	bound := peer(60429, 0.05, 0.95, 0, func(h *history) search.Result { return allKnowing(h, 0.99) })
	if bound.mean < 22.2 || bound.mean > 25 || !holds(bound.right, 0.99, histories, 3) {
		t.Errorf("bound: %.2f runs, %.1f %% right", bound.mean, 100*bound.right)
	}
	if x := peer(1000, 0, 0.3, 0, func(h *history) search.Result { return gitBisect(h, patient) }); !holds(x.right, 0.95, histories, 3) {
		t.Errorf("patient bisection: %s", fmt.Sprint(x))
	}
}
