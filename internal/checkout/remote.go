package checkout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// TokenFunc returns a token for git over HTTP, valid for the next minutes, or
// "" for a public repository. It is called before each fetch and push.
type TokenFunc func(ctx context.Context) (string, error)

// OpenRemote mirrors the repository at address (https, or http without a token
// or to this machine) and brings the mirror up to date: all branches and tags,
// and the further commits or references in want (a pull request's head, for
// example). token may be nil.
func (c *Cache) OpenRemote(ctx context.Context, address string, token TokenFunc, want ...string) (*Mirror, error) {
	r, err := parseRemote(address, "")
	if err != nil {
		return nil, err
	}
	dir := c.mirrorPath(r.url.String())
	l, err := waitLock(ctx, dir+".lock")
	if err != nil {
		return nil, err
	}
	defer l.release()
	use, err := tryLock(dir+".use", false)
	if err != nil {
		return nil, err
	}
	m := &Mirror{cache: c, dir: dir, use: use, remote: r, token: token, facts: Facts{Source: clean(address), Bare: true}}
	err = m.refresh(ctx, want)
	if err != nil && damaged(err) {
		// A disk that was full or a machine that stopped: make it anew, once.
		if err = removeTree(dir); err == nil {
			err = m.refresh(ctx, want)
		}
	}
	if err != nil {
		use.release()
		return nil, fmt.Errorf("fetch %s: %w", clean(address), err)
	}
	return m, nil
}

// refresh makes the mirror if there is none that is whole, and fetches. A new
// one is made under another name and renamed when it is complete, so that a
// killed clone is never taken for a mirror.
func (m *Mirror) refresh(ctx context.Context, want []string) error {
	final := m.dir
	fresh := !whole(final)
	if fresh {
		m.dir = final + halfMade
		defer func() { m.dir = final }()
		if err := makeBare(ctx, m.dir, "sha1"); err != nil {
			return err
		}
	} else {
		unlock(final)
	}
	if err := m.fetch(ctx, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*", "+HEAD:refs/culprit/HEAD"); err != nil {
		return err
	}
	if err := m.fetchWanted(ctx, want); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(m.dir, "HEAD"), []byte("ref: refs/culprit/HEAD\n"), 0o600); err != nil {
		return fmt.Errorf("write the mirror's HEAD: %w", err)
	}
	if err := m.finish(ctx); err != nil {
		return err
	}
	if !fresh {
		return nil
	}
	if err := removeTree(final); err != nil {
		return err
	}
	return os.Rename(m.dir, final)
}

// Fetch brings further commits or references of the remote into the mirror.
func (m *Mirror) Fetch(ctx context.Context, want ...string) error {
	if m.remote == nil {
		return errors.New("fetch: the repository is a local one: fetch in it and open it again")
	}
	l, err := waitLock(ctx, m.dir+".lock")
	if err != nil {
		return err
	}
	defer l.release()
	unlock(m.dir)
	return m.fetchWanted(ctx, want)
}

func (m *Mirror) fetchWanted(ctx context.Context, want []string) error {
	for _, w := range want {
		switch {
		case fullID(w):
			if _, err := m.Resolve(ctx, w); err == nil {
				continue
			}
			if err := m.fetch(ctx, "+"+w+":refs/culprit/want/"+w); err != nil {
				return err
			}
		case strings.HasPrefix(w, "refs/"):
			if _, err := m.git(ctx, "check-ref-format", w); err != nil {
				return fmt.Errorf("reference %q: %w: give a full name such as refs/pull/1/head", clean(w), ErrUnknownRevision)
			}
			if err := m.fetch(ctx, "+"+w+":refs/culprit/want/"+strings.TrimPrefix(w, "refs/")); err != nil {
				return err
			}
		default:
			return fmt.Errorf("fetch %q: give a full commit ID or a reference that starts with refs/", clean(w))
		}
	}
	return nil
}

func (m *Mirror) fetch(ctx context.Context, refspecs ...string) error {
	r, err := m.authorised(ctx)
	if err != nil {
		return err
	}
	args := []string{"fetch", "--quiet", "--no-write-fetch-head", "--no-recurse-submodules", "--no-tags", "--force", "--no-auto-maintenance"}
	if len(refspecs) > 1 {
		args = append(args, "--prune")
	}
	args = append(args, "--end-of-options", r.url.String())
	_, err = git(ctx, call{args: append(args, refspecs...), gitDir: m.dir, remote: r})
	return explain(err)
}

// authorised is the remote with a fresh token.
func (m *Mirror) authorised(ctx context.Context) (*remote, error) {
	if m.token == nil {
		return m.remote, nil
	}
	token, err := m.token(ctx)
	if err != nil {
		return nil, fmt.Errorf("get a token: %w", err)
	}
	return parseRemote(m.remote.url.String(), token)
}

// explain turns git's words about a remote into errors that a caller can
// decide by.
func explain(err error) error {
	var ge *GitError
	if !errors.As(err, &ge) {
		return err
	}
	text := ge.Message
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(text, p) {
				return true
			}
		}
		return false
	}
	switch {
	case has("Authentication failed", "could not read Username", "terminal prompts disabled", "returned error: 401", "returned error: 403"):
		return fmt.Errorf("%w: check that the App is still installed there and may read and write contents: %w", ErrAccess, err)
	case has("not found", "returned error: 404"):
		return fmt.Errorf("%w: it does not exist, was deleted or renamed, or the token cannot see it: %w", ErrAccess, err)
	case has("couldn't find remote ref HEAD"):
		return fmt.Errorf("%w: push a branch first: %w", ErrNoCommits, err)
	case has("not our ref", "couldn't find remote ref", "unadvertised object"):
		return fmt.Errorf("%w: it was never pushed or was removed by a force push: %w", ErrUnknownRevision, err)
	case has("No space left on device"):
		return fmt.Errorf("the disk is full: free space in the cache folder: %w", err)
	}
	return err
}

// damaged reports whether an error of git says that the object store is torn.
func damaged(err error) bool {
	var ge *GitError
	if !errors.As(err, &ge) {
		return false
	}
	for _, sign := range []string{"corrupt", "bad object", "missing blob", "missing tree", "unable to read tree", "index file", "packfile", "invalid sha1 pointer", "did not send all necessary objects", "not a git repository"} {
		if strings.Contains(ge.Message, sign) && !strings.Contains(ge.Message, "No space left") {
			return true
		}
	}
	return false
}
