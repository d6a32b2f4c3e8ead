package github

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Reaction is what a command's comment gets instead of a word.
type Reaction string

// Reactions that are used (docs/commands.md).
const (
	ReactionSeen    Reaction = "eyes" // the command is carried out
	ReactionRefused Reaction = "-1"   // the person may not
)

// React puts a reaction on a comment; GitHub keeps one of a kind. A comment
// that was deleted or locked meanwhile needs none.
func (r *Repo) React(ctx context.Context, comment int64, reaction Reaction) error {
	if err := validID("react to comment", comment); err != nil {
		return err
	}
	_, _, err := r.write.Reactions.CreateIssueCommentReaction(ctx, r.Owner, r.Name, comment, string(reaction))
	err = r.wrap("react to comment", err)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrRefused) {
		return r.stillThere(ctx, err)
	}
	return err
}

// Answer keeps the one answer to a comment (marker: its first line) in a
// thread: it is made, or edited when it says something else. A thread that is
// locked or deleted gets none. fence is asked before it is written.
func (r *Repo) Answer(ctx context.Context, number int, marker, body string, asked time.Time, fence func(context.Context) error) error {
	if err := validID("answer", number); err != nil {
		return err
	}
	if !strings.HasPrefix(body, marker) || marker == "" {
		return fmt.Errorf("answer on #%d: the text does not begin with its marker", number)
	}
	body = r.app.redact(body)
	place := issueThread{r, number}
	since := asked
	if !since.IsZero() {
		since = since.Add(-time.Hour) // clocks differ
	}
	there, err := place.list(ctx, since)
	if err != nil {
		return r.unanswered(ctx, number, err)
	}
	for _, c := range there {
		if !strings.HasPrefix(c.body, marker) {
			continue
		}
		if sameText(c.body, body) {
			return nil
		}
		if err := fence(ctx); err != nil {
			return fmt.Errorf("%w: %w", ErrFenced, err)
		}
		return r.unanswered(ctx, number, place.edit(ctx, c.id, body))
	}
	if err := fence(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrFenced, err)
	}
	_, err = place.create(ctx, body)
	return r.unanswered(ctx, number, err)
}

// unanswered forgives a thread that takes no comment: one that was deleted or
// locked. What is refused anywhere else is an error, and a thread that is only
// said to be missing is looked for again later.
func (r *Repo) unanswered(ctx context.Context, number int, err error) error {
	missing := errors.Is(err, ErrNotFound)
	if !missing && !errors.Is(err, ErrRefused) {
		return err
	}
	issue, gone := r.Issue(ctx, number)
	switch {
	case gone == nil && !issue.Locked && !missing:
		return err
	case gone == nil && !issue.Locked:
		return &Error{Op: fmt.Sprintf("answer on #%d", number), Message: "GitHub says that it is missing, and shows it", kind: ErrTransient}
	case gone != nil && !errors.Is(gone, ErrNotFound):
		return gone
	}
	return r.stillThere(ctx, err)
}

// stillThere forgives what failed in a repository that is there.
func (r *Repo) stillThere(ctx context.Context, err error) error {
	if err = r.ifGone(ctx, err); errors.Is(err, ErrGone) {
		return err
	}
	r.app.cfg.Logger.Info("a comment cannot be answered", "repository", r.FullName(), "error", err)
	return nil
}
