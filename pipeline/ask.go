package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"culprit/internal/session"
)

// AskStage is the State of a session that waits for a person's answer.
const AskStage = "ask"

// ask waits for the answer to the session's question (QD10, CR2). It is shown
// once and nobody is reminded; Run ends with a WaitError meanwhile, so that the
// wait holds nothing. When the time is over the session ends with what it knew.
func ask(ctx context.Context, e *env) (Outcome, error) {
	s, q := e.s, e.s.Question
	if q == nil || e.People == nil {
		return Stop{s.Result, s.Reason}, nil
	}
	a, given, err := e.People.Answer(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("look for the answer: %w", err)
	}
	if given {
		a.Asks, a.Question = q.Asks, q.Text
		stage, err := e.use(ctx, &a)
		if err != nil {
			return nil, err
		}
		s.Answers = append(s.Answers, a)
		if a.Problem == "" {
			return Resume{stage, a.By + " answered"}, nil
		}
		q.Note = a.Problem
	}
	if !e.Clock.Now().Before(q.Until) {
		q.Over = true
		return Stop{q.Result, q.Why + "; nobody answered"}, nil
	}
	if err := e.Publisher.Final(ctx, s); err != nil {
		return nil, err
	}
	return nil, &WaitError{Until: q.Until, For: "a person's answer"}
}

// use makes the answer a part of the session and says where to go on; what was
// concluded without it is forgotten, but not what was run. An answer that
// cannot be used gets its Problem.
func (e *env) use(ctx context.Context, a *session.Answer) (stage string, err error) {
	s := e.s
	switch a.Asks {
	case session.AsksTest:
		s.Flags.Test = a.Text
		return "reproduce", nil
	case session.AsksGood:
		if strings.ContainsAny(a.Text, " \t\n") || strings.HasPrefix(a.Text, "-") {
			break // no revision, but perhaps what helps
		}
		_, err := e.Workspace.Resolve(ctx, a.Text)
		if user := (*session.UserError)(nil); errors.As(err, &user) {
			a.Problem = user.What
			return "", nil
		}
		if err != nil {
			return "", err
		}
		s.Flags.Good = a.Text
		e.unlearn()
		return "archaeology", nil
	}
	s.Symptom.Text = strings.TrimSpace(s.Symptom.Text + "\n\n" + a.Text)
	s.Reproduction = nil
	e.unlearn()
	return "intake", nil
}

// unlearn forgets what follows from the reproduction.
func (e *env) unlearn() {
	s := e.s
	s.Archaeology, s.Hypotheses, s.Tasks, s.Causes, s.RootCause, s.Flake = nil, nil, nil, nil, nil, nil
	s.Challenges, s.Contradictions, s.Synthesis = nil, nil, nil
}

// question is one with the commands that answer it: a comment where people can
// answer the waiting session, else the command line.
func (e *env) question(asks session.Asks, text, answer, line string) session.Question {
	if e.People == nil {
		return session.Question{Asks: asks, Text: text, Options: []string{line}, Default: "nothing more is run; the session can be resumed"}
	}
	return session.Question{
		Asks: asks, Text: text, Options: []string{"/debug answer " + answer},
		Default: fmt.Sprintf("the session ends after %s with what is known", words(e.Patience)),
	}
}

// words is a long time as people say it.
func words(d time.Duration) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%d m", d/time.Minute)
	}
	return d.String()
}
