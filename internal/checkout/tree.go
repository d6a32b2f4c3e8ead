package checkout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Tree is a throwaway worktree that borrows the objects of its mirror. It is
// used from one goroutine at a time. Code that ran in it may have left anything
// there; no method trusts a file of it.
type Tree struct {
	mirror *Mirror
	base   string // holds git/ (metadata) and src/ (the files)
	rev    string // checked out
	links  []string
	edited map[string]bool // paths that Apply, ApplyPatch, WriteFile or Delete touched
}

// Tree returns a new worktree with nothing checked out yet. It costs a few
// small files: no objects are copied, and the mirror is not written to.
func (m *Mirror) Tree(ctx context.Context) (*Tree, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("make worktree: %w", err)
	}
	if m.cache.hold == nil {
		return nil, errors.New("make worktree: the cache is closed")
	}
	t := &Tree{mirror: m, base: filepath.Join(m.cache.trees, strconv.FormatInt(m.cache.next.Add(1), 10))}
	if err := t.make(); err != nil {
		return nil, errors.Join(err, removeTree(t.base))
	}
	return t, nil
}

// Worktree returns a new worktree with rev checked out.
func (m *Mirror) Worktree(ctx context.Context, rev string) (*Tree, error) {
	t, err := m.Tree(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.Checkout(ctx, rev); err != nil {
		return nil, errors.Join(err, t.Remove(ctx))
	}
	return t, nil
}

// make lays down what git needs of a linked worktree: where the common
// repository is, and a HEAD.
func (t *Tree) make() error {
	for _, dir := range []string{t.gitDir(), t.Dir()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make worktree: %w", err)
		}
	}
	for name, text := range map[string]string{
		"commondir": t.mirror.dir + "\n",
		"gitdir":    filepath.Join(t.Dir(), ".git") + "\n",
		"HEAD":      "ref: refs/culprit/none\n",
	} {
		if err := os.WriteFile(filepath.Join(t.gitDir(), name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("make worktree: %w", err)
		}
	}
	t.rev, t.links, t.edited = "", nil, map[string]bool{}
	return nil
}

func (t *Tree) gitDir() string { return filepath.Join(t.base, "git") }

// Dir is the folder with the files, an absolute path without symbolic links.
func (t *Tree) Dir() string { return filepath.Join(t.base, "src") }

// Rev is the full ID of the commit that is checked out, "" before Checkout.
func (t *Tree) Rev() string { return t.rev }

// git runs a command in the worktree.
func (t *Tree) git(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	return git(ctx, call{args: args, gitDir: t.gitDir(), workTree: t.Dir(), stdin: stdin})
}

// disarm removes git metadata that code in the worktree may have planted: git
// would enter a repository in a submodule's folder and obey its configuration.
func (t *Tree) disarm(root *os.Root) error {
	for _, dir := range append([]string{"."}, t.links...) {
		if err := removeIn(root, filepath.Join(dir, ".git")); err != nil {
			return err
		}
	}
	return nil
}

// Checkout makes the tracked files exactly those of rev, whatever was there
// before, and leaves the modification times of files that stay equal, so that
// build caches keep working. Untracked files stay, see Clean.
func (t *Tree) Checkout(ctx context.Context, rev string) error {
	sha, err := t.mirror.id(ctx, rev, false)
	if err != nil {
		return err
	}
	err = t.reset(ctx, sha)
	if err == nil || ctx.Err() != nil {
		return err
	}
	// Something in the folder stands in the way (a lock of a killed git, a
	// folder without permissions): start with an empty one.
	if again := removeTree(t.base); again != nil {
		return errors.Join(err, again)
	}
	if again := t.make(); again != nil {
		return errors.Join(err, again)
	}
	return t.reset(ctx, sha)
}

func (t *Tree) reset(ctx context.Context, sha string) error {
	root, err := t.root()
	if err != nil {
		return err
	}
	defer root.Close()
	if err := t.disarm(root); err != nil {
		return fmt.Errorf("check out %.8s: %w", sha, err)
	}
	if _, err := t.git(ctx, nil, "read-tree", "--reset", "-u", "--no-recurse-submodules", sha); err != nil {
		var ge *GitError
		if errors.As(err, &ge) && strings.Contains(ge.Message, "No space left") {
			return fmt.Errorf("check out %.8s: the disk is full: free space in the cache folder: %w", sha, err)
		}
		return fmt.Errorf("check out %.8s: %w", sha, err)
	}
	if err := os.WriteFile(filepath.Join(t.gitDir(), "HEAD"), []byte(sha+"\n"), 0o600); err != nil {
		return fmt.Errorf("check out %.8s: %w", sha, err)
	}
	t.rev, t.edited = sha, map[string]bool{}
	t.links = nil
	if len(t.mirror.facts.Submodules) > 0 || t.has(root, ".gitmodules") {
		if t.links, err = t.mirror.gitlinks(ctx, sha); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tree) has(root *os.Root, path string) bool {
	_, err := root.Lstat(path)
	return err == nil
}

// root opens the folder so that no path, link or trick leads out of it.
func (t *Tree) root() (*os.Root, error) {
	root, err := os.OpenRoot(t.Dir())
	if err != nil {
		return nil, fmt.Errorf("open worktree: %w", err)
	}
	return root, nil
}

// Untracked names files and folders that are not part of the commit, ignored
// ones too; folders end in "/" and stand for all that is in them.
func (t *Tree) Untracked(ctx context.Context) ([]string, error) {
	root, err := t.root()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := t.disarm(root); err != nil {
		return nil, fmt.Errorf("list untracked files: %w", err)
	}
	out, err := t.git(ctx, nil, "ls-files", "-z", "--others", "--directory", "--")
	if err != nil {
		return nil, fmt.Errorf("list untracked files: %w", err)
	}
	var names []string
	for name := range bytes.SplitSeq(out, []byte{0}) {
		if path := string(name); path != "" && !slices.Contains(t.links, strings.TrimSuffix(path, "/")) {
			names = append(names, path)
		}
	}
	return names, nil
}

// Clean removes untracked and ignored files, except those in keep and below
// them. Names are as Untracked gives them.
func (t *Tree) Clean(ctx context.Context, keep []string) error {
	names, err := t.Untracked(ctx)
	if err != nil {
		return err
	}
	root, err := t.root()
	if err != nil {
		return err
	}
	defer root.Close()
	trimmed := make([]string, len(keep))
	for i, k := range keep {
		trimmed[i] = strings.TrimSuffix(k, "/")
	}
	for _, link := range t.links { // what somebody put into a submodule's folder
		if err := sweep(root, link, trimmed, false); err != nil {
			return fmt.Errorf("clean worktree: %w", err)
		}
	}
	for _, name := range names {
		if err := sweep(root, strings.TrimSuffix(name, "/"), trimmed, true); err != nil {
			return fmt.Errorf("clean worktree: %w", err)
		}
	}
	return ctx.Err()
}

// sweep removes path, or only what is in it, but nothing that is kept.
func sweep(root *os.Root, path string, keep []string, itself bool) error {
	holds := !itself
	for _, k := range keep {
		if path == k || strings.HasPrefix(path, k+"/") {
			return nil
		}
		holds = holds || strings.HasPrefix(k, path+"/")
	}
	if !holds {
		return removeIn(root, path)
	}
	info, err := root.Lstat(path)
	if err != nil || !info.IsDir() {
		return nil //nolint:nilerr // gone, or a link where a kept folder was
	}
	names, err := readDir(root, path)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := sweep(root, filepath.Join(path, name), keep, true); err != nil {
			return err
		}
	}
	return nil
}

func readDir(root *os.Root, path string) ([]string, error) {
	f, err := root.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// removeIn removes path and all below it, also where folders lack permission.
func removeIn(root *os.Root, path string) error {
	err := root.RemoveAll(path)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	unlockFolders(root, path)
	return root.RemoveAll(path)
}

// unlockFolders gives the owner all rights on the folders at and below path.
func unlockFolders(root *os.Root, path string) {
	info, err := root.Lstat(path)
	if err != nil || !info.IsDir() {
		return
	}
	_ = root.Chmod(path, 0o700)
	names, _ := readDir(root, path)
	for _, name := range names {
		unlockFolders(root, filepath.Join(path, name))
	}
}

// Remove deletes the worktree.
func (t *Tree) Remove(context.Context) error { return removeTree(t.base) }
