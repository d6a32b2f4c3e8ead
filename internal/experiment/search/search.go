package search

import (
	"culprit/internal/session"
)

// Good is the index of the known good commit, the one before candidate 0.
const Good = -1

// DefaultConfidence is the posterior probability at which a search stops.
const DefaultConfidence = 0.95

// Options narrow a search. The zero value searches a test that is presumed to
// be deterministic, with every candidate equally likely.
type Options struct {
	// Weights are prior weights of the candidates, in any unit; nil means all
	// equal. A weight is never taken as proof: none counts for less than a
	// hundredth of their mean, and one that is not a number counts as the mean.
	Weights []float64
	// Confidence in (0.5, 1) at which the search stops; 0 means
	// DefaultConfidence.
	Confidence float64
	// Bad and Good are runs that are known already, usually from the
	// reproduction: at the bad commit (candidate n-1) and at the known good one.
	// They teach the failure rate and are not counted in Result.Runs.
	Bad, Good session.Count
	// Flaky says that the test is known not to be deterministic, even if Bad
	// and Good don't show it.
	Flaky bool
	// Other is what session.FailedElse counts as; empty means
	// session.Untestable.
	Other session.Outcome
	// Verify is how many decisive runs the culprit and the commit before it
	// must each have before the search is decided; Next asks for them.
	Verify int
	// MaxRuns ends the search undecided after so many observations; 0 means no
	// limit.
	MaxRuns int
}

// Result is what the observations say so far.
type Result struct {
	// Decided is set when one answer has reached the confidence, and has been
	// verified as often as Options.Verify wants.
	Decided bool
	// Culprit is the most probable candidate, or Good when it is more probable
	// that none of them changed anything.
	Culprit int
	// Probability that Culprit or one of Alternatives introduced the failure;
	// that nothing did, when Culprit is Good.
	Probability float64
	// Alternatives are candidates that no run can tell from Culprit, because
	// what lies between them is untestable; ascending, without Culprit.
	Alternatives []int
	// NonMonotonic is set when the failure was there, went away and came back.
	// Culprit is then its newest introduction.
	NonMonotonic bool
	// AlwaysSo is the probability that the test fails at the good commit too,
	// every time; OnlyFlaky that it fails sometimes, equally often everywhere.
	AlwaysSo, OnlyFlaky float64
	// Before and After are the expected failure rates on both sides of Culprit.
	Before, After float64
	// Runs counts observations. Located is how many of them it took until one
	// boundary was left for a deterministic test, 0 while it is not so: what
	// comes after it is verification. Rounds counts the batches of Next.
	Runs, Located, Rounds int
}
