package pipeline

import (
	"context"
	"fmt"
	"strings"

	"culprit/internal/session"
	"culprit/pipeline/wave"
)

// fix is wave 2: confirmed causes only, each in a worktree of its own (QD11).
func fix(ctx context.Context, e *env) (Outcome, error) {
	s := e.s
	if s.Fixes == nil {
		s.Fixes = map[string]*session.Fix{}
	}
	err := wave.Run(ctx, s, e.Store, wave.Options{
		Number: 2, Concurrency: s.Flags.Concurrency, RowTimeout: rowTimeout,
		Work: func(ctx context.Context, now *session.Session, t session.Task) wave.Report {
			// The iron law in code: no fix starts without a confirmed row that
			// carries evidence (QD20).
			up := now.Task(t.ContextFrom[0])
			if up == nil || up.Verdict != session.Confirmed || up.EvidenceFor == "" {
				return wave.Report{Row: session.Task{Status: session.Failed, FixResult: session.FixFailed, Error: "its hypothesis is not confirmed"}}
			}
			r := e.Fixer.Fix(ctx, now, t)
			return wave.Report{Row: fixRow(r), Keep: func() {
				spend(s, r.Spent)
				if r.Fix != nil {
					s.Fixes[r.ID] = r.Fix
				}
			}}
		},
		Merged: func(t session.Task) { e.merged(ctx, t, string(t.FixResult)) },
	})
	if err != nil {
		return nil, err
	}
	s.Fix = s.Fixes["FIX-"+s.RootCause.Task]
	for _, f := range s.Fixes {
		if f.Patch != "" {
			if err := e.Store.Write("patches/"+f.Task+".patch", []byte(f.Patch)); err != nil {
				return nil, err
			}
		}
	}
	row := s.Task("FIX-" + s.RootCause.Task)
	if row == nil || row.FixResult != session.Fixed || s.Fix == nil {
		return Stop{session.ResultRootCause, noFix(s, row)}, nil
	}
	return Advance{fmt.Sprintf("%s: +%d −%d in %s", s.Fix.Strategy, s.Fix.Added, s.Fix.Removed, list(s.Fix.Files))}, nil
}

// noFix says why there is a cause and no fix.
func noFix(s *session.Session, row *session.Task) string {
	switch {
	case len(s.Rejected) > 0 && s.Confirmation != nil:
		return "no other candidate than the one that did not hold: " + s.Confirmation.Why
	case s.Fix != nil && len(s.Fix.Conflicts) > 0:
		return "no revert applies: " + strings.Join(s.Fix.Conflicts, "; ")
	case row == nil:
		return "no fix was planned"
	case row.Findings != "":
		return row.Findings
	case row.Error != "":
		return row.Error
	}
	return "no fix was found"
}

func fixRow(r session.FixReport) session.Task {
	return session.Task{
		Status: r.Status, FixResult: r.Result, Findings: r.Findings, FixApplied: strings.Join(r.FixApplied, "\n"),
		Verified: fmt.Sprint(r.Verified), Error: r.Error,
	}
}
