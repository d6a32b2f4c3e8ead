package pipeline

import (
	"context"
	"fmt"
	"strings"

	"culprit/internal/session"
)

// escalate weighs the verdicts after wave 1: a flaky failure ends with its
// description, nothing confirmed ends with one question, and fix rows whose
// hypothesis was not confirmed are skipped with the reason (QD9).
func escalate(_ context.Context, e *env) (Outcome, error) {
	s := e.s
	confirmed := 0
	for _, t := range s.Wave(1) {
		if t.Verdict == session.Confirmed {
			confirmed++
		}
	}
	flaky := s.Reproduction != nil && s.Reproduction.Flaky
	for i := range s.Tasks {
		skipFix(s, &s.Tasks[i], flaky)
	}
	if flaky {
		return Stop{session.ResultFlaky, flakySummary(s)}, nil
	}
	if confirmed > 0 {
		return Advance{fmt.Sprintf("going on with %d confirmed", confirmed)}, nil
	}
	return Ask{
		Result:   session.ResultInconclusive,
		Why:      "no hypothesis was confirmed by its experiment",
		Question: escalationQuestion(s),
	}, nil
}

// skipFix skips a fix row whose hypothesis is not confirmed, and every one of
// a flaky failure: a revert would hide it, not mend it.
func skipFix(s *session.Session, t *session.Task, flaky bool) {
	if t.Wave != 2 || t.Status != session.Pending || len(t.ContextFrom) == 0 {
		return
	}
	up := s.Task(t.ContextFrom[0])
	switch {
	case up == nil || up.Verdict != session.Confirmed || s.Causes[up.ID] == nil:
		verdict := session.Inconclusive
		if up != nil && up.Verdict != session.Confirmed {
			verdict = up.Verdict
		}
		t.Status, t.Findings = session.Skipped, fmt.Sprintf("upstream hypothesis_verdict=%s", verdict)
	case flaky:
		t.Status, t.Findings = session.Skipped, "the failure is flaky: no change is proposed that could hide it"
	case s.Flags.SkipFix:
		t.Status, t.Findings = session.Skipped, "skip_fix is set"
	}
}

func flakySummary(s *session.Session) string {
	c := s.Reproduction.Count
	if s.Flake != nil && s.Flake.Count.Runs >= c.Runs {
		c = s.Flake.Count
	}
	return fmt.Sprintf("the same code failed %d of %d runs", c.Failures, c.Runs)
}

// escalationQuestion names what was ruled out and asks for the one thing that
// would help most.
func escalationQuestion(s *session.Session) session.Question {
	var open, refuted []string
	for _, t := range s.Wave(1) {
		if t.Verdict == session.Refuted {
			refuted = append(refuted, t.ID)
		} else {
			open = append(open, t.ID)
		}
	}
	q := session.Question{Default: "nothing more is run; the session can be resumed"}
	switch {
	case s.Archaeology != nil && s.Archaeology.Good == nil:
		q.Text = "Which revision is known to pass?"
		q.Options = []string{"bot debug --good REV …", "/debug retry --good REV"}
	default:
		q.Text = "What else differs between where it passes and where it fails?"
		q.Options = []string{"bot debug --continue " + s.ID + " --symptom TEXT", "/debug retry --symptom TEXT"}
	}
	if len(refuted) > 0 {
		q.Text += " Ruled out: " + strings.Join(refuted, ", ") + "."
	}
	if len(open) > 0 {
		q.Text += " Open: " + strings.Join(open, ", ") + "."
	}
	return q
}
