package patch

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"culprit/internal/session"
)

func TestHunksOfOwnDiffBringTheNewSide(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		old, new := genFile().Draw(rt, "old"), genFile().Draw(rt, "new")
		hunks := Hunks(File{Path: "f", Old: old, New: new})
		checkApply(rt, "all", Apply, old, hunks, new)
		checkApply(rt, "all reversed", Reverse, new, hunks, old)
	})
}

func TestGitAppliesWhatUnifiedWrites(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	names := []string{"plain.txt", "two words", "ümlaut", "quo\"te", "tab\there", "back\\slash", "-dash"}
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom(names).Draw(rt, "name")
		f := File{Path: name}
		if rapid.IntRange(0, 4).Draw(rt, "created") > 0 {
			f.Old = genFile().Draw(rt, "old")
		}
		if f.Old == nil || rapid.IntRange(0, 4).Draw(rt, "deleted") > 0 {
			f.New = genFile().Draw(rt, "new")
		}
		if rapid.IntRange(0, 4).Draw(rt, "binary") == 0 {
			f.New = append(bytes.Repeat([]byte("\x00blob"), rapid.IntRange(1, 60).Draw(rt, "size")), genFile().Draw(rt, "tail")...)
		}
		if rapid.Bool().Draw(rt, "mode") && f.New != nil {
			f.Mode = ModeExec
		}
		path := filepath.Join(g.dir, name)
		os.Remove(path)
		if f.Old != nil {
			g.write(name, f.Old)
		}
		diff := Format(f, rapid.IntRange(1, 4).Draw(rt, "context"))
		if len(diff) > 0 {
			if out, err := g.try(diff, "apply", "--whitespace=nowarn", "-"); err != nil {
				rt.Fatalf("git apply: %v %s\n%s", err, out, diff)
			}
		}
		got, err := os.ReadFile(path)
		if (err != nil) != (f.New == nil) || !bytes.Equal(got, f.New) {
			rt.Fatalf("after git apply the file is %q (%v), want %q\n%s", got, err, f.New, diff)
		}
		// What git took, Split reads, and a copy in memory is changed alike.
		hunks, err := Split(diff)
		if err != nil {
			rt.Fatalf("Split: %v\n%s", err, diff)
		}
		if len(hunks) > 0 {
			checkApply(rt, "own patch", Apply, f.Old, hunks, f.New)
		}
	})
}

func TestUnifiedIsWhatGitPrints(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	old := "package p\n\nfunc a() int {\n\treturn 1\n}\n\nfunc b() int {\n\treturn 2\n}\n\nvar x = 1\nvar y = 2\nvar z = 3\n"
	new := strings.Replace(strings.Replace(old, "return 1", "return 10", 1), "var y = 2\n", "", 1)
	g.write("dir/p.go", []byte(old))
	g.commit("old")
	g.write("dir/p.go", []byte(new))
	// git adds the enclosing function after the second @@; that is no part of
	// the format.
	want := string(g.run("-c", "diff.dummy.xfuncname=^nothing$", "diff", "--full-index"))
	var lines []string
	for line := range strings.SplitSeq(want, "\n") {
		if strings.HasPrefix(line, "@@") {
			line = line[:strings.LastIndex(line, "@@")+2]
		}
		lines = append(lines, line)
	}
	if got := Unified("dir/p.go", []byte(old), []byte(new)); got != strings.Join(lines, "\n") {
		t.Errorf("Unified prints\n%s\ngit prints\n%s", got, strings.Join(lines, "\n"))
	}
	if got := Unified("f", []byte("a\n"), []byte("a\n")); got != "" {
		t.Errorf("Unified of equal sides is %q, want nothing", got)
	}
}

func TestADiffOfFilesThatShareNothingEndsSoon(t *testing.T) {
	t.Parallel()
	var old, new strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&old, "old %d\n", i)
		fmt.Fprintf(&new, "new %d\n", i)
		if i%1000 == 0 {
			fmt.Fprintf(&old, "shared %d\n", i)
			fmt.Fprintf(&new, "shared %d\n", i)
		}
	}
	hunks := Hunks(File{Path: "f", Old: []byte(old.String()), New: []byte(new.String())})
	if len(hunks) < 50 {
		t.Errorf("%d hunks: the lines that both sides have were not found", len(hunks))
	}
	got, err := Apply([]byte(old.String()), hunks)
	if err != nil || string(got) != new.String() {
		t.Errorf("the hunks don't bring the new side: %v", err)
	}
}

func TestARenameIsWrittenAndReadAsOne(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	old := []byte("one\ntwo\nthree\nfour\n")
	g.write("old name", old)
	diff := Format(File{OldPath: "old name", Path: "dir/new", Old: old, New: []byte("one\n2\nthree\nfour\n"), OldMode: ModeFile, Mode: ModeExec}, 3)
	if _, err := g.try(diff, "apply", "-"); err != nil {
		t.Fatalf("%v\n%s", err, diff)
	}
	hunks, err := Split(diff)
	if err != nil || len(hunks) != 1 || hunks[0].File != "dir/new" || hunks[0].OldFile != "old name" || !hunks[0].Whole {
		t.Fatalf("Split gave %+v, %v", hunks, err)
	}
	es, err := ApplyEdits(hunks, memory{"old name": old})
	if err != nil || len(es) != 2 || !es[0].Delete || es[0].Path != "old name" || string(es[1].Content) != "one\n2\nthree\nfour\n" || es[1].Mode != 0o755 {
		t.Errorf("edits are %+v, %v", es, err)
	}
}

// memory is a Content of files.
type memory map[string][]byte

func (m memory) File(path string) ([]byte, error) {
	if c, ok := m[path]; ok {
		return c, nil
	}
	return nil, os.ErrNotExist
}
func (m memory) Blob(string) ([]byte, error) { return nil, os.ErrNotExist }

func TestMergeDoesWhatGitDoesOrReportsAConflict(t *testing.T) {
	t.Parallel()
	g := newGit(t)
	merged, clashes := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		base := genFile().Draw(rt, "base")
		ours, theirs := mutate(rt, base, "ours"), mutate(rt, base, "theirs")
		got, conflicts := Merge(base, ours, theirs)
		if (got == nil) == (conflicts == nil) {
			rt.Fatalf("merged %q with conflicts %v", got, conflicts)
		}
		if conflicts != nil {
			clashes++
			return
		}
		g.write("base", base)
		g.write("ours", ours)
		g.write("theirs", theirs)
		want, err := g.try(nil, "merge-file", "-p", "ours", "base", "theirs")
		if err != nil {
			return // git is more careful here: it may call equal changes near others a conflict
		}
		merged++
		if !bytes.Equal(got, want) {
			rt.Fatalf("base %q ours %q theirs %q: merged %q, git %q", base, ours, theirs, got, want)
		}
	})
	if merged == 0 || clashes == 0 {
		t.Errorf("%d merges and %d conflicts: the cases show nothing", merged, clashes)
	}
}

// mutate drops, replaces and adds a few lines of base.
func mutate(t *rapid.T, base []byte, side string) []byte {
	lines := splitLines(base)
	var out []byte
	for _, line := range lines {
		switch rapid.IntRange(0, 8).Draw(t, side) {
		case 0:
		case 1:
			out = append(out, (side + "\n")...)
		case 2:
			out = append(append(out, line...), ("after " + side + "\n")...)
		default:
			out = append(out, line...)
		}
	}
	return out
}

func TestTheMinimalRevertIsAMerge(t *testing.T) {
	t.Parallel()
	lines := strings.Split("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "\n")
	parent := strings.Join(lines, "\n")
	culprit := strings.Replace(strings.Replace(parent, "2\n", "two\n", 1), "8\n", "eight\n", 1)
	head := "0\n" + strings.Replace(culprit, "5\n", "five\n", 1)
	hunks := Hunks(File{Path: "f", Old: []byte(parent), New: []byte(culprit)})
	if len(hunks) != 2 {
		t.Fatalf("%d hunks, want 2", len(hunks))
	}
	theirs, err := Reverse([]byte(culprit), []session.Hunk{hunks[0]})
	if err != nil {
		t.Fatal(err)
	}
	got, conflicts := Merge([]byte(culprit), []byte(head), theirs)
	if want := strings.Replace(head, "two\n", "2\n", 1); string(got) != want || conflicts != nil {
		t.Errorf("merged %q with conflicts %v, want %q", got, conflicts, want)
	}
	moved := strings.Replace(head, "two\n", "zwei\n", 1)
	if got, conflicts := Merge([]byte(culprit), []byte(moved), theirs); got != nil || len(conflicts) != 1 || conflicts[0].Line != 3 {
		t.Errorf("a line that HEAD changed since: merged %q with conflicts %v, want one at line 3", got, conflicts)
	}
}
