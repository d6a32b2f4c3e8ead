package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"culprit/internal/agent/tools"
	"culprit/internal/evidence"
	"culprit/internal/session"
)

// Limits of a refuter: it is given a question that is narrower than an
// investigator's.
const (
	refuterTurns   = 25
	refuterTimeout = 25 * time.Minute
)

// Refuter tries to break a confirmed cause (QD14). It is a conversation of its
// own that knows the claim, its prediction and its evidence, and none of the
// words of whoever confirmed it, so that it does not follow the same thought
// into the same mistake.
type Refuter struct {
	client *Client
	desk   Desk
}

// NewRefuter returns a refuter; it may be used for several causes at a time.
func NewRefuter(c *Client, d Desk) *Refuter { return &Refuter{c, d} }

// objection is the report of a refuter, as the model gives it.
type objection struct {
	ID           string             `json:"id"`
	Status       session.Status     `json:"result_status"`
	Verdict      session.Challenged `json:"challenge_verdict"`
	Text         string             `json:"findings"`
	Against      []evidence.Quote   `json:"evidence"`
	Runs         []evidence.Claim   `json:"runs"`
	Alternatives []struct {
		evidence.Quote
		Explanation string `json:"explanation"`
		Possible    bool   `json:"possible"`
	} `json:"alternatives"`
	Error string `json:"error"`
}

// objectionTool is how a refuter reports.
var objectionTool = tools.Tool{
	Name:        "report",
	Description: "Ends your work with what you found. Call it exactly once, alone.",
	Parameters: tools.Schema{
		"type": "object", "additionalProperties": false,
		"required": []string{"id", "result_status", "challenge_verdict", "findings", "evidence", "alternatives"},
		"properties": map[string]any{
			"id":                map[string]any{"type": "string", "description": "the id of the claim"},
			"result_status":     map[string]any{"type": "string", "enum": []string{"completed", "failed"}},
			"challenge_verdict": map[string]any{"type": "string", "enum": []string{"stands", "broken"}, "description": "stands when result_status is failed"},
			"findings":          map[string]any{"type": "string", "minLength": 1, "maxLength": session.MaxFindings, "description": "one sentence"},
			"evidence":          quotes("lines that speak against the claim; empty where there are none"),
			"runs": map[string]any{
				"type": "array", "maxItems": 12, "description": "runs that speak against the claim",
				"items": map[string]any{
					"type": "object", "additionalProperties": false, "required": []string{"log", "outcome", "shows"},
					"properties": map[string]any{
						"log":     map[string]any{"type": "string", "description": "as the note under the result names it"},
						"outcome": map[string]any{"type": "string", "enum": []string{"pass", "fail", "other", "untestable"}},
						"shows":   map[string]any{"type": "string", "maxLength": 300},
					},
				},
			},
			"alternatives": map[string]any{
				"type": "array", "maxItems": 4, "description": "other explanations of the failure that you looked at, each with the line that decides about it; at least two where there are two",
				"items": map[string]any{
					"type": "object", "additionalProperties": false, "required": []string{"explanation", "possible", "path", "line", "quote", "shows"},
					"properties": map[string]any{
						"explanation": map[string]any{"type": "string", "minLength": 1, "maxLength": 200},
						"possible":    map[string]any{"type": "boolean", "description": "true: not ruled out"},
						"path":        map[string]any{"type": "string"},
						"line":        map[string]any{"type": "integer", "minimum": 1},
						"quote":       map[string]any{"type": "string", "description": "the text of that line, as it stands there"},
						"shows":       map[string]any{"type": "string", "maxLength": 300},
					},
				},
			},
			"error": map[string]any{"type": "string", "maxLength": session.MaxFindings, "description": "what went wrong, when result_status is failed"},
		},
	},
}

// Refute tries to break the cause of row t and reports once. A worker that
// comes to no end, or claims what is not there, changes nothing about the
// cause.
func (v *Refuter) Refute(ctx context.Context, s *session.Session, t session.Task) session.Challenge {
	out := session.Challenge{Task: t.ID, Result: session.Undecided}
	d := v.desk
	fail := func(err error) session.Challenge {
		out.Why = oneLine(d.Redact(err.Error()), session.MaxFindings)
		return out
	}
	cause := s.Causes[t.ID]
	if cause == nil {
		return fail(errors.New("there is no cause to be challenged"))
	}
	if err := d.room(ctx, v.client); err != nil {
		out.Result = session.LeftOut
		return fail(err)
	}
	base, err := d.Reproduction(ctx, s)
	if err != nil {
		return fail(err)
	}
	p, err := prompt(refutePrompt)
	if err != nil {
		return fail(err)
	}
	work := &tools.Desk{Repo: d.Repo, Runner: d.Runner, Base: base, Task: t.ID, Source: t.ID, Now: d.Now, Redact: d.Redact}
	marks := NewMarks()
	first, err := v.claim(ctx, work, s, t, cause, marks)
	if err != nil {
		return fail(err)
	}
	done := v.client.Run(ctx, Task{
		Role: Judge, Prompt: p, First: first, Marks: marks, Tools: work.Refuter(),
		Report: Report{Tool: objectionTool, Unsure: "; say stands where you cannot show that it is wrong", Check: func(raw json.RawMessage) error { return v.check(ctx, work, t, raw) }},
		Budget: d.Budget, Context: d.Context, Turns: refuterTurns, Timeout: refuterTimeout, Store: d.Store, Redact: d.Redact,
		Line: session.Dispatch{Step: "challenge", Task: t.ID, Mode: s.Mode}, Log: "logs/" + t.ID + "-refuter.md",
	})
	out.Spent = session.Spent{Tokens: done.Usage.Tokens(), Cost: done.Cost}
	if done.End != Reported {
		out.Why = oneLine(unreported(session.Finding{}, done).Findings, session.MaxFindings)
		return out
	}
	var o objection
	if err := json.Unmarshal(done.Report, &o); err != nil {
		return fail(err)
	}
	held, struck, err := v.verify(ctx, work, o)
	if err != nil {
		return fail(err)
	}
	if o.Status == session.Failed || o.ID != t.ID {
		return fail(errors.New(strings.TrimSpace("the worker could not work: " + o.Error)))
	}
	return v.judged(ctx, work, s, t, held, struck, out)
}

// room reports whether the budget suffices for a worker of the judge, and for a
// fixer after it: to look at findings again must not cost the fix.
func (d Desk) room(ctx context.Context, c *Client) error {
	if d.Budget == nil {
		return nil
	}
	tokens := d.Context
	if tokens == 0 {
		tokens = defaultContext
	}
	one := Usage{In: tokens, Out: c.set.MaxOutput}
	held, err := d.Budget.Reserve(ctx, c.amount(c.models(Judge)[0], one), c.amount(c.models(High)[0], one))
	if err != nil {
		return err
	}
	return d.Budget.Settle(ctx, held, Amount{})
}

// claim is the first message: what is claimed, predicted and shown. Lines are
// quoted from the tree; what their finder said about them is left out.
func (v *Refuter) claim(ctx context.Context, work *tools.Desk, s *session.Session, t session.Task, c *session.RootCause, m Marks) (string, error) {
	record, err := v.desk.Store.Entries()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n# The claim\n\nid: %s", m.Rule(), t.ID)
	text := c.Summary
	if c.Location != "" {
		text += "\nPlace: " + c.Location
	}
	for _, h := range s.Hypotheses {
		if h.ID == t.ID {
			text += "\nPrediction: " + h.Prediction
		}
	}
	b.WriteString("\n" + m.Block("claim", clip(text, maxContext)) + "\n\n# Its evidence\n")
	var lines []string
	for l := range strings.Lines(t.EvidenceFor) {
		lines = append(lines, shown(ctx, work, record, strings.TrimSpace(l)))
	}
	b.WriteString("\n" + m.Block("evidence", clip(strings.Join(lines, "\n"), maxContext)))
	bare := *s
	bare.RootCause = nil // its summary is somebody's
	observed(&b, m, &bare)
	history(&b, m, &bare)
	return b.String(), nil
}

// shown is a piece of evidence without what was said about it. What experiments
// found is their own words and stays.
func shown(ctx context.Context, work *tools.Desk, record []session.Entry, line string) string {
	at, _, _ := strings.Cut(line, " — ")
	for _, e := range record {
		if e.Phase == "experiment" && e.Source == at {
			return fmt.Sprintf("run %s at commit %s: outcome %s", at, e.Commit, e.Outcome)
		}
	}
	file, n, ok := place(at)
	if !ok {
		return line
	}
	data, err := work.Read(ctx, file)
	if lines := strings.Split(string(data), "\n"); err == nil && n <= len(lines) {
		return at + ": " + strings.TrimSpace(lines[n-1])
	}
	return at
}

// check says what does not hold in a report, for the model to mend.
func (v *Refuter) check(ctx context.Context, work *tools.Desk, t session.Task, raw json.RawMessage) error {
	var o objection
	if err := json.Unmarshal(raw, &o); err != nil {
		return err
	}
	held, struck, err := v.verify(ctx, work, o)
	if err != nil {
		return err
	}
	var problems []string
	if o.ID != t.ID {
		problems = append(problems, fmt.Sprintf("the id of the claim is %s, not %s", t.ID, clip(o.ID, 40)))
	}
	for _, x := range struck {
		problems = append(problems, "this evidence does not hold: "+x.String())
	}
	if o.Verdict == session.Broken && len(held.Against)+len(held.Runs) == 0 {
		problems = append(problems, "broken needs a quote or a run against the claim that is there")
	}
	if len(problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(problems, "; "))
}

// verify strikes the evidence that is not there, and the alternatives that
// rest on it.
func (v *Refuter) verify(ctx context.Context, work *tools.Desk, o objection) (objection, []evidence.Struck, error) {
	var struck, runs []evidence.Struck
	var err error
	if o.Against, struck, err = v.desk.quotes(ctx, work, o.Against); err != nil {
		return o, nil, err
	}
	if o.Runs, runs, err = v.desk.claims(o.Runs); err != nil {
		return o, nil, err
	}
	struck = append(struck, runs...)
	all := o.Alternatives
	o.Alternatives = nil
	for _, a := range all {
		kept, bad, err := v.desk.quotes(ctx, work, []evidence.Quote{a.Quote})
		if err != nil {
			return o, nil, err
		}
		if struck = append(struck, bad...); len(kept) == 1 {
			a.Quote = kept[0]
			o.Alternatives = append(o.Alternatives, a)
		}
	}
	return o, struck, nil
}

// judged is the challenge that a report and its checked evidence make.
func (v *Refuter) judged(ctx context.Context, work *tools.Desk, s *session.Session, t session.Task, o objection, struck []evidence.Struck, out session.Challenge) session.Challenge {
	out.Result, out.Findings, out.Struck = session.Stands, oneLine(o.Text, session.MaxFindings), len(struck)
	for _, a := range o.Alternatives {
		out.Alternatives = append(out.Alternatives, session.Alternative{Explanation: oneLine(a.Explanation, 200), Possible: a.Possible, Evidence: a.String()})
	}
	if o.Verdict != session.Broken {
		return out
	}
	for _, q := range o.Against {
		out.Evidence = append(out.Evidence, q.String())
	}
	for _, r := range o.Runs {
		out.Evidence = append(out.Evidence, r.String())
	}
	if len(out.Evidence) == 0 {
		out.Why = "it was called broken, and nothing of what was said against it is there"
		return out
	}
	out.Result = session.Contested
	why, err := v.decided(ctx, work, s, t, o.Runs)
	if err != nil {
		out.Why = "whether a run decides could not be seen: " + oneLine(v.desk.Redact(err.Error()), 300)
	} else if why != "" {
		out.Result, out.Why = session.Broken, why
	}
	return out
}
