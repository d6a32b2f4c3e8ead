package ddmin

import (
	"context"
	"errors"
	"fmt"
)

// Verdict is what the test says about one subset.
type Verdict int

// Verdicts of a test.
const (
	Not        Verdict = iota // the failure is not there
	Reproduces                // the same failure is there
	Unresolved                // does not build or apply, or fails otherwise
)

// String names a verdict as it stands in reports.
func (v Verdict) String() string {
	switch v {
	case Not:
		return "does not reproduce"
	case Reproduces:
		return "reproduces"
	case Unresolved:
		return "unresolved"
	}
	return fmt.Sprintf("Verdict(%d)", int(v))
}

// Test says whether the failure is there with only the elements of subset,
// which is ascending and must not be changed or kept. It is called from several goroutines when
// Options.Parallel allows it. An error ends the search.
type Test func(ctx context.Context, subset []int) (Verdict, error)

// Options bound a search.
type Options struct {
	Parallel int // tests at a time; 0 means 1
	MaxTests int // calls of the test; 0 means no limit
}

// Stats tells how a search went.
type Stats struct {
	Tests      int  // calls of the test
	Cached     int  // subsets answered without a call
	Waves      int  // batches of parallel calls
	Unresolved int  // of Tests, without an answer
	Speculated int  // of Tests, made ahead and not needed in the end
	Minimal    bool // removing any one element loses the failure (Not or Unresolved)
	Exhausted  bool // MaxTests ended the search: the subset reproduces and may not be minimal
}

// ErrNotReproduced is returned when not even the whole set shows the failure:
// there is nothing to minimise.
var ErrNotReproduced = errors.New("the failure does not show with all elements")
