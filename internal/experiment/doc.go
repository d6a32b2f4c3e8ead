// Package experiment tests hypotheses by running counterfactuals (features
// BX1–BX3): the same command in another state of the code. What it says is
// never an opinion about code; it is a count of runs that anybody can repeat.
//
// The parts, from the bottom:
//
//   - Lab runs trials. It owns the pool of worktrees, the limit on parallel
//     runs, the budgets and the record of what was run, so that a resumed
//     session is answered from its record instead of paying twice.
//   - FindGood gallops back in history until the failure is gone.
//   - Investigator tests one hypothesis of wave 1. It has one file for each
//     kind of hypothesis, and a table that joins kinds and files.
//   - Fixer offers minimal reverts for a confirmed regression (wave 2), and
//     Necessity shows that none of a patch's hunks is idle.
//
// The reproduction travels: the files that carry it are laid over every commit
// that is tried, and where they do not fit the commit is untestable. Untestable
// is a result of its own everywhere in this package. It is never counted as
// pass or fail and never guessed.
//
// Investigators cannot write to the repository: all they have is trials, and
// trials run in throwaway worktrees in the sandbox.
//
// The package owns the interfaces to what it needs from outside (History,
// Trees, Executor, Store); git and the sandbox are plugged in by the program.
// The algorithms without any input or output stand in the sub-packages search,
// ddmin and rate.
package experiment
