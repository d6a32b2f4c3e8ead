package experiment

import (
	"context"
	"errors"
	"strings"

	"culprit/internal/session"
)

// environment tests "this environment differs from where it passes": a commit
// that is good must pass here. If it does, the environment is not the cause,
// because the same environment passes and fails by commit alone. If nothing
// passes here, that is said, and not more: what the environment lacks cannot
// be seen from inside.
func environment(ctx context.Context, st *study) error {
	if good := st.knownGood(); good != nil {
		obs, err := st.hereAt(ctx, *good)
		if err != nil {
			return err
		}
		switch obs.Outcome {
		case session.Passed:
			st.contradicts("commit %s — passes in this environment", good.Short())
			st.conclude(session.Refuted, "The same environment passes at %s and fails at %s: what differs between them is in the repository.", titled(*good), st.s.Bad.Short())
		default:
			st.conclude(session.Inconclusive, "At the good commit %s the test %s here, which it did not before.", good.Short(), verb(obs))
		}
		return nil
	}
	differences := ""
	if d := st.s.Reproduction.Differences; len(d) > 0 {
		texts := make([]string, len(d))
		for i := range d {
			texts[i] = d[i].String()
		}
		differences = " Known differences: " + strings.Join(texts, "; ") + "."
	}
	if st.s.Flags.Good != "" {
		_, err := FindGood(ctx, st.lab, st.s)
		var fails *GoodFailsError
		if errors.As(err, &fails) && fails.Observation.Outcome == session.FailedSame {
			st.supports("commit %s — named as good, and fails the same way here", fails.Commit.Short())
			st.finding.Cause = &session.RootCause{
				Task: st.task.ID, Kind: session.Environment, NoCodeChange: true, Location: st.failureLocation(),
				Summary:     "The commit that was named as good fails here too: this environment, or something outside of the repository, differs from where it passed.",
				AtCulprit:   st.s.Reproduction.Count,
				MinimalNote: "what differs outside of the repository cannot be minimised",
			}
			st.conclude(session.Confirmed, "%s, which was named as good, fails the same way here. If it did pass elsewhere, the cause is outside of the repository.%s", titled(fails.Commit), differences)
			return nil
		}
		if err != nil && !errors.As(err, &fails) {
			return err
		}
	}
	a := st.s.Archaeology
	if a == nil || a.Oldest == nil {
		st.conclude(session.Inconclusive, "No commit is known to pass here, so nothing tells this environment from a broken history.%s", differences)
		return nil
	}
	st.supports("commit %s — the oldest commit that was run here fails too", a.Oldest.Short())
	st.conclude(session.Inconclusive, "No commit that was run here passes, back to %s: the environment may be the cause, or it was always so. Run the test where it passed to tell.%s", titled(*a.Oldest), differences)
	return nil
}

// hereAt is what the test shows here at a commit: what is known, or a new run.
func (st *study) hereAt(ctx context.Context, c session.Commit) (session.Observation, error) {
	if known := st.lab.Known(at(st.base, c.SHA, "", "")); known.Passes() > 0 && known.Failures == 0 {
		return session.Observation{Outcome: session.Passed}, nil
	}
	return st.probe(ctx, st.base, c.SHA, "good commit in this environment")
}
