package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"culprit/internal/session"
)

// Bounds of what a brief quotes, in bytes.
const (
	maxSymptom = 4 << 10
	maxFailure = 4 << 10
	maxContext = 6 << 10
)

// brief is the first message of a worker: what the session knows. All that
// comes from outside stands in blocks.
func brief(m Marks, s *session.Session, t session.Task, board []session.Discovery) string {
	var b strings.Builder
	section := func(title string) { fmt.Fprintf(&b, "\n\n# %s\n", title) }
	block := func(source, text string, most int) {
		if text = strings.TrimSpace(text); text != "" {
			b.WriteString("\n" + m.Block(source, clip(text, most)))
		}
	}
	b.WriteString(m.Rule())
	section("Your row")
	fmt.Fprintf(&b, "\nid: %s", t.ID)
	row := t.Title + "\n" + t.Hypothesis + "\n" + t.Description
	for _, h := range s.Hypotheses {
		if h.ID == t.ID {
			row += "\nPrediction: " + h.Prediction
			if len(h.Files) > 0 {
				row += "\nFiles: " + strings.Join(h.Files, ", ")
			}
		}
	}
	block("row", row, maxContext)
	if t.PrevContext != "" {
		section("What was confirmed")
		block("earlier results", t.PrevContext, maxContext)
	}
	if found := confirmed(s, t); found != "" {
		section("What other workers confirmed")
		block("confirmed hypotheses", found, maxContext)
	}
	observed(&b, m, s)
	history(&b, m, s)
	if len(board) > 0 {
		section("The board")
		var lines []string
		for _, d := range board[max(0, len(board)-20):] {
			data, err := json.Marshal(d.Data)
			if err == nil {
				lines = append(lines, fmt.Sprintf("%s %s: %s", d.Worker, d.Type, clip(string(data), 300)))
			}
		}
		block("board", strings.Join(lines, "\n"), maxContext)
	}
	return b.String()
}

// observed is what is known of the failure itself.
func observed(b *strings.Builder, m Marks, s *session.Session) {
	block := func(source, text string, most int) {
		if text = strings.TrimSpace(text); text != "" {
			b.WriteString("\n" + m.Block(source, clip(text, most)))
		}
	}
	b.WriteString("\n\n# The failure\n")
	if s.Bad != nil {
		fmt.Fprintf(b, "\nThe commit under investigation is %s.", s.Bad.SHA)
	}
	if r := s.Reproduction; r != nil {
		fmt.Fprintf(b, " The failing test was run here and failed %d of %d times.", r.Count.Failures, r.Count.Runs)
		block("command of the failing test", r.Command, 1000)
		if r.Failure != nil {
			block("failure", failure(*r.Failure), maxFailure)
		}
	}
	block("symptom, in the words of whoever reported it", s.Symptom.Title+"\n"+s.Symptom.Text, maxSymptom)
}

// confirmed are the rows of wave 1 that hold, but those that t builds on.
func confirmed(s *session.Session, t session.Task) string {
	var b strings.Builder
	for _, row := range s.Wave(1) {
		if row.Verdict == session.Confirmed && row.ID != t.ID && !slices.Contains(t.ContextFrom, row.ID) {
			fmt.Fprintf(&b, "%s: %s\n%s\n", row.ID, row.Findings, row.EvidenceFor)
		}
	}
	return b.String()
}

func failure(f session.Failure) string {
	lines := []string{f.ID() + " " + f.Location(), f.Message}
	if f.Expected != "" || f.Actual != "" {
		lines = append(lines, "expected: "+f.Expected, "actual: "+f.Actual)
	}
	for _, x := range f.Stack[:min(len(f.Stack), 15)] {
		lines = append(lines, "  "+session.Location(x.File, x.Line)+" "+x.Function)
	}
	return strings.Join(lines, "\n")
}

// history is what archaeology and the experiments have found.
func history(b *strings.Builder, m Marks, s *session.Session) {
	a := s.Archaeology
	if a == nil && s.RootCause == nil {
		return
	}
	b.WriteString("\n\n# History\n")
	var lines []string
	if a != nil {
		if a.Good != nil {
			fmt.Fprintf(b, "\nThe test passes at commit %s.", a.Good.SHA)
		}
		for _, x := range a.Suspects[:min(len(a.Suspects), 8)] {
			lines = append(lines, fmt.Sprintf("suspect (%s): %s %s", x.Relevance, x.Commit.Short(), oneLine(x.Commit.Subject, 120)))
		}
	}
	if a != nil {
		for _, x := range a.Suspicious[:min(len(a.Suspicious), 5)] {
			lines = append(lines, fmt.Sprintf("suspicious by coverage, a hint and no proof: %s to line %d, score %.2f, %d passing tests run through it", x.Location(), x.To, x.Score, x.Passing))
		}
	}
	if c := s.RootCause; c != nil {
		if c.Culprit != nil {
			fmt.Fprintf(b, "\nThe failure appears with commit %s; its parent does not show it.", c.Culprit.SHA)
			lines = append(lines, "culprit: "+c.Culprit.Short()+" "+oneLine(c.Culprit.Subject, 120))
		}
		lines = append(lines, "cause: "+oneLine(c.Summary, 500), "location: "+c.Location)
		for _, h := range c.Lines[:min(len(c.Lines), 8)] {
			lines = append(lines, "changed line without which the test passes, at "+h.Location()+":\n"+clip(h.Text, 300))
		}
		for _, h := range c.Minimal[:min(len(c.Minimal), 4)] {
			lines = append(lines, "part of the culprit that makes the test fail, in "+h.File+":\n"+clip(h.Text, 1500))
		}
	}
	if len(lines) > 0 {
		b.WriteString("\n" + m.Block("history", clip(strings.Join(lines, "\n"), maxContext)))
	}
}
