package github

import (
	"context"
	"errors"
	"fmt"
	"time"

	gh "github.com/google/go-github/v62/github"

	"culprit/internal/session"
)

// posted is a comment of the App that exists.
type posted struct {
	id   int64
	url  string
	body string
}

// A thread is a place where comments stand: an issue or pull request, or a
// commit.
type thread interface {
	// list returns the App's own comments, oldest first.
	list(ctx context.Context, since time.Time) ([]posted, error)
	// get returns one comment if it is the App's own, else ErrNotFound.
	get(ctx context.Context, id int64) (posted, error)
	create(ctx context.Context, body string) (posted, error)
	edit(ctx context.Context, id int64, body string) error
	remove(ctx context.Context, id int64) error
}

// showComment keeps the session's one comment up to date.
func (p *Publisher) showComment(ctx context.Context, v view, pub *session.Published) error {
	places, err := p.places(ctx, v)
	if err != nil {
		return err
	}
	for _, place := range places {
		err = p.commentAt(ctx, place, v, pub)
		if !errors.Is(err, ErrRefused) && !errors.Is(err, ErrNotFound) {
			break
		}
		// Locked, deleted, or comments switched off: the next place, unless all
		// of the repository is gone.
		if err = p.cfg.Repo.ifGone(ctx, err); errors.Is(err, ErrGone) {
			return err
		}
		p.log.Info("comment is not possible there", "session", v.id, "error", err)
		err = nil
		if v.final {
			p.comment, p.place = nil, nil
		}
	}
	if p.comment != nil {
		pub.Comment, pub.CommentURL = p.comment.id, p.comment.url
	}
	return err
}

// places lists where the comment may stand, best first.
func (p *Publisher) places(ctx context.Context, v view) ([]thread, error) {
	if p.place != nil && !v.final {
		return []thread{p.place}, nil
	}
	r := p.cfg.Repo
	var places []thread
	number := v.issue
	if issue, ok := p.place.(issueThread); ok {
		number = issue.number
	}
	if number == 0 && v.ref != "" && v.ref != r.DefaultBranch {
		pr, err := r.OpenPull(ctx, v.ref)
		if err != nil {
			return nil, err
		}
		if pr != nil {
			number = pr.Number
		}
	}
	if number > 0 {
		places = append(places, issueThread{r, number})
	}
	// While the session runs the check run is enough for a bare commit, and
	// the fix pull request does not exist yet.
	if v.final && v.fixPR > 0 && v.fixPR != number {
		places = append(places, issueThread{r, v.fixPR})
	}
	if v.final && v.sha != "" {
		places = append(places, commitThread{r, v.sha})
	}
	return places, nil
}

// commentAt finds the comment or makes it, and sets its text.
func (p *Publisher) commentAt(ctx context.Context, place thread, v view, pub *session.Published) error {
	// At the end all are looked at once more, in case two workers made one.
	if p.comment == nil || v.final {
		found, err := p.find(ctx, place, v, pub.Comment)
		if err != nil {
			return err
		}
		p.comment = found
	}
	if p.comment != nil {
		p.place = place
		if sameText(p.comment.body, v.comment) {
			return nil
		}
		if err := p.allowed(ctx); err != nil {
			return err
		}
		err := place.edit(ctx, p.comment.id, v.comment)
		if err == nil {
			p.comment.body = v.comment
			return nil
		}
		if !errors.Is(err, ErrNotFound) {
			return err
		}
		// Somebody deleted it. He does not want to watch; the result he gets.
		p.place = nil
		if !v.final {
			return nil
		}
		p.comment = nil
	}
	if p.cfg.Existing {
		return nil
	}
	if err := p.allowed(ctx); err != nil {
		return err
	}
	made, err := place.create(ctx, v.comment)
	if err != nil {
		return err
	}
	p.comment, p.place = &made, place
	return nil
}

// find looks for the session's comment: by its ID, if it is known, else by the
// marker. Should there be several (two workers at a time), the oldest stays.
func (p *Publisher) find(ctx context.Context, place thread, v view, id int64) (*posted, error) {
	mine := func(c posted) bool {
		marker, ok := p.cfg.Texts.FindMarker(c.body)
		return ok && marker == v.id
	}
	var known *posted
	if id > 0 {
		c, err := place.get(ctx, id)
		if err == nil && mine(c) {
			known = &c
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
	}
	if known != nil && !v.final {
		return known, nil
	}
	// Clocks differ: look a little further back than the session's beginning.
	since := v.created
	if !since.IsZero() {
		since = since.Add(-time.Hour)
	}
	all, err := place.list(ctx, since)
	if err != nil {
		return nil, err
	}
	var first *posted
	for _, c := range all {
		if !mine(c) {
			continue
		}
		if first == nil {
			first = &c
			continue
		}
		if err := p.allowed(ctx); err != nil {
			return nil, err
		}
		if err := place.remove(ctx, c.id); err != nil && !errors.Is(err, ErrNotFound) {
			p.log.Warn("remove a second comment of the session", "session", v.id, "error", err)
		}
	}
	if first == nil {
		return known, nil
	}
	return first, nil
}

// issueThread is an issue or pull request.
type issueThread struct {
	repo   *Repo
	number int
}

func (t issueThread) list(ctx context.Context, since time.Time) ([]posted, error) {
	r := t.repo
	bot, err := r.app.botLogin(ctx)
	if err != nil {
		return nil, err
	}
	var opts gh.IssueListCommentsOptions // GitHub lists one thread's comments oldest first and takes no order
	if !since.IsZero() {
		opts.Since = &since
	}
	all, err := pages(0, func(o gh.ListOptions) ([]*gh.IssueComment, *gh.Response, error) {
		opts.ListOptions = o
		return r.read.Issues.ListComments(ctx, r.Owner, r.Name, t.number, &opts)
	})
	if err := r.wrap(fmt.Sprintf("list comments of #%d", t.number), err); err != nil {
		return nil, err
	}
	var own []posted
	for _, c := range all {
		if c.GetUser().GetLogin() == bot && c.GetUser().GetType() == "Bot" {
			own = append(own, posted{c.GetID(), c.GetHTMLURL(), c.GetBody()})
		}
	}
	return own, nil
}

func (t issueThread) get(ctx context.Context, id int64) (posted, error) {
	r := t.repo
	bot, err := r.app.botLogin(ctx)
	if err != nil {
		return posted{}, err
	}
	c, _, err := r.read.Issues.GetComment(ctx, r.Owner, r.Name, id)
	if err := r.wrap("read comment", err); err != nil {
		return posted{}, err
	}
	if c.GetUser().GetLogin() != bot {
		return posted{}, &Error{Op: "read comment", Message: "it is not the App's own", kind: ErrNotFound}
	}
	return posted{c.GetID(), c.GetHTMLURL(), c.GetBody()}, nil
}

func (t issueThread) create(ctx context.Context, body string) (posted, error) {
	r := t.repo
	c, _, err := r.write.Issues.CreateComment(ctx, r.Owner, r.Name, t.number, &gh.IssueComment{Body: &body})
	return posted{c.GetID(), c.GetHTMLURL(), body}, r.wrap(fmt.Sprintf("comment on #%d", t.number), err)
}

func (t issueThread) edit(ctx context.Context, id int64, body string) error {
	r := t.repo
	_, _, err := r.write.Issues.EditComment(ctx, r.Owner, r.Name, id, &gh.IssueComment{Body: &body})
	return r.wrap(fmt.Sprintf("edit comment on #%d", t.number), err)
}

func (t issueThread) remove(ctx context.Context, id int64) error {
	r := t.repo
	_, err := r.write.Issues.DeleteComment(ctx, r.Owner, r.Name, id)
	return r.wrap("delete comment", err)
}

// commitThread is the comments of a commit.
type commitThread struct {
	repo *Repo
	sha  string
}

func (t commitThread) list(ctx context.Context, _ time.Time) ([]posted, error) {
	r := t.repo
	bot, err := r.app.botLogin(ctx)
	if err != nil {
		return nil, err
	}
	all, err := pages(0, func(o gh.ListOptions) ([]*gh.RepositoryComment, *gh.Response, error) {
		return r.read.Repositories.ListCommitComments(ctx, r.Owner, r.Name, t.sha, &o)
	})
	if err := r.wrap("list comments of a commit", err); err != nil {
		return nil, err
	}
	var own []posted
	for _, c := range all {
		if c.GetUser().GetLogin() == bot && c.GetUser().GetType() == "Bot" {
			own = append(own, posted{c.GetID(), c.GetHTMLURL(), c.GetBody()})
		}
	}
	return own, nil
}

func (t commitThread) get(ctx context.Context, id int64) (posted, error) {
	r := t.repo
	bot, err := r.app.botLogin(ctx)
	if err != nil {
		return posted{}, err
	}
	c, _, err := r.read.Repositories.GetComment(ctx, r.Owner, r.Name, id)
	if err := r.wrap("read commit comment", err); err != nil {
		return posted{}, err
	}
	if c.GetUser().GetLogin() != bot || c.GetCommitID() != t.sha {
		return posted{}, &Error{Op: "read commit comment", Message: "it is not the App's own", kind: ErrNotFound}
	}
	return posted{c.GetID(), c.GetHTMLURL(), c.GetBody()}, nil
}

func (t commitThread) create(ctx context.Context, body string) (posted, error) {
	r := t.repo
	c, _, err := r.write.Repositories.CreateComment(ctx, r.Owner, r.Name, t.sha, &gh.RepositoryComment{Body: &body})
	return posted{c.GetID(), c.GetHTMLURL(), body}, r.wrap("comment on a commit", err)
}

func (t commitThread) edit(ctx context.Context, id int64, body string) error {
	r := t.repo
	_, _, err := r.write.Repositories.UpdateComment(ctx, r.Owner, r.Name, id, &gh.RepositoryComment{Body: &body})
	return r.wrap("edit comment of a commit", err)
}

func (t commitThread) remove(ctx context.Context, id int64) error {
	r := t.repo
	_, err := r.write.Repositories.DeleteComment(ctx, r.Owner, r.Name, id)
	return r.wrap("delete comment of a commit", err)
}
