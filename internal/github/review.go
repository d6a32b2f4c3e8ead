package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	gh "github.com/google/go-github/v62/github"
)

// PullReview is a submitted review of a pull request. Its text is hostile.
type PullReview struct {
	ID     int64
	Author string
	Bot    bool
	State  string // approved, changes_requested, commented, dismissed
	Body   string
}

// LineComment is a comment on lines of a pull request. Its text is hostile.
type LineComment struct {
	ID     int64
	Thread int64 // the first comment of its thread: itself, unless it is a reply
	Author string
	Bot    bool
	Body   string
	Path   string
	// Start and Line are the first and last line in the file at the pull
	// request's head; 0 when they are not there any more, or were taken out.
	Start, Line int
}

// Reviews lists the submitted reviews of a pull request, oldest first.
func (r *Repo) Reviews(ctx context.Context, number int) ([]PullReview, error) {
	got, err := pages(0, func(o gh.ListOptions) ([]*gh.PullRequestReview, *gh.Response, error) {
		return r.read.PullRequests.ListReviews(ctx, r.Owner, r.Name, number, &o)
	})
	if err := r.wrap(fmt.Sprintf("list reviews of #%d", number), err); err != nil {
		return nil, err
	}
	var out []PullReview
	for _, v := range got {
		if state := strings.ToLower(v.GetState()); state != "pending" {
			out = append(out, PullReview{
				ID: v.GetID(), Author: v.GetUser().GetLogin(), Bot: v.GetUser().GetType() == "Bot", State: state,
				Body: v.GetBody(),
			})
		}
	}
	return out, nil
}

// LineComments lists the comments on lines of a pull request, oldest first.
func (r *Repo) LineComments(ctx context.Context, number int) ([]LineComment, error) {
	got, err := pages(0, func(o gh.ListOptions) ([]*gh.PullRequestComment, *gh.Response, error) {
		return r.read.PullRequests.ListComments(ctx, r.Owner, r.Name, number, &gh.PullRequestListCommentsOptions{ListOptions: o})
	})
	if err := r.wrap(fmt.Sprintf("list comments on lines of #%d", number), err); err != nil {
		return nil, err
	}
	var out []LineComment
	for _, c := range got {
		l := LineComment{
			ID: c.GetID(), Thread: c.GetID(), Author: c.GetUser().GetLogin(), Bot: c.GetUser().GetType() == "Bot",
			Body: c.GetBody(), Path: c.GetPath(),
		}
		if c.GetInReplyTo() > 0 {
			l.Thread = c.GetInReplyTo()
		}
		if c.GetSide() != "LEFT" && c.GetLine() > 0 {
			l.Start, l.Line = c.GetLine(), c.GetLine()
			if c.GetStartLine() > 0 && c.GetStartSide() != "LEFT" {
				l.Start = c.GetStartLine()
			}
		}
		out = append(out, l)
	}
	return out, nil
}

// ReplyBelow keeps the one answer to a remark (marker: its first line) in the
// thread of a comment on a line, as Answer does in the thread of an issue.
func (r *Repo) ReplyBelow(ctx context.Context, number int, thread int64, marker, body string, fence func(context.Context) error) error {
	if err := validID("reply to comment", thread); err != nil {
		return err
	}
	body = r.app.redact(body)
	bot, err := r.app.botLogin(ctx)
	if err != nil {
		return err
	}
	there, err := r.LineComments(ctx, number)
	if err != nil {
		return r.unanswered(ctx, number, err)
	}
	if !slices.ContainsFunc(there, func(c LineComment) bool { return c.ID == thread }) {
		return nil // it was deleted, and with it the thread
	}
	for _, c := range there {
		if c.Author != bot || c.Thread != thread || !strings.HasPrefix(c.Body, marker) {
			continue
		}
		if sameText(c.Body, body) {
			return nil
		}
		if err := fence(ctx); err != nil {
			return fmt.Errorf("%w: %w", ErrFenced, err)
		}
		_, _, err := r.write.PullRequests.EditComment(ctx, r.Owner, r.Name, c.ID, &gh.PullRequestComment{Body: &body})
		return r.unanswered(ctx, number, r.wrap("edit reply to comment", err))
	}
	if err := fence(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrFenced, err)
	}
	// go-github's own method answers by a form that GitHub's description of
	// the operation does not have.
	req, err := r.write.NewRequest(http.MethodPost, fmt.Sprintf("repos/%s/%s/pulls/%d/comments/%d/replies", r.Owner, r.Name, number, thread), map[string]string{"body": body})
	if err != nil {
		return r.wrap("reply to comment", err)
	}
	_, err = r.write.Do(ctx, req, nil)
	return r.unanswered(ctx, number, r.wrap("reply to comment", err))
}

// ReactBelow is React for a comment on a line.
func (r *Repo) ReactBelow(ctx context.Context, comment int64, reaction Reaction) error {
	if err := validID("react to comment", comment); err != nil {
		return err
	}
	_, _, err := r.write.Reactions.CreatePullRequestCommentReaction(ctx, r.Owner, r.Name, comment, string(reaction))
	err = r.wrap("react to comment", err)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrRefused) {
		return r.stillThere(ctx, err)
	}
	return err
}

// RoundCommit is the commit that a round of a session pushed on top of another
// one, if it is the head of the branch; else empty. A worker may have ended
// before it could note it.
func (r *Repo) RoundCommit(ctx context.Context, branch, onto, session string) (string, error) {
	head, err := r.BranchHead(ctx, branch)
	if err != nil || head == "" || head == onto {
		return "", err
	}
	c, _, err := r.read.Repositories.GetCommit(ctx, r.Owner, r.Name, head, nil)
	if err := r.wrap("read commit", err); err != nil {
		return "", err
	}
	if len(c.Parents) != 1 || c.Parents[0].GetSHA() != onto || !strings.Contains(c.GetCommit().GetMessage(), "\nCulprit-Session: "+session) {
		return "", nil
	}
	return head, nil
}

// Merger is who merged a pull request, or closed it; empty when GitHub does not
// tell.
func (r *Repo) Merger(ctx context.Context, number int) (string, error) {
	pr, _, err := r.read.PullRequests.Get(ctx, r.Owner, r.Name, number)
	if err := r.wrap("read pull request", err); err != nil {
		return "", err
	}
	if by := pr.GetMergedBy().GetLogin(); by != "" {
		return by, nil
	}
	i, _, err := r.read.Issues.Get(ctx, r.Owner, r.Name, number)
	return i.GetClosedBy().GetLogin(), r.wrap("read issue", err)
}
