package spectrum_test

import (
	"fmt"
	"math"
	"testing"

	"culprit/internal/experiment/spectrum"
	"culprit/internal/session"
)

// The example of the paper: a sort of rational numbers that swaps numerators
// and not denominators, in five blocks, run on six inputs of which the fourth
// and the fifth fail.
func TestOchiaiOfThePapersExample(t *testing.T) {
	t.Parallel()
	failed := []int{0, 0, 0, 1, 1, 0}
	for _, c := range []struct {
		name    string
		covered []int
		want    float64
	}{
		{"begin", []int{1, 1, 1, 1, 1, 1}, 0.58},
		{"outer loop", []int{0, 1, 1, 1, 1, 1}, 0.63},
		{"inner loop", []int{0, 0, 1, 1, 1, 1}, 0.71},
		{"swap, the fault", []int{0, 0, 1, 1, 1, 0}, 0.82},
		{"end", []int{1, 1, 1, 1, 1, 1}, 0.58},
	} {
		ef, ep, nf := 0, 0, 0
		for i, hit := range c.covered {
			switch {
			case hit == 1 && failed[i] == 1:
				ef++
			case hit == 1:
				ep++
			case failed[i] == 1:
				nf++
			}
		}
		if got := math.Round(100*spectrum.Ochiai(ef, ep, nf)) / 100; got != c.want {
			t.Errorf("%s: %.2f, want %.2f", c.name, got, c.want)
		}
	}
}

func TestOchiaiAtItsEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ef, ep, nf int
		want       float64
	}{{0, 5, 1, 0}, {0, 0, 0, 0}, {1, 0, 0, 1}, {1, 3, 0, 0.5}, {1, 0, 3, 0.5}} {
		if got := spectrum.Ochiai(c.ef, c.ep, c.nf); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestRankBreaksTiesByTheStack(t *testing.T) {
	t.Parallel()
	stack := []session.Frame{{File: "in.go", Line: 20}, {File: "out.go", Line: 5}}
	got := spectrum.Rank([]spectrum.Block{
		{File: "far.go", From: 1, To: 2, Failing: 1},
		{File: "out.go", From: 5, To: 6, Failing: 1},
		{File: "in.go", From: 40, To: 41, Failing: 1},
		{File: "in.go", From: 18, To: 22, Failing: 1},
		{File: "in.go", From: 1, To: 3, Failing: 1, Passed: 2},
		{File: "all.go", From: 1, To: 3, Failing: 1, Passed: 4},
		{File: "never.go", From: 1, To: 3, Passed: 1},
	}, 1, 4, stack, 10)
	var order string
	for _, l := range got {
		order += fmt.Sprintf("%s:%d ", l.File, l.Line)
	}
	if order != "in.go:18 in.go:40 out.go:5 far.go:1 in.go:1 " {
		t.Error(order)
	}
	if got[4].Score >= got[3].Score || got[0].Score != 1 {
		t.Errorf("%+v", got)
	}
	if few := spectrum.Rank([]spectrum.Block{{File: "a", Failing: 1}, {File: "b", Failing: 1}}, 1, 1, nil, 1); len(few) != 1 {
		t.Errorf("%+v", few)
	}
}
