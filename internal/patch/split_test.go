package patch

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"culprit/internal/requiretest"
	"culprit/internal/session"
)

// gitDir is a scratch repository that no configuration of the machine reaches.
type gitDir struct {
	t   testing.TB
	dir string
}

func newGit(t testing.TB) gitDir {
	t.Helper()
	requiretest.Program(t, "git")
	g := gitDir{t, t.TempDir()}
	g.run("init", "-q")
	return g
}

func (g gitDir) try(stdin []byte, args ...string) ([]byte, error) {
	cmd := exec.Command("git", append([]string{"-c", "core.autocrlf=false", "-c", "user.name=T", "-c", "user.email=t@example.com"}, args...)...)
	cmd.Dir = g.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}
	if stdin != nil {
		cmd.Stdin = bytes.NewReader(stdin)
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil {
		err = errors.New(err.Error() + ": " + errs.String())
	}
	return out.Bytes(), err
}

func (g gitDir) run(args ...string) []byte {
	g.t.Helper()
	out, err := g.try(nil, args...)
	if err != nil {
		g.t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return out
}

func (g gitDir) write(name string, content []byte) {
	g.t.Helper()
	path := filepath.Join(g.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		g.t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		g.t.Fatal(err)
	}
}

func (g gitDir) commit(msg string) {
	g.t.Helper()
	g.run("add", "-A")
	g.run("commit", "-q", "--allow-empty", "-m", msg)
}

// File and Blob make a gitDir the Content of its own HEAD~1 or HEAD.
type side struct {
	gitDir
	rev string
}

func (s side) File(path string) ([]byte, error) { return s.try(nil, "show", s.rev+":"+path) }
func (s side) Blob(id string) ([]byte, error)   { return s.try(nil, "cat-file", "blob", id) }

// genFile makes contents from few distinct lines, so that files share some,
// with each line end and every kind of last line.
func genFile() *rapid.Generator[[]byte] {
	line := rapid.SampledFrom([]string{"a\n", "b\n", "c\r\n", "\n", "\xff\xfe\n", "- x\n", "+y\n", "--- q\n", "\\ z\n", "@@ -1 +1 @@\n"})
	return rapid.Custom(func(t *rapid.T) []byte {
		lines := rapid.SliceOfN(line, 0, 12).Draw(t, "lines")
		s := strings.Join(lines, "")
		if rapid.Bool().Draw(t, "torn") {
			s = strings.TrimSuffix(s, "\n")
		}
		return []byte(s)
	})
}

func TestSubsetsOfHunksAreConsistent(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	context := []string{"-U0", "-U3"}
	rapid.Check(t, func(rt *rapid.T) {
		old, new := genFile().Draw(rt, "old"), genFile().Draw(rt, "new")
		g.write("old", old)
		g.write("new", new)
		diff, _ := g.try(nil, "diff", "--no-index", "--no-color", "--full-index", "--text", rapid.SampledFrom(context).Draw(rt, "context"), "--", "old", "new")
		diff = bytes.ReplaceAll(diff, []byte("a/old"), []byte("a/f x"))
		diff = bytes.ReplaceAll(diff, []byte("b/new"), []byte("b/f x"))
		hunks, err := Split(diff)
		if err != nil {
			rt.Fatalf("Split: %v\n%s", err, diff)
		}
		hunks = throughJSON(rt, hunks)
		checkApply(rt, "all", Apply, old, hunks, new)
		checkApply(rt, "all reversed", Reverse, new, hunks, old)
		checkApply(rt, "none", Apply, old, nil, old)
		var in, out []session.Hunk
		for _, h := range hunks {
			if h.Whole {
				rt.Fatalf("hunk %s of an ordinary change is whole", h.ID)
			}
			if rapid.Bool().Draw(rt, "in") {
				in = append(in, h)
			} else {
				out = append(out, h)
			}
		}
		forward, err := Apply(old, in)
		if err != nil {
			rt.Fatalf("Apply subset: %v", err)
		}
		checkApply(rt, "subset", Reverse, new, out, forward)
	})
}

func throughJSON(t *rapid.T, hunks []session.Hunk) []session.Hunk {
	data, err := json.Marshal(hunks)
	if err != nil {
		t.Fatal(err)
	}
	var out []session.Hunk
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func checkApply(t *rapid.T, what string, do func([]byte, []session.Hunk) ([]byte, error), base []byte, hunks []session.Hunk, want []byte) {
	t.Helper()
	got, err := do(base, hunks)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("%s: got %q, want %q", what, got, want)
	}
}

func TestEditsOfEveryKindOfChangeBringTheOtherTree(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	g.write("plain", []byte("1\n2\n3\n4\n5\n6\n7\n8\n9\n"))
	g.write("gone", []byte("x\n"))
	g.write("empty-gone", nil)
	g.write("sub dir/ren\u00e4me \"q\".txt", []byte(strings.Repeat("same\n", 30)))
	g.write("bin", []byte("\x00\x01old"))
	g.write("exec", []byte("#!/bin/sh\n"))
	g.write("tolink", []byte("file\n"))
	if err := os.Symlink("plain", filepath.Join(g.dir, "link")); err != nil {
		t.Fatal(err)
	}
	g.commit("old")
	g.write("plain", []byte("1\ntwo\n3\n4\n5\n6\n7\n8\nnine"))
	g.write("made", []byte("new, no end"))
	g.write("empty", nil)
	g.write("bin", append([]byte("\x00\x01new"), bytes.Repeat([]byte{7, 0, 9}, 100)...))
	for _, name := range []string{"gone", "empty-gone", "tolink", "link"} {
		if err := os.Remove(filepath.Join(g.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"tolink": "exec", "link": "exec"} {
		if err := os.Symlink(target, filepath.Join(g.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	g.run("mv", "sub dir/ren\u00e4me \"q\".txt", "moved tab\t.txt")
	g.write("moved tab\t.txt", []byte(strings.Repeat("same\n", 30)+"more\n"))
	if err := os.Chmod(filepath.Join(g.dir, "exec"), 0o755); err != nil {
		t.Fatal(err)
	}
	g.commit("new")

	for _, args := range [][]string{{"-U0"}, {"-U3"}, {"-U0", "--binary"}, {"-U0", "--no-renames"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			diff := g.run(append([]string{"diff", "--no-color", "-M", "--full-index", "HEAD~1", "HEAD"}, args...)...)
			hunks, err := Split(diff)
			if err != nil {
				t.Fatal(err)
			}
			checkTree(t, g, "HEAD~1", "HEAD", hunks, ApplyEdits)
			checkTree(t, g, "HEAD", "HEAD~1", hunks, ReverseEdits)
		})
	}
}

func checkTree(t *testing.T, g gitDir, from, to string, hunks []session.Hunk, edits func([]session.Hunk, Content) ([]session.Edit, error)) {
	t.Helper()
	got, err := edits(hunks, side{g, from})
	if err != nil {
		t.Fatal(err)
	}
	index := filepath.Join(g.dir, ".git", "check-index")
	defer os.Remove(index)
	env := func(stdin []byte, args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Stdin = g.dir, bytes.NewReader(stdin)
		cmd.Env = append(os.Environ(), "GIT_INDEX_FILE="+index)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	env(nil, "read-tree", from)
	for _, e := range got {
		if e.Delete {
			env(nil, "update-index", "--force-remove", "--", e.Path)
			continue
		}
		mode := map[uint32]string{0: "100644", 0o644: "100644", 0o755: "100755", ModeSymlink: "120000"}[e.Mode]
		id := env(e.Content, "hash-object", "-w", "--stdin")
		env(nil, "update-index", "--add", "--cacheinfo", mode+","+id+","+e.Path)
	}
	if tree, want := env(nil, "write-tree"), env(nil, "rev-parse", to+"^{tree}"); tree != want {
		t.Errorf("the tree after the edits differs from %s:\n%s", to, env(nil, "diff", "--stat", tree, want))
	}
}

func TestSplitNamesHunksAndTheirPlaces(t *testing.T) {
	t.Parallel()
	hunks, err := Split([]byte(`commit message that says @@ nothing
diff --git a/dir/f.go b/dir/f.go
index 0123456..789abcd 100644
--- a/dir/f.go
+++ b/dir/f.go
@@ -1,7 +1,7 @@ func f()
 one
-two
+zwei
 three
-four
 five
+fünf
 six
 seven
diff --git a/new b/new
new file mode 100755
index 0000000..e69de29
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range hunks {
		got = append(got, h.ID+" "+h.Location())
	}
	want := "dir/f.go#1 dir/f.go:2,dir/f.go#2 dir/f.go:3,dir/f.go#3 dir/f.go:5,new#1 new:1"
	if s := strings.Join(got, ","); s != want {
		t.Errorf("hunks are %s, want %s", s, want)
	}
	m, err := MetaOf(hunks[3])
	if err != nil || !m.Created || m.NewMode != ModeExec || m.NewBlob != "e69de29" {
		t.Errorf("meta of the created file is %+v, %v", m, err)
	}
}

func TestWhatIsNoDiffIsRefused(t *testing.T) {
	t.Parallel()
	head := "diff --git a/f b/f\n--- a/f\n+++ b/f\n"
	for name, diff := range map[string]string{
		"a combined diff":     "diff --cc f\nindex 1,2..3\n@@@ -1 -1 +1 @@@\n",
		"a torn hunk":         head + "@@ -1,3 +1,3 @@\n-a\n",
		"a bad header":        head + "@@ -1,x +1 @@\n-a\n+b\n",
		"too many lines":      head + "@@ -1 +1 @@\n-a\n-b\n+c\n",
		"a line of no kind":   head + "@@ -1 +1 @@\n?a\n",
		"a number too large":  head + "@@ -1,99999999999 +1 @@\n-a\n",
		"no paths":            "diff --git a b\n",
		"a torn quoted path":  "diff --git \"a/\\1 b/f\n--- \"a/\\1\n",
		"a mode of no number": "diff --git a/f b/f\nold mode 1x\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if hunks, err := Split([]byte(diff)); !errors.Is(err, ErrFormat) {
				t.Errorf("Split gave %v and %v, want ErrFormat", hunks, err)
			}
		})
	}
}

func TestAHunkThatDoesNotMatchIsAnError(t *testing.T) {
	t.Parallel()
	h := session.Hunk{ID: "f#1", File: "f", OldStart: 2, OldLines: 1, NewStart: 2, NewLines: 1, Text: "-b\n+B\n"}
	for _, base := range []string{"", "a\n", "a\nx\n", "a\nb"} {
		if got, err := Apply([]byte(base), []session.Hunk{h}); !errors.Is(err, ErrMismatch) {
			t.Errorf("Apply to %q gave %q and %v, want ErrMismatch", base, got, err)
		}
	}
	other := h
	other.File = "g"
	if _, err := Apply([]byte("a\nb\n"), []session.Hunk{h, other}); err == nil {
		t.Error("hunks of two files were applied to one")
	}
	if _, err := Apply([]byte("a\nb\n"), []session.Hunk{h, h}); !errors.Is(err, ErrMismatch) {
		t.Errorf("a hunk applied twice gave %v, want ErrMismatch", err)
	}
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte("diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n-a\n+b\n\\ No newline at end of file\n"))
	f.Add([]byte("diff --git a/f b/f\nnew file mode 100644\nindex 1..2\nGIT binary patch\nliteral 3\nKcmZQzWMT#Y01f~L\n\n"))
	f.Add([]byte("diff --git \"a/\\303\" \"b/\\303\"\nold mode 100644\nnew mode 100755\n"))
	f.Fuzz(func(t *testing.T, diff []byte) {
		hunks, err := Split(diff)
		if err != nil {
			return
		}
		for _, h := range hunks {
			// Whatever was split can be read again, or says why not.
			_, _ = MetaOf(h)
			_, _ = Apply(nil, []session.Hunk{h})
			_, _ = Reverse(nil, []session.Hunk{h})
			if !h.Whole {
				if _, err := changeOf(h); err != nil {
					t.Errorf("hunk %s cannot be read back: %v", h.ID, err)
				}
			}
		}
	})
}

func TestWhatGitFormatPatchWritesAroundADiffIsPassedOver(t *testing.T) {
	t.Parallel()
	diff := Unified("f", []byte("a\n"), []byte("b\n"))
	want, err := Split([]byte(diff))
	if err != nil || len(want) != 1 {
		t.Fatalf("%v, %v", want, err)
	}
	got, err := Split([]byte("From: x\n\n---\n f | 2 +-\n\n" + diff + "-- \n2.39.5\n"))
	if err != nil || !slices.EqualFunc(got, want, func(a, b session.Hunk) bool { return a.Text == b.Text && a.File == b.File }) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if got, err := Split([]byte("diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,9 +1 @@\n-a\n")); err == nil {
		t.Errorf("a diff with less than it says is %v", got)
	}
}
