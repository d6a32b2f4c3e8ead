// Package search finds the commit that introduced a failure in an ordered range
// of candidates, from runs that may be flaky or impossible (BX3).
//
// A Search is a pure state machine: Next says which candidates to run now,
// Observe takes what a run showed, Result says what is known. It does nothing
// else and draws no random numbers, so a search that was interrupted is rebuilt
// by observing the recorded outcomes again, in any order.
//
//	s := search.New(n, search.Options{Bad: reproduction.Count})
//	for batch := s.Next(workers); len(batch) > 0; batch = s.Next(workers) {
//		for _, i := range batch { // in parallel
//			s.Observe(i, run(i))
//		}
//	}
//	r := s.Result()
//
// # Model
//
// There is one candidate c from which on the test fails with rate a, and before
// which it fails with a smaller rate b; or there is none, and it fails with the
// same rate everywhere. Neither rate is known. Their prior is a mixture: most
// tests are deterministic (b = 0, a = 1), the others have rates anywhere, with
// more weight on b = 0; it stands on a grid, where the posterior is exact and
// needs no sampling. Between two indexes that were run all candidates explain
// the runs equally well, so the posterior is kept once per such segment, and a
// search over a hundred thousand commits costs no more than one over ten.
//
// # Choice
//
// While everything seen agrees with a deterministic test, the candidates left
// are bisected (k workers cut them into k+1 parts), because that bounds the
// number of runs: ceil(log2 n), plus one run at the good commit if nothing ever
// passed. Otherwise each batch is the one whose outcomes are expected to tell
// most about c (greatest mutual information); so a search that has arrived at a
// boundary repeats it until the stated confidence is reached, and goes back
// to an earlier doubtful pass when that is where the doubt is.
//
// # Stopping
//
// For known rates a posterior of 95 % is right in 95 % of searches, whenever
// one stops. For unknown rates it leans on their prior, which no test was drawn
// from. So the answer must also hold under every pair of rates that the runs
// leave possible: the simulations of make bench-culprit show what was right
// without that, and what it costs.
//
// # Untestable candidates
//
// An untestable candidate teaches nothing about the failure and is not tried
// again. What lies near it is avoided, the more the longer the broken stretch
// is already. Candidates that no testable commit separates are one answer, and
// Result names them as alternatives.
//
// # Limits
//
// A failure that went away and came back breaks the model. When contradicting
// outcomes repeat themselves, a history with two introductions explains them
// better; then the newest passing commit becomes the good one, the search goes
// on after it, and Result says NonMonotonic. A bisection that never stumbles
// over the contradiction cannot see it: the culprit found is then one of the
// introductions, and its own evidence holds.
//
// History is a line here. For merges search the first parents, then the merged
// side with a new Search.
package search
