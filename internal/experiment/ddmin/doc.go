// Package ddmin finds a 1-minimal failure-inducing subset: the elements
// (files, hunks, lines of a change) that are needed for a failure to show, such
// that it goes away when any one of them is left out.
//
// It is the algorithm ddmin of A. Zeller and R. Hildebrandt, "Simplifying and
// Isolating Failure-Inducing Input", IEEE Transactions on Software Engineering
// 28(2), 2002, with three additions.
//
// Tests run in parallel, speculatively. The algorithm looks at its candidates
// in a fixed order and takes the first that reproduces; here the next few of
// that order are tested at the same time, as one wave, and the first of the
// wave is taken when all have answered. So the outcome, and the number of
// tests, depend on the test and on Options alone, never on which run finished
// first. A wave is not cut short: what it learnt ahead is kept and often saves
// a test later.
//
// Small sets are tried one element at a time first, because most regressions
// come down to one hunk.
//
// When the budget or the context ends early, the best subset so far is returned:
// it reproduces, and Stats.Minimal says that it may not be minimal.
//
// An unresolved test (the subset does not compile) is no proof of either side.
// It is treated as "does not reproduce", so that what is returned was always
// seen to reproduce.
package ddmin
