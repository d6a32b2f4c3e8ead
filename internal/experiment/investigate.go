package experiment

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"culprit/internal/session"
)

// Investigator tests hypotheses of wave 1 by experiment. It may be used for
// several hypotheses at the same time; the lab bounds the runs of all.
type Investigator struct {
	lab *Lab
}

// NewInvestigator returns an investigator that runs its trials in lab.
func NewInvestigator(lab *Lab) *Investigator { return &Investigator{lab: lab} }

// experiments joins each kind of hypothesis with the experiment that tests it.
var experiments = map[session.HypothesisKind]func(context.Context, *study) error{
	session.Regression:     regression,
	session.TestFault:      testFault,
	session.Nondeterminism: nondeterminism,
	session.DependencyMove: dependency,
	session.Environment:    environment,
}

// Investigate tests the hypothesis of row t and reports once. Running out of
// time, budget or room is inconclusive; the status failed is for faults of the
// machinery (QD8). A panic of an experiment would be ours and is not caught.
func (v *Investigator) Investigate(ctx context.Context, s *session.Session, t session.Task) session.Finding {
	st := &study{lab: v.lab, s: s, task: t, finding: session.Finding{ID: t.ID, Status: session.Completed, Verdict: session.Inconclusive}}
	for _, h := range s.Hypotheses {
		if h.ID == t.ID {
			st.h = h
		}
	}
	run := experiments[st.h.Kind]
	if run == nil {
		return st.fail(fmt.Errorf("test hypothesis %s: no experiment is known for kind %q", t.ID, st.h.Kind))
	}
	base, err := Reproduction(ctx, v.lab.History, s)
	if err != nil {
		return st.fail(fmt.Errorf("test hypothesis %s: %w", t.ID, err))
	}
	st.base, st.patience = base, patience(s)
	if err := run(ctx, st); err != nil {
		return st.stopped(err)
	}
	return st.finding
}

// study is one hypothesis under investigation.
type study struct {
	lab      *Lab
	s        *session.Session
	task     session.Task
	h        session.Hypothesis
	base     session.Trial // the reproduction at the bad commit
	patience int
	brought  map[string]string // commit → commit on the searched line that brought it
	finding  session.Finding
}

// conclude sets the verdict and the sentence that carries it. The row is
// stored in a table, so the sentence has at most session.MaxFindings bytes.
func (st *study) conclude(v session.Verdict, format string, args ...any) {
	st.finding.Verdict = v
	st.finding.Findings = clip(fmt.Sprintf(format, args...), session.MaxFindings)
}

func (st *study) supports(format string, args ...any) {
	st.finding.EvidenceFor = append(st.finding.EvidenceFor, oneLine(fmt.Sprintf(format, args...)))
}

func (st *study) contradicts(format string, args ...any) {
	st.finding.EvidenceAgainst = append(st.finding.EvidenceAgainst, oneLine(fmt.Sprintf(format, args...)))
}

// fail reports a fault of the machinery.
func (st *study) fail(err error) session.Finding {
	st.finding.Status, st.finding.Verdict, st.finding.Cause = session.Failed, session.Inconclusive, nil
	st.finding.Error = clip(oneLine(err.Error()), session.MaxFindings)
	st.finding.Findings = "The experiment could not be carried out: " + st.finding.Error
	st.finding.Findings = clip(st.finding.Findings, session.MaxFindings)
	return st.finding
}

// stopped turns the error that ended an experiment into a finding. What was
// seen until then stays as evidence.
func (st *study) stopped(err error) session.Finding {
	known := st.finding.Findings
	if known != "" {
		known = " Known so far: " + known
	}
	st.finding.Cause = nil
	switch {
	case errors.Is(err, ErrBudget):
		st.conclude(session.Inconclusive, "The budget of runs or time was used up before the experiment was decided.%s", known)
	case errors.Is(err, context.DeadlineExceeded):
		st.conclude(session.Inconclusive, "The time was over before the experiment was decided.%s", known)
	case errors.Is(err, context.Canceled):
		st.conclude(session.Inconclusive, "The experiment was stopped before it was decided.%s", known)
	default:
		return st.fail(err)
	}
	return st.finding
}

// run executes one trial at a commit for this hypothesis.
func (st *study) probe(ctx context.Context, t session.Trial, rev, name string) (session.Observation, error) {
	return st.lab.probe(ctx, at(t, rev, name, st.task.ID), st.patience)
}

// tally says "fails 8/8" or "passes 8/8" or "fails 3/8".
func tally(c session.Count) string {
	switch {
	case c.Runs == 0:
		return "was never run to an end"
	case c.Failures == 0:
		return fmt.Sprintf("passes %d/%d", c.Runs, c.Runs)
	}
	return fmt.Sprintf("fails %d/%d", c.Failures, c.Runs)
}

// verb says what an observation showed.
func verb(o session.Observation) string {
	switch o.Outcome {
	case session.Passed:
		return "passes"
	case session.FailedSame:
		return "fails the same way"
	case session.FailedElse:
		return "fails for another reason" + because(o.Reason)
	}
	return "cannot be tested" + because(o.Reason)
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

// titled is a commit as people recognise it. The subject is foreign text: one
// line, bounded.
func titled(c session.Commit) string {
	if c.Subject == "" {
		return c.Short()
	}
	return fmt.Sprintf("%s %q", c.Short(), clip(oneLine(c.Subject), 80))
}

// oneLine keeps a piece of evidence on its line, and the line bounded.
func oneLine(s string) string {
	return clip(strings.Join(strings.Fields(s), " "), 400)
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
