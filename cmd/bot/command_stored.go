package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"culprit/handlers"
	"culprit/internal/github"
	"culprit/internal/index"
	"culprit/internal/session"
	"culprit/queue"
)

// keys are the keys of all jobs about the wish's thread or commit.
func (x *wish) keys(ctx context.Context) ([]string, error) {
	name := x.repo.FullName()
	if x.req.Issue == 0 {
		return []string{handlers.CIKey(name, x.req.SHA)}, nil
	}
	keys := []string{handlers.ThreadKey(name, x.req.Issue), handlers.FixKey(name, x.req.Issue)}
	if x.req.PR == 0 {
		return keys, nil
	}
	pr, err := x.repo.PullRequest(ctx, x.req.PR)
	if errors.Is(err, github.ErrNotFound) {
		return keys, nil
	}
	if err != nil {
		return nil, err
	}
	return append(keys, handlers.CIKey(name, pr.HeadSHA)), nil
}

// entry finds the last session about the wish's check run, thread or commit.
func (x *wish) entry(ctx context.Context) (index.Entry, bool, error) {
	if x.req.Session != "" {
		// The check run's external ID; it is known to be of this repository only
		// when the entry says so.
		e, ok, err := x.index.Session(ctx, x.req.Session)
		if err != nil || ok && sameRepository(e, x.repo) {
			return e, ok, err
		}
	}
	keys, err := x.keys(ctx)
	if err != nil {
		return index.Entry{}, false, err
	}
	for _, k := range keys {
		if e, ok, err := x.index.Latest(ctx, k); err != nil || ok {
			return e, ok, err
		}
	}
	return index.Entry{}, false, nil
}

func sameRepository(e index.Entry, repo *github.Repo) bool {
	name := strings.ToLower(repo.FullName())
	return strings.HasPrefix(e.Key, name+"#") || strings.HasPrefix(e.Key, name+"@")
}

// last is the last session about the wish, nil when none is kept.
func (x *wish) last(ctx context.Context) (*session.Session, error) {
	e, ok, err := x.entry(ctx)
	if err != nil || !ok {
		return nil, err
	}
	return x.stored(ctx, e)
}

// state of a job, empty when it is forgotten.
func (w *worker) state(ctx context.Context, job string) (queue.State, error) {
	info, err := w.queue.Show(ctx, job)
	if errors.Is(err, queue.ErrNotFound) {
		return "", nil
	}
	return info.State, err
}

// stored reads a session from its checkpoint, else from this machine's folder,
// without holding it; nil when neither is kept.
func (w *worker) stored(ctx context.Context, e index.Entry) (*session.Session, error) {
	s, err := w.checkpoint(ctx, e.Job)
	if err != nil || s != nil {
		return s, err
	}
	if !session.ValidID(e.Session) {
		return nil, nil
	}
	dir := filepath.Join(w.sessionsDir(), e.Session)
	data, err := os.ReadFile(filepath.Join(dir, "session.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s = &session.Session{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, err
	}
	table, err := os.ReadFile(filepath.Join(dir, "tasks.csv"))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		s.Tasks, err = session.DecodeTasks("tasks.csv", table)
	}
	return s, err
}

// remember puts a session into the index, under its thread too. With no seen
// jobs those that were noted before stay.
func (w *worker) remember(ctx context.Context, c *queue.Claim, s *session.Session, seen []string) error {
	src := s.Source
	var keys []string
	for _, n := range []int{src.Issue, src.PR, s.Published.PR} {
		if n > 0 {
			keys = append(keys, handlers.ThreadKey(src.Repository, n))
		}
	}
	if s.Published.PR > 0 {
		keys = append(keys, handlers.FixKey(src.Repository, s.Published.PR))
	}
	return patiently(ctx, w.cfg.RedisGrace, func(ctx context.Context) error {
		if seen == nil {
			before, _, err := w.index.Session(ctx, s.ID)
			if err != nil {
				return err
			}
			seen = before.Seen
		}
		return w.index.Put(ctx, index.Entry{
			Session: s.ID, Job: c.ID, Key: c.Key, SHA: src.SHA, Ref: src.Ref, Issue: src.Issue, PR: src.PR, Seen: seen,
		}, keys...)
	})
}

func joinText(a, b string) string { return strings.TrimSpace(a + "\n\n" + b) }
