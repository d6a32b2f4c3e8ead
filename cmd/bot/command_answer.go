package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"culprit/handlers"
	grammar "culprit/internal/command"
	"culprit/internal/github"
	"culprit/internal/index"
	"culprit/internal/report"
	"culprit/internal/session"
	"culprit/pipeline"
	"culprit/queue"
)

// answerSoon is how long a command waits for a session that is about to wait for
// it, or that has just been woken by another answer.
const answerSoon = 2 * time.Second

// answered carries "/debug answer" out. The session that waits is woken: its
// job, which sleeps, gets the answer's request in place of its own. One that
// has ended without an answer is begun anew with it.
func (x *wish) answered(ctx context.Context) (string, error) {
	e, ok, err := x.entry(ctx)
	if err != nil {
		return "", err
	}
	var s *session.Session
	if ok {
		if s, err = x.stored(ctx, e); err != nil {
			return "", err
		}
	}
	switch {
	case s == nil:
		return x.answer(ctx, report.Answer{Kind: report.AnswerNoSession})
	case s.Question == nil:
		return x.answer(ctx, report.Answer{Kind: report.AnswerNoQuestion, Session: s.ID, URL: s.Published.CommentURL})
	}
	state, err := x.state(ctx, e.Job)
	if err != nil {
		return "", err
	}
	switch {
	case state == queue.Snoozed && s.State == pipeline.AskStage:
		return x.wake(ctx, e)
	case state != "" && !state.Ended():
		return "", x.soon(s.ID)
	}
	return x.start(ctx)
}

func (x *wish) soon(id string) error {
	return &pipeline.WaitError{Until: x.now().Add(answerSoon), For: "session " + id + " to be ready for the answer"}
}

// wake gives a sleeping job the answer. The answer is read and its author's
// permission looked up once more by the worker that takes the job (GH8).
func (x *wish) wake(ctx context.Context, e index.Entry) (string, error) {
	if err := x.react(ctx, github.ReactionSeen); err != nil {
		return "", err
	}
	payload := x.req.Encode()
	receipt, err := x.queue.Enqueue(ctx, queue.Job{
		Key: e.Key, Priority: queue.PriorityPerson, Asked: x.claim.Asked,
		Repository: x.claim.Repository, Installation: x.claim.Installation, Payload: payload,
	})
	if err != nil {
		return "", err
	}
	if receipt.Outcome == queue.Merged {
		info, err := x.queue.Show(ctx, receipt.ID)
		if err != nil {
			return "", err
		}
		if string(info.Payload) != string(payload) && !info.State.Ended() {
			return "", x.soon(e.Session) // it woke up by itself in this moment
		}
	}
	return fmt.Sprintf("answer to session %s, job %s", e.Session, receipt.ID), nil
}

// people are those who can answer a session; nil when it has no thread in which
// they could.
func (w *worker) people(c *queue.Claim, repo *github.Repo, s *session.Session) pipeline.People {
	if s.Source.Issue == 0 && s.Source.PR == 0 {
		return nil
	}
	return people{w, c, repo}
}

// people reads the answer that the job was woken with.
type people struct {
	*worker
	claim *queue.Claim
	repo  *github.Repo
}

// Answer implements pipeline.People.
func (p people) Answer(ctx context.Context, s *session.Session) (session.Answer, bool, error) {
	req, err := handlers.DecodeRequest(p.claim.Payload)
	if err != nil || req.Command != string(grammar.Answer) || req.Comment == 0 {
		return session.Answer{}, false, nil //nolint:nilerr // the job began with a request that could be read
	}
	id := answerID(req)
	for _, a := range s.Answers {
		if a.ID == id {
			return session.Answer{}, false, nil
		}
	}
	may, err := p.repo.Permission(ctx, req.Actor)
	if err != nil || !may.AtLeast(p.minPermission()) {
		return session.Answer{}, false, err
	}
	comment, c, why, err := commandOf(ctx, p.repo, req)
	if err != nil || why != "" || c.Verb != grammar.Answer {
		return session.Answer{}, false, err
	}
	return session.Answer{ID: id, By: req.Actor, At: comment.UpdatedAt, Text: c.Text}, true, nil
}

// answerID is the same for an answer however often it is read; an edit that
// changes it makes another one.
func answerID(req handlers.Request) string { return fmt.Sprintf("%d-%s", req.Comment, req.Sum) }

// applyAnswer gives a new session the question of the last one with the answer,
// and what was known for that one.
func (w *worker) applyAnswer(ctx context.Context, req handlers.Request, answer string, s *session.Session) error {
	e, ok, err := w.index.Latest(ctx, handlers.ThreadKey(s.Source.Repository, req.Issue))
	if err != nil || !ok {
		return err
	}
	last, err := w.stored(ctx, e)
	if err != nil || last == nil || last.Question == nil {
		return err
	}
	q := last.Question
	s.Flags.Test, s.Flags.Setup, s.Flags.Good, s.Flags.Overlay = last.Flags.Test, last.Flags.Setup, last.Flags.Good, last.Flags.Overlay
	s.Answers = append(slices.Clone(last.Answers), session.Answer{ID: answerID(req), By: req.Actor, At: w.now().UTC(), Text: answer, Asks: q.Asks, Question: q.Text})
	switch {
	case q.Asks == session.AsksTest:
		s.Flags.Test = answer
	case q.Asks == session.AsksGood && !strings.ContainsAny(answer, " \t") && !strings.HasPrefix(answer, "-"):
		s.Flags.Good = answer
	default:
		s.Symptom.Text = joinText(s.Symptom.Text, q.Text+"\n"+answer)
	}
	return nil
}
