package github

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	gh "github.com/google/go-github/v62/github"

	"culprit/internal/session"
)

// Propose publishes the verified fix: a branch by Push and a pull request from
// it, found by its branch or made. A pull request that a person closed or
// merged is left as it is. What keeps the pull request from being opened, when
// trying again would not help, is noted in the session and is no error; of a
// round of its review, in the round.
func (p *Publisher) Propose(ctx context.Context, s *session.Session) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.Fix == nil || s.Fix.Patch == "" || len(s.Fix.Conflicts) > 0 || p.cfg.Push == nil {
		return nil
	}
	ctx = p.guard.with(ctx)
	r := p.cfg.Repo
	branch := s.Published.Branch
	if branch == "" {
		branch = p.cfg.Texts.BranchName(s)
	}
	prs, err := r.pulls(ctx, branch, "all")
	if err != nil {
		return r.ifGone(ctx, err)
	}
	open := slices.IndexFunc(prs, func(pr *PullRequest) bool { return pr.State == "open" })
	if round := s.OpenRound(); round != nil {
		return r.ifGone(ctx, p.proposeRound(ctx, s, round, prs, open))
	}
	if open < 0 && len(prs) > 0 {
		pr := prs[0]
		s.Published.Branch, s.Published.PR, s.Published.PRURL = branch, pr.Number, pr.HTMLURL
		word := "closed"
		if pr.Merged {
			word = "merged"
		}
		noteOnce(s, fmt.Sprintf("The fix pull request #%d was %s by a person; it was not touched again.", pr.Number, word))
		return nil
	}
	if s.Source.PR > 0 && s.Source.Ref == "" {
		noteOnce(s, "No fix pull request was opened: the code is a fork's, where the App cannot push. The patch is in the session folder.")
		return nil
	}
	base := ""
	if open < 0 {
		if base, err = p.baseOf(ctx, s); err != nil {
			return r.ifGone(ctx, err)
		}
	}
	if open < 0 && base == "" {
		noteOnce(s, "No fix pull request was opened: the branch that failed does not exist any more.")
		return nil
	}
	if err := p.push(ctx, s, branch); err != nil {
		if !errors.Is(err, ErrRefused) || errors.Is(err, ErrFenced) {
			return r.ifGone(ctx, err)
		}
		// A rule, or somebody's branch of that name. What was found is shown.
		p.log.Warn("push fix branch", "session", s.ID, "error", err)
		noteOnce(s, fmt.Sprintf("No fix pull request was opened: the repository refused the branch %s (%s).", branch, refusal(err)))
		return nil
	}
	if open >= 0 {
		err = p.updatePull(ctx, s, prs[open])
	} else {
		err = p.openPull(ctx, s, branch, base)
	}
	if err != nil {
		return r.ifGone(ctx, err)
	}
	return nil
}

// baseOf is the branch that failed, or the default branch; empty when the
// branch that failed is gone.
func (p *Publisher) baseOf(ctx context.Context, s *session.Session) (string, error) {
	ref := strings.TrimPrefix(s.Source.Ref, "refs/heads/")
	if ref == "" {
		return p.cfg.Repo.DefaultBranch, nil
	}
	head, err := p.cfg.Repo.BranchHead(ctx, ref)
	if err != nil || head == "" {
		return "", err
	}
	return ref, nil
}

// push makes the fix branch unless it has the session's commit already.
func (p *Publisher) push(ctx context.Context, s *session.Session, branch string) error {
	if s.Published.FixCommit != "" {
		head, err := p.cfg.Repo.BranchHead(ctx, branch)
		if err != nil {
			return err
		}
		// Somebody may have added commits of his own since: then the branch is
		// his, and pushing would be refused anyway.
		if head != "" && s.Published.Branch == branch {
			return nil
		}
	}
	if err := p.allowed(ctx); err != nil {
		return err
	}
	commit, err := p.cfg.Push(ctx, Push{
		Branch: branch, Base: s.FixBase(), Patch: s.Fix.Patch,
		Message: p.redact(p.cfg.Texts.CommitMessage(s)), Date: s.CreatedAt,
	})
	if err != nil {
		return fmt.Errorf("push fix branch: %w", err)
	}
	s.Published.Branch, s.Published.FixCommit = branch, commit
	return nil
}

// proposeRound puts what a round of the review made on top of the branch, and
// brings the pull request up to date. What it says stays when nothing was
// pushed: it is about the branch.
func (p *Publisher) proposeRound(ctx context.Context, s *session.Session, r *session.Round, prs []*PullRequest, open int) error {
	r.Refused = ""
	switch {
	case open < 0 && len(prs) > 0 && prs[0].Merged:
		r.Refused = "the pull request was merged meanwhile"
		return nil
	case open < 0:
		r.Refused = "the pull request was closed meanwhile"
		return nil
	}
	if r.Commit == "" {
		if err := p.pushRound(ctx, s, r); err != nil || r.Commit == "" {
			return err
		}
	}
	return p.updatePull(ctx, s, prs[open])
}

func (p *Publisher) pushRound(ctx context.Context, s *session.Session, r *session.Round) error {
	if err := p.allowed(ctx); err != nil {
		return err
	}
	commit, err := p.cfg.Push(ctx, Push{
		Branch: s.Published.Branch, Onto: r.Head, Base: r.Head, Patch: r.Patch,
		Message: p.redact(p.cfg.Texts.RoundMessage(s)), Date: r.Began,
	})
	if errors.Is(err, ErrRefused) && !errors.Is(err, ErrFenced) {
		p.log.Warn("push to fix branch", "session", s.ID, "error", err)
		r.Refused = "the repository refused the push (" + refusal(err) + ")"
		return nil
	}
	if err != nil {
		return fmt.Errorf("push to fix branch: %w", err)
	}
	if commit != "" {
		r.Commit, s.Published.FixCommit = commit, commit
	}
	return nil
}

// notDraft heads the body where a draft is not to be had.
const notDraft = "> This would be a draft, which this repository does not allow: confidence is not high, review with care.\n\n"

func (p *Publisher) openPull(ctx context.Context, s *session.Session, branch, base string) error {
	if err := p.allowed(ctx); err != nil {
		return err
	}
	r := p.cfg.Repo
	text := p.cfg.Texts.PullRequest(s)
	title, body := firstRunes(p.redact(text.Title), 250), p.fit(text.Body, maxText)
	create := func(draft bool) (*gh.PullRequest, error) {
		if draft != text.Draft {
			body = notDraft + body
		}
		pr, _, err := r.write.PullRequests.Create(ctx, r.Owner, r.Name, &gh.NewPullRequest{
			Title: &title, Body: &body, Head: &branch, Base: &base, Draft: &draft, MaintainerCanModify: gh.Bool(true),
		})
		return pr, r.wrap("open pull request", err)
	}
	pr, err := create(text.Draft)
	if text.Draft && says(err, "draft") {
		pr, err = create(false)
	}
	switch {
	case err == nil:
		s.Published.PR, s.Published.PRURL = pr.GetNumber(), pr.GetHTMLURL()
		return nil
	case says(err, "already exists"):
		found, err := r.OpenPull(ctx, branch)
		if err == nil && found != nil {
			return p.updatePull(ctx, s, found)
		}
		return err
	case says(err, "no commits between"):
		noteOnce(s, "No fix pull request was opened: the branch has the change already.")
		return nil
	case errors.Is(err, ErrRefused) || errors.Is(err, ErrForbidden):
		p.log.Warn("open pull request", "session", s.ID, "error", err)
		noteOnce(s, fmt.Sprintf("The fix is on branch %s, but GitHub did not let the App open a pull request.", branch))
		if errors.Is(err, ErrForbidden) {
			return err
		}
		return nil
	}
	return err
}

// updatePull brings the body up to date. The title may have been changed by a
// person, who knows better.
func (p *Publisher) updatePull(ctx context.Context, s *session.Session, pr *PullRequest) error {
	s.Published.PR, s.Published.PRURL = pr.Number, pr.HTMLURL
	r := p.cfg.Repo
	bot, err := r.app.botLogin(ctx)
	if err != nil {
		return err
	}
	body := p.fit(p.cfg.Texts.PullRequest(s).Body, maxText)
	if strings.HasPrefix(pr.Body, notDraft[:20]) {
		body = notDraft + body
	}
	if pr.Author != bot || sameText(pr.Body, body) {
		return nil
	}
	if err := p.allowed(ctx); err != nil {
		return err
	}
	_, _, err = r.write.PullRequests.Edit(ctx, r.Owner, r.Name, pr.Number, &gh.PullRequest{Body: &body})
	return r.wrap("edit pull request", err)
}

// refusal is what a refused push says, in short.
func refusal(err error) string {
	text := err.Error()
	if i := strings.Index(text, ErrRefused.Error()+": "); i >= 0 {
		text = text[i+len(ErrRefused.Error())+2:]
	}
	return firstRunes(strings.Join(strings.Fields(text), " "), 300)
}

// says reports whether GitHub refused a request with these words.
func says(err error, words string) bool {
	e := (*Error)(nil)
	return errors.As(err, &e) && errors.Is(err, ErrRefused) && strings.Contains(strings.ToLower(e.Message), words)
}

// noteOnce adds a sentence to what the report says was not done.
func noteOnce(s *session.Session, text string) {
	if !slices.Contains(s.NotChecked, text) {
		s.NotChecked = append(s.NotChecked, text)
	}
}
