package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"culprit/internal/agent/tools"
	"culprit/internal/evidence"
	"culprit/internal/session"
)

// Desk is what the workers of one session have in common.
type Desk struct {
	Repo   tools.Repo
	Runner tools.Runner
	Store  SessionStore
	// Reproduction is the failing test as a trial at the bad commit.
	Reproduction func(ctx context.Context, s *session.Session) (session.Trial, error)
	// Render makes a fix of edits of a commit: patch, hunks and counts. Task,
	// Strategy and Summary are set.
	Render  func(ctx context.Context, base string, edits []session.Edit, task, strategy, summary string) (*session.Fix, error)
	Budget  Budget
	Context int // tokens that the models can take; 0: the default
	Redact  func(s string) string
	Now     func() time.Time
}

// SessionStore is what workers read and write of the session's folder;
// *session.Folder is one.
type SessionStore interface {
	Store
	tools.Board
	Entries() ([]session.Entry, error)
}

var _ SessionStore = (*session.Folder)(nil)

// Investigator tests a hypothesis by reading, and by the experiments that it
// asks for (QD8). It cannot write to the repository: it has nothing to write
// with.
type Investigator struct {
	client *Client
	desk   Desk
}

// NewInvestigator returns an investigator; it may be used for several
// hypotheses at a time.
func NewInvestigator(c *Client, d Desk) *Investigator { return &Investigator{c, d} }

// finding is the report of an investigator, as the model gives it.
type finding struct {
	ID      string           `json:"id"`
	Status  session.Status   `json:"result_status"`
	Verdict session.Verdict  `json:"hypothesis_verdict"`
	Text    string           `json:"findings"`
	For     []evidence.Quote `json:"evidence_for"`
	Against []evidence.Quote `json:"evidence_against"`
	Runs    []evidence.Claim `json:"runs"`
	Error   string           `json:"error"`
}

func quotes(description string) map[string]any {
	return map[string]any{
		"type": "array", "maxItems": 12, "description": description,
		"items": map[string]any{
			"type": "object", "additionalProperties": false, "required": []string{"path", "line", "quote", "shows"},
			"properties": map[string]any{
				"path":  map[string]any{"type": "string", "description": "file, relative to the repository's root"},
				"line":  map[string]any{"type": "integer", "minimum": 1},
				"quote": map[string]any{"type": "string", "description": "the text of that line, as it stands there"},
				"shows": map[string]any{"type": "string", "maxLength": 300, "description": "what it shows, one sentence"},
			},
		},
	}
}

// findingTool is how an investigator reports.
var findingTool = tools.Tool{
	Name:        "report",
	Description: "Ends your work with a verdict. Call it exactly once, alone.",
	Parameters: tools.Schema{
		"type": "object", "additionalProperties": false,
		"required": []string{"id", "result_status", "hypothesis_verdict", "findings", "evidence_for", "evidence_against"},
		"properties": map[string]any{
			"id":                 map[string]any{"type": "string", "description": "the id of your row"},
			"result_status":      map[string]any{"type": "string", "enum": []string{"completed", "failed"}},
			"hypothesis_verdict": map[string]any{"type": "string", "enum": []string{"confirmed", "refuted", "inconclusive"}, "description": "inconclusive when result_status is failed"},
			"findings":           map[string]any{"type": "string", "minLength": 1, "maxLength": session.MaxFindings, "description": "one sentence"},
			"evidence_for":       quotes("lines that support the hypothesis; empty where there are none"),
			"evidence_against":   quotes("lines that speak against it; empty where there are none"),
			"runs": map[string]any{
				"type": "array", "maxItems": 12, "description": "runs that you asked for and that decide something",
				"items": map[string]any{
					"type": "object", "additionalProperties": false, "required": []string{"log", "outcome", "supports", "shows"},
					"properties": map[string]any{
						"log":      map[string]any{"type": "string", "description": "as the note under the result names it"},
						"outcome":  map[string]any{"type": "string", "enum": []string{"pass", "fail", "other", "untestable"}},
						"supports": map[string]any{"type": "boolean", "description": "it supports the hypothesis; false: it speaks against it"},
						"shows":    map[string]any{"type": "string", "maxLength": 300},
					},
				},
			},
			"error": map[string]any{"type": "string", "maxLength": session.MaxFindings, "description": "what went wrong, when result_status is failed"},
		},
	},
}

// Investigate tests the hypothesis of row t and reports once. Every limit that
// ends the worker makes it inconclusive; a worker that reported nothing, or
// nothing that could be read, has failed (QD8).
func (v *Investigator) Investigate(ctx context.Context, s *session.Session, t session.Task) session.Finding {
	out := session.Finding{ID: t.ID, Status: session.Completed, Verdict: session.Inconclusive}
	d := v.desk
	fail := func(err error) session.Finding {
		out.Status, out.Error = session.Failed, oneLine(d.Redact(err.Error()), session.MaxFindings)
		out.Findings = clip("The hypothesis could not be investigated: "+out.Error, session.MaxFindings)
		return out
	}
	base, err := d.Reproduction(ctx, s)
	if err != nil {
		return fail(err)
	}
	board, err := d.Store.Discoveries()
	if err != nil {
		return fail(err)
	}
	work := &tools.Desk{Repo: d.Repo, Runner: d.Runner, Board: d.Store, Base: base, Task: t.ID, Source: t.ID, Now: d.Now, Redact: d.Redact}
	p, offered, err := reader(roleOf(s, t.ID), work)
	if err != nil {
		return fail(err)
	}
	marks := NewMarks()
	done := v.client.Run(ctx, Task{
		Role: High, Prompt: p, First: brief(marks, s, t, board), Marks: marks, Tools: offered,
		Report: Report{Tool: findingTool, Unsure: "; say inconclusive where you do not know", Check: func(raw json.RawMessage) error { return v.check(ctx, work, t, raw) }},
		Budget: d.Budget, Context: d.Context, Store: d.Store, Redact: d.Redact,
		Line: session.Dispatch{Step: "investigate", Task: t.ID, Mode: s.Mode}, Log: "logs/" + t.ID + "-agent.md",
	})
	out.Spent = session.Spent{Tokens: done.Usage.Tokens(), Cost: done.Cost}
	if done.End != Reported {
		return unreported(out, done)
	}
	var f finding
	if err := json.Unmarshal(done.Report, &f); err != nil {
		return fail(err)
	}
	held, struck, err := v.verify(ctx, work, f)
	if err != nil {
		return fail(err)
	}
	return concluded(out, t, held, struck)
}

// unreported is the finding of a worker that did not report.
func unreported(out session.Finding, done Done) session.Finding {
	why := string(done.End)
	if done.Err != nil {
		why += ": " + oneLine(done.Err.Error(), 300)
	}
	if done.End.Exhausted() {
		out.Findings = "The worker was ended before it came to a verdict (" + why + ")."
		if done.Text != "" {
			out.Findings += " It said last: " + oneLine(done.Text, 200)
		}
		out.Findings = clip(out.Findings, session.MaxFindings)
		return out
	}
	out.Status, out.Error = session.Failed, clip("the worker did not report ("+why+")", session.MaxFindings)
	out.Findings = clip("No verdict: "+out.Error, session.MaxFindings)
	return out
}

// check says what does not hold in a report, for the model to mend.
func (v *Investigator) check(ctx context.Context, work *tools.Desk, t session.Task, raw json.RawMessage) error {
	var f finding
	if err := json.Unmarshal(raw, &f); err != nil {
		return err
	}
	var problems []string
	if f.ID != t.ID {
		problems = append(problems, fmt.Sprintf("the id of your row is %s, not %s", t.ID, clip(f.ID, 40)))
	}
	held, struck, err := v.verify(ctx, work, f)
	if err != nil {
		return err
	}
	for _, x := range struck {
		problems = append(problems, "this evidence does not hold: "+x.String())
	}
	switch verdict, _ := lawful(held); {
	case f.Status == session.Failed && f.Verdict != session.Inconclusive:
		problems = append(problems, "a worker that failed has no verdict but inconclusive")
	case verdict != f.Verdict && f.Verdict == session.Confirmed:
		problems = append(problems, "confirmed needs at least one quote in evidence_for that is there")
	case verdict != f.Verdict && f.Verdict == session.Refuted:
		problems = append(problems, "refuted needs a quote in evidence_against or a run against the hypothesis")
	}
	if len(problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(problems, "; "))
}

// verify strikes the evidence that is not there.
func (v *Investigator) verify(ctx context.Context, work *tools.Desk, f finding) (finding, []evidence.Struck, error) {
	var struck, against, runs []evidence.Struck
	var err error
	if f.For, struck, err = v.desk.quotes(ctx, work, f.For); err != nil {
		return f, nil, err
	}
	if f.Against, against, err = v.desk.quotes(ctx, work, f.Against); err != nil {
		return f, nil, err
	}
	if f.Runs, runs, err = v.desk.claims(f.Runs); err != nil {
		return f, nil, err
	}
	return f, slices.Concat(struck, against, runs), nil
}

// lawful is the verdict that the evidence which holds allows (QD20).
func lawful(f finding) (session.Verdict, string) {
	against := len(f.Against) > 0
	for _, r := range f.Runs {
		against = against || !r.Supports
	}
	switch {
	case f.Status == session.Failed:
		return session.Inconclusive, ""
	case f.Verdict == session.Confirmed && len(f.For) == 0:
		return session.Inconclusive, "It claimed to confirm the hypothesis without a line that shows it."
	case f.Verdict == session.Refuted && !against:
		return session.Inconclusive, "It claimed to refute the hypothesis without a line or a run that shows it."
	}
	return f.Verdict, ""
}

// concluded is the finding that a report and its checked evidence make.
func concluded(out session.Finding, t session.Task, f finding, struck []evidence.Struck) session.Finding {
	verdict, why := lawful(f)
	out.Verdict, out.Findings = verdict, f.Text
	if f.ID != t.ID {
		out.Verdict, why = session.Inconclusive, "It reported for another row."
	}
	if why != "" {
		out.Findings = why + " It said: " + f.Text
	}
	if f.Status == session.Failed {
		out.Status, out.Error = session.Failed, oneLine(f.Error, session.MaxFindings)
		if out.Error == "" {
			out.Error = "the worker says that it failed, and not why"
		}
	}
	for _, q := range f.For {
		out.EvidenceFor = append(out.EvidenceFor, q.String())
	}
	for _, q := range f.Against {
		out.EvidenceAgainst = append(out.EvidenceAgainst, q.String())
	}
	for _, r := range f.Runs {
		if r.Supports {
			out.EvidenceFor = append(out.EvidenceFor, r.String())
		} else {
			out.EvidenceAgainst = append(out.EvidenceAgainst, r.String())
		}
	}
	if len(struck) > 0 {
		out.Findings += fmt.Sprintf(" (%d of %d pieces of its evidence did not hold and were struck.)", len(struck), len(struck)+len(out.EvidenceFor)+len(out.EvidenceAgainst))
	}
	out.Findings = oneLine(out.Findings, session.MaxFindings)
	if out.Verdict == session.Confirmed {
		out.Cause = &session.RootCause{
			Task: t.ID, Kind: session.Reading, Summary: oneLine(f.Text, session.MaxFindings), Location: session.Location(f.For[0].Path, f.For[0].Line),
			Struck: len(struck), MinimalNote: "the cause was found by reading, not by taking a commit apart",
		}
	}
	return out
}
