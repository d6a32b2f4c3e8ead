package workflow

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// one is a query about one workflow file.
func one(text, job string) Query {
	files := map[string]string{".github/workflows/ci.yml": text}
	q := Query{Job: job, Here: Machine{OS: "linux", Arch: "amd64"}, IsTest: func(s Step) bool { return testCommand.MatchString(s.Run) }}
	for f := range files {
		q.Files = append(q.Files, f)
	}
	q.Read = func(p string) ([]byte, error) {
		if data, ok := files[p]; ok {
			return []byte(data), nil
		}
		return nil, fs.ErrNotExist
	}
	return q
}

const head = "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n"

// Each of these would take the time or memory of many machines if it were done
// as it says.
func TestAHostileWorkflowEndsInADifference(t *testing.T) {
	t.Parallel()
	rows := func(n, values int) string {
		var b strings.Builder
		b.WriteString("    strategy:\n      matrix:\n")
		for i := range n {
			fmt.Fprintf(&b, "        r%d: [%s]\n", i, strings.TrimSuffix(strings.Repeat("x, ", values), ", "))
		}
		return b.String()
	}
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 12 {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	for name, text := range map[string]string{
		"aliases of aliases":           bomb.String() + head + "    steps: [{run: go test}]\n",
		"aliases of a long text":       "x: &a " + strings.Repeat("x", 500_000) + "\ny: [" + strings.Repeat("*a,", 90_000) + "]\n" + head + "    steps: [{run: go test}]\n",
		"an alias in its anchor":       "on: push\njobs: &j\n  test:\n    runs-on: x\n    steps: [{run: go test}]\n    env: *j\n",
		"deep nesting":                 head + "    env: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "\n",
		"a large file":                 head + "    steps: [{run: go test}]\n#" + strings.Repeat("x", maxFile) + "\n",
		"many rows":                    head + rows(3000, 2) + "    steps: [{run: go test}]\n",
		"many combinations":            head + rows(40, 40) + "    steps: [{run: go test}]\n",
		"a deep expression":            head + "    steps: [{run: 'go test ${{ " + strings.Repeat("(", 100_000) + " }}'}]\n",
		"many nots":                    head + "    steps: [{run: 'go test ${{ " + strings.Repeat("!", 4000) + "true }}'}]\n",
		"a chain of indexes":           head + "    steps: [{run: 'go test ${{ github" + strings.Repeat("[0]", 1300) + " }}'}]\n",
		"a chain of unknown indexes":   head + "    steps: [{run: 'go test ${{ secrets" + strings.Repeat("[0]", 1300) + " }}'}]\n",
		"an expression without end":    head + "    steps: [{run: 'go test ${{ env.X'}]\n",
		"a workflow that calls itself": "on: {push: , workflow_call: }\njobs:\n  test:\n    strategy: {matrix: {x: [1, 2, 3, 4, 5, 6, 7, 8, 9]}}\n    uses: ./.github/workflows/ci.yml\n",
		"no jobs":                      "on: push\n",
		"a list":                       "- on\n- push\n",
		"nothing":                      "",
		"NUL":                          "on: push\njobs:\n  test:\n    runs-on: x\n    steps: [{run: \"go test \\0\"}]\n",
		"nulls":                        "on: push\njobs:\n  test:\n    runs-on:\n    strategy:\n    env:\n    defaults:\n    container:\n    services:\n    steps:\n      -\n      - run:\n      - uses:\n      - env: {A: }\n        run: go test\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, job := range []string{"test", ""} {
				recipes, problems := Find(one(text, job))
				for _, r := range recipes {
					if r.Test == nil && r.Why == "" {
						t.Errorf("job %q: no test and no reason: %+v", job, r)
					}
				}
				if len(recipes) == 0 && len(problems) == 0 && job != "" {
					t.Errorf("job %q: nothing is said", job)
				}
			}
		})
	}
}

// What an alias names is copied with its text, its tag and its comments, and
// moved in.
func TestAliasesMakeNoLargeText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200_000)
	nested := "b:\n"
	for i := range 79 {
		nested += strings.Repeat(" ", i+1) + "k:\n"
	}
	aliases := "b: [" + strings.TrimSuffix(strings.Repeat("*a, ", 100), ", ") + "]\n"
	for name, text := range map[string]string{
		"a text":     "a: &a " + long + "\n" + aliases,
		"a tag":      "a: &a !" + long + " x\n" + aliases,
		"a comment":  "a: &a\n  # " + long + "\n  k: v\n" + aliases,
		"many lines": "a: &a |\n" + strings.Repeat("  x\n", 50_000) + nested + strings.Repeat(" ", 80) + "k: *a\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if data, _, err := plain([]byte(text)); len(data) > 4*maxFile {
				t.Errorf("%d bytes, %v", len(data), err)
			}
		})
	}
}

// Actions that use one another without end are read a bounded number of times.
func TestActionsThatUseOneAnotherEnd(t *testing.T) {
	t.Parallel()
	action := "runs:\n  using: composite\n  steps:\n" + strings.Repeat("    - uses: ./a\n", 50)
	reads := 0
	q := one(head+"    steps:\n"+strings.Repeat("      - uses: ./a\n", 50), "test")
	q.Files = append(q.Files, "a/action.yml")
	inner := q.Read
	q.Read = func(p string) ([]byte, error) {
		if reads++; p == "a/action.yml" {
			return []byte(action), nil
		}
		return inner(p)
	}
	recipes, _ := Find(q)
	if reads > maxReads+maxFiles || len(recipes) != 1 || recipes[0].Test != nil || recipes[0].Why == "" {
		t.Errorf("%d reads, %+v", reads, recipes)
	}
}

func TestExpressions(t *testing.T) {
	t.Parallel()
	s := (&reader{Query: Query{Event: "push", Branch: "main", GitHub: map[string]string{"repository": "acme/x"}}}).root(mustParse(t, head+"    steps: [{run: x}]\n"))
	s = s.with("matrix", map[string]any{"os": "Linux", "n": "3", "list": []any{"a", "b"}, "obj": map[string]any{"k": "v"}, "on": true})
	for expr, want := range map[string]string{
		"matrix.os == 'linux'":                        "true",
		"matrix['os'] != 'linux'":                     "false",
		"matrix.n == 3 && 'three' || 'other'":         "three",
		"matrix.n > 2":                                "true",
		"matrix.missing":                              "",
		"matrix.missing == ''":                        "true",
		"matrix.obj.k":                                "v",
		"matrix.list[1]":                              "b",
		"matrix.on && 'yes'":                          "yes",
		"contains(matrix.list, 'A')":                  "true",
		"contains('Hello', 'ELL')":                    "true",
		"startsWith(github.ref_name, 'ma')":           "true",
		"endsWith('x.yml', '.YML')":                   "true",
		"format('{0}-{1}-{{x}}', matrix.os, 'it''s')": "Linux-it's-{x}",
		"join(matrix.list, '+')":                      "a+b",
		"fromJSON('[1, {\"Ab\": true}]')[1].aB":       "true",
		"toJSON(fromJSON('[1]'))":                     "[\n  1\n]",
		"!cancelled() && success()":                   "true",
		"github.event_name":                           "push",
		"runner.os":                                   "Linux",
		"false && secrets.X":                          "false",
		"secrets.X && false":                          "false",
		"null == 0":                                   "true",
		"'a}}b'":                                      "a}}b",
		"1.5":                                         "1.5",
		"NaN == 1":                                    "?",
		"github.event.pull_request.number":            "?github.event.pull_request.number",
		"secrets.X":                                   "?secrets.x",
		"steps.a.outputs.b":                           "?steps.a.outputs.b",
		"needs.a.outputs.b || 'x'":                    "?needs.a.outputs.b",
		"vars.A == 'x'":                               "?vars.a",
		"hashFiles('**/go.sum')":                      "?hashFiles()",
		"unheard(1)":                                  "?unheard()",
		"1 +":                                         "?",
	} {
		got, missing := s.text("${{ " + expr + " }}")
		if len(missing) > 0 {
			got = "?" + missing[0].why
		}
		if got != want && (want != "?" || got[:1] != "?") {
			t.Errorf("%s is %q, want %q", expr, got, want)
		}
	}
}

func mustParse(t *testing.T, text string) *file {
	t.Helper()
	w, err := parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestVersionsAreComparedAsTheirActionsDo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		asked, have string
		fits, known bool
	}{
		{"1.22", "1.22.5", true, true}, {"1.22", "1.2.2", false, true}, {"v20", "20.11.0", true, true}, {"20.x", "20.1.0", true, true}, {"20.x", "200.1.0", false, true},
		{"18.*", "18.0.1", true, true}, {">=18", "20.0.0", true, true}, {">=18 <19", "17.9", false, true}, {"^18.2", "18.9.1", true, true}, {"~3.9", "3.9.1", true, true},
		{"3.9", "3.11.7", false, true}, {"8", "1.8.0", true, true}, {"stable", "1.2", false, false}, {"lts/*", "20.1", false, false}, {"", "1", false, false}, {">=x", "1", false, false},
	} {
		if fits, known := satisfies(tt.asked, tt.have); fits != tt.fits || known != tt.known {
			t.Errorf("%q with %q: %v, %v", tt.asked, tt.have, fits, known)
		}
	}
	for text, want := range map[string]string{"go version go1.26.8 linux/amd64": "1.26.8", "v20.11.0\n": "20.11.0", "Python 3.11.7": "3.11.7", `openjdk version "17.0.2" 2022`: "17.0.2", "none": ""} {
		if got := FindVersion(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzFind(f *testing.F) {
	cases, err := filepath.Glob("testdata/jobs/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range cases {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(data).Files {
			f.Add(string(file.Data), "test (ubuntu-latest, 1.22)")
		}
	}
	f.Add(head+"    steps: [{run: 'go test ${{ matrix.x }}'}]\n", "test")
	f.Fuzz(func(t *testing.T, text, job string) {
		q := one(text, job)
		q.Files = append(q.Files, "a/action.yml")
		read := q.Read
		q.Read = func(p string) ([]byte, error) {
			if p == "a/action.yml" {
				return []byte(text), nil
			}
			return read(p)
		}
		recipes, _ := Find(q)
		for _, r := range recipes {
			if r.Test == nil && r.Why == "" {
				t.Errorf("no test and no reason: %+v", r)
			}
			for _, s := range append(r.Setup, steps(r.Test)...) {
				if s.Dir == "" || s.Dir == ".." || strings.HasPrefix(s.Dir, "../") || strings.HasPrefix(s.Dir, "/") {
					t.Errorf("a step leaves the repository: %q", s.Dir)
				}
				for _, kv := range s.Env {
					name, _, _ := strings.Cut(kv, "=")
					if !validName(name) || reserved(name) {
						t.Errorf("a step sets %q", kv)
					}
				}
			}
		}
	})
}

func steps(s *Step) []Step {
	if s == nil {
		return nil
	}
	return []Step{*s}
}
