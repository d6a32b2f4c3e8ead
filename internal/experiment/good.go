package experiment

import (
	"context"
	"errors"
	"fmt"

	"culprit/internal/session"
)

// GoodFailsError says that the commit given as good does not pass, so that it
// cannot bound a search.
type GoodFailsError struct {
	Commit      session.Commit
	Observation session.Observation
}

func (e *GoodFailsError) Error() string {
	switch e.Observation.Outcome {
	case session.FailedSame:
		return fmt.Sprintf("check good commit %s: the test fails there too: give an older commit, or none to have one searched", e.Commit.Short())
	case session.FailedElse:
		return fmt.Sprintf("check good commit %s: the command fails there for another reason (%s): give another commit", e.Commit.Short(), e.Observation.Reason)
	}
	return fmt.Sprintf("check good commit %s: the test cannot be run there (%s): give another commit, or none to have one searched", e.Commit.Short(), e.Observation.Reason)
}

// Reach of a gallop.
const (
	neighbours = 4 // commits tried around an untestable one
	goodHow    = "found by galloping back"
	givenHow   = "given with --good"
)

// FindGood looks for the newest commit that passes: the one given with --good,
// verified (else a *GoodFailsError), or by galloping back along first parents
// (1, 2, 4, 8, …) from the bad commit, then the root. Where a commit is
// untestable its neighbours are tried, and then it is skipped: nothing is
// guessed. Without a good commit Boundary says why: "root" (the oldest commit
// fails too), "untestable" (nothing older can be run), "limit" (the budget or
// the time is over; the error is returned too).
//
// The answer has Total, Good, GoodHow, Oldest, Skipped, Candidates and
// Boundary; the rest of session.Archaeology is not its business.
func FindGood(ctx context.Context, l *Lab, s *session.Session) (session.Archaeology, error) {
	base, err := Reproduction(ctx, l.History, s)
	if err != nil {
		return session.Archaeology{}, fmt.Errorf("find good commit: %w", err)
	}
	line, err := l.History.FirstParents(ctx, s.Bad.SHA, 0)
	if err != nil {
		return session.Archaeology{}, fmt.Errorf("find good commit: %w", err)
	}
	g := &gallop{lab: l, base: base, line: line, patience: patience(s), seen: map[int]session.Outcome{0: session.FailedSame}}
	a := session.Archaeology{Total: len(line), Oldest: &line[0]}
	if s.Flags.Good != "" {
		return g.given(ctx, a, s.Flags.Good)
	}
	err = g.run(ctx)
	good, oldest := g.newestGood(), g.oldestBad()
	a.Skipped, a.Oldest = g.skipped(), &line[oldest]
	switch {
	case good > 0:
		a.Good, a.GoodHow, a.Candidates = &line[good], goodHow, good-oldest
		return a, nil // an error after a good commit was found changes nothing
	case err != nil:
		a.Boundary = "limit"
		return a, fmt.Errorf("find good commit: %w", err)
	case oldest == len(line)-1:
		a.Boundary = "root"
	default:
		a.Boundary = "untestable"
	}
	return a, nil
}

type gallop struct {
	lab      *Lab
	base     session.Trial
	line     []session.Commit // newest first; 0 is the bad commit
	patience int
	seen     map[int]session.Outcome
}

// given verifies the commit that a person named.
func (g *gallop) given(ctx context.Context, a session.Archaeology, rev string) (session.Archaeology, error) {
	c, err := g.lab.History.Resolve(ctx, rev)
	if err != nil {
		return a, fmt.Errorf("find good commit: %w", err)
	}
	obs, err := g.lab.probe(ctx, at(g.base, c.SHA, "good commit", ""), g.patience)
	if err != nil {
		return a, fmt.Errorf("check good commit %s: %w", c.Short(), err)
	}
	if obs.Outcome != session.Passed {
		return a, &GoodFailsError{Commit: c, Observation: obs}
	}
	side, err := g.lab.History.Between(ctx, c.SHA, g.line[0].SHA)
	if err != nil {
		return a, fmt.Errorf("find good commit: %w", err)
	}
	fresh := map[string]bool{}
	for _, commit := range side {
		fresh[commit.SHA] = true
	}
	for i, commit := range g.line {
		if fresh[commit.SHA] {
			a.Candidates = i + 1
		}
	}
	a.Good, a.GoodHow = &c, givenHow
	return a, nil
}

// run gallops until a commit passes. As many strides are tried at one time as
// the lab has room for. The neighbours of an untestable commit are tried only
// once some older commit could be tested: where none can, the test needs what
// those commits do not have, and trying all of them would teach nothing.
func (g *gallop) run(ctx context.Context) error {
	end := len(g.line) - 1
	var strides, open []int
	for i := 1; i < end; i *= 2 {
		strides = append(strides, i)
	}
	if end > 0 {
		strides = append(strides, end)
	}
	for len(strides) > 0 && g.newestGood() <= 0 {
		n := min(g.lab.slots, len(strides))
		batch := strides[:n]
		strides = strides[n:]
		if err := g.try(ctx, batch); err != nil {
			return err
		}
		for _, i := range batch {
			if !g.decisive(i) {
				open = append(open, i)
			}
		}
		if g.oldestBad() == 0 && g.newestGood() <= 0 {
			continue
		}
		for _, i := range open {
			if err := g.around(ctx, i); err != nil {
				return err
			}
		}
		open = nil
	}
	return nil
}

// around tries the neighbours of an untestable commit, nearest first, until
// one of them tells something.
func (g *gallop) around(ctx context.Context, i int) error {
	for d, tried := 1, 0; tried < neighbours && d < len(g.line); d++ {
		for _, j := range []int{i + d, i - d} {
			if j <= g.oldestBad() || j >= len(g.line) || tried == neighbours {
				continue
			}
			if _, done := g.seen[j]; !done {
				tried++
				if err := g.try(ctx, []int{j}); err != nil {
					return err
				}
			}
			if g.decisive(j) {
				return nil
			}
		}
	}
	return nil
}

// try probes commits at the same time and notes what they show.
func (g *gallop) try(ctx context.Context, indexes []int) error {
	type answer struct {
		i   int
		obs session.Observation
		err error
	}
	answers := make(chan answer, len(indexes))
	n := 0
	for _, i := range indexes {
		if _, done := g.seen[i]; done {
			continue
		}
		n++
		go func() {
			obs, err := g.lab.probe(ctx, at(g.base, g.line[i].SHA, "last known good", ""), g.patience)
			answers <- answer{i, obs, err}
		}()
	}
	var errs []error
	for range n {
		a := <-answers
		if a.err != nil {
			errs = append(errs, a.err)
			continue
		}
		g.seen[a.i] = a.obs.Outcome
	}
	return errors.Join(errs...)
}

func (g *gallop) decisive(i int) bool {
	return g.seen[i] == session.Passed || g.seen[i] == session.FailedSame
}

// newestGood is the index of the newest commit seen to pass, or 0.
func (g *gallop) newestGood() int {
	best := 0
	for i, o := range g.seen {
		if o == session.Passed && (best == 0 || i < best) {
			best = i
		}
	}
	return best
}

// oldestBad is the index of the oldest commit seen to fail on this side of
// the newest good one.
func (g *gallop) oldestBad() int {
	good, oldest := g.newestGood(), 0
	for i, o := range g.seen {
		if o == session.FailedSame && i > oldest && (good == 0 || i < good) {
			oldest = i
		}
	}
	return oldest
}

func (g *gallop) skipped() int {
	n := 0
	for i := range g.seen {
		if !g.decisive(i) {
			n++
		}
	}
	return n
}
