package pipeline

import (
	"context"
	"strings"

	"culprit/internal/report"
	"culprit/internal/session"
)

// record writes what people read: results.csv, understanding.md,
// BUG_REPORT.md and status.md, with confidence (QD14) and the next step
// (QD18).
func record(ctx context.Context, e *env) (Outcome, error) {
	s := e.s
	e.recall(ctx) // sessions that did not come to hypotheses have a history too
	s.Confidence = confidence(s)
	s.NextStep = nextStep(s)
	e.unchecked()
	s.Goals, s.GoalsDone = audit(s)
	entries, err := e.Store.Entries()
	if err != nil {
		return nil, err
	}
	files := []struct {
		name string
		data []byte
	}{
		{"results.csv", session.EncodeTasks(s.Tasks, true)},
		{"understanding.md", report.Understanding(s, entries)},
		{"BUG_REPORT.md", report.BugReport(s)},
		{"status.md", []byte(report.Status(s))},
	}
	for _, f := range files {
		if err := e.Store.Write(f.name, f.data); err != nil {
			return nil, err
		}
	}
	return Advance{}, nil
}

// publish shows the result: first the pull request, then the comment and
// check run that point to it (GH5, GH6).
func publish(ctx context.Context, e *env) (Outcome, error) {
	s := e.s
	if r := s.OpenRound(); s.Result == session.ResultFixed && (r == nil || r.Proved) {
		if err := e.restore(ctx); err != nil {
			return nil, err
		}
		wanted, err := e.rebaseFix(ctx)
		if err != nil {
			return nil, err
		}
		if wanted {
			if err := e.Publisher.Propose(ctx, s); err != nil {
				return nil, err
			}
		}
		// What is published is durable before it is pointed to.
		if err := e.Store.Save(s); err != nil {
			return nil, err
		}
		if r != nil && r.Commit == "" {
			return Advance{}, nil // what is not on the branch is not shown
		}
		s.NextStep = nextStep(s)
	}
	if err := e.Publisher.Final(ctx, s); err != nil {
		return nil, err
	}
	if e.Memory != nil && s.Review == nil { // else it learnt this already
		if err := e.Memory.Learn(ctx, s); err != nil {
			e.progress("what was found is not remembered: %v", err)
		}
	}
	return Advance{}, nil
}

// nextStep names what to do now, by outcome (QD18).
func nextStep(s *session.Session) string {
	switch s.Result {
	case session.ResultFixed:
		if s.Published.PRURL != "" {
			return "Review and merge " + s.Published.PRURL + "; verify.sh re-runs its proof."
		}
		return "Review patches/" + s.Fix.Task + ".patch, run verify.sh, apply it with git am."
	case session.ResultRootCause:
		return "The cause is confirmed and no fix is proposed: " + strings.TrimRight(s.Reason, ".") + ". Fix it by hand at " + where(s) + "."
	case session.ResultFlaky:
		return "Make the test independent of what the report names, then run it as often as the report's rate demands."
	case session.ResultNotReproduced:
		return "Give what differs here: --setup, --test, --bad, or the environment of the failing run."
	case session.ResultInconclusive:
		if s.Question != nil {
			return s.Question.Text
		}
		return "Give more context with --symptom and resume with --continue " + s.ID + "."
	case session.ResultDuplicate:
		return "Go on where the same failure was investigated, or use /debug retry to have it investigated here too."
	case session.ResultStopped:
		return "Resume with --continue " + s.ID + "; raise --max-runs or --timeout if a limit stopped it."
	}
	return ""
}

func where(s *session.Session) string {
	if s.RootCause != nil && s.RootCause.Location != "" {
		return s.RootCause.Location
	}
	return "the place that the report names"
}

// unchecked lists what a reader might think was checked and was not.
func (e *env) unchecked() {
	s := e.s
	e.note("whether the behaviour that the change brought was wanted elsewhere: only tests speak here")
	e.note("other platforms and versions than this machine's")
	if s.Mode == session.Deep {
		e.note("deep mode has no stage beyond full mode in this release")
	}
	if s.RootCause != nil && len(s.RootCause.Alternatives) > 0 {
		e.note("which of %d neighbouring commits it is: those between cannot be tested", len(s.RootCause.Alternatives)+1)
	}
}

// goals are the phase goals of a new session (OD2). Stages that this release
// does not have are skipped goals, not silent ones.
func goals(s *session.Session) []session.Goal {
	list := []session.Goal{
		{ID: "G1", Text: "root cause identified", Status: "pending"},
		{ID: "G2", Text: "exploration gathered", Status: "skipped"},
		{ID: "G3", Text: "fix applied and confirmed", Status: "pending"},
		{ID: "G4", Text: "pattern generalised", Status: "skipped"},
		{ID: "G5", Text: "discoveries triaged", Status: "skipped"},
		{ID: "G6", Text: "learnings persisted", Status: "skipped"},
	}
	if s.Flags.SkipFix {
		list[2].Status = "skipped"
	}
	return list
}

// audit closes the goals at the end of the session.
func audit(s *session.Session) ([]session.Goal, bool) {
	all := true
	met := map[string]bool{"G1": s.RootCause != nil, "G3": s.Result == session.ResultFixed}
	for i := range s.Goals {
		g := &s.Goals[i]
		if g.Status == "skipped" {
			continue
		}
		g.Status = "failed"
		if met[g.ID] {
			g.Status = "done"
		}
		all = all && g.Status == "done"
	}
	return s.Goals, all
}
