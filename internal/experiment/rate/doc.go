// Package rate is the arithmetic of repeated runs: how sure may one be of a
// failure rate after so many runs, how many passes in a row mean that a flaky
// failure is gone, is a test deterministic, do two states of the code fail
// equally often.
//
// The counts are small (3 to 100 runs), so everything is exact: intervals are
// Clopper and Pearson's, whose coverage is never below the stated one, rather
// than an approximation that is too narrow just where it matters, at 0 or all
// failures; two counts are compared by Fisher's exact test.
//
// Only decisive runs count (session.Count.Runs); a run that was untestable or
// failed for another reason says nothing about the rate.
package rate
