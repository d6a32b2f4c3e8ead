package pipeline

import (
	"context"
	"fmt"
	"slices"

	"culprit/internal/session"
)

// synthesize lets a model make one account of the findings, where there is more
// than one (CR9). It is told to people and decides nothing: which cause leads,
// and what is fixed, is decided by what was run and looked up.
func synthesize(ctx context.Context, e *env) (Outcome, error) {
	s := e.s
	if e.Synthesizer == nil || s.Synthesis != nil {
		return Advance{}, nil
	}
	found := 0
	for _, t := range s.Wave(1) {
		if t.Verdict == session.Confirmed || t.Verdict == session.Inconclusive && t.EvidenceFor != "" {
			found++
		}
	}
	if found < 2 {
		return Advance{"there is nothing to be weighed against one another"}, nil
	}
	x := e.Synthesizer.Synthesize(ctx, s)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	spend(s, x.Spent)
	x.Spent = session.Spent{}
	x.Causes = ranked(s, x.Causes)
	x.Obvious = x.Obvious && len(s.Contradictions) == 0 && s.RootCause != nil
	s.Synthesis = &x
	if x.Why != "" {
		return Advance{"no account of the findings: " + x.Why}, nil
	}
	return Advance{fmt.Sprintf("%d statements on %d findings, %d struck", len(x.Statements), found, x.Struck)}, nil
}

// strengths are the classes of what backs a cause, the strongest first. A
// model's order holds within a class, never across.
var strengths = []string{"by runs", "by reading", "contested", "open"}

// ranked puts causes into the order of what backs them. Rows that are none, and
// those that were refuted, fall out; confirmed ones that were not named are put
// in.
func ranked(s *session.Session, named []session.RankedCause) []session.RankedCause {
	var out []session.RankedCause
	add := func(id string) {
		t := s.Task(id)
		if t == nil || t.Wave != 1 || slices.ContainsFunc(out, func(x session.RankedCause) bool { return x.Task == id }) {
			return
		}
		switch c := s.Causes[id]; {
		case t.Verdict == session.Inconclusive && t.EvidenceFor != "":
			out = append(out, session.RankedCause{Task: id, Strength: "open"})
		case t.Verdict != session.Confirmed || c == nil:
		case doubt(s, c) < 1:
			out = append(out, session.RankedCause{Task: id, Strength: "contested"})
		case c.Kind == session.Reading:
			out = append(out, session.RankedCause{Task: id, Strength: "by reading"})
		default:
			out = append(out, session.RankedCause{Task: id, Strength: "by runs"})
		}
	}
	for _, x := range named {
		add(x.Task)
	}
	for _, t := range s.Wave(1) {
		if t.Verdict == session.Confirmed {
			add(t.ID)
		}
	}
	slices.SortStableFunc(out, func(a, b session.RankedCause) int {
		return slices.Index(strengths, a.Strength) - slices.Index(strengths, b.Strength)
	})
	return out
}
