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

// Limits of a synthesis: it reads findings and looks a few lines up.
const (
	synthesisTurns   = 12
	synthesisTimeout = 10 * time.Minute
	maxSaid          = 400 // characters of a statement
	maxRunsTold      = 60  // runs that it is told of, the newest
)

// Words that a synthesis is to have (CR9). It is told once when it has not.
const leastWords, mostWords = 200, 400

// Synthesizer makes one account of all findings (CR9). It trusts but verifies:
// each of its statements names places or runs, and those that name none which
// are there are struck.
type Synthesizer struct {
	client *Client
	desk   Desk
}

// NewSynthesizer returns a synthesizer.
func NewSynthesizer(c *Client, d Desk) *Synthesizer { return &Synthesizer{c, d} }

// account is the report of a synthesizer, as the model gives it.
type account struct {
	Statements []statement `json:"statements"`
	Causes     []string    `json:"causes"`
	Obvious    bool        `json:"obvious"`
}

type statement struct {
	Text   string           `json:"text"`
	Quotes []evidence.Quote `json:"quotes"`
	Runs   []evidence.Claim `json:"runs"`
}

// accountTool is how a synthesizer reports.
var accountTool = tools.Tool{
	Name:        "report",
	Description: "Ends your work with the account. Call it exactly once, alone.",
	Parameters: tools.Schema{
		"type": "object", "additionalProperties": false, "required": []string{"statements", "causes", "obvious"},
		"properties": map[string]any{
			"statements": map[string]any{
				"type": "array", "minItems": 1, "maxItems": 24,
				"items": map[string]any{
					"type": "object", "additionalProperties": false, "required": []string{"text", "quotes", "runs"},
					"properties": map[string]any{
						"text": map[string]any{"type": "string", "minLength": 1, "maxLength": maxSaid, "description": "one or two sentences"},
						"quotes": map[string]any{
							"type": "array", "maxItems": 4, "description": "lines that back it",
							"items": map[string]any{
								"type": "object", "additionalProperties": false, "required": []string{"path", "line", "quote"},
								"properties": map[string]any{
									"path":  map[string]any{"type": "string"},
									"line":  map[string]any{"type": "integer", "minimum": 1},
									"quote": map[string]any{"type": "string", "description": "the text of that line, as it stands there"},
								},
							},
						},
						"runs": map[string]any{
							"type": "array", "maxItems": 4, "description": "runs that back it",
							"items": map[string]any{
								"type": "object", "additionalProperties": false, "required": []string{"log", "outcome"},
								"properties": map[string]any{
									"log":     map[string]any{"type": "string", "description": "as the list of runs names it"},
									"outcome": map[string]any{"type": "string", "enum": []string{"pass", "fail", "other", "untestable"}},
								},
							},
						},
					},
				},
			},
			"causes":  map[string]any{"type": "array", "maxItems": 12, "items": map[string]any{"type": "string"}, "description": "ids of rows, the best backed first"},
			"obvious": map[string]any{"type": "boolean", "description": "runs and lines point to one cause, and nothing is against it"},
		},
	},
}

// Synthesize makes the account of the session's findings. Why says why there
// is none.
func (v *Synthesizer) Synthesize(ctx context.Context, s *session.Session) session.Synthesis {
	var out session.Synthesis
	d := v.desk
	fail := func(err error) session.Synthesis {
		out.Why = oneLine(d.Redact(err.Error()), session.MaxFindings)
		return out
	}
	if err := d.room(ctx, v.client); err != nil {
		return fail(err)
	}
	base, err := d.Reproduction(ctx, s)
	if err != nil {
		return fail(err)
	}
	p, err := prompt(synthesizePrompt)
	if err != nil {
		return fail(err)
	}
	record, err := d.Store.Entries()
	if err != nil {
		return fail(err)
	}
	work := &tools.Desk{Repo: d.Repo, Runner: d.Runner, Base: base, Now: d.Now, Redact: d.Redact}
	marks := NewMarks()
	done := v.client.Run(ctx, Task{
		Role: Judge, Prompt: p, First: findings(marks, s, record), Marks: marks, Tools: work.Reader(),
		Report: Report{Tool: accountTool, Check: func(raw json.RawMessage) error { return v.check(ctx, work, raw) }},
		Budget: d.Budget, Context: d.Context, Turns: synthesisTurns, Timeout: synthesisTimeout, Store: d.Store, Redact: d.Redact,
		Line: session.Dispatch{Step: "synthesize", Mode: s.Mode}, Log: "logs/synthesis-agent.md",
	})
	out.Spent = session.Spent{Tokens: done.Usage.Tokens(), Cost: done.Cost}
	if done.End != Reported {
		out.Why = unreported(session.Finding{}, done).Findings
		return out
	}
	var a account
	if err := json.Unmarshal(done.Report, &a); err != nil {
		return fail(err)
	}
	held, _, err := v.verify(ctx, work, a)
	if err != nil {
		return fail(err)
	}
	for _, x := range held.Statements {
		st := session.Statement{Text: oneLine(x.Text, 4*maxSaid)}
		for _, q := range x.Quotes {
			st.Cites = append(st.Cites, session.Location(q.Path, q.Line))
		}
		for _, r := range x.Runs {
			st.Cites = append(st.Cites, r.Log)
		}
		out.Statements = append(out.Statements, st)
	}
	out.Struck, out.Obvious = len(a.Statements)-len(held.Statements), a.Obvious
	for _, id := range a.Causes {
		out.Causes = append(out.Causes, session.RankedCause{Task: id})
	}
	if len(out.Statements) == 0 {
		out.Why = "nothing that was said is backed by a line or a run that is there"
	}
	return out
}

// check says what does not hold in an account, for the model to mend.
func (v *Synthesizer) check(ctx context.Context, work *tools.Desk, raw json.RawMessage) error {
	var a account
	if err := json.Unmarshal(raw, &a); err != nil {
		return err
	}
	held, struck, err := v.verify(ctx, work, a)
	if err != nil {
		return err
	}
	var problems []string
	for _, x := range struck[:min(len(struck), 8)] {
		problems = append(problems, x.String())
	}
	if n := len(a.Statements) - len(held.Statements); n > 0 {
		problems = append(problems, fmt.Sprintf("%d of %d statements name nothing that is there", n, len(a.Statements)))
	}
	words := 0
	for _, x := range a.Statements {
		words += len(strings.Fields(x.Text))
	}
	if words < leastWords || words > mostWords {
		problems = append(problems, fmt.Sprintf("it has %d words, and is to have %d to %d (fewer only where no more can be backed)", words, leastWords, mostWords))
	}
	if len(problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(problems, "; "))
}

// verify strikes the citations that are not there, and the statements without
// any.
func (v *Synthesizer) verify(ctx context.Context, work *tools.Desk, a account) (account, []evidence.Struck, error) {
	all := a.Statements
	a.Statements = nil
	var struck []evidence.Struck
	for _, x := range all {
		var bad, runs []evidence.Struck
		var err error
		if x.Quotes, bad, err = v.desk.quotes(ctx, work, x.Quotes); err != nil {
			return a, nil, err
		}
		if x.Runs, runs, err = v.desk.claims(x.Runs); err != nil {
			return a, nil, err
		}
		struck = slices.Concat(struck, bad, runs)
		if len(x.Quotes)+len(x.Runs) > 0 {
			a.Statements = append(a.Statements, x)
		}
	}
	return a, struck, nil
}

// findings is the first message: the rows with their evidence, what became of
// them when they were challenged, what contradicts, and the runs.
func findings(m Marks, s *session.Session, record []session.Entry) string {
	var b, rows, runs strings.Builder
	b.WriteString(m.Rule() + "\n\n# The findings\n")
	for _, t := range s.Wave(1) {
		fmt.Fprintf(&rows, "%s (%s): %s\n", t.ID, t.Verdict, t.Hypothesis)
		for _, part := range []struct{ title, text string }{{"found", t.Findings}, {"for", t.EvidenceFor}, {"against", t.EvidenceAgainst}} {
			if text := strings.TrimSpace(part.text); text != "" {
				fmt.Fprintf(&rows, "  %s: %s\n", part.title, strings.ReplaceAll(text, "\n", "\n    "))
			}
		}
		if x := s.Challenge(t.ID); x != nil {
			fmt.Fprintf(&rows, "  challenged: %s. %s %s\n", x.Result, x.Findings, x.Why)
			for _, a := range x.Alternatives {
				fmt.Fprintf(&rows, "    another explanation, %s: %s (%s)\n", map[bool]string{true: "possible", false: "ruled out"}[a.Possible], a.Explanation, a.Evidence)
			}
		}
	}
	b.WriteString("\n" + m.Block("findings", clip(rows.String(), 4*maxContext)))
	if len(s.Contradictions) > 0 {
		b.WriteString("\n\n# What contradicts\n\n" + m.Block("contradictions", clip(strings.Join(s.Contradictions, "\n"), maxContext)))
	}
	n := 0
	for i := len(record) - 1; i >= 0 && n < maxRunsTold; i-- {
		if e := record[i]; e.Phase == "experiment" && e.Source != "" {
			n++
			fmt.Fprintf(&runs, "%s: %s at %s: outcome %s\n", e.Source, oneLine(e.Name, 80), session.Commit{SHA: e.Commit}.Short(), e.Outcome)
		}
	}
	if n > 0 {
		b.WriteString("\n\n# The runs\n\n" + m.Block("runs", runs.String()))
	}
	observed(&b, m, s)
	history(&b, m, s)
	return b.String()
}
