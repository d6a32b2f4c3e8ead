package checkout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"culprit/internal/session"
)

// Signature says who made a commit and when.
type Signature struct {
	Name  string
	Email string
	When  time.Time
}

func (s Signature) check(role string) error {
	if strings.TrimSpace(s.Name) == "" || s.Email == "" || s.When.IsZero() || strings.ContainsAny(s.Name+s.Email, "<>\n\x00") {
		return fmt.Errorf("make commit: the %s needs a name, an e-mail address and a time, without angle brackets", role)
	}
	return nil
}

// NewCommit is a commit to make: Patch, then Edits, on top of Parent.
type NewCommit struct {
	Parent    string
	Patch     []byte
	Edits     []session.Edit
	Message   string
	Author    Signature
	Committer Signature
}

// Commit makes the commit in the mirror, without any worktree: exactly the
// given change gets into it, whatever a test run left lying around. The same
// input makes the same commit ID. A change that changes nothing matches
// ErrNoChange.
func (m *Mirror) Commit(ctx context.Context, c NewCommit) (string, error) {
	if err := errors.Join(c.Author.check("author"), c.Committer.check("committer")); err != nil {
		return "", err
	}
	if strings.TrimSpace(c.Message) == "" {
		return "", errors.New("make commit: it needs a message")
	}
	parent, err := m.id(ctx, c.Parent, true)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(m.cache.trees, "index-")
	if err != nil {
		return "", fmt.Errorf("make commit: %w", err)
	}
	defer os.RemoveAll(dir)
	index := []string{"GIT_INDEX_FILE=" + filepath.Join(dir, "index")}
	run := func(stdin []byte, env []string, args ...string) (string, error) {
		out, err := git(ctx, call{args: args, gitDir: m.dir, stdin: stdin, env: append(env, index...)})
		return strings.TrimSpace(string(out)), err
	}
	if _, err := run(nil, nil, "read-tree", parent); err != nil {
		return "", fmt.Errorf("make commit: %w", err)
	}
	if len(bytes.TrimSpace(c.Patch)) > 0 {
		if _, err := patchPaths(ctx, c.Patch); err != nil {
			return "", err
		}
		if _, err := run(c.Patch, nil, "apply", "--cached", "--whitespace=nowarn", "--unidiff-zero", "-"); err != nil {
			return "", applyError(err)
		}
	}
	if len(c.Edits) > 0 {
		info, err := m.indexInfo(ctx, parent, c.Edits)
		if err != nil {
			return "", err
		}
		if _, err := run(info, nil, "update-index", "-z", "--index-info"); err != nil {
			return "", fmt.Errorf("make commit: %w", err)
		}
	}
	tree, err := run(nil, nil, "write-tree")
	if err != nil {
		return "", fmt.Errorf("make commit: %w", err)
	}
	before, err := run(nil, nil, "rev-parse", "--verify", "--quiet", parent+"^{tree}")
	if err != nil {
		return "", fmt.Errorf("make commit: %w", err)
	}
	if tree == before {
		return "", fmt.Errorf("make commit on %.8s: %w", parent, ErrNoChange)
	}
	sha, err := run([]byte(c.Message), []string{
		"GIT_AUTHOR_NAME=" + c.Author.Name, "GIT_AUTHOR_EMAIL=" + c.Author.Email, "GIT_AUTHOR_DATE=" + stamp(c.Author.When),
		"GIT_COMMITTER_NAME=" + c.Committer.Name, "GIT_COMMITTER_EMAIL=" + c.Committer.Email, "GIT_COMMITTER_DATE=" + stamp(c.Committer.When),
	}, "commit-tree", "-p", parent, "-F", "-", tree)
	if err != nil {
		return "", fmt.Errorf("make commit: %w", err)
	}
	return sha, nil
}

// stamp is git's own format of a time.
func stamp(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) + " +0000" }

// indexInfo writes the edits' contents into the object store and returns what
// git update-index reads.
func (m *Mirror) indexInfo(ctx context.Context, parent string, edits []session.Edit) ([]byte, error) {
	var info bytes.Buffer
	for _, e := range edits {
		if err := pathOK(e.Path); err != nil {
			return nil, fmt.Errorf("make commit: %w", err)
		}
		if e.Delete {
			fmt.Fprintf(&info, "0 %s\t%s\x00", strings.Repeat("0", len(parent)), e.Path)
			continue
		}
		mode := uint32(modeFile)
		switch old, ok, err := m.lookup(ctx, parent, e.Path); {
		case err != nil:
			return nil, err
		case e.Mode&0o170000 == modeSymlink:
			mode = modeSymlink
		case e.Mode&0o111 != 0, e.Mode == 0 && ok && old.mode == modeExecutable:
			mode = modeExecutable
		}
		id, err := git(ctx, call{args: []string{"hash-object", "-w", "--no-filters", "--stdin"}, gitDir: m.dir, stdin: append([]byte{}, e.Content...)})
		if err != nil {
			return nil, fmt.Errorf("make commit: %w", err)
		}
		fmt.Fprintf(&info, "%o %s\t%s\x00", mode, strings.TrimSpace(string(id)), e.Path)
	}
	return info.Bytes(), nil
}

// Push makes branch on the remote point at commit, if it points at old now
// ("" if it must not exist): a branch that somebody else moved is left alone
// and the error matches ErrRejected. It is for the bot's own fix branches.
func (m *Mirror) Push(ctx context.Context, branch, commit, old string) error {
	if m.remote == nil {
		return errors.New("push: the repository is a local one, which is never written to")
	}
	if !fullID(commit) || (old != "" && !fullID(old)) {
		return errors.New("push: give full commit IDs")
	}
	if _, err := m.git(ctx, "check-ref-format", "refs/heads/"+branch); err != nil || strings.HasPrefix(branch, "-") {
		return fmt.Errorf("push: %q is no branch name", clean(branch))
	}
	r, err := m.authorised(ctx)
	if err != nil {
		return err
	}
	ref := "refs/heads/" + branch
	out, err := git(ctx, call{args: []string{
		"push", "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--force-with-lease=" + ref + ":" + old,
		"--end-of-options", r.url.String(), commit + ":" + ref,
	}, gitDir: m.dir, remote: r})
	if err == nil {
		return nil
	}
	var ge *GitError
	if errors.As(err, &ge) && (strings.Contains(string(out), "[rejected]") || strings.Contains(string(out), "[remote rejected]")) {
		return fmt.Errorf("push %s: %w: it was moved by somebody else, or a rule of the repository forbids it: %s", clean(branch), ErrRejected, clean(string(out)))
	}
	return fmt.Errorf("push %s: %w", clean(branch), explain(err))
}
