package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"culprit/internal/evidence"
	"culprit/internal/session"
)

// intake reads the symptom: the text that somebody wrote and the logs of the
// failed CI jobs (QD3). What it cannot find is not invented; the failing
// command's own output completes it in reproduce.
func intake(ctx context.Context, e *env) (Outcome, error) {
	s := e.s
	var found []session.Failure
	if s.Symptom.Text != "" {
		report, err := evidence.Parse(strings.NewReader(s.Symptom.Text), evidence.Options{Step: "symptom"})
		if err != nil {
			return nil, fmt.Errorf("read symptom: %w", err)
		}
		found = append(found, report.Failures...)
	}
	logs, err := ciLogs(ctx, e)
	if err != nil {
		return nil, err
	}
	s.Symptom.Jobs = nil // a stage that was cut off runs again
	for i, l := range logs {
		if l.Job.Name != "" {
			s.Symptom.Jobs = append(s.Symptom.Jobs, l.Job)
		}
		if l.Note != "" {
			e.note("log of CI job %s: %s", l.Name, l.Note)
		}
		if len(l.Content) == 0 {
			continue
		}
		name := fmt.Sprintf("logs/ci-%d-%s.log", i+1, session.Slug(l.Name))
		if err := e.Store.Write(name, l.Content); err != nil {
			return nil, err
		}
		report, err := evidence.Parse(bytes.NewReader(l.Content), evidence.Options{Step: l.Name})
		if err != nil {
			return nil, fmt.Errorf("read log of CI job %s: %w", l.Name, err)
		}
		found = append(found, report.Failures...)
	}
	s.Symptom.Failures = distinct(found)
	if s.Symptom.Title == "" {
		s.Symptom.Title = title(s)
	}
	if n := len(s.Symptom.Failures); n > 0 {
		return Advance{fmt.Sprintf("%d failures named, first %s", n, s.Symptom.Failures[0].ID())}, nil
	}
	return Advance{"no failure is named; the test command will tell"}, nil
}

func ciLogs(ctx context.Context, e *env) ([]CILog, error) {
	if e.Logs == nil {
		return nil, nil
	}
	logs, err := e.Logs.Logs(ctx, e.s)
	if err != nil {
		return nil, fmt.Errorf("fetch CI logs: %w", err)
	}
	return logs, nil
}

// distinct keeps the first failure of each ID, in order.
func distinct(list []session.Failure) []session.Failure {
	seen := map[string]bool{}
	var out []session.Failure
	for _, f := range list {
		if !seen[f.ID()] {
			seen[f.ID()] = true
			out = append(out, f)
		}
	}
	return out
}

// title of a session that nobody named.
func title(s *session.Session) string {
	if len(s.Symptom.Failures) > 0 {
		return s.Symptom.Failures[0].ID() + " fails"
	}
	if s.Flags.Test != "" {
		return s.Flags.Test + " fails"
	}
	return "tests fail"
}
