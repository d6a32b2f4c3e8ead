package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"culprit/handlers"
	grammar "culprit/internal/command"
	"culprit/internal/github"
	"culprit/internal/report"
	"culprit/internal/session"
	"culprit/queue"
)

// A wish is a label, a command or a button: what one person wants, before and
// after it is known whether that person may (GH8, docs/security.md).
type wish struct {
	*worker
	claim   *queue.Claim
	repo    *github.Repo
	req     handlers.Request
	command grammar.Command
	comment *github.Comment // nil for labels and buttons
	may     github.Permission
}

// HandleCommand does one job of the queue of commands. It takes seconds: what
// takes longer becomes a job of the queue of sessions.
func (w *worker) HandleCommand(ctx context.Context, c *queue.Claim) queue.Outcome {
	log := w.log.With("job", c.ID, "delivery", c.Delivery, "repository", c.Repository)
	summary, err := w.obey(ctx, c)
	out := w.outcome(ctx, summary, err)
	log.Info("command ended", "summary", summary, "error", errText(err))
	return out
}

// obey looks the person's permission up and then does what is wanted.
func (w *worker) obey(ctx context.Context, c *queue.Claim) (string, error) {
	req, err := handlers.DecodeRequest(c.Payload)
	if err != nil {
		return "", &session.UserError{Code: "bad-job", What: err.Error(), Do: "update this worker, or drop the job"}
	}
	repo, err := w.app.Repo(ctx, req.Installation, req.Owner, req.Repo)
	if err != nil {
		return "", err
	}
	if repo.Archived {
		return "the repository is archived", nil
	}
	x := &wish{worker: w, claim: c, repo: repo, req: req}
	if x.may, err = repo.Permission(ctx, req.Actor); err != nil {
		return "", err
	}
	if req.Kind == handlers.KindReview {
		return x.reviewed(ctx)
	}
	if !x.may.AtLeast(w.minPermission()) {
		return x.refuse(ctx)
	}
	if req.Comment > 0 {
		if why, err := x.read(ctx); err != nil || why != "" {
			return why, err
		}
	} else if x.command.Verb = grammar.Verb(req.Command); req.Kind == handlers.KindIssue {
		x.command.Verb = grammar.Run
	}
	return x.do(ctx)
}

// minPermission is what a person needs (GH8).
func (w *worker) minPermission() github.Permission {
	if w.cfg.MinPermission == "" {
		return github.PermissionWrite
	}
	return github.Permission(w.cfg.MinPermission)
}

// refuse says no as quietly as can be: a reaction notifies nobody.
func (x *wish) refuse(ctx context.Context) (string, error) {
	summary := fmt.Sprintf("%s has the permission %s, and %s is needed", x.req.Actor, x.may, x.minPermission())
	if x.req.Comment == 0 {
		return summary, nil
	}
	return summary, x.react(ctx, github.ReactionRefused)
}

func (x *wish) react(ctx context.Context, r github.Reaction) error {
	if x.req.Comment == 0 {
		return nil
	}
	if err := x.claim.Valid(ctx); err != nil {
		return err
	}
	return x.repo.React(ctx, x.req.Comment, r)
}

// read reads the command afresh: the comment may have been changed or deleted
// since, and then the command is not given any more.
func (x *wish) read(ctx context.Context) (why string, err error) {
	x.comment, x.command, why, err = commandOf(ctx, x.repo, x.req)
	return why, err
}

// commandOf reads the command of a request's comment, if it still stands
// there.
func commandOf(ctx context.Context, repo *github.Repo, req handlers.Request) (*github.Comment, grammar.Command, string, error) {
	comment, err := repo.Comment(ctx, req.Comment)
	if errors.Is(err, github.ErrNotFound) {
		return nil, grammar.Command{}, "the comment was deleted", nil
	}
	if err != nil {
		return nil, grammar.Command{}, "", err
	}
	c, found := grammar.Find(comment.Body)
	switch {
	case comment.Bot:
		return nil, grammar.Command{}, "the comment is a bot's", nil
	case !found || c.Sum() != req.Sum:
		return nil, grammar.Command{}, "the command was changed since", nil
	}
	return comment, c, "", nil
}

// given is when the command was given, by GitHub's clock.
func (x *wish) given() time.Time {
	if x.req.Edited {
		return x.comment.UpdatedAt
	}
	return x.comment.CreatedAt
}

// do carries a permitted command out.
func (x *wish) do(ctx context.Context) (string, error) {
	c := x.command
	if c.Problem != "" {
		return x.answer(ctx, report.Answer{Kind: report.AnswerMistake, Detail: c.Problem, Usage: grammar.Usage()})
	}
	switch c.Verb {
	case grammar.Help:
		return x.answer(ctx, report.Answer{Kind: report.AnswerHelp, Usage: grammar.Usage()})
	case grammar.Autotest:
		return x.answer(ctx, report.Answer{Kind: report.AnswerAutotest})
	case grammar.Explain:
		return x.explain(ctx)
	case grammar.Stop:
		return x.stop(ctx)
	case grammar.Answer:
		return x.answered(ctx)
	}
	return x.start(ctx)
}

// answer says something in the thread, once a comment. Labels and buttons are
// not answered: nobody reads a thread for them.
func (x *wish) answer(ctx context.Context, a report.Answer) (string, error) {
	return x.say(ctx, string(a.Kind), report.AnswerText(x.req.Comment, a))
}

func (x *wish) say(ctx context.Context, summary, text string) (string, error) {
	summary = "answer: " + summary
	if x.comment == nil {
		return summary, nil
	}
	return summary, x.repo.Answer(ctx, x.req.Issue, report.AnswerMarker(x.req.Comment), text, x.comment.CreatedAt, x.claim.Valid)
}

// explain answers with the evidence of a hypothesis.
func (x *wish) explain(ctx context.Context) (string, error) {
	s, err := x.last(ctx)
	if err != nil {
		return "", err
	}
	if s == nil {
		return x.answer(ctx, report.Answer{Kind: report.AnswerNoSession})
	}
	id := x.command.Hypothesis
	var have []string
	for _, t := range s.Wave(1) {
		have = append(have, t.ID)
		if t.ID == id {
			return x.say(ctx, "evidence of "+id, report.Explanation(x.req.Comment, s, id))
		}
	}
	return x.answer(ctx, report.Answer{Kind: report.AnswerNoHypothesis, Detail: id, List: have, Session: s.ID, URL: s.Published.CommentURL})
}

// stop calls off what runs or waits about the thread or the commit.
func (x *wish) stop(ctx context.Context) (string, error) {
	keys, err := x.keys(ctx)
	if err != nil {
		return "", err
	}
	reason := "stopped by " + x.req.Actor
	stopped := map[string]bool{}
	for _, key := range keys {
		ids, err := x.queue.CancelMatching(ctx, queue.Match{Key: key, AskedBefore: x.claim.Asked}, reason)
		if err != nil {
			return "", err
		}
		for _, id := range ids {
			stopped[id] = true
		}
	}
	if e, ok, err := x.entry(ctx); err != nil {
		return "", err
	} else if ok && !stopped[e.Job] {
		info, err := x.queue.Show(ctx, e.Job)
		if err != nil && !errors.Is(err, queue.ErrNotFound) {
			return "", err
		}
		if err == nil && !info.State.Ended() && info.Asked.Before(x.claim.Asked) {
			if _, err := x.queue.Cancel(ctx, e.Job, reason); err != nil && !errors.Is(err, queue.ErrNotFound) {
				return "", err
			}
			stopped[e.Job] = true
		}
	}
	if len(stopped) == 0 {
		return x.answer(ctx, report.Answer{Kind: report.AnswerNothingRuns})
	}
	return fmt.Sprintf("%d jobs stopped", len(stopped)), x.react(ctx, github.ReactionSeen)
}
