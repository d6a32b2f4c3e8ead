package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"culprit/internal/agent/tools"
	"culprit/internal/patch"
	"culprit/internal/session"
)

// Fixer writes a change for a confirmed cause (QD11). It edits in memory, in
// files that the evidence implicates, and offers nothing that it has not run:
// whether the test passes is seen by a run of its own, not heard from the
// model.
type Fixer struct {
	client *Client
	desk   Desk
	isTest func(path string) bool
}

// NewFixer returns a fixer; isTest tells tests, which it never touches.
func NewFixer(c *Client, d Desk, isTest func(path string) bool) *Fixer { return &Fixer{c, d, isTest} }

// strategy begins the strategy of every fix that a model wrote.
const strategy = "a change written by a model"

// Wrote reports whether a model wrote the fix.
func Wrote(f *session.Fix) bool { return strings.HasPrefix(f.Strategy, strategy) }

// maxWritten is how many changes a model writes for one cause: a second one
// knows why the first did not hold.
const maxWritten = 2

// repair is the report of a fixer, as the model gives it.
type repair struct {
	ID      string            `json:"id"`
	Status  session.Status    `json:"result_status"`
	Result  session.FixResult `json:"fix_result"`
	Text    string            `json:"findings"`
	Summary string            `json:"summary"`
	Error   string            `json:"error"`
}

// repairTool is how a fixer reports.
var repairTool = tools.Tool{
	Name:        "report",
	Description: "Ends your work with its result. Call it exactly once, alone.",
	Parameters: tools.Schema{
		"type": "object", "additionalProperties": false, "required": []string{"id", "result_status", "fix_result", "findings", "summary"},
		"properties": map[string]any{
			"id":            map[string]any{"type": "string", "description": "the id of your row"},
			"result_status": map[string]any{"type": "string", "enum": []string{"completed", "failed"}},
			"fix_result":    map[string]any{"type": "string", "enum": []string{"fixed", "fix_failed"}, "description": "fix_failed when result_status is failed"},
			"findings":      map[string]any{"type": "string", "minLength": 1, "maxLength": session.MaxFindings, "description": "one sentence: what was wrong and what the change does"},
			"summary":       map[string]any{"type": "string", "maxLength": 100, "description": "what was wrong, for a title"},
			"error":         map[string]any{"type": "string", "maxLength": session.MaxFindings, "description": "what went wrong, when result_status is failed"},
		},
	},
}

// Fix attempts the fix of row t and reports once. Asked again it offers the
// same fix, from what the session has of it; one that was rejected is followed
// by one more.
func (f *Fixer) Fix(ctx context.Context, s *session.Session, t session.Task) session.FixReport {
	out := session.FixReport{ID: t.ID, Status: session.Completed, Result: session.FixFailed}
	fail := func(err error) session.FixReport {
		out.Status, out.Error = session.Failed, oneLine(f.desk.Redact(err.Error()), session.MaxFindings)
		out.Findings = clip("The fix could not be attempted: "+out.Error, session.MaxFindings)
		return out
	}
	cause := s.RootCause
	switch {
	case cause == nil || s.Causes[cause.Task] == nil:
		return fail(errors.New("no cause is confirmed"))
	case !slices.Contains(t.ContextFrom, cause.Task):
		out.Findings = fmt.Sprintf("The fix is made in the row of %s, the leading cause.", cause.Task)
		return out
	case cause.NoCodeChange:
		out.Findings = "No change of the code is right here."
		return out
	}
	base, err := f.desk.Reproduction(ctx, s)
	if err != nil {
		return fail(err)
	}
	again, err := f.replayed(ctx, s, t, base)
	if err != nil {
		return fail(err)
	}
	if again != nil {
		return f.offered(out, again, "")
	}
	if n := written(s); n >= maxWritten {
		out.Findings = fmt.Sprintf("%d changes that a model wrote did not hold.", n)
		return out
	}
	return f.write(ctx, s, t, cause, base, nil, out, fail)
}

// Another writes one more fix of the same cause beside those that hold. The
// cause must have been fixed by a model: nothing is put beside a revert.
func (f *Fixer) Another(ctx context.Context, s *session.Session, t session.Task, have []*session.Fix) session.FixReport {
	out := session.FixReport{ID: t.ID, Status: session.Completed, Result: session.FixFailed}
	fail := func(err error) session.FixReport {
		out.Status, out.Error = session.Failed, oneLine(f.desk.Redact(err.Error()), session.MaxFindings)
		out.Findings = out.Error
		return out
	}
	if s.RootCause == nil || len(have) == 0 || !Wrote(have[0]) {
		out.Findings = "no model wrote the fix"
		return out
	}
	base, err := f.desk.Reproduction(ctx, s)
	if err != nil {
		return fail(err)
	}
	return f.write(ctx, s, t, s.RootCause, base, have, out, fail)
}

// written counts the fixes of a model that were rejected.
func written(s *session.Session) int {
	n := 0
	for _, d := range s.Decisions {
		if strings.Contains(d.Text, "fix rejected ("+strategy) {
			n++
		}
	}
	return n
}

// replayed is the fix that the session has already, made again from its hunks:
// its content is not stored (ADR 5). Nil: there is none, or it was rejected.
func (f *Fixer) replayed(ctx context.Context, s *session.Session, t session.Task, base session.Trial) (*session.Fix, error) {
	old := s.Fixes[t.ID]
	if old == nil || !Wrote(old) || len(old.Hunks) == 0 {
		return nil, nil
	}
	edits, err := patch.ApplyEdits(old.Hunks, content{ctx, f.desk.Repo, old.Base})
	if err != nil {
		return nil, fmt.Errorf("make the fix again: %w", err)
	}
	fix, err := f.desk.Render(ctx, old.Base, edits, t.ID, old.Strategy, old.Summary)
	if err != nil {
		return nil, err
	}
	if slices.Contains(s.Rejected, fix.Digest()) {
		return nil, nil
	}
	passes, err := f.passes(ctx, base, t, edits)
	if err != nil || !passes {
		return nil, err
	}
	return fix, nil
}

// content reads the files that hunks apply to.
type content struct {
	ctx  context.Context
	repo tools.Repo
	rev  string
}

var _ patch.Content = content{}

func (c content) File(path string) ([]byte, error) {
	data, _, err := c.repo.ShowMode(c.ctx, c.rev, path)
	return data, err
}

// Blob is not needed: a model writes texts.
func (c content) Blob(id string) ([]byte, error) {
	return nil, fmt.Errorf("read blob %s: %w", id, fs.ErrNotExist)
}

// passes runs the failing test with the edits.
func (f *Fixer) passes(ctx context.Context, base session.Trial, t session.Task, edits []session.Edit) (bool, error) {
	trial := base
	trial.Name, trial.Task = "fix", t.ID
	trial.Edits = append(slices.Clone(base.Edits), edits...)
	o, err := f.desk.Runner.Run(ctx, trial)
	return err == nil && o.Outcome == session.Passed, err
}

// write lets a model work on the fix.
func (f *Fixer) write(ctx context.Context, s *session.Session, t session.Task, cause *session.RootCause, base session.Trial, have []*session.Fix, out session.FixReport, fail func(error) session.FixReport) session.FixReport {
	d := f.desk
	p, err := prompt(fixPrompt)
	if err != nil {
		return fail(err)
	}
	board, err := d.Store.Discoveries()
	if err != nil {
		return fail(err)
	}
	allowed := implicated(s, cause)
	policy := patch.Policy{IsTestFile: f.isTest, Protected: s.Flags.Protected}
	work := &tools.Desk{
		Repo: d.Repo, Runner: d.Runner, Board: d.Store, Base: base, Task: t.ID, Source: t.ID, Now: d.Now, Redact: d.Redact,
		MayEdit: func(p string, isNew bool) error { return mayEdit(p, isNew, allowed, policy, f.isTest) },
	}
	marks := NewMarks()
	first := brief(marks, s, t, board) + "\n\n# Files that you may change\n\n" + marks.Block("files", strings.Join(allowed, "\n"))
	if s.Confirmation != nil && s.Confirmation.Why != "" {
		first += "\n\n# What was tried before\n\nA fix was tried and did not hold.\n" + marks.Block("why", clip(s.Confirmation.Why, maxContext))
	}
	log := "logs/" + t.ID + "-agent.md"
	if len(have) > 0 {
		first += "\n\n# Changes that hold already\n\nEach of these was proven. Make a different one that is smaller or nearer to the cause; if you see none, report fix_failed.\n"
		for _, x := range have {
			first += "\n" + marks.Block("patch", clip(x.Patch, maxContext))
		}
		log = fmt.Sprintf("logs/%s-agent-%d.md", t.ID, len(have)+1)
	}
	done := f.client.Run(ctx, Task{
		Role: High, Prompt: p, First: first, Marks: marks, Tools: work.Fixer(),
		Report: Report{Tool: repairTool, Unsure: "; what you have changed is run whatever you say", Check: func(raw json.RawMessage) error { return f.check(ctx, s, t, work, base, policy, raw) }},
		Budget: d.Budget, Context: d.Context, Store: d.Store, Redact: d.Redact,
		Line: session.Dispatch{Step: "fix", Task: t.ID, Mode: s.Mode}, Log: log,
	})
	out.Spent = session.Spent{Tokens: done.Usage.Tokens(), Cost: done.Cost}
	edits := work.Edits()
	if done.End != Reported {
		// What it had is looked at all the same: a change that makes the test
		// pass is worth more than the words about it.
		if !done.End.Exhausted() || len(edits) == 0 {
			x := unreported(session.Finding{ID: t.ID, Status: session.Completed}, done)
			out.Status, out.Findings, out.Error = x.Status, x.Findings, x.Error
			if done.End == OutOfTime {
				out.Error = "timeout"
			}
			return out
		}
	}
	var r repair
	if done.Report != nil {
		if err := json.Unmarshal(done.Report, &r); err != nil {
			return fail(err)
		}
		if r.Status == session.Failed {
			out.Status, out.Error, out.Findings = session.Failed, oneLine(r.Error, session.MaxFindings), oneLine(r.Text, session.MaxFindings)
			return out
		}
	}
	return f.judged(ctx, s, t, base, policy, edits, have, r, out, fail)
}

// judged looks at the edits, whatever was said about them.
func (f *Fixer) judged(ctx context.Context, s *session.Session, t session.Task, base session.Trial, policy patch.Policy, edits []session.Edit, have []*session.Fix, r repair, out session.FixReport, fail func(error) session.FixReport) session.FixReport {
	said := r.Text
	if said == "" {
		said = "The worker was ended before it reported."
	}
	if len(edits) == 0 {
		out.Findings = oneLine("Nothing was changed. "+said, session.MaxFindings)
		return out
	}
	summary := oneLine(r.Summary, 100)
	if summary == "" {
		summary = oneLine(said, 100)
	}
	fix, err := f.desk.Render(ctx, s.Bad.SHA, edits, t.ID, strategy, summary)
	if err != nil {
		return fail(err)
	}
	passes, err := f.passes(ctx, base, t, edits)
	bad := patch.Check(fix.Hunks, policy)
	switch {
	case err != nil && (errors.Is(err, session.ErrBudget) || ctx.Err() != nil):
		out.Findings = oneLine("The change could not be run any more. "+said, session.MaxFindings)
		return out
	case err != nil:
		return fail(err)
	case len(bad) > 0:
		out.Findings = oneLine("The change is not allowed: "+bad[0].String()+". "+said, session.MaxFindings)
		return out
	case !passes:
		out.Findings = oneLine("The test does not pass with the change. "+said, session.MaxFindings)
		return out
	case slices.Contains(s.Rejected, fix.Digest()):
		out.Findings = "The change is the one that did not hold before."
		return out
	case slices.ContainsFunc(have, func(x *session.Fix) bool { return x.Digest() == fix.Digest() }):
		out.Findings = "The change is there already."
		return out
	}
	return f.offered(out, fix, said)
}

// offered is the report of a fix that was seen to pass.
func (f *Fixer) offered(out session.FixReport, fix *session.Fix, said string) session.FixReport {
	out.Result, out.Verified, out.Fix = session.Fixed, true, fix
	for _, h := range fix.Hunks {
		out.FixApplied = append(out.FixApplied, fmt.Sprintf("%s — %d lines removed, %d added", h.Location(), h.OldLines, h.NewLines))
	}
	if said == "" {
		said = fix.Summary + "."
	}
	out.Findings = oneLine(said, session.MaxFindings)
	return out
}

// check says what does not hold in a report, for the model to mend.
func (f *Fixer) check(ctx context.Context, s *session.Session, t session.Task, work *tools.Desk, base session.Trial, policy patch.Policy, raw json.RawMessage) error {
	var r repair
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	if r.ID != t.ID {
		return fmt.Errorf("the id of your row is %s, not %s", t.ID, clip(r.ID, 40))
	}
	edits := work.Edits()
	if r.Result != session.Fixed || r.Status == session.Failed {
		return nil
	}
	if len(edits) == 0 {
		return errors.New("you report fixed and have changed nothing")
	}
	fix, err := f.desk.Render(ctx, s.Bad.SHA, edits, t.ID, strategy, r.Summary)
	if err != nil {
		return err
	}
	if bad := patch.Check(fix.Hunks, policy); len(bad) > 0 {
		return fmt.Errorf("the change is not allowed: %s", bad[0])
	}
	passes, err := f.passes(ctx, base, t, edits)
	if err == nil && !passes {
		return errors.New("the failing test was run with your change and does not pass: see run_test")
	}
	return nil
}

// implicated are the files that the evidence names: a fix stays in them.
func implicated(s *session.Session, cause *session.RootCause) []string {
	var out []string
	add := func(location string) {
		location, _, _ = strings.Cut(location, " — ")
		file := strings.TrimSpace(location)
		if i := strings.LastIndexByte(file, ':'); i > 0 {
			file = file[:i]
		}
		if file != "" && !strings.HasPrefix(file, "logs/") && !strings.Contains(file, " ") && !slices.Contains(out, file) {
			out = append(out, file)
		}
	}
	add(cause.Location)
	for _, h := range cause.Minimal {
		add(h.File)
	}
	for _, row := range s.Wave(1) {
		if row.Verdict == session.Confirmed {
			for line := range strings.Lines(row.EvidenceFor) {
				add(line)
			}
		}
	}
	if s.Reproduction != nil && s.Reproduction.Failure != nil {
		for _, x := range s.Reproduction.Failure.Stack {
			add(x.File)
		}
	}
	return out
}

// mayEdit says why a path must not be changed. A new file may stand beside an
// implicated one.
func mayEdit(p string, isNew bool, allowed []string, policy patch.Policy, isTest func(string) bool) error {
	if isTest(p) {
		return fmt.Errorf("%s belongs to the tests: mend the code; if the test itself is wrong, report fix_failed and say so", p)
	}
	if bad := patch.CheckPath(p, policy); len(bad) > 0 {
		return fmt.Errorf("%s must not be changed: %s", p, bad[0].Text)
	}
	if isNew && loadsUnasked(p) {
		return fmt.Errorf("%s must not be made: it is read without being asked for, and would decide what the tests say", p)
	}
	beside := func(a string) bool { return isNew && path.Dir(a) == path.Dir(p) }
	if slices.Contains(allowed, p) || slices.ContainsFunc(allowed, beside) {
		return nil
	}
	return fmt.Errorf("%s is not among the files that the evidence names (%s): a fix stays in them", p, strings.Join(allowed, ", "))
}
