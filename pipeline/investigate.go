package pipeline

import (
	"context"
	"fmt"
	"strings"
	"time"

	"culprit/internal/session"
	"culprit/pipeline/wave"
)

// rowTimeout bounds one row of a wave; running out of it is inconclusive or
// fix_failed (QD8).
const rowTimeout = time.Hour

// investigate is wave 1: every hypothesis is tested by its experiment, in
// parallel, read-only.
func investigate(ctx context.Context, e *env) (Outcome, error) {
	s := e.s
	if s.Causes == nil {
		s.Causes = map[string]*session.RootCause{}
	}
	err := wave.Run(ctx, s, e.Store, wave.Options{
		Number: 1, Concurrency: s.Flags.Concurrency, RowTimeout: rowTimeout,
		Work: func(ctx context.Context, now *session.Session, t session.Task) wave.Report {
			f := e.Investigator.Investigate(ctx, now, t)
			return wave.Report{Row: findingRow(f), Keep: func() { keepFinding(s, f) }}
		},
		Merged: func(t session.Task) { e.merged(ctx, t, string(t.Verdict)) },
	})
	if err != nil {
		return nil, err
	}
	s.RootCause = best(s)
	confirmed := 0
	for _, t := range s.Wave(1) {
		if t.Verdict == session.Confirmed {
			confirmed++
		}
	}
	return Advance{fmt.Sprintf("%d of %d hypotheses confirmed", confirmed, len(s.Wave(1)))}, nil
}

// merged tells about one finished row: on the trail, the board and to people.
func (e *env) merged(ctx context.Context, t session.Task, verdict string) {
	line := t.ID + " " + verdict
	if t.Findings != "" {
		line += ": " + t.Findings
	}
	e.progress("%s", line)
	now := e.Clock.Now().UTC()
	result := map[session.Verdict]string{session.Confirmed: "confirmed", session.Refuted: "disproved", session.Inconclusive: "inconclusive"}[t.Verdict]
	if t.Wave == 1 {
		e.trail(session.Entry{TS: now, Phase: "diagnosis", Source: t.ID, Hypothesis: t.Hypothesis, Result: result, Content: t.Findings})
		if t.Verdict != session.Inconclusive {
			first, _, _ := strings.Cut(t.EvidenceFor+t.EvidenceAgainst, "\n")
			location, _, _ := strings.Cut(first, " — ")
			e.discover(session.Discovery{TS: now, Worker: t.ID, Type: "hypothesis_evidence", Data: map[string]any{
				"hypothesis": t.ID, "location": location, "type": result, "conclusion": t.Findings,
			}})
		}
	}
	// Progress is shown when it can be; the result does not depend on it.
	if err := e.Publisher.Progress(ctx, e.s); err != nil {
		e.progress("progress was not published: %v", err)
	}
}

// trail and discover write to the session's append-only files. A disk that
// refuses them refuses the next Save as well, which stops the session.
func (e *env) trail(entry session.Entry) {
	if err := e.Store.Record(entry); err != nil {
		e.progress("evidence was not recorded: %v", err)
	}
}

func (e *env) discover(d session.Discovery) {
	if _, err := e.Store.Discover(d); err != nil {
		e.progress("discovery was not recorded: %v", err)
	}
}

func findingRow(f session.Finding) session.Task {
	return session.Task{
		Status: f.Status, Verdict: f.Verdict, Findings: f.Findings, Error: f.Error,
		EvidenceFor: strings.Join(f.EvidenceFor, "\n"), EvidenceAgainst: strings.Join(f.EvidenceAgainst, "\n"),
	}
}

// keepFinding stores the typed side of a finding beside its row.
func keepFinding(s *session.Session, f session.Finding) {
	if f.Cause != nil && f.Verdict == session.Confirmed {
		s.Causes[f.ID] = f.Cause
	}
	if f.Flake != nil {
		s.Flake = f.Flake
	}
	// The culprit search of a flaky test says since when it is flaky.
	if s.Flake != nil && s.Flake.Since == nil {
		for _, c := range s.Causes {
			if c.Kind == session.Regression && c.Culprit != nil {
				since := *c.Culprit
				s.Flake.Since = &since
			}
		}
	}
	spend(s, f.Spent)
}

// spend adds what a model used for a row. Rows are merged one after another.
func spend(s *session.Session, x session.Spent) {
	s.Budget.Tokens += x.Tokens
	s.Budget.Cost += x.Cost
}

// strength orders confirmed causes of several kinds: the one that says most
// precisely what to change comes first. What was only read comes last.
var strength = map[session.HypothesisKind]int{
	session.Regression: 5, session.DependencyMove: 4, session.TestFault: 3, session.Nondeterminism: 2, session.Environment: 1, session.Reading: 0,
}

// best is the confirmed cause that the session stands by. A dependency or
// test change that is confirmed explains a culprit commit that is made of it,
// so it leads where the culprit's minimal change lies in those files.
func best(s *session.Session) *session.RootCause {
	var lead *session.RootCause
	for _, h := range s.Hypotheses {
		c := s.Causes[h.ID]
		if c == nil {
			continue
		}
		if s.Reproduction != nil && s.Reproduction.Flaky && h.Kind == session.Nondeterminism {
			return c
		}
		switch {
		case lead == nil, strength[c.Kind] > strength[lead.Kind]:
			lead = c
		case c.Kind == lead.Kind && doubt(s, c) > doubt(s, lead):
			lead = c // nobody found anything against it
		}
	}
	return lead
}
