package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"culprit/internal/checkout"
	"culprit/internal/github"
	"culprit/internal/report"
	"culprit/internal/session"
)

// push makes the fix commit and its branch. The same fix makes the same
// commit, so that a push that is repeated finds its branch done. What the
// repository does not let in matches github.ErrRefused.
func (w *worker) push(ctx context.Context, repo *github.Repo, s *session.Session, mirror *checkout.Mirror, p github.Push) (string, error) {
	if err := signOff(ctx, repo, s, mirror, p.Base); err != nil {
		return "", err
	}
	commit, err := fixCommit(ctx, repo, s, mirror, p)
	if err != nil {
		return "", err
	}
	head, err := repo.BranchHead(ctx, p.Branch)
	if err != nil {
		return "", err
	}
	if head == commit {
		return commit, nil
	}
	switch {
	case head == p.Onto:
	case p.Onto != "":
		return "", nil // a person moved it, and knows better
	default:
		return "", fmt.Errorf("%w: the branch exists already with other commits", github.ErrRefused)
	}
	writable, err := w.openMirror(ctx, repo, s, true)
	if err != nil {
		return "", err
	}
	err = errors.Join(writable.Push(ctx, p.Branch, commit, p.Onto), writable.Close())
	if errors.Is(err, checkout.ErrRejected) {
		err = fmt.Errorf("%w: %w", github.ErrRefused, err)
	}
	return commit, err
}

// fixCommit makes the commit of a fix in the mirror, where nobody else sees it.
func fixCommit(ctx context.Context, repo *github.Repo, s *session.Session, mirror *checkout.Mirror, p github.Push) (string, error) {
	slug, err := repo.App().Slug(ctx)
	if err != nil {
		return "", err
	}
	bot := checkout.Signature{
		Name: slug + "[bot]", Email: fmt.Sprintf("%d+%s[bot]@users.noreply.github.com", repo.App().ID(), slug), When: p.Date,
	}
	message := p.Message
	if s.Flags.SignOff {
		message = report.SignOff(message, bot.Name, bot.Email)
	}
	return mirror.Commit(ctx, checkout.NewCommit{Parent: p.Base, Patch: []byte(p.Patch), Message: message, Author: bot, Committer: bot})
}

// A rebaser puts a fix onto its branch as that is on GitHub now (GH6).
type rebaser struct {
	repo   *github.Repo
	mirror *checkout.Mirror
}

// Rebase implements pipeline.Rebaser.
func (r rebaser) Rebase(ctx context.Context, s *session.Session) (*session.Rebase, error) {
	branch := strings.TrimPrefix(s.Source.Ref, "refs/heads/")
	if branch == "" && s.Source.PR > 0 {
		return nil, nil // a fork's, where nothing is pushed
	}
	if branch == "" {
		branch = r.repo.DefaultBranch
	}
	head, err := r.repo.BranchHead(ctx, branch)
	if err != nil || head == "" || head == s.Fix.Base {
		return nil, err
	}
	if err := r.mirror.Fetch(ctx, head); err != nil {
		return nil, fmt.Errorf("fetch %s as it is now: %w", branch, err)
	}
	out := &session.Rebase{Branch: branch, Head: head}
	out.Commit, err = fixCommit(ctx, r.repo, s, r.mirror, github.Push{Base: head, Patch: s.Fix.Patch, Message: "Fix", Date: s.CreatedAt})
	switch {
	case errors.Is(err, checkout.ErrConflict):
		out.Conflict = strings.Join(s.Fix.Files, ", ") + " was changed"
	case errors.Is(err, checkout.ErrNoChange):
		out.Conflict = "the change is there already"
	case err != nil:
		return nil, err
	}
	return out, nil
}

// contributing are the files in which a project says how to contribute.
var contributing = []string{"CONTRIBUTING.md", ".github/CONTRIBUTING.md", "docs/CONTRIBUTING.md", "CONTRIBUTING", "CONTRIBUTING.rst", "CONTRIBUTING.txt"}

// asksForSignOff is what a text says that wants the Developer Certificate of
// Origin.
var asksForSignOff = regexp.MustCompile(`(?i)developer certificate of origin|signed-off-by:|git commit (?:-s|--signoff)\b`)

// signOff finds out whether the repository wants commits to be signed off, where
// its settings do not say: by what GitHub enforces (a required check, a rule),
// by the settings of the DCO App, or by what it tells contributors.
func signOff(ctx context.Context, repo *github.Repo, s *session.Session, mirror *checkout.Mirror, base string) error {
	f := &s.Flags
	if f.SignOff || f.SignOffSet {
		return nil
	}
	read := func(path string) (string, error) {
		text, err := mirror.Show(ctx, base, path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, checkout.ErrTooLarge) {
			return "", nil
		}
		return string(text), err
	}
	dco, err := read(".github/dco.yml")
	if err != nil {
		return err
	}
	if f.SignOff = dco != ""; f.SignOff {
		return nil
	}
	for _, path := range contributing {
		text, err := read(path)
		if err != nil {
			return err
		}
		if f.SignOff = asksForSignOff.MatchString(text); f.SignOff {
			return nil
		}
	}
	f.SignOff, err = repo.DemandsSignOff(ctx, s.Source.Ref)
	return err
}
