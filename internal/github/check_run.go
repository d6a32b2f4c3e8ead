package github

import (
	"context"
	"errors"
	"fmt"
	"strings"

	gh "github.com/google/go-github/v62/github"

	"culprit/internal/session"
)

// CheckName is the name of the App's check run (spec/ux.md).
const CheckName = "culprit"

// Identifiers of the check run's buttons, as they come back in a webhook. Of a
// session about an issue's or pull request's thread, "#" and its number follow.
const (
	ActionRetry = "retry"
	ActionStop  = "stop"
)

// Limits of the checks API: annotations of one request, and how many are worth
// sending.
const (
	annotationBatch = 50
	maxAnnotations  = 200
)

// postedCheck is the session's check run that exists.
type postedCheck struct {
	id        int64
	completed bool
	output    string // title, summary and text
}

// showCheck keeps the session's check run up to date, found by its external
// ID.
func (p *Publisher) showCheck(ctx context.Context, v view, pub *session.Published) error {
	if v.sha == "" {
		return nil
	}
	if p.check == nil {
		found, err := p.findCheck(ctx, v)
		if err != nil {
			return err
		}
		p.check = found
	}
	if p.check == nil {
		if p.cfg.Existing {
			return nil
		}
		if err := p.createCheck(ctx, v); err != nil {
			return err
		}
	}
	pub.CheckRun = p.check.id
	if err := p.updateCheck(ctx, v); err != nil {
		return err
	}
	if v.final {
		return p.annotate(ctx, v)
	}
	return nil
}

func (p *Publisher) findCheck(ctx context.Context, v view) (*postedCheck, error) {
	r := p.cfg.Repo
	runs, err := r.checkRuns(ctx, v.sha, gh.ListCheckRunsOptions{
		CheckName: gh.String(CheckName), Filter: gh.String("all"), AppID: gh.Int64(r.app.cfg.AppID),
	})
	if err != nil {
		return nil, err
	}
	var first *gh.CheckRun
	for _, c := range runs {
		if c.GetExternalID() == v.id && c.GetApp().GetID() == r.app.cfg.AppID && (first == nil || c.GetID() < first.GetID()) {
			first = c
		}
	}
	if first == nil {
		return nil, nil
	}
	return &postedCheck{first.GetID(), first.GetStatus() == "completed", outputKey(first.GetOutput().GetTitle(), first.GetOutput().GetSummary(), first.GetOutput().GetText())}, nil
}

func (p *Publisher) createCheck(ctx context.Context, v view) error {
	if err := p.allowed(ctx); err != nil {
		return err
	}
	r := p.cfg.Repo
	opts := gh.CreateCheckRunOptions{
		Name: CheckName, HeadSHA: v.sha, ExternalID: &v.id, Status: gh.String("in_progress"),
		Output: v.check.output(nil), Actions: v.actions(),
	}
	if !v.created.IsZero() {
		opts.StartedAt = &gh.Timestamp{Time: v.created}
	}
	made, _, err := r.write.Checks.CreateCheckRun(ctx, r.Owner, r.Name, opts)
	if err := r.wrap("create check run", err); err != nil {
		return err
	}
	p.check = &postedCheck{id: made.GetID(), output: outputKey(v.check.Title, v.check.Summary, v.check.Text)}
	return nil
}

func (p *Publisher) updateCheck(ctx context.Context, v view) error {
	key := outputKey(v.check.Title, v.check.Summary, v.check.Text)
	if p.check.completed == v.final && p.check.output == key {
		return nil
	}
	if err := p.allowed(ctx); err != nil {
		return err
	}
	r := p.cfg.Repo
	opts := gh.UpdateCheckRunOptions{Name: CheckName, Output: v.check.output(nil), Actions: v.actions(), Status: gh.String("in_progress")}
	if v.final {
		opts.Status, opts.Conclusion = gh.String("completed"), gh.String(v.check.conclusion())
		opts.CompletedAt = &gh.Timestamp{Time: r.app.now().UTC()}
	}
	_, _, err := r.write.Checks.UpdateCheckRun(ctx, r.Owner, r.Name, p.check.id, opts)
	if err := r.wrap("update check run", err); err != nil {
		if errors.Is(err, ErrNotFound) {
			p.check = nil // looked for again next time
		}
		return err
	}
	p.check.completed, p.check.output = v.final, key
	return nil
}

// annotate adds the annotations that are not there yet: each request adds its
// own to those before.
func (p *Publisher) annotate(ctx context.Context, v view) error {
	if len(v.check.Annotations) == 0 {
		return nil
	}
	r := p.cfg.Repo
	there, err := pages(maxAnnotations, func(o gh.ListOptions) ([]*gh.CheckRunAnnotation, *gh.Response, error) {
		return r.read.Checks.ListCheckRunAnnotations(ctx, r.Owner, r.Name, p.check.id, &o)
	})
	if err := r.wrap("list annotations", err); err != nil {
		return err
	}
	type place struct {
		path    string
		start   int
		message string
	}
	seen := map[place]bool{}
	for _, a := range there {
		seen[place{a.GetPath(), a.GetStartLine(), a.GetMessage()}] = true
	}
	var missing []*gh.CheckRunAnnotation
	for _, a := range v.check.Annotations[:min(len(v.check.Annotations), maxAnnotations)] {
		out := a.forGitHub(p.redact)
		at := place{out.GetPath(), out.GetStartLine(), out.GetMessage()}
		if out.GetPath() != "" && out.GetMessage() != "" && !seen[at] {
			seen[at] = true
			missing = append(missing, out)
		}
	}
	for len(missing) > 0 {
		batch := missing[:min(annotationBatch, len(missing))]
		missing = missing[len(batch):]
		if err := p.allowed(ctx); err != nil {
			return err
		}
		opts := gh.UpdateCheckRunOptions{Name: CheckName, Output: v.check.output(batch)}
		_, _, err := r.write.Checks.UpdateCheckRun(once(ctx), r.Owner, r.Name, p.check.id, opts)
		if err := r.wrap("annotate check run", err); err != nil {
			// A place that GitHub does not take must not hide the result.
			if errors.Is(err, ErrRefused) {
				p.log.Warn("annotations are left out", "session", v.id, "error", err)
				return nil
			}
			return err
		}
	}
	return nil
}

func (t CheckRunText) output(annotations []*gh.CheckRunAnnotation) *gh.CheckRunOutput {
	title, summary := t.Title, t.Summary
	if title == "" {
		title = CheckName
	}
	out := &gh.CheckRunOutput{Title: &title, Summary: &summary, Annotations: annotations}
	if t.Text != "" {
		out.Text = &t.Text
	}
	return out
}

func (t CheckRunText) conclusion() string {
	if t.Conclusion == "" {
		return "neutral"
	}
	return t.Conclusion
}

func (a Annotation) forGitHub(redact func(string) string) *gh.CheckRunAnnotation {
	start := max(a.Start, 1)
	end := max(a.End, start)
	level := a.Level
	if level != "warning" && level != "failure" {
		level = "notice"
	}
	out := &gh.CheckRunAnnotation{
		Path: &a.Path, StartLine: &start, EndLine: &end, AnnotationLevel: &level,
		Message: gh.String(firstRunes(redact(a.Message), 10000)),
	}
	if a.Title != "" {
		out.Title = gh.String(firstRunes(redact(a.Title), 250))
	}
	return out
}

// actions are the buttons of a check run.
func (v view) actions() []*gh.CheckRunAction {
	suffix := ""
	if v.isIssue {
		suffix = fmt.Sprintf("#%d", v.issue)
	}
	if v.final {
		return []*gh.CheckRunAction{{Label: "Retry", Description: "Debug this failure again", Identifier: ActionRetry + suffix}}
	}
	return []*gh.CheckRunAction{{Label: "Stop", Description: "Stop this session", Identifier: ActionStop + suffix}}
}

func outputKey(parts ...string) string { return strings.Join(parts, "\x00") }
