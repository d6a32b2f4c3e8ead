package report

import (
	"encoding/json"
	"strings"

	"culprit/internal/session"
)

// Report is what --json prints. Fields are added, never renamed or removed;
// schema_version counts changes that a reader must know of. Text in it is as
// the session has it: escape it before showing it anywhere.
type Report struct {
	Schema     int            `json:"schema_version"` // 1
	Session    string         `json:"session"`
	Result     session.Result `json:"result"`    // fixed, root_cause, flaky, not_reproduced, inconclusive, stopped; empty: the session broke
	ExitCode   int            `json:"exit_code"` // of the command line for this result
	Headline   string         `json:"headline"`
	Reason     string         `json:"reason,omitempty"` // why there is no fix, no reproduction, or no end
	Repository string         `json:"repository,omitempty"`
	Mode       session.Mode   `json:"mode"`
	Symptom    string         `json:"symptom,omitempty"`

	Bad          *session.Commit       `json:"bad,omitempty"`  // where it fails
	Good         *session.Commit       `json:"good,omitempty"` // newest commit seen to pass
	Test         string                `json:"test,omitempty"`
	Reproduction *session.Reproduction `json:"reproduction,omitempty"`
	RootCause    *session.RootCause    `json:"root_cause,omitempty"`
	Flake        *session.Flake        `json:"flake,omitempty"`
	Hypotheses   []Row                 `json:"hypotheses"`
	// Challenges are the tries to break what was confirmed, Contradictions what
	// workers say and cannot both be true. Only models are asked for them.
	Challenges     []session.Challenge   `json:"challenges,omitempty"`
	Contradictions []string              `json:"contradictions,omitempty"`
	Synthesis      *session.Synthesis    `json:"synthesis,omitempty"`
	Fix            *session.Fix          `json:"fix,omitempty"`
	Patch          string                `json:"patch,omitempty"` // git format-patch text of a verified fix
	Proof          *session.Confirmation `json:"proof,omitempty"`
	PullRequest    string                `json:"pull_request,omitempty"`

	Confidence session.Confidence `json:"confidence"`
	Question   *session.Question  `json:"question,omitempty"`
	NotChecked []string           `json:"not_checked"`
	NextStep   string             `json:"next_step,omitempty"`
	Runs       int                `json:"runs"` // executed
	Seconds    float64            `json:"seconds"`
	Tokens     int                `json:"tokens"`
}

// Row is one hypothesis of a Report.
type Row struct {
	ID              string                 `json:"id"`
	Kind            session.HypothesisKind `json:"kind,omitempty"`
	Title           string                 `json:"title"`
	Hypothesis      string                 `json:"hypothesis,omitempty"`
	Status          session.Status         `json:"status"`
	Verdict         session.Verdict        `json:"verdict,omitempty"`
	Findings        string                 `json:"findings,omitempty"`
	EvidenceFor     []string               `json:"evidence_for,omitempty"`
	EvidenceAgainst []string               `json:"evidence_against,omitempty"`
	Error           string                 `json:"error,omitempty"`
}

// JSON is the report for machines: one indented JSON document of a Report.
func JSON(s *session.Session) []byte {
	v := show(s)
	r := Report{
		Schema: 1, Session: s.ID, Result: s.Result, ExitCode: s.Result.ExitCode(), Headline: v.headlineText(), Reason: s.Reason,
		Repository: s.Source.Repository, Mode: s.Mode, Symptom: s.Symptom.Title,
		Bad: s.Bad, Test: v.testText(), Reproduction: s.Reproduction, RootCause: s.RootCause, Flake: s.Flake,
		Hypotheses: []Row{}, Challenges: s.Challenges, Contradictions: s.Contradictions, Synthesis: s.Synthesis, Proof: s.Confirmation, PullRequest: s.Published.PRURL,
		Confidence: s.Confidence, Question: s.Question, NotChecked: append([]string{}, s.NotChecked...), NextStep: s.NextStep,
		Runs: s.Budget.Runs, Seconds: v.elapsed().Seconds(), Tokens: s.Budget.Tokens,
	}
	if s.Archaeology != nil {
		r.Good = s.Archaeology.Good
	}
	if s.Fix != nil {
		r.Fix = s.Fix
		if s.Result == session.ResultFixed {
			r.Patch = s.Fix.Patch
		}
	}
	for _, t := range s.Wave(1) {
		r.Hypotheses = append(r.Hypotheses, Row{
			ID: t.ID, Kind: kind(s, t.ID), Title: t.Title, Hypothesis: t.Hypothesis, Status: t.Status, Verdict: t.Verdict,
			Findings: t.Findings, EvidenceFor: lines(t.EvidenceFor), EvidenceAgainst: lines(t.EvidenceAgainst), Error: t.Error,
		})
	}
	out, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		// The one value that JSON has not is a score that is no number.
		return []byte(`{"schema_version": 1, "session": "` + line(s.ID) + `", "result": "", "exit_code": 70}` + "\n")
	}
	return append(out, '\n')
}

func kind(s *session.Session, id string) session.HypothesisKind {
	for _, h := range s.Hypotheses {
		if h.ID == id {
			return h.Kind
		}
	}
	return ""
}

func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}
