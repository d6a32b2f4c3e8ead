package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	grammar "culprit/internal/command"
	"culprit/internal/evidence"
	"culprit/internal/github"
	"culprit/internal/session"
)

// Bounds of what is kept of a review.
const (
	maxRemarks    = 50 // of one round; the others are for the next one
	maxRemarkText = 4 << 10
	maxCIFailures = 20
)

// remarks are what was said against the fix and is not answered yet, by those
// who may (GH8). The latest verdict of a review is noted on the way.
func (x *reviewing) remarks(ctx context.Context, pr *github.PullRequest) ([]session.Remark, error) {
	var out []session.Remark
	may := map[string]github.Permission{}
	permission := func(login string) (github.Permission, error) {
		if p, known := may[login]; known {
			return p, nil
		}
		p, err := x.repo.Permission(ctx, login)
		if err == nil {
			may[login] = p
		}
		return p, err
	}
	take := func(m session.Remark, bot bool) error {
		if bot || slices.Contains(x.s.Review.Handled, m.ID) || len(out) >= maxRemarks {
			return nil
		}
		p, err := permission(m.By)
		if err != nil || !p.AtLeast(x.minPermission()) {
			return err
		}
		// What the bot pushes runs in CI as what somebody with write pushed.
		if m.Suggestion != nil && !p.MayWrite() {
			m.Answer.Kind = session.ReplyNoWrite
		}
		out = append(out, m)
		return nil
	}
	lines, err := x.repo.LineComments(ctx, pr.Number)
	if err != nil {
		return nil, err
	}
	for _, c := range lines {
		m := session.Remark{
			ID: fmt.Sprintf("line-%d", c.ID), Kind: session.RemarkLine, By: c.Author, Text: short(c.Body),
			Thread: c.Thread, Path: c.Path, Start: c.Start, Line: c.Line,
		}
		if text, found := grammar.Suggestion(c.Body); found {
			m.Suggestion = &text
		}
		if err := take(m, c.Bot); err != nil {
			return nil, err
		}
	}
	reviews, err := x.repo.Reviews(ctx, pr.Number)
	if err != nil {
		return nil, err
	}
	for _, v := range reviews {
		switch v.State {
		case "approved":
			p, err := permission(v.Author)
			if err != nil {
				return nil, err
			}
			if !v.Bot && p.AtLeast(x.minPermission()) {
				x.s.Review.State, x.s.Review.By = session.ReviewApproved, v.Author
			}
		case "changes_requested":
			if x.s.Review.By == v.Author {
				x.s.Review.State, x.s.Review.By = session.ReviewOpen, ""
			}
			m := session.Remark{ID: fmt.Sprintf("review-%d", v.ID), Kind: session.RemarkReview, By: v.Author, Text: short(v.Body)}
			if err := take(m, v.Bot); err != nil {
				return nil, err
			}
		}
	}
	ci, err := x.redCI(ctx, pr)
	if err != nil {
		return nil, err
	}
	if ci != nil {
		out = append(out, *ci)
	}
	return out, nil
}

// redCI is what is red at the head of the fix, if the bot made that commit: what
// a person pushed is that person's. Jobs and statuses turn red one after the
// other. A later one counts when it shows a failure that none has shown before.
func (x *reviewing) redCI(ctx context.Context, pr *github.PullRequest) (*session.Remark, error) {
	v, sha := x.s.Review, pr.HeadSHA
	if sha != x.s.Published.FixCommit {
		return nil, nil
	}
	ci := &ciLogs{repo: x.repo, skip: func(job string) bool { return slices.Contains(v.Handled, session.CIJobID(sha, job)) }}
	logs, err := ci.Logs(ctx, &session.Session{Source: session.Source{SHA: sha}})
	if err != nil {
		return nil, err
	}
	statuses, err := x.repo.RedStatuses(ctx, sha)
	if err != nil {
		return nil, err
	}
	for _, st := range statuses {
		if !ci.skip(st.Context) {
			ci.names = append(ci.names, st.Context)
			logs = append(logs, pipelineLog{Name: st.Context, Content: []byte(st.Description)})
		}
	}
	if len(ci.names) == 0 {
		return nil, nil
	}
	before, n := v.CIFailures(sha)
	m := &session.Remark{ID: "ci-" + sha, Kind: session.RemarkCI, SHA: sha, Jobs: ci.names}
	for _, l := range logs {
		found, err := evidence.Parse(bytes.NewReader(l.Content), evidence.Options{Step: l.Name})
		if err != nil {
			return nil, fmt.Errorf("read log of CI job %s: %w", l.Name, err)
		}
		for _, f := range found.Failures {
			known := func(old session.Failure) bool { return old.ID() == f.ID() }
			if !slices.ContainsFunc(m.Failures, known) && !slices.ContainsFunc(before, known) && len(m.Failures) < maxCIFailures {
				m.Failures = append(m.Failures, f)
			}
		}
	}
	if n == 0 {
		return m, nil
	}
	m.ID = fmt.Sprintf("ci-%s-%d", sha, n+1)
	if len(m.Failures) == 0 {
		v.Handle(*m)
		return nil, nil
	}
	return m, nil
}

// short is as much of a text as is kept.
func short(s string) string {
	r := []rune(s)
	if len(r) > maxRemarkText {
		return string(r[:maxRemarkText])
	}
	return s
}
