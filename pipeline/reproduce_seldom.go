package pipeline

import (
	"context"
	"fmt"
	"strings"
	"time"

	"culprit/internal/experiment/rate"
	"culprit/internal/session"
	"culprit/internal/workflow"
)

// seldom is reached when no plan failed at once. A failure that CI saw may
// show only sometimes, so the first plan whose test runs is repeated before
// giving up.
func (e *env) seldom(ctx context.Context, files []string, p plan, runs bool, last session.Observation, recipes []workflow.Recipe) (Outcome, error) {
	s, r := e.s, e.s.Reproduction
	e.follow(p)
	if len(r.Differences) == 0 {
		r.Differences = differences(recipes)
	}
	if runs {
		r.Command, r.Alone, r.Target, r.Suite, r.Toolchain = p.command, p.alone, targetOf(*p.known, []session.Failure{*p.known}), p.kit.Suite, p.kit.Name
		if s.Flags.Setup == "" {
			r.Setup = p.setup
		}
		r.Failure = p.known
		r.Overlay = e.overlay(files, p.kit, *p.known)
		r.Group, _ = p.kit.Group(*p.known)
		if err := e.rebase(ctx); err != nil {
			return nil, err
		}
		count, _, err := e.Runner.Repeat(ctx, e.trial("reproduce"), e.limits.flakyRuns)
		if err != nil {
			return nil, err
		}
		if count.Failures > 0 {
			return e.settle(ctx, count, s, r)
		}
		r.Count = count
		r.Interval = rate.Interval(count)
	}
	if s.Flags.Test != "" && !runs && last.Exit == 0 {
		if found, err := e.insist(ctx, files, p, last.Duration); err != nil || found {
			if err != nil {
				return nil, err
			}
			return e.classify(ctx, e.limits.flakyRuns) // it passed, too
		}
	}
	r.Why = notHere(cannot(recipes, r.Differences), whyNot(last, r))
	if s.Flags.Bad != "" {
		r.Why = fmt.Sprintf("--bad %s does not fail: %s", s.Flags.Bad, r.Why)
	}
	return Stop{session.ResultNotReproduced, r.Why}, nil
}

// shortRun is how long a run may take to be repeated as often as a failure that
// is known to be seldom.
const shortRun = 10 * time.Second

// insist repeats a command that somebody gave and that passed: who gives one has
// seen it fail.
func (e *env) insist(ctx context.Context, files []string, p plan, took time.Duration) (found bool, err error) {
	n := e.limits.repeats
	if took <= shortRun {
		n = e.limits.flakyRuns
	}
	if err := e.point(ctx, p); err != nil {
		return false, err
	}
	count, seen, err := e.Runner.Repeat(ctx, e.trial("reproduce"), n)
	if err != nil {
		return false, err
	}
	for _, o := range seen {
		if o.Exit != 0 && o.Outcome != session.Untestable {
			return true, e.take(ctx, files, p, o, n)
		}
	}
	e.s.Reproduction.Count, e.s.Reproduction.Interval = count, rate.Interval(count)
	return false, nil
}

// notHere says why a failure cannot show here, when that is known, behind what
// was seen.
func notHere(because, seen string) string {
	if because == "" {
		return seen
	}
	return seen + "; not reproducible here, because " + because
}

// unprepared reports whether the set-up, not the command, failed.
func unprepared(o session.Observation) bool {
	return o.Outcome == session.Untestable && strings.HasPrefix(o.Reason, "set-up failed")
}

func whyNot(last session.Observation, r *session.Reproduction) string {
	switch {
	case last.Outcome == session.Untestable && last.Reason != "":
		return "the test could not be run here: " + last.Reason
	case r.Count.Runs > 0:
		return fmt.Sprintf("%s passed %d of %d runs here", target(r), r.Count.Passes(), r.Count.Runs)
	case last.Exit != 0:
		return "the command fails here for another reason: " + last.Reason
	}
	return fmt.Sprintf("%q passes here", r.Command)
}
