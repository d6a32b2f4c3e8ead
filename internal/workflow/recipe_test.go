package workflow

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the expected texts")

// testCommand stands for the toolchains, which know test commands.
var testCommand = regexp.MustCompile(`(?m)^\s*(?:go test|npm test|pytest|python3? -m (?:pytest|unittest)|cargo test)\b`)

// A case is a txtar file: what is asked (query.json), the commit's files, and
// the recipes that are wanted (want.txt).
func TestAJobIsReadAsCIRunsIt(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob("testdata/jobs/*.txtar")
	if err != nil || len(cases) < 10 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, name := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			q, want, at := queryOf(t, ar)
			recipes, problems := Find(q)
			var b strings.Builder
			for _, r := range recipes {
				b.WriteString(describe(r))
			}
			for _, p := range problems {
				fmt.Fprintf(&b, "problem: %s\n", p)
			}
			if b.String() == want {
				return
			}
			if !*update {
				t.Errorf("got:\n%s\nwant:\n%s", b.String(), want)
				return
			}
			if at < 0 {
				ar.Files = append(ar.Files, txtar.File{Name: "want.txt"})
				at = len(ar.Files) - 1
			}
			ar.Files[at].Data = []byte(b.String())
			if err := os.WriteFile(name, txtar.Format(ar), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func queryOf(t *testing.T, ar *txtar.Archive) (q Query, want string, at int) {
	t.Helper()
	at = -1
	files := map[string][]byte{}
	var asked struct {
		Workflow, Job, Command string
		Event, Commit, Branch  string
		PullRequest            int
		Steps                  []string
		GitHub                 map[string]string
		Versions               map[string]string
	}
	for i, f := range ar.Files {
		switch f.Name {
		case "query.json":
			if err := json.Unmarshal(f.Data, &asked); err != nil {
				t.Fatal(err)
			}
		case "want.txt":
			want, at = string(f.Data), i
		default:
			files[f.Name] = f.Data
			q.Files = append(q.Files, f.Name)
		}
	}
	q.Event, q.Commit, q.Branch, q.PullRequest = asked.Event, asked.Commit, asked.Branch, asked.PullRequest
	q.Workflow, q.Job, q.Command, q.Steps, q.GitHub = asked.Workflow, asked.Job, asked.Command, asked.Steps, asked.GitHub
	q.Read = func(p string) ([]byte, error) {
		if data, ok := files[p]; ok {
			return data, nil
		}
		return nil, fs.ErrNotExist
	}
	q.IsTest = func(s Step) bool { return testCommand.MatchString(s.Run) }
	q.Here = Machine{OS: "linux", Arch: "amd64", Name: "Debian GNU/Linux 12", Version: func(p string) string { return asked.Versions[p] }}
	return q, want, at
}

func describe(r Recipe) string {
	var b strings.Builder
	fmt.Fprintf(&b, "job %s of %s", r.Job, r.Workflow)
	if r.Guessed {
		b.WriteString(", guessed")
	}
	b.WriteByte('\n')
	step := func(what string, s Step) {
		fmt.Fprintf(&b, "%s [%s, in %s] %s\n", what, s.Shell, s.Dir, s.Name)
		for _, e := range s.Env {
			b.WriteString("  with " + e + "\n")
		}
		b.WriteString("  " + strings.ReplaceAll(s.Run, "\n", "\n  ") + "\n")
	}
	for _, s := range r.Setup {
		step("set-up", s)
	}
	if r.Test != nil {
		step("test", *r.Test)
	} else {
		fmt.Fprintf(&b, "no test, because %s\n", r.Why)
	}
	for _, d := range r.Differences {
		mark := ""
		if d.Blocks {
			mark = ", blocks"
		}
		fmt.Fprintf(&b, "differs (%s%s): %s\n", d.Kind, mark, d)
	}
	return b.String()
}
