package checkout

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"culprit/internal/session"
)

var sig = Signature{Name: "Culprit", Email: "culprit@example.org", When: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}

func worktree(t *testing.T, m *Mirror, rev string) *Tree {
	t.Helper()
	tree, err := m.Worktree(t.Context(), rev)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestCheckoutRestoresEverythingTracked(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.write("keep.txt", "same\n")
	r.write("dir/a.txt", "one\n")
	r.write("gone.txt", "x\n")
	r.write(".gitignore", "*.log\n")
	first := r.commit("first")
	r.write("dir/a.txt", "two\n")
	r.git("rm", "-q", "gone.txt")
	r.write("gone.txt/now-a-folder", "y\n")
	second := r.commit("second")
	m, ctx := r.mirror(), t.Context()
	tree := worktree(t, m, first)
	at := func(name string) string { return filepath.Join(tree.Dir(), name) }
	before, err := os.Stat(at("keep.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.Checkout(ctx, second); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(at("keep.txt"))
	if err != nil || !after.ModTime().Equal(before.ModTime()) || !os.SameFile(before, after) {
		t.Errorf("an unchanged file was touched: %v", err)
	}
	if read(t, at("dir/a.txt")) != "two\n" || read(t, at("gone.txt/now-a-folder")) != "y\n" {
		t.Error("wrong content")
	}
	if _, err := os.Lstat(at(".git")); err == nil {
		t.Error("the worktree has a .git")
	}

	outside := t.TempDir()
	mess := map[string]func() error{
		"changed":            func() error { return os.WriteFile(at("keep.txt"), []byte("hack\n"), 0o600) },
		"removed":            func() error { return os.Remove(at("dir/a.txt")) },
		"folder for a file":  func() error { return errors.Join(os.Remove(at("keep.txt")), os.MkdirAll(at("keep.txt/x/y"), 0o755)) },
		"link for a folder":  func() error { return errors.Join(os.RemoveAll(at("dir")), os.Symlink(outside, at("dir"))) },
		"no permissions":     func() error { return os.Chmod(at("dir"), 0) },
		"same size and time": func() error { return sameStat(at("keep.txt"), "hack\n") },
		"a git repository": func() error {
			return errors.Join(os.MkdirAll(at(".git/hooks"), 0o755), os.WriteFile(at(".git/config"), []byte("[core]\n\tfsmonitor = touch "+outside+"/x\n"), 0o600))
		},
		"a git file":       func() error { return os.WriteFile(at(".git"), []byte("gitdir: "+outside+"\n"), 0o600) },
		"stale index lock": func() error { return os.WriteFile(filepath.Join(tree.gitDir(), "index.lock"), nil, 0o600) },
		"everything":       func() error { return os.RemoveAll(tree.Dir()) },
	}
	for name, do := range mess {
		if err := do(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := errors.Join(tree.Checkout(ctx, first), tree.Clean(ctx, nil)); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if read(t, at("keep.txt")) != "same\n" || read(t, at("dir/a.txt")) != "one\n" || read(t, at("gone.txt")) != "x\n" {
			t.Errorf("%s: wrong content", name)
		}
		if left, err := tree.Untracked(ctx); err != nil || len(left) != 0 {
			t.Errorf("%s: left %v %v", name, left, err)
		}
	}
	if left, _ := os.ReadDir(outside); len(left) != 0 {
		t.Errorf("written outside: %v", left)
	}
}

// sameStat changes a file behind git's back as well as that can be done.
func sameStat(path, text string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(path, []byte(text), 0o644), os.Chtimes(path, info.ModTime(), info.ModTime()))
}

func TestCleanKeepsWhatItIsTold(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.write("a.txt", "x")
	r.write(".gitignore", "node_modules/\n*.log\n")
	r.commit("first")
	tree, ctx := worktree(t, r.mirror(), "HEAD"), t.Context()
	outside := t.TempDir()
	for _, name := range []string{"node_modules/m/index.js", "build/out/x", "build/cache/y", "debug.log", "new.txt", "nested/.git/config", "nested/f", "ro/d/f"} {
		path := filepath.Join(tree.Dir(), name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(filepath.Join(outside, "precious"), nil, 0o600), os.Symlink(outside, filepath.Join(tree.Dir(), "out")), os.Chmod(filepath.Join(tree.Dir(), "ro/d"), 0)); err != nil {
		t.Fatal(err)
	}
	got, err := tree.Untracked(ctx)
	want := []string{"build/", "debug.log", "nested/", "new.txt", "node_modules/", "out", "ro/"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("untracked %v %v, want %v", got, err, want)
	}
	if err := tree.Clean(ctx, []string{"node_modules/", "build/cache"}); err != nil {
		t.Fatal(err)
	}
	got, err = tree.Untracked(ctx)
	if err != nil || !slices.Equal(got, []string{"build/", "node_modules/"}) {
		t.Errorf("after cleaning: %v %v", got, err)
	}
	if _, err := os.Lstat(filepath.Join(tree.Dir(), "build/out")); err == nil {
		t.Error("build/out is still there")
	}
	if read(t, filepath.Join(tree.Dir(), "build/cache/y")) != "x" {
		t.Error("build/cache was not kept")
	}
	if _, err := os.Lstat(filepath.Join(outside, "precious")); err != nil {
		t.Error("cleaning followed a link out of the tree")
	}
}

func TestEditsStayInsideTheTree(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.write("a.txt", "x")
	outside := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(outside, "f"), []byte("precious"), 0o600), os.Symlink(outside, filepath.Join(r.dir, "dir")),
		os.Symlink(filepath.Join(outside, "f"), filepath.Join(r.dir, "file")), os.WriteFile(filepath.Join(r.dir, "run.sh"), []byte("#!/bin/sh\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
	r.commit("links")
	tree, ctx := worktree(t, r.mirror(), "HEAD"), t.Context()
	if _, err := tree.ReadFile("file"); err == nil {
		t.Error("read through a link out of the tree")
	}
	if err := syscall.Mkfifo(filepath.Join(tree.Dir(), "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tree.ReadFile("pipe"); err == nil {
		t.Error("read a pipe")
	}
	err := tree.Apply(ctx, []session.Edit{
		{Path: "file", Content: []byte("new")},
		{Path: "dir/f", Content: []byte("new")},
		{Path: "run.sh", Content: []byte("#!/bin/sh\necho\n")},
		{Path: "tool", Content: []byte("x"), Mode: 0o755},
		{Path: "deep/er/x", Content: []byte("x")},
		{Path: "a.txt", Delete: true},
		{Path: "not/there", Delete: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	if read(t, filepath.Join(outside, "f")) != "precious" {
		t.Error("wrote through a link out of the tree")
	}
	for name, mode := range map[string]os.FileMode{"file": 0o644, "dir/f": 0o644, "run.sh": 0o755, "tool": 0o755} {
		info, err := os.Lstat(filepath.Join(tree.Dir(), name))
		if err != nil || info.Mode() != mode {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(tree.Dir(), "a.txt")); err == nil {
		t.Error("a.txt is still there")
	}
	if err := tree.Delete("dir2/../../x"); err == nil {
		t.Error("Delete took a path that leads out")
	}
}

func TestPatchesAndCommits(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.write("a.txt", "1\n2\n3\n")
	r.write("bin", "\x00\x01")
	first := r.commit("first")
	r.write("a.txt", "1\ntwo\n3\n")
	r.write("bin", "\x00\x02")
	r.write("dir/new.txt", "n\n")
	second := r.commit("second")
	m, ctx := r.mirror(), t.Context()
	for _, unified := range []int{0, 3} {
		patch, err := m.Diff(ctx, first, second, DiffOptions{Unified: unified})
		if err != nil {
			t.Fatal(err)
		}
		tree := worktree(t, m, first)
		if err := tree.ApplyPatch(ctx, patch); err != nil {
			t.Fatal(err)
		}
		if read(t, filepath.Join(tree.Dir(), "dir/new.txt")) != "n\n" || read(t, filepath.Join(tree.Dir(), "bin")) != "\x00\x02" {
			t.Error("patch applied wrongly")
		}
		if err := os.WriteFile(filepath.Join(tree.Dir(), "artefact"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		sha, err := tree.Commit(ctx, "message\n", sig, sig)
		if err != nil {
			t.Fatal(err)
		}
		same, err := m.Changed(ctx, sha, second)
		if err != nil || len(same) != 0 {
			t.Errorf("the commit differs from the original: %v %v", same, err)
		}
		again, err := m.Commit(ctx, NewCommit{Parent: first, Patch: patch, Message: "message\n", Author: sig, Committer: sig})
		if err != nil || again != sha {
			t.Errorf("same input, other commit: %s %s %v", sha, again, err)
		}
		if err := tree.ApplyPatch(ctx, patch); !errors.Is(err, ErrConflict) {
			t.Errorf("applied twice: %v", err)
		}
	}
	sha, err := m.Commit(ctx, NewCommit{Parent: second, Message: "undo", Author: sig, Committer: sig, Edits: []session.Edit{
		{Path: "a.txt", Content: []byte("1\n2\n3\n")}, {Path: "bin", Content: []byte("\x00\x01")}, {Path: "dir/new.txt", Delete: true},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if same, err := m.Changed(ctx, first, sha); err != nil || len(same) != 0 {
		t.Errorf("undone wrongly: %v %v", same, err)
	}
	if c, err := m.Resolve(ctx, sha); err != nil || c.Author != "Culprit" || c.Subject != "undo" || !c.Date.Equal(sig.When) {
		t.Errorf("%+v %v", c, err)
	}
	_, err = m.Commit(ctx, NewCommit{Parent: second, Message: "x", Author: sig, Committer: sig, Edits: []session.Edit{{Path: "a.txt", Content: []byte("1\ntwo\n3\n")}}})
	if !errors.Is(err, ErrNoChange) {
		t.Errorf("an empty commit: %v", err)
	}
	for name, patch := range map[string]string{
		"out of the tree": "--- /dev/null\n+++ b/../evil\n@@ -0,0 +1 @@\n+x\n",
		"git metadata":    "--- /dev/null\n+++ b/.git/config\n@@ -0,0 +1 @@\n+x\n",
		"absolute":        "--- /dev/null\n+++ /tmp/evil\n@@ -0,0 +1 @@\n+x\n",
		"nonsense":        "this is no patch\n",
	} {
		tree := worktree(t, m, first)
		if err := tree.ApplyPatch(ctx, []byte(patch)); err == nil && name != "absolute" {
			t.Errorf("%s: applied", name)
		}
		if _, err := os.Lstat("/tmp/evil"); err == nil {
			t.Fatalf("%s: wrote outside", name)
		}
	}
}

func TestSubmodulesStayEmptyAndAreNeverEntered(t *testing.T) {
	t.Parallel()
	sub := newRepository(t)
	sub.write("s.txt", "s")
	sub.commit("sub")
	r := newRepository(t)
	r.write("a.txt", "x")
	r.commit("first")
	r.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", sub.dir, "lib/sub")
	r.commit("add submodule")
	m, ctx := r.mirror(), t.Context()
	if got := m.Facts().Submodules; !slices.Equal(got, []string{"lib/sub"}) {
		t.Errorf("submodules %v", got)
	}
	tree := worktree(t, m, "HEAD")
	inside := filepath.Join(tree.Dir(), "lib/sub")
	if left, err := os.ReadDir(inside); err != nil || len(left) != 0 {
		t.Errorf("the submodule's folder has %v %v", left, err)
	}
	// A repository whose configuration runs a program when git looks at it.
	ran := filepath.Join(t.TempDir(), "ran")
	plant := func() {
		evil := &repository{t: t, dir: inside}
		evil.git("init", "-q")
		evil.write("f", "x")
		evil.commit("x")
		evil.git("config", "core.fsmonitor", "touch "+ran+"; false")
	}
	plant()
	if err := tree.WriteFile("a.txt", []byte("y"), 0); err != nil {
		t.Fatal(err)
	}
	diff, err := tree.Diff(ctx)
	if err != nil || !strings.Contains(string(diff), "a.txt") || strings.Contains(string(diff), "Subproject") {
		t.Errorf("diff %s %v", diff, err)
	}
	plant()
	if err := errors.Join(tree.Checkout(ctx, "HEAD~1"), tree.Clean(ctx, nil), tree.Checkout(ctx, "HEAD"), tree.Clean(ctx, nil)); err != nil {
		t.Error(err)
	}
	plant()
	if err := tree.Clean(ctx, nil); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(inside); len(left) != 0 {
		t.Errorf("left in the submodule's folder: %v", left)
	}
	if _, err := os.Lstat(ran); err == nil {
		t.Error("a planted configuration ran a program")
	}
}

func TestRepositoryConfigurationRunsNothing(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	ran := filepath.Join(t.TempDir(), "ran")
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("a", 64) + "\nsize 12\n"
	r.write("big.bin", pointer)
	r.write("a.txt", "x\n")
	r.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n*.txt filter=evil diff=evil\n")
	r.commit("attributes")
	hook := filepath.Join(r.dir, ".git/hooks/post-checkout")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.write("a.txt", "dirty\n")
	for _, key := range []string{"filter.evil.smudge", "filter.evil.clean", "filter.evil.process", "filter.lfs.smudge", "filter.lfs.process", "filter.lfs.clean",
		"diff.evil.textconv", "diff.evil.command", "core.fsmonitor", "core.pager", "core.sshCommand", "core.editor", "diff.external", "core.alternateRefsCommand"} {
		r.git("config", key, "touch "+ran)
	}
	r.git("config", "filter.evil.required", "true")
	m, ctx := r.mirror(), t.Context()
	tree := worktree(t, m, "HEAD")
	if got := read(t, filepath.Join(tree.Dir(), "big.bin")); got != pointer {
		t.Errorf("the pointer became %q", got)
	}
	if err := tree.WriteFile("a.txt", []byte("y\n"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Commit(ctx, "m", sig, sig); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(ran); err == nil {
		t.Error("the repository's configuration ran a program")
	}
}

func TestWorktreesShareObjectStorage(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.write("a.txt", strings.Repeat("content\n", 1000))
	r.commit("first")
	m := r.mirror()
	before := state(t, m.Dir())
	for range 3 {
		tree := worktree(t, m, "HEAD")
		if _, err := os.Lstat(filepath.Join(tree.gitDir(), "objects")); err == nil {
			t.Error("a worktree has objects of its own")
		}
	}
	if state(t, m.Dir()) != before {
		t.Error("making worktrees changed the mirror")
	}
}
