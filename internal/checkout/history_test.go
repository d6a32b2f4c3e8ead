package checkout

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"culprit/internal/session"

	"github.com/google/go-cmp/cmp"
)

func shas(list []session.Commit) []string {
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = c.SHA
	}
	return out
}

func TestHistoryOfMergesAndRenames(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.write("a.txt", "1\n2\n3\n4\n5\n6\n")
	r.write("other.txt", "x\n")
	c1 := r.commit("first")
	r.git("checkout", "-q", "-b", "side")
	r.write("side.txt", "s\n")
	s1 := r.commit("side work")
	r.git("checkout", "-q", "main")
	r.write("a.txt", "1\n2\nthree\n4\n5\n6\n")
	c2 := r.commit("change line 3")
	r.tick++
	r.git("merge", "-q", "--no-ff", "-m", "merge side", "side")
	merge := r.git("rev-parse", "HEAD")
	r.git("mv", "a.txt", "b.txt")
	c3 := r.commit("rename: with \"quotes\", émigré")
	r.git("tag", "-a", "v1", "-m", "tag", c2)
	m, ctx := r.mirror(), t.Context()

	head, err := m.Resolve(ctx, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	want := session.Commit{SHA: c3, Parents: []string{merge}, Author: "Ada", Date: time.Date(2026, 1, 2, 3, 4, r.tick, 0, time.UTC), Subject: "rename: with \"quotes\", émigré"}
	if diff := cmp.Diff(want, head); diff != "" {
		t.Error(diff)
	}
	for rev, want := range map[string]string{"v1": c2, "main~2": c2, "side": s1, c1[:10]: c1, "refs/heads/main": c3, c1: c1, "HEAD^^2": s1} {
		if got, err := m.Resolve(ctx, rev); err != nil || got.SHA != want {
			t.Errorf("%s is %s %v, want %s", rev, got.SHA, err, want)
		}
	}
	for name, tc := range map[string]struct {
		got  func() ([]session.Commit, error)
		want []string
	}{
		"first parents": {func() ([]session.Commit, error) { return m.FirstParents(ctx, c3, 0) }, []string{c3, merge, c2, c1}},
		"limited":       {func() ([]session.Commit, error) { return m.FirstParents(ctx, "HEAD", 2) }, []string{c3, merge}},
		"between":       {func() ([]session.Commit, error) { return m.Between(ctx, c2, c3) }, []string{c3, merge, s1}},
		"paths":         {func() ([]session.Commit, error) { return m.Log(ctx, c3, LogOptions{Paths: []string{"a.txt"}}) }, []string{c3, c2, c1}},
		"nothing":       {func() ([]session.Commit, error) { return m.Between(ctx, c3, c3) }, []string{}},
		"blame":         {func() ([]session.Commit, error) { return m.Blame(ctx, c3, "b.txt", 2, 4) }, []string{c1, c2, c1}},
		"blame clamped": {func() ([]session.Commit, error) { return m.Blame(ctx, c3, "b.txt", 6, 99) }, []string{c1}},
		"blame beyond":  {func() ([]session.Commit, error) { return m.Blame(ctx, c3, "b.txt", 50, 99) }, []string{}},
	} {
		got, err := tc.got()
		if err != nil || !slices.Equal(shas(got), tc.want) {
			t.Errorf("%s: %v %v, want %v", name, shas(got), err, tc.want)
		}
	}
	if base, err := m.MergeBase(ctx, s1, c2); err != nil || base != c1 {
		t.Errorf("merge base %s %v", base, err)
	}
	if n, err := m.Count(ctx, c1, c3); err != nil || n != 4 {
		t.Errorf("count %d %v", n, err)
	}
	if yes, err := m.IsAncestor(ctx, s1, c3); err != nil || !yes {
		t.Errorf("ancestor: %v %v", yes, err)
	}
	if yes, err := m.IsAncestor(ctx, c3, s1); err != nil || yes {
		t.Errorf("not an ancestor: %v %v", yes, err)
	}
	changed, err := m.Changed(ctx, merge, c3)
	if diff := cmp.Diff([]session.FileChange{{Status: "R", OldPath: "a.txt", Path: "b.txt"}}, changed); diff != "" || err != nil {
		t.Error(diff, err)
	}
	changed, err = m.Changed(ctx, "", c1)
	if diff := cmp.Diff([]session.FileChange{{Status: "A", Path: "a.txt"}, {Status: "A", Path: "other.txt"}}, changed); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if data, err := m.Show(ctx, c1, "a.txt"); err != nil || !strings.HasPrefix(string(data), "1\n2\n3") {
		t.Errorf("%q %v", data, err)
	}
	if _, err := m.Show(ctx, c3, "a.txt"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a renamed file: %v", err)
	}
	if _, err := m.Blame(ctx, c3, "a.txt", 1, 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("blame of a renamed file: %v", err)
	}
	if got, err := m.List(ctx, c3); err != nil || !slices.Equal(got, []string{"b.txt", "other.txt", "side.txt"}) {
		t.Errorf("list %v %v", got, err)
	}
	diff, err := m.Diff(ctx, c1, c2, DiffOptions{})
	if err != nil || !strings.Contains(string(diff), "@@ -3 +3 @@\n-3\n+three\n") && !strings.Contains(string(diff), "@@ -3 +3 @@ 2\n-3\n+three\n") {
		t.Errorf("diff %s %v", diff, err)
	}
	r.git("checkout", "-q", "--orphan", "lonely")
	r.commit("no relation")
	m2 := r.mirror()
	if base, err := m2.MergeBase(ctx, "lonely", "main"); err != nil || base != "" {
		t.Errorf("unrelated histories: %q %v", base, err)
	}
}

func TestUnknownRevisionsSayWhatToDo(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.write("a.txt", "x")
	r.commit("first")
	m := r.mirror()
	out := filepath.Join(t.TempDir(), "out")
	for _, rev := range []string{
		"", "no-such", "--upload-pack=touch " + out, "-h", "--output=" + out, "HEAD~99", "a..b", "HEAD^{tree}", "HEAD:a.txt", "x\ny", "\x00",
		strings.Repeat("0", 40), "@{u}", strings.Repeat("x", 5000), ":/first\x1b[31m",
	} {
		_, err := m.Resolve(t.Context(), rev)
		if !errors.Is(err, ErrUnknownRevision) {
			t.Errorf("%q: %v", rev, err)
			continue
		}
		if strings.ContainsAny(err.Error(), "\x1b\x00\n") || len(err.Error()) > 1000 {
			t.Errorf("%q: unfit for a terminal: %q", rev, err)
		}
	}
	if _, err := os.Lstat(out); err == nil {
		t.Error("an option was obeyed")
	}
}

func TestHostileNamesAreOrdinaryNames(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	names := []string{"--upload-pack=x", "-rf", "*.go", ":(top)x", "sp ace", "tab\tand\nnewline", "quote\"d", "caf\xe9-latin1", "日本語", "a\\b", "dir/--exec"}
	for _, name := range names {
		r.write(name, "content of "+name)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(r.dir, "link-out")); err != nil {
		t.Fatal(err)
	}
	sha := r.commit("names\x1b]0;title\a")
	r.write("-rf", "changed")
	second := r.commit("change")
	r.git("update-ref", "refs/heads/--upload-pack=touch", sha)
	m, ctx := r.mirror(), t.Context()
	tree, err := m.Worktree(ctx, sha)
	if err != nil {
		t.Fatal(err)
	}
	list, err := m.List(ctx, sha)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !slices.Contains(list, name) {
			t.Errorf("list misses %q", name)
		}
		if data, err := m.Show(ctx, sha, name); err != nil || string(data) != "content of "+name {
			t.Errorf("%q: %q %v", name, data, err)
		}
		if got := read(t, filepath.Join(tree.Dir(), name)); got != "content of "+name {
			t.Errorf("worktree %q: %q", name, got)
		}
		if got, err := m.Blame(ctx, sha, name, 1, 1); err != nil || len(got) != 1 {
			t.Errorf("blame %q: %v", name, err)
		}
	}
	if data, err := m.Show(ctx, sha, "link-out"); err != nil || string(data) != "/etc/passwd" {
		t.Errorf("a link shows %q %v", data, err)
	}
	if got, err := m.Log(ctx, second, LogOptions{Paths: []string{"*.go"}}); err != nil || len(got) != 1 {
		t.Errorf("a path was taken as a pattern: %v %v", got, err)
	}
	if got, err := m.Changed(ctx, sha, second); err != nil || len(got) != 1 || got[0].Path != "-rf" {
		t.Errorf("changed %v %v", got, err)
	}
	for _, bad := range []string{"", "/etc/passwd", "../x", "a/../b", ".git/config", "x/.GIT/y", "dir/", "a//b", "nul\x00"} {
		if _, err := m.Show(ctx, sha, bad); err == nil {
			t.Errorf("Show took %q", bad)
		}
		if err := tree.WriteFile(bad, []byte("x"), 0); err == nil {
			t.Errorf("WriteFile took %q", bad)
		}
	}
}

func FuzzParsers(f *testing.F) {
	f.Add([]byte(strings.Repeat("a", 40) + "\x00\x00Ada\x002026-01-02T03:04:05Z\x00subject\x00\n"))
	f.Add([]byte("R100\x00old\x00new\x00M\x00x\x00"))
	f.Add([]byte("100644 blob " + strings.Repeat("a", 40) + "\tname\x00"))
	f.Add([]byte(strings.Repeat("a", 40) + " 1 1 1\nauthor x\n\tline\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		commits, err := parseLog(data)
		for _, c := range commits {
			if err == nil && !fullID(c.SHA) {
				t.Errorf("commit ID %q", c.SHA)
			}
		}
		_, _ = parseNameStatus(data)
		_, _ = parseTree(data)
		for _, id := range parseBlame(data) {
			if len(id) < 40 {
				t.Errorf("blame ID %q", id)
			}
		}
		if text := clean(string(data)); strings.ContainsAny(text, "\n\x1b\x00") {
			t.Errorf("clean left %q", text)
		}
	})
}
