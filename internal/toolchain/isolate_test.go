package toolchain

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"culprit/internal/session"
)

const manyTests = `// Copyright.

package p

import (
	"fmt"
	"os"
	"strings"
	"testing"

	yaml "gopkg.in/yaml.v3"
)

// table is used by one of them.
var table = map[string]int{"a": 1}

type helper struct{ n int }

func (h *helper) value() int { return h.n + table["a"] }

var other = yaml.Node{}

func TestMain(m *testing.M) { os.Exit(m.Run()) }

// TestKept is about the failure.
func TestKept(t *testing.T) {
	h := &helper{1}
	t.Run("sub", func(t *testing.T) {
		if h.value() != 3 { // the comment stays
			t.Fatal("no")
		}
	})
}

func TestOther(t *testing.T) {
	fmt.Println(strings.ToUpper("x"), other, NewerFunction())
}

func ExampleNewer() { NewerFunction() }
`

func TestIsolateKeepsTheTestAndWhatItReaches(t *testing.T) {
	t.Parallel()
	got, note, ok := Isolate([]session.Edit{{Path: "p/a_test.go", Content: []byte(manyTests), Mode: 0o644}, {Path: "p/testdata/x", Content: []byte("x")}}, []string{"TestKept/sub"})
	if !ok || len(got) != 1 || note == "" || got[0].Mode != 0o644 {
		t.Fatalf("got %d edits, %q, %v", len(got), note, ok)
	}
	text := string(got[0].Content)
	for _, want := range []string{"// Copyright.", "func TestKept(", "type helper", ") value() int", "var table", "func TestMain(", `"os"`, `"testing"`, "the comment stays", "// TestKept is about"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is gone:\n%s", want, text)
		}
	}
	for _, gone := range []string{"TestOther", "NewerFunction", `"fmt"`, `"strings"`, "yaml", "var other"} {
		if strings.Contains(text, gone) {
			t.Errorf("%q is still there:\n%s", gone, text)
		}
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "a_test.go", got[0].Content, 0); err != nil {
		t.Errorf("it does not parse: %v\n%s", err, text)
	}
}

func TestIsolateLeavesAloneWhatItCannotMakeSmaller(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content string
		tests   []string
	}{
		"the only test":     {"package p\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\n", []string{"TestA"}},
		"another test":      {"package p\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\nfunc TestB(t *testing.T) {}\n", []string{"TestC"}},
		"no test is named":  {"package p\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\nfunc TestB(t *testing.T) {}\n", nil},
		"it does not parse": {"package p\n\nfunc TestA(", []string{"TestA"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, _, ok := Isolate([]session.Edit{{Path: "a_test.go", Content: []byte(c.content)}}, c.tests); ok {
				t.Errorf("got %s", got[0].Content)
			}
		})
	}
}

func FuzzIsolate(f *testing.F) {
	f.Add(manyTests, "TestKept")
	f.Add("package p\nimport (\n)\nfunc TestA(){}\nfunc TestB(){}", "TestA")
	f.Fuzz(func(t *testing.T, content, name string) {
		got, _, ok := Isolate([]session.Edit{{Path: "a_test.go", Content: []byte(content)}}, []string{name})
		if !ok {
			return
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "a_test.go", got[0].Content, 0); err != nil {
			t.Fatalf("what is left does not parse: %v\n%s", err, got[0].Content)
		}
	})
}

func TestConcurrentSeesWhatCouldRace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, content string
		want          bool
	}{
		"a goroutine":          {"a.go", "func f() {\n\tgo work()\n}", true},
		"a parallel test":      {"a_test.go", "t.Parallel()", true},
		"a map and no more":    {"a.go", "for k := range m {}", false},
		"another language":     {"a.py", "x = 1", true},
		"no source of a known": {"README.md", "go func", false},
	} {
		if got := Concurrent(c.file, []byte(c.content)); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
