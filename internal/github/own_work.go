package github

import (
	"context"
	"fmt"
	"time"

	gh "github.com/google/go-github/v62/github"
)

// Checked reports whether the App has completed a check run on a commit since a
// moment, of a session whose ID is as the caller says.
func (r *Repo) Checked(ctx context.Context, sha string, since time.Time, is func(sessionID string) bool) (bool, error) {
	runs, err := r.checkRuns(ctx, sha, gh.ListCheckRunsOptions{
		CheckName: gh.String(CheckName), Filter: gh.String("all"), AppID: gh.Int64(r.app.cfg.AppID), Status: gh.String("completed"),
	})
	if err != nil {
		return false, err
	}
	for _, c := range runs {
		if c.GetApp().GetID() == r.app.cfg.AppID && c.GetStatus() == "completed" && !c.GetCompletedAt().Before(since) && is(c.GetExternalID()) {
			return true, nil
		}
	}
	return false, nil
}

// AnsweredSince reports whether the App wrote a new comment in the thread of an
// issue or pull request after a moment.
func (r *Repo) AnsweredSince(ctx context.Context, number int, since time.Time) (bool, error) {
	if number <= 0 {
		return false, nil
	}
	bot, err := r.app.botLogin(ctx)
	if err != nil {
		return false, err
	}
	opts := gh.IssueListCommentsOptions{Since: &since} // by the last change, so those that are new are among them
	all, err := pages(0, func(o gh.ListOptions) ([]*gh.IssueComment, *gh.Response, error) {
		opts.ListOptions = o
		return r.read.Issues.ListComments(ctx, r.Owner, r.Name, number, &opts)
	})
	if err := r.wrap(fmt.Sprintf("list comments of #%d", number), err); err != nil {
		return false, err
	}
	for _, c := range all {
		if c.GetUser().GetLogin() == bot && !c.GetCreatedAt().Before(since) {
			return true, nil
		}
	}
	return false, nil
}
