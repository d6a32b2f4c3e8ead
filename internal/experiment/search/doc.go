// Package search finds the commit that introduced a failure in an ordered range
// of candidates, from runs that may be flaky or impossible.
//
// A Search is a pure state machine: Next says which candidates to run now,
// Observe takes what a run showed, Result says what is known. It does nothing
// else and draws no random numbers, so a search that was interrupted is rebuilt
// by observing the recorded outcomes again, in any order.
package search
