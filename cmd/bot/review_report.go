package main

import (
	"context"
	"errors"
	"time"

	"culprit/handlers"
	"culprit/internal/github"
	"culprit/internal/report"
	"culprit/internal/session"
	"culprit/queue"
)

// errNotKept means that the session which made a fix is kept neither in the
// queue nor on this machine.
var errNotKept = errors.New("no session of this pull request is kept")

// conclude ends a session whose job ended without it, and reports whether a
// round of its fix's review was cut short by that.
func conclude(s *session.Session, why string) (cut bool) {
	if s.Done() {
		return false // it has its result, and the job ended on the last steps
	}
	if s.CutShort(why) {
		return true
	}
	s.State, s.Result, s.Reason = session.StateDone, session.ResultStopped, why
	if s.Question != nil {
		s.Question.Over = true
	}
	return false
}

// foundPush notes the commit of a round whose job ended between the push and its
// checkpoint, so that nobody is told that the branch is as it was.
func foundPush(ctx context.Context, repo *github.Repo, s *session.Session) error {
	r := s.OpenRound()
	if r == nil || !r.Proved || r.Commit != "" {
		return nil
	}
	commit, err := repo.RoundCommit(ctx, s.Published.Branch, r.Head, s.ID)
	if commit != "" {
		r.Commit, s.Published.FixCommit = commit, commit
	}
	return err
}

// goesOn reports whether a later job went on with the session of a review: then
// that one tells how it stands.
func (w *worker) goesOn(ctx context.Context, r *queue.Report, s *session.Session) (bool, error) {
	e, ok, err := w.index.Session(ctx, s.ID)
	if err != nil || !ok || e.Job == r.ID {
		return false, err
	}
	info, err := w.queue.Show(ctx, e.Job)
	if errors.Is(err, queue.ErrNotFound) {
		return false, nil
	}
	return info.EnqueuedAt.After(r.EnqueuedAt), err
}

// tellReview answers those who wait for a round that was cut short. When a job
// failed for good before it had a round, or after, what was said is not
// answered: that is told once, as is that it is looked at again.
func (w *worker) tellReview(ctx context.Context, r *queue.Report, req handlers.Request, repo *github.Repo, cut *session.Session, fence func(context.Context) error) error {
	if cut == nil && r.State != queue.Dead {
		return nil
	}
	open, err := ownFix(ctx, repo, req.PR)
	if err != nil || !open {
		return err
	}
	if cut != nil {
		return replyTo(ctx, repo, cut, fence)
	}
	return notice(ctx, repo, req.PR, report.Answer{Kind: report.AnswerReviewFailed, Detail: endOf(r.Info)}, fence)
}

// unkept tells whoever asked for a change of a fix whose session is not kept any
// more, once a pull request. An approval asks for nothing.
func (w *worker) unkept(ctx context.Context, repo *github.Repo, req handlers.Request, fence func(context.Context) error) (string, error) {
	summary := errNotKept.Error()
	if req.Trigger != "review" && req.Trigger != "review_comment" {
		return summary, nil
	}
	open, err := ownFix(ctx, repo, req.PR)
	if err != nil || !open {
		return summary, err
	}
	if req.Trigger == "review" {
		all, err := repo.Reviews(ctx, req.PR)
		if err != nil {
			return "", err
		}
		state := ""
		for _, v := range all {
			if v.Author == req.Actor && v.State != "commented" {
				state = v.State
			}
		}
		if state != "changes_requested" {
			return summary, nil
		}
	}
	return summary, notice(ctx, repo, req.PR, report.Answer{Kind: report.AnswerReviewUnkept}, fence)
}

// notice says something in the conversation of a fix, once.
func notice(ctx context.Context, repo *github.Repo, number int, a report.Answer, fence func(context.Context) error) error {
	return repo.Answer(ctx, number, report.NoticeMarker(a.Kind), report.Notice(a), time.Time{}, fence)
}

// ownFix reports whether a pull request is an open one of the bot.
func ownFix(ctx context.Context, repo *github.Repo, number int) (bool, error) {
	pr, err := repo.PullRequest(ctx, number)
	if errors.Is(err, github.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	slug, err := repo.App().Slug(ctx)
	return pr.State == "open" && pr.Author == slug+"[bot]", err
}
