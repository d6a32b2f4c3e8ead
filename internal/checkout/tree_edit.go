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
	"strings"

	"culprit/internal/session"
)

// Apply lays edits over the checkout. A symbolic link in the way of a file is
// replaced, never followed, as git itself would do it.
func (t *Tree) Apply(ctx context.Context, edits []session.Edit) error {
	root, err := t.root()
	if err != nil {
		return err
	}
	defer root.Close()
	for _, e := range edits {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("apply edits: %w", err)
		}
		if e.Delete {
			err = t.remove(root, e.Path)
		} else {
			err = t.write(root, e.Path, e.Content, e.Mode)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// WriteFile writes one file of the worktree. mode is a file's permission or
// one of git's modes; 0 keeps the present one, or makes a plain file.
func (t *Tree) WriteFile(path string, data []byte, mode uint32) error {
	root, err := t.root()
	if err != nil {
		return err
	}
	defer root.Close()
	return t.write(root, path, data, mode)
}

// Delete removes one file; one that is not there is no error.
func (t *Tree) Delete(path string) error {
	root, err := t.root()
	if err != nil {
		return err
	}
	defer root.Close()
	return t.remove(root, path)
}

// ReadFile reads one file of the worktree as it is now. A path that leads out
// of the worktree is an error.
func (t *Tree) ReadFile(path string) ([]byte, error) {
	if err := pathOK(path); err != nil {
		return nil, err
	}
	root, err := t.root()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", clean(path), err)
	}
	if !info.Mode().IsRegular() { // a pipe would block for ever
		return nil, fmt.Errorf("read %s: it is no plain file", clean(path))
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("read %s: %w (%d bytes)", clean(path), ErrTooLarge, info.Size())
	}
	return root.ReadFile(path)
}

func (t *Tree) write(root *os.Root, path string, data []byte, mode uint32) error {
	if err := pathOK(path); err != nil {
		return err
	}
	fail := func(err error) error { return fmt.Errorf("write %s: %w", clean(path), err) }
	if err := folders(root, filepath.Dir(path)); err != nil {
		return fail(err)
	}
	perm := fs.FileMode(0o644)
	if info, err := root.Lstat(path); err == nil {
		if mode == 0 && info.Mode().IsRegular() {
			perm = info.Mode().Perm()
		}
		// A new file, so that a hard link or an open descriptor elsewhere
		// does not change with it.
		if err := removeIn(root, path); err != nil {
			return fail(err)
		}
	}
	if mode&0o111 != 0 {
		perm = 0o755
	}
	t.edited[path] = true
	if mode&0o170000 == modeSymlink {
		if err := root.Symlink(string(data), path); err != nil {
			return fail(err)
		}
		return nil
	}
	f, err := root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return fail(err)
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Chmod(perm), f.Close()); err != nil {
		return fail(err)
	}
	return nil
}

// folders makes dir and its parents; what is no folder gives way.
func folders(root *os.Root, dir string) error {
	if dir == "." {
		return nil
	}
	if err := folders(root, filepath.Dir(dir)); err != nil {
		return err
	}
	info, err := root.Lstat(dir)
	if err == nil && info.IsDir() {
		return nil
	}
	if err == nil {
		if err := root.Remove(dir); err != nil {
			return err
		}
	}
	return root.Mkdir(dir, 0o755)
}

func (t *Tree) remove(root *os.Root, path string) error {
	if err := pathOK(path); err != nil {
		return err
	}
	t.edited[path] = true
	for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(dir) {
		if info, err := root.Lstat(dir); err == nil && !info.IsDir() {
			return nil // below a link there is nothing that belongs to the tree
		}
	}
	if err := removeIn(root, path); err != nil {
		return fmt.Errorf("remove %s: %w", clean(path), err)
	}
	return nil
}

// ApplyPatch applies a patch in git's format to the files. One that does not
// apply as a whole changes nothing and matches ErrConflict.
func (t *Tree) ApplyPatch(ctx context.Context, patch []byte) error {
	root, err := t.root()
	if err != nil {
		return err
	}
	defer root.Close()
	if err := t.disarm(root); err != nil {
		return fmt.Errorf("apply patch: %w", err)
	}
	names, err := patchPaths(ctx, patch)
	if err != nil {
		return err
	}
	if _, err := t.git(ctx, patch, "apply", "--whitespace=nowarn", "--unidiff-zero", "-"); err != nil {
		return applyError(err)
	}
	for _, name := range names {
		t.edited[name] = true
	}
	return nil
}

func applyError(err error) error {
	var ge *GitError
	if errors.As(err, &ge) {
		return fmt.Errorf("apply patch: %w: %w", ErrConflict, err)
	}
	return fmt.Errorf("apply patch: %w", err)
}

// patchPaths names the files that a patch touches, old names of renames not
// among them, and refuses paths that no repository has.
func patchPaths(ctx context.Context, patch []byte) ([]string, error) {
	out, err := git(ctx, call{args: []string{"apply", "--numstat", "-z", "--unidiff-zero", "-"}, stdin: patch})
	if err != nil {
		return nil, applyError(err)
	}
	var names []string
	for rec := range bytes.SplitSeq(out, []byte{0}) {
		if len(rec) == 0 {
			continue
		}
		f := strings.SplitN(string(rec), "\t", 3)
		name := f[len(f)-1]
		if err := pathOK(name); err != nil {
			return nil, fmt.Errorf("apply patch: %w", err)
		}
		names = append(names, name)
	}
	return names, nil
}

// Diff is the patch from the checked-out commit to the worktree as it is:
// tracked files, and new ones that were made by this type's methods. Files that
// a test run left behind are not part of it. paths limit it.
func (t *Tree) Diff(ctx context.Context, paths ...string) ([]byte, error) {
	if t.rev == "" {
		return nil, errors.New("diff worktree: check a commit out first")
	}
	root, err := t.root()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := t.disarm(root); err != nil {
		return nil, fmt.Errorf("diff worktree: %w", err)
	}
	var fresh []string
	for path := range t.edited {
		if info, err := root.Lstat(path); err == nil && !info.IsDir() {
			fresh = append(fresh, path)
		}
	}
	slices.Sort(fresh)
	if len(fresh) > 0 {
		list := []byte(strings.Join(fresh, "\x00") + "\x00")
		if _, err := t.git(ctx, list, "add", "--intent-to-add", "--force", "--pathspec-from-file=-", "--pathspec-file-nul"); err != nil {
			return nil, fmt.Errorf("diff worktree: %w", err)
		}
	}
	args := append([]string{"diff", "--ignore-submodules=all"}, diffFlags(DiffOptions{Unified: 3, NoRenames: true})...)
	out, err := t.git(ctx, nil, append(append(args, t.rev, "--"), paths...)...)
	if err != nil {
		return nil, fmt.Errorf("diff worktree: %w", err)
	}
	return out, nil
}

// Commit makes a commit of what Diff shows on top of the checked-out commit.
// The worktree stays as it is.
func (t *Tree) Commit(ctx context.Context, message string, author, committer Signature) (string, error) {
	patch, err := t.Diff(ctx)
	if err != nil {
		return "", err
	}
	return t.mirror.Commit(ctx, NewCommit{Parent: t.rev, Patch: patch, Message: message, Author: author, Committer: committer})
}
