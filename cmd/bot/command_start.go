package main

import (
	"context"
	"errors"
	"fmt"

	"culprit/handlers"
	grammar "culprit/internal/command"
	"culprit/internal/github"
	"culprit/internal/report"
	"culprit/internal/session"
	"culprit/pipeline"
	"culprit/queue"
)

// start makes a session's job of a wish.
func (x *wish) start(ctx context.Context) (string, error) {
	if n := x.command.Concurrency; n > x.cfg.Concurrency {
		return x.answer(ctx, report.Answer{Kind: report.AnswerTooMany, Detail: fmt.Sprint(x.cfg.Concurrency)})
	}
	req := x.req
	req.Late = late(x.claim)
	entry, known, err := x.entry(ctx)
	if err != nil {
		return "", err
	}
	if known && req.Issue == 0 {
		// "Re-run" names no thread; the session knows it.
		req.Issue = entry.Issue
		if req.Issue > 0 && entry.PR == req.Issue {
			req.PR = entry.PR
		}
	}
	if why, err := x.checkThread(ctx, &req); err != nil || why != "" {
		return why, err
	}
	if known {
		if why, err := x.busy(ctx, entry.Job, entry.Session); err != nil || why != "" {
			return why, err
		}
	}
	key, priority := handlers.CIKey(x.repo.FullName(), req.SHA), queue.PriorityPerson
	if req.Issue > 0 {
		key = handlers.ThreadKey(x.repo.FullName(), req.Issue)
	}
	if req.Kind == handlers.KindIssue {
		priority = queue.PriorityIssue
	}
	if err := x.react(ctx, github.ReactionSeen); err != nil {
		return "", err
	}
	receipt, err := x.queue.Enqueue(ctx, queue.Job{
		// The same for every attempt, so that one that died after this line is
		// not repeated.
		Delivery: "command-" + x.claim.ID, Key: key, Priority: priority, Asked: x.claim.Asked,
		Repository: x.claim.Repository, Installation: x.claim.Installation, Payload: req.Encode(),
	})
	if err != nil {
		return "", err
	}
	if receipt.Outcome == queue.Merged {
		if why, err := x.busy(ctx, receipt.ID, ""); err != nil || why != "" {
			return why, err
		}
	}
	return fmt.Sprintf("session job %s (%s)", receipt.ID, receipt.Outcome), nil
}

// busy answers when a session is at work on the same already. One that only
// waits for another session's result makes way.
func (x *wish) busy(ctx context.Context, job, id string) (string, error) {
	state, err := x.state(ctx, job)
	if err != nil {
		return "", err
	}
	if state != queue.Running && state != queue.Snoozed {
		return "", nil
	}
	a := report.Answer{Kind: report.AnswerRunning, Session: id}
	s, err := x.checkpoint(ctx, job)
	if err != nil {
		return "", err
	}
	// A job sleeps for GitHub's limit too; then it is at work.
	if state == queue.Snoozed && (s == nil || s.State == pipeline.IncidentStage || s.State == pipeline.AskStage) {
		if _, err := x.queue.Cancel(ctx, job, x.req.Actor+" asked for an investigation of its own"); err != nil && !errors.Is(err, queue.ErrNotFound) {
			return "", err
		}
		return "", nil
	}
	if s != nil {
		a.Session, a.URL = s.ID, s.Published.CommentURL
	}
	return x.answer(ctx, a)
}

// checkThread looks at the issue or pull request that the session would be
// about, and pins the commit of a fork: the one that the person could see (GH8).
func (x *wish) checkThread(ctx context.Context, req *handlers.Request) (string, error) {
	if req.Issue == 0 {
		if req.Ref == "" && !x.may.MayWrite() {
			return "a fork's code needs write permission", nil
		}
		return "", nil
	}
	issue, err := x.repo.Issue(ctx, req.Issue)
	if errors.Is(err, github.ErrNotFound) {
		return "the issue is gone", nil
	}
	if err != nil {
		return "", err
	}
	if issue.State != "open" {
		return x.answer(ctx, report.Answer{Kind: report.AnswerClosed})
	}
	if req.Kind == handlers.KindIssue && !x.labelled(issue) {
		return "the label was taken off", nil
	}
	if !issue.IsPR {
		req.SHA = ""
		head, err := x.repo.BranchHead(ctx, x.repo.DefaultBranch)
		if err != nil {
			return "", err
		}
		if head == "" {
			return x.answer(ctx, report.Answer{Kind: report.AnswerEmpty})
		}
		return "", nil
	}
	req.PR = issue.Number
	pr, err := x.repo.PullRequest(ctx, issue.Number)
	if err != nil {
		return "", err
	}
	switch {
	case !pr.FromFork(x.repo):
		req.SHA = "" // whatever is pushed there is pushed by somebody who may
		return "", nil
	case !x.may.MayWrite():
		return x.answer(ctx, report.Answer{Kind: report.AnswerForkRefused})
	case x.comment == nil:
		return "", nil // the label's or check run's own commit
	case !pr.HeadPushed.Before(x.given()):
		return x.answer(ctx, report.Answer{Kind: report.AnswerForkMoved, Detail: (session.Commit{SHA: pr.HeadSHA}).Short()})
	}
	req.SHA = pr.HeadSHA
	return "", nil
}

// labelled reports whether a label that starts sessions is still there.
func (x *wish) labelled(issue *github.Issue) bool {
	for _, l := range issue.Labels {
		if (handlers.Rules{Label: x.cfg.Label}).Starts(l) {
			return true
		}
	}
	return false
}

// applyCommand gives a session what the command of its request says. asked is
// the mode that a person asked for; why is set when the command is not there
// any more.
func (w *worker) applyCommand(ctx context.Context, repo *github.Repo, req handlers.Request, s *session.Session) (asked, why string, err error) {
	if req.Comment == 0 {
		return req.Mode, "", nil
	}
	_, c, why, err := commandOf(ctx, repo, req)
	if err != nil || why != "" {
		return "", why, err
	}
	if c.Mode != "" {
		s.Mode = session.Mode(c.Mode)
	}
	if c.Concurrency > 0 {
		s.Flags.Concurrency = min(c.Concurrency, w.cfg.Concurrency)
	}
	s.Flags.Test, s.Flags.Good, s.Flags.SkipFix = c.Test, c.Good, c.SkipFix
	if c.Verb == grammar.Answer {
		return c.Mode, "", w.applyAnswer(ctx, req, c.Text, s)
	}
	if c.Text != "" {
		s.Symptom.Text = joinText(s.Symptom.Text, c.Text)
	}
	return c.Mode, "", nil
}
