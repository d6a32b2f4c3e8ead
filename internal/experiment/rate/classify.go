package rate

import (
	"math"

	"culprit/internal/session"
)

// Decision is what repeated runs of one state of the code show.
type Decision string

// Decisions of Classify.
const (
	Undecided     Decision = "undecided"
	Deterministic Decision = "deterministic" // failed every time
	Flaky         Decision = "flaky"         // failed and passed
	Passing       Decision = "passing"       // passed every time
)

// Rule says when a row of equal outcomes is long enough.
type Rule struct {
	// Failures in a row without a pass that make a test deterministic.
	Failures int
	// Passes in a row without a failure that make it passing.
	Passes int
}

// DefaultRule calls a test deterministic after 5 failures in a row, which a
// test with a failure rate up to 0.54 shows with less than 5 % probability; and
// passing after 29 passes in a row, which excludes a failure rate of 0.1 or
// more in the same sense.
var DefaultRule = Rule{Failures: 5, Passes: RunsFor(0.1, Level)}

// Classify decides by DefaultRule.
func Classify(c session.Count) (Decision, int) { return DefaultRule.Classify(c) }

// Classify decides as early as it may: the first run that differs from another
// makes the test flaky, and no further run could change that. When nothing is
// decided, more is how many further runs decide if all of them agree with
// those seen; it is 0 otherwise.
func (r Rule) Classify(c session.Count) (d Decision, more int) {
	failures, passes := c.Failures, c.Passes()
	switch {
	case failures > 0 && passes > 0:
		return Flaky, 0
	case failures > 0:
		if more = r.Failures - failures; more > 0 {
			return Undecided, more
		}
		return Deterministic, 0
	default:
		if more = r.Passes - passes; more > 0 {
			return Undecided, more
		}
		if passes <= 0 {
			return Undecided, 1
		}
		return Passing, 0
	}
}

// maxRuns bounds RunsFor: no one runs a test more often than this.
const maxRuns = 1_000_000

// RunsFor is how many passes in a row are needed to believe, with the given
// confidence, that a failure which shows at this rate is gone: the smallest n
// with (1-rate)^n <= 1-confidence. It is 1 for a rate of 1 or more, and one
// million, the most it returns, when rate or confidence leave no finite answer (rate 0, confidence 1).
func RunsFor(rate, confidence float64) int {
	switch {
	case math.IsNaN(rate) || math.IsNaN(confidence) || rate <= 0 || confidence >= 1:
		return maxRuns
	case rate >= 1 || confidence <= 0:
		return 1
	}
	n := math.Log1p(-confidence) / math.Log1p(-rate)
	// A quotient that is whole but for rounding must not cost a run more.
	return int(min(max(math.Ceil(n-1e-9), 1), maxRuns))
}
