package toolchain_test

import (
	"fmt"
	"strings"
	"testing"

	"culprit/internal/toolchain"
)

const oldMod = `module example.com/app

go 1.21

require (
	example.com/a v1.0.0
	example.com/b v1.2.0 // indirect
	example.com/gone v0.1.0
)

replace example.com/b => ../b
`

const newMod = `module example.com/app

go 1.22

require (
	example.com/a v1.4.0
	example.com/b v1.2.1 // indirect
)

require example.com/new v0.3.0 // indirect
`

func TestMovesOfDependencyFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, old, new, want string }{
		{"go.mod", oldMod, newMod, "go 1.21>1.22, example.com/a v1.0.0>v1.4.0, example.com/b v1.2.0>v1.2.1, example.com/new >v0.3.0, example.com/gone v0.1.0>, example.com/b ../b>"},
		{"requirements.txt", "a==1.0\nB_c ~= 2.1  # why\n-r other.txt\n", "a==1.1\nb-c~=2.1\nd>=3; python_version > '3'\n", "a ==1.0>==1.1, b-c ~= 2.1>~=2.1, d >>=3"},
		{"requirements-dev.txt", "a==1.0 \\\n    --hash=sha256:00\n", "a==1.1 \\\n    --hash=sha256:11\n", "a ==1.0>==1.1"},
		{"requirements.txt", "a\nb==1.0\n", "a==2.0\nb\nc\n", "a >=0>==2.0, b ==1.0>>=0, c >>=0"},
		{"requirements.txt", "a\nb==1.0\n", "b==1.0\n", "a >=0>"},
		{"go.mod", oldMod, oldMod, ""},
	} {
		moves, ok := toolchain.Moves(c.file, []byte(c.old), []byte(c.new))
		var got []string
		for _, m := range moves {
			got = append(got, fmt.Sprintf("%s %s>%s", m.Name, m.Old, m.New))
		}
		if !ok || strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q, want %q", c.file, strings.Join(got, ", "), c.want)
		}
		// All moves carried out leave nothing that differs, none leave the file.
		carried := toolchain.Carry(c.file, []byte(c.old), moves)
		if left, _ := toolchain.Moves(c.file, carried, []byte(c.new)); len(left) > 0 {
			t.Errorf("%s: after all moves these differ: %+v\n%s", c.file, left, carried)
		}
		if same := toolchain.Carry(c.file, []byte(c.old), nil); string(same) != c.old {
			t.Errorf("%s: without a move it becomes %q", c.file, same)
		}
	}
	if _, ok := toolchain.Moves("package-lock.json", nil, nil); ok {
		t.Error("a lock file is not taken apart")
	}
}

func TestMovesAreCarriedOutAsTheNewFileWritesThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, old, new, want string }{
		{"requirements.txt", "requests\nb==1.0\n", "requests==2.32\nb==1.0\n", "requests==2.32\nb==1.0\n"},
		{"requirements.txt", "requests==2.32  # pinned\nb==1.0\n", "requests\nb==1.0\n", "requests\nb==1.0\n"},
		{"requirements.txt", "b==1.0", "b==1.0\nrequests\n", "b==1.0\nrequests\n"},
		{"requirements.txt", "requests[socks]\n", "requests[socks]>=2; python_version > '3'\n", "requests[socks]>=2; python_version > '3'\n"},
		{"requirements.txt", "a==1.0  # not ==1.0 of b\n", "a==1.1\n", "a==1.1  # not ==1.0 of b\n"},
		{"go.mod", "require a v1.0.0 // v1.0.0 is what b wants\n", "require a v1.1.0\n", "require a v1.1.0 // v1.0.0 is what b wants\n"},
		{"go.mod", "require (\n\ta v1.0.0 // since v1.0.0\n)\n", "require a v1.1.0\n", "require (\n\ta v1.1.0 // since v1.0.0\n)\n"},
	} {
		moves, _ := toolchain.Moves(c.file, []byte(c.old), []byte(c.new))
		if got := string(toolchain.Carry(c.file, []byte(c.old), moves)); got != c.want {
			t.Errorf("%q to %q: %q", c.old, c.new, got)
		}
	}
}

func TestOneMoveIsCarriedOutAtAnyRelease(t *testing.T) {
	t.Parallel()
	moves, _ := toolchain.Moves("go.mod", []byte(oldMod), []byte(newMod))
	got := string(toolchain.Carry("go.mod", []byte(oldMod), []toolchain.Move{moves[1].Release("v1.3.0")}))
	if want := strings.Replace(oldMod, "a v1.0.0", "a v1.3.0", 1); got != want {
		t.Errorf("%s", got)
	}
	if old, new, ok := moves[1].Versions(); old != "v1.0.0" || new != "v1.4.0" || !ok {
		t.Error(old, new, ok)
	}
	if _, _, ok := moves[3].Versions(); ok {
		t.Error("what came has no versions between")
	}
	pins, _ := toolchain.Moves("requirements.txt", []byte("a==1.0\n"), []byte("a==1.5 # ==1.5 is the newest\n"))
	// Also where its own line is added: "b" stands for a file without it.
	for old, want := range map[string]string{"a==1.0\n": "a==1.2\n", "b==1.0\n": "b==1.0\na==1.2\n"} {
		if got := string(toolchain.Carry("requirements.txt", []byte(old), []toolchain.Move{pins[0].Release("1.2")})); got != want {
			t.Errorf("%q", got)
		}
	}
}

func TestWhatIsPinnedByHashHasNoOtherRelease(t *testing.T) {
	t.Parallel()
	const bare, oneLine, lines = "a==1.0\n", "a==1.1 --hash=sha256:11\n", "a==1.2 \\\n    --hash=sha256:22 \\\n    --hash=sha256:33\n"
	for _, c := range []struct {
		old, new string
		ok       bool
	}{{bare, "a==1.1\n", true}, {bare, oneLine, false}, {bare, lines, false}, {oneLine, lines, false}, {lines, bare, false}, {oneLine, bare, false}} {
		moves, _ := toolchain.Moves("requirements.txt", []byte(c.old), []byte(c.new))
		if len(moves) != 1 {
			t.Errorf("%q to %q: %+v", c.old, c.new, moves)
			continue
		}
		if _, _, ok := moves[0].Versions(); ok != c.ok {
			t.Errorf("%q to %q: releases between: %v", c.old, c.new, ok)
		}
		if got := string(toolchain.Carry("requirements.txt", []byte(c.old), moves)); got != c.new {
			t.Errorf("%q to %q: %q", c.old, c.new, got)
		}
	}
}

func TestReleasesBetween(t *testing.T) {
	t.Parallel()
	all := []string{"v1.0.0", "v1.1.0", "v1.2.0", "v1.3.0"}
	for _, c := range []struct {
		old, new, want string
		ok             bool
	}{
		{"v1.0.0", "v1.2.0", "v1.1.0 v1.2.0", true},
		{"v1.3.0", "v1.1.0", "v1.2.0 v1.1.0", true},
		{"v1.0.0", "v0.0.0-20240101000000-abcdefabcdef", "", false},
	} {
		got, ok := toolchain.Between(all, c.old, c.new)
		if strings.Join(got, " ") != c.want || ok != c.ok {
			t.Errorf("%s to %s: %v, %v", c.old, c.new, got, ok)
		}
	}
}

func TestHostileNamesGetNoCommand(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"-x", "a b", "a'b", "$(x)", "", "a\nb"} {
		if command, ok := toolchain.Releases("go.mod", name); ok {
			t.Errorf("%q: %s", name, command)
		}
	}
}

func TestUnionHoldsEachLineOnce(t *testing.T) {
	t.Parallel()
	if got := string(toolchain.Union([]byte("a\nb\n"), []byte("b\nc"))); got != "a\nb\nc\n" {
		t.Errorf("%q", got)
	}
}
