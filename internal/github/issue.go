package github

import (
	"context"
	"time"

	gh "github.com/google/go-github/v62/github"
)

// Issue is an issue or the thread of a pull request. Its texts are hostile.
type Issue struct {
	Number    int
	Title     string
	Body      string
	Author    string
	State     string // open or closed
	Locked    bool
	IsPR      bool
	Labels    []string
	CreatedAt time.Time
	HTMLURL   string
}

// Comment of an issue or pull request. Its text is hostile.
type Comment struct {
	ID        int64
	Author    string
	Bot       bool
	Body      string
	CreatedAt time.Time
	UpdatedAt time.Time // of the last edit; CreatedAt without one
	HTMLURL   string
}

// Issue reads an issue or a pull request's thread; a deleted one is
// ErrNotFound.
func (r *Repo) Issue(ctx context.Context, number int) (*Issue, error) {
	if err := validID("read issue", number); err != nil {
		return nil, err
	}
	got, _, err := r.read.Issues.Get(ctx, r.Owner, r.Name, number)
	if err := r.wrap("read issue", err); err != nil {
		return nil, err
	}
	i := &Issue{
		Number: got.GetNumber(), Title: got.GetTitle(), Body: got.GetBody(), Author: got.GetUser().GetLogin(),
		State: got.GetState(), Locked: got.GetLocked(), IsPR: got.IsPullRequest(),
		CreatedAt: got.GetCreatedAt().Time, HTMLURL: got.GetHTMLURL(),
	}
	for _, l := range got.Labels {
		i.Labels = append(i.Labels, l.GetName())
	}
	return i, nil
}

// Comments reads the comments of an issue or pull request, oldest first, at
// most limit of them (0: all).
func (r *Repo) Comments(ctx context.Context, number, limit int) ([]Comment, error) {
	got, err := pages(limit, func(o gh.ListOptions) ([]*gh.IssueComment, *gh.Response, error) {
		return r.read.Issues.ListComments(ctx, r.Owner, r.Name, number, &gh.IssueListCommentsOptions{ListOptions: o})
	})
	if err := r.wrap("list comments", err); err != nil {
		return nil, err
	}
	var out []Comment
	for _, c := range got {
		out = append(out, commentOf(c))
	}
	if limit > 0 && len(out) > limit {
		out = out[:limit]
	}
	return out, nil
}

// Comment reads one comment, for the arguments of a command in it.
func (r *Repo) Comment(ctx context.Context, id int64) (*Comment, error) {
	if err := validID("read comment", id); err != nil {
		return nil, err
	}
	got, _, err := r.read.Issues.GetComment(ctx, r.Owner, r.Name, id)
	if err := r.wrap("read comment", err); err != nil {
		return nil, err
	}
	c := commentOf(got)
	return &c, nil
}

func commentOf(c *gh.IssueComment) Comment {
	return Comment{
		ID: c.GetID(), Author: c.GetUser().GetLogin(), Bot: c.GetUser().GetType() == "Bot",
		Body: c.GetBody(), CreatedAt: c.GetCreatedAt().Time, UpdatedAt: c.GetUpdatedAt().Time, HTMLURL: c.GetHTMLURL(),
	}
}

// PullRequest is what is needed of one.
type PullRequest struct {
	Number   int
	Title    string
	Author   string
	State    string // open or closed
	Merged   bool
	MergeSHA string // of the merge, once merged
	Draft    bool
	HeadSHA  string
	HeadRef  string
	HeadRepo string // owner/name; empty when the fork was deleted
	// HeadPushed is when anything was last pushed to HeadRepo, by GitHub's
	// clock in whole seconds; zero when the fork was deleted.
	HeadPushed time.Time
	BaseRef    string
	HTMLURL    string
	Body       string
}

// FromFork reports whether the head lies outside of the repository (GH8).
func (p PullRequest) FromFork(repo *Repo) bool { return p.HeadRepo != repo.FullName() }

// PullRequest reads one.
func (r *Repo) PullRequest(ctx context.Context, number int) (*PullRequest, error) {
	if err := validID("read pull request", number); err != nil {
		return nil, err
	}
	got, _, err := r.read.PullRequests.Get(ctx, r.Owner, r.Name, number)
	if err := r.wrap("read pull request", err); err != nil {
		return nil, err
	}
	return pullOf(got), nil
}

// OpenPull returns the oldest open pull request of a branch of this
// repository, or nil.
func (r *Repo) OpenPull(ctx context.Context, branch string) (*PullRequest, error) {
	all, err := r.pulls(ctx, branch, "open")
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[len(all)-1], nil
}

// pulls lists the pull requests whose head is a branch of this repository,
// newest first.
func (r *Repo) pulls(ctx context.Context, branch, state string) ([]*PullRequest, error) {
	if branch == "" {
		return nil, nil
	}
	got, _, err := r.read.PullRequests.List(ctx, r.Owner, r.Name, &gh.PullRequestListOptions{
		State: state, Head: r.Owner + ":" + branch, ListOptions: gh.ListOptions{PerPage: 100},
	})
	if err := r.wrap("list pull requests", err); err != nil {
		return nil, err
	}
	var out []*PullRequest
	for _, p := range got {
		// GitHub ignores a head that it cannot read and lists everything.
		if pr := pullOf(p); pr.HeadRef == branch && !pr.FromFork(r) {
			out = append(out, pr)
		}
	}
	return out, nil
}

func pullOf(p *gh.PullRequest) *PullRequest {
	return &PullRequest{
		Number: p.GetNumber(), Title: p.GetTitle(), Author: p.GetUser().GetLogin(), State: p.GetState(),
		Merged: p.GetMerged() || !p.GetMergedAt().IsZero(), MergeSHA: p.GetMergeCommitSHA(), Draft: p.GetDraft(),
		HeadSHA: p.GetHead().GetSHA(), HeadRef: p.GetHead().GetRef(), HeadRepo: p.GetHead().GetRepo().GetFullName(),
		HeadPushed: p.GetHead().GetRepo().GetPushedAt().Time, BaseRef: p.GetBase().GetRef(), HTMLURL: p.GetHTMLURL(), Body: p.GetBody(),
	}
}
