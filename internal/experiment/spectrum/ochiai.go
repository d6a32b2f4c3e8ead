package spectrum

import (
	"cmp"
	"math"
	"slices"

	"culprit/internal/session"
)

// Ochiai is the similarity of "the line was covered" to "the test failed", in
// [0, 1]. ef and ep are how many failing and passing tests cover the line, nf
// how many failing tests do not. A line that no failing test covers has 0.
func Ochiai(ef, ep, nf int) float64 {
	if ef <= 0 {
		return 0
	}
	return float64(ef) / math.Sqrt(float64(ef+nf)*float64(ef+ep))
}

// Block is a stretch of lines of one file that are covered together.
type Block struct {
	File            string // path in the repository
	From, To        int    // lines, both within
	Failing, Passed int    // tests that cover it
}

// Rank orders blocks by their score, the highest first; failing is how many
// tests fail. Among equal scores the block nearest to the failure leads: in the
// file and at the line of a frame of its stack, the innermost frame counting
// first. At most limit are returned, and none that fails to stand out, because
// every test covers it.
func Rank(blocks []Block, failing, passing int, stack []session.Frame, limit int) []session.SuspiciousLine {
	type ranked struct {
		session.SuspiciousLine
		frame, distance int
	}
	var all []ranked
	for _, b := range blocks {
		score := Ochiai(b.Failing, b.Passed, failing-b.Failing)
		if score == 0 || (b.Failing == failing && b.Passed == passing) {
			continue
		}
		r := ranked{session.SuspiciousLine{File: b.File, Line: b.From, To: b.To, Score: score, Failing: b.Failing, Passing: b.Passed}, len(stack), math.MaxInt}
		for i, f := range stack {
			if f.File != b.File {
				continue
			}
			d := max(b.From-f.Line, f.Line-b.To, 0)
			if r.frame == len(stack) || d < r.distance {
				r.frame, r.distance = min(r.frame, i), d
			}
		}
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.frame, b.frame), cmp.Compare(a.distance, b.distance),
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	out := make([]session.SuspiciousLine, 0, min(limit, len(all)))
	for _, r := range all[:min(limit, len(all))] {
		out = append(out, r.SuspiciousLine)
	}
	return out
}
