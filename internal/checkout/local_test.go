package checkout

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLocalRepositoryIsOnlyRead(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.write("a.txt", "one\n")
	first := r.commit("first")
	r.write("a.txt", "two\n")
	r.commit("second")
	r.write("a.txt", "uncommitted\n")
	r.write("new.txt", "untracked\n")
	r.git("config", "filter.evil.clean", "touch "+filepath.Join(t.TempDir(), "ran"))
	before := state(t, r.dir)

	m := r.mirror()
	if got := m.Facts(); got.Dirty != 2 || got.Branch != "main" || got.Shallow || len(got.Warnings()) != 1 {
		t.Errorf("facts: %+v", got)
	}
	tree, err := m.Worktree(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(tree.Dir(), "a.txt")); got != "one\n" {
		t.Errorf("worktree has %q", got)
	}
	if err := tree.WriteFile("a.txt", []byte("fixed\n"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Commit(t.Context(), "fix", sig, sig); err != nil {
		t.Fatal(err)
	}
	if err := tree.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := state(t, r.dir); after != before {
		t.Error("the repository changed")
	}
}

func TestMirrorSurvivesGarbageCollectionAndFollowsTheOriginal(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.write("a.txt", "one\n")
	first := r.commit("first")
	c := newCache(t)
	m := openLocal(t, c, r.dir)

	// The original forgets the commit while the mirror is in use.
	r.write("a.txt", "other\n")
	r.git("checkout", "-q", "--orphan", "new")
	second := r.commit("rewritten")
	r.git("branch", "-D", "main")
	r.git("reflog", "expire", "--expire=all", "--all")
	r.git("gc", "-q", "--prune=now")
	if data, err := m.Show(t.Context(), first, "a.txt"); err != nil || string(data) != "one\n" {
		t.Errorf("old commit: %q %v", data, err)
	}
	again := openLocal(t, c, r.dir)
	head, err := again.Resolve(t.Context(), "HEAD")
	if err != nil || head.SHA != second {
		t.Errorf("HEAD is %v %v, want %s", head.SHA, err, second)
	}
	if _, err := again.Resolve(t.Context(), "main"); !errors.Is(err, ErrUnknownRevision) {
		t.Errorf("a deleted branch resolves: %v", err)
	}
	if again.Dir() != m.Dir() {
		t.Error("the same repository got a second mirror")
	}
}

func TestOpenLocalSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	c := newCache(t)
	plain := t.TempDir()
	file := filepath.Join(plain, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		path string
		want error
	}{
		"no commits":       {r.dir, ErrNoCommits},
		"plain folder":     {plain, ErrNotRepository},
		"file":             {file, ErrNotRepository},
		"nothing is there": {filepath.Join(plain, "none"), fs.ErrNotExist},
	} {
		if _, err := c.OpenLocal(t.Context(), tc.path); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpenLocalTakesEveryKindOfRepository(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.write("a.txt", "one\n")
	r.write("sub/b.txt", "two\n")
	first := r.commit("first")
	r.write("a.txt", "three\n")
	head := r.commit("second")
	base := t.TempDir()
	bare, shallow, worktree, borrowed := filepath.Join(base, "bare.git"), filepath.Join(base, "shallow"), filepath.Join(base, "wt"), filepath.Join(base, "borrowed")
	r.git("clone", "-q", "--bare", r.dir, bare)
	r.git("clone", "-q", "--depth", "1", "file://"+r.dir, shallow)
	r.git("clone", "-q", "--shared", r.dir, borrowed)
	r.git("worktree", "add", "-q", "--detach", worktree, first)
	c := newCache(t)
	for path, want := range map[string]string{
		bare: head, shallow: head, worktree: first, borrowed: head, filepath.Join(r.dir, "sub"): head,
	} {
		m := openLocal(t, c, path)
		got, err := m.Resolve(t.Context(), "HEAD")
		if err != nil || got.SHA != want {
			t.Errorf("%s: HEAD is %s %v, want %s", path, got.SHA, err, want)
		}
		tree, err := m.Worktree(t.Context(), "HEAD")
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if read(t, filepath.Join(tree.Dir(), "sub/b.txt")) != "two\n" {
			t.Errorf("%s: wrong content", path)
		}
		facts := m.Facts()
		if facts.Shallow != (path == shallow) || facts.Bare != (path == bare) || facts.Dirty != 0 {
			t.Errorf("%s: %+v", path, facts)
		}
		if path == shallow {
			if !strings.Contains(strings.Join(facts.Warnings(), " "), "git fetch --unshallow") {
				t.Errorf("warnings: %q", facts.Warnings())
			}
			if _, err := m.Resolve(t.Context(), "HEAD~1"); !errors.Is(err, ErrUnknownRevision) || !strings.Contains(err.Error(), "--unshallow") {
				t.Errorf("beyond the boundary: %v", err)
			}
		}
	}
}

func TestTornMirrorIsRebuilt(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.write("a.txt", "one\n")
	r.commit("first")
	c := newCache(t)
	m := openLocal(t, c, r.dir)
	dir := m.Dir()
	m.Close()
	// As if it had been killed in the middle of making it.
	if err := os.Remove(filepath.Join(dir, complete)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "objects")); err != nil {
		t.Fatal(err)
	}
	again := openLocal(t, c, r.dir)
	if data, err := again.Show(t.Context(), "HEAD", "a.txt"); err != nil || string(data) != "one\n" {
		t.Errorf("%q %v", data, err)
	}
	// As if git had been killed in it.
	again.Close()
	stale := filepath.Join(dir, "packed-refs.lock")
	if err := os.WriteFile(stale, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	openLocal(t, c, r.dir)
	if _, err := os.Lstat(stale); err == nil {
		t.Error("the stale lock is still there")
	}
}

func TestOpeningTheCacheRemovesHalfMadeMirrorsOfTheDeadOnly(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	mirrors := filepath.Join(dir, "mirrors")
	for _, name := range []string{"a.git.new", "b.git.new", "c.git.new", "c.git"} {
		if err := os.MkdirAll(filepath.Join(mirrors, name, "objects"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a.git.lock", "a.git.use", "d.git.lock", "c.git.lock", "c.git.use", "c.git/" + complete} {
		if err := os.WriteFile(filepath.Join(mirrors, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cloning, err := tryLock(filepath.Join(mirrors, "b.git.lock"), true)
	if err != nil {
		t.Fatal(err)
	}
	defer cloning.release()
	c, err := OpenCache(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	left, err := os.ReadDir(mirrors)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range left {
		names = append(names, e.Name())
	}
	if got, want := strings.Join(names, " "), "b.git.lock b.git.new c.git c.git.lock c.git.use"; got != want {
		t.Errorf("left: %s; want %s", got, want)
	}
}

func TestOpeningTheCacheRemovesWorktreesOfTheDeadOnly(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	alive, err := OpenCache(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	dead := filepath.Join(dir, "trees", "dead")
	if err := os.MkdirAll(filepath.Join(dead, "1", "src"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dead+".lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other, err := OpenCache(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := os.Lstat(dead); err == nil {
		t.Error("a dead process's worktrees are still there")
	}
	if _, err := os.Lstat(alive.trees); err != nil {
		t.Errorf("a living process's worktrees are gone: %v", err)
	}
	if err := errors.Join(alive.Close(), other.Close()); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(filepath.Join(dir, "trees")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
