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
	const why = "no hypothesis was confirmed by its experiment"
	q, more := e.escalationQuestion()
	if !more {
		return Stop{session.ResultInconclusive, why + ", nor with what people answered"}, nil
	}
	return Ask{Result: session.ResultInconclusive, Why: why, Question: q}, nil
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
// would help most and was not answered yet; more is false when nothing is left
// to ask.
func (e *env) escalationQuestion() (q session.Question, more bool) {
	s := e.s
	var open, refuted []string
	for _, t := range s.Wave(1) {
		if t.Verdict == session.Refuted {
			refuted = append(refuted, t.ID)
		} else {
			open = append(open, t.ID)
		}
	}
	switch {
	case s.Archaeology != nil && s.Archaeology.Good == nil && !s.Answered(session.AsksGood):
		q = e.question(session.AsksGood, "Which revision is known to pass?", "REVISION", "bot debug --good REV …")
	case !s.Answered(session.AsksSymptom):
		q = e.question(session.AsksSymptom, "What else differs between where it passes and where it fails?", "TEXT", "bot debug --continue "+s.ID+" --symptom TEXT")
	default:
		return q, false
	}
	if len(refuted) > 0 {
		q.Text += " Ruled out: " + strings.Join(refuted, ", ") + "."
	}
	if len(open) > 0 {
		q.Text += " Open: " + strings.Join(open, ", ") + "."
	}
	return q, true
}
