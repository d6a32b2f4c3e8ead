package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func read(t *testing.T, text string, base Repository) Repository {
	t.Helper()
	r, problems := ReadRepository([]byte(text), base)
	if len(problems) > 0 {
		t.Fatalf("problems with %q: %v", text, problems)
	}
	return r
}

func TestARepositorySetsWhatItWants(t *testing.T) {
	t.Parallel()
	got := read(t, `
test: make test
setup: |
  npm ci
  npm run build
mode: quick
ci: {enabled: false, branches: [main, "release/*"]}
limits:
  runs: 200
  concurrency: 2
  timeout: 1h30m
  run_timeout: 90s
fix:
  enabled: true
  draft: always
  sign_off: true
  protected: ["migrations/**"]
`, Repository{})
	no, yes := false, true
	want := Repository{
		Test: "make test", Setup: "npm ci\nnpm run build\n", Mode: "quick",
		CI:     RepositoryCI{Enabled: &no, Branches: []string{"main", "release/*"}},
		Limits: RepositoryLimits{Runs: 200, Concurrency: 2, Timeout: Duration(90 * time.Minute), RunTimeout: Duration(90 * time.Second)},
		Fix:    RepositoryFix{Enabled: &yes, Draft: "always", SignOff: &yes, Protected: []string{"migrations/**"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestNothingInAFileSetsNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n", "# nothing\n", "---\n", "ci:\nfix:\n", "{}"} {
		if got := read(t, text, Repository{}); !reflect.DeepEqual(got, Repository{}) {
			t.Errorf("%q sets %+v", text, got)
		}
	}
}

func TestARepositoryGoesBeforeItsOrganisationButProtectedPathsAddUp(t *testing.T) {
	t.Parallel()
	org := read(t, "mode: deep\ntest: make\nci: {branches: [main]}\nfix: {protected: [a, b], draft: always}\n", Repository{})
	got := read(t, "mode: quick\nci: {branches: [trunk]}\nfix: {protected: [b, c]}\n", org)
	if got.Mode != "quick" || got.Test != "make" || got.Fix.Draft != "always" {
		t.Errorf("got %+v", got)
	}
	if want := []string{"trunk"}; !reflect.DeepEqual(got.CI.Branches, want) {
		t.Errorf("branches %q, want %q", got.CI.Branches, want)
	}
	if want := []string{"b", "c", "a"}; !reflect.DeepEqual(got.Fix.Protected, want) {
		t.Errorf("protected %q, want %q", got.Fix.Protected, want)
	}
	if want := []string{"a", "b"}; !reflect.DeepEqual(org.Fix.Protected, want) {
		t.Errorf("the organisation's own list became %q", org.Fix.Protected)
	}
}

func TestEachProblemNamesItsLineAndWhatIsWanted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"unknown", "mode: quick\ntests: x\n", `line 2: "tests": is not a setting; there are test, setup, mode, ci, limits, fix`},
		{"unknown below", "limits:\n  run: 1\n", `line 2: limits."run": is not a setting; there are runs, concurrency, timeout, run_timeout`},
		{"twice", "mode: quick\nmode: full\n", "line 2: mode: stands here twice"},
		{"choice", "mode: fast\n", "line 1: mode: want one of quick, full, deep"},
		{"number", "limits: {runs: 0}\n", "line 1: limits.runs: want a whole number from 1 to 1000000"},
		{"number as text", "limits: {runs: \"5\"}\n", "line 1: limits.runs: want a whole number from 1 to 1000000"},
		{"duration", "limits:\n  timeout: 5\n", "line 2: limits.timeout: want a duration from 1s to 24h, such as 90s, 10m or 2h"},
		{"truth of YAML 1.1", "ci: {enabled: yes}\n", "line 1: ci.enabled: want true or false"},
		{"truth", "ci: {enabled: maybe}\n", "line 1: ci.enabled: want true or false"},
		{"list", "ci: {branches: main}\n", "line 1: ci.branches: want a list, as in `[a, b]`"},
		{"list of lists", "ci: {branches: [[main]]}\n", "line 1: ci.branches[0]: want a text"},
		{"text", "test: [a]\n", "line 1: test: want a text"},
		{"empty", "test: ''\n", "line 1: test: want a text of 1 to 4096 bytes"},
		{"scalar", "just a text\n", "line 1: want settings, as in `key: value`"},
		{"alias", "test: &x make\nsetup: *x\n", "line 1: test: anchors and aliases are not supported: write the value out"},
		{"two documents", "mode: quick\n---\nmode: full\n", "line 2: there is a second document; want one"},
		{"terminal", "\"\\e[31m\": 1\n", `line 1: "\x1b[31m": is not a setting; there are test, setup, mode, ci, limits, fix`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			base := Repository{Mode: "deep"}
			got, problems := ReadRepository([]byte(tt.text), base)
			if len(problems) == 0 || problems[0].String() != tt.want {
				t.Errorf("got %q\nwant %q", problems, tt.want)
			}
			if !reflect.DeepEqual(got, base) {
				t.Errorf("a file with problems changes settings: %+v", got)
			}
		})
	}
}

func TestAllProblemsAreReportedInOrder(t *testing.T) {
	t.Parallel()
	_, problems := ReadRepository([]byte("mode: fast\nlimits:\n  runs: many\n  speed: 1\nfix: 3\n"), Repository{})
	var lines []int
	for _, p := range problems {
		lines = append(lines, p.Line)
	}
	if want := []int{1, 3, 4, 5}; !reflect.DeepEqual(lines, want) {
		t.Errorf("lines %v, want %v: %v", lines, want, problems)
	}
}

func TestBrokenFilesAreProblemsNotPanics(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a: [", "\t- x", "a: b: c", "\xff\xfe", strings.Repeat("x", MaxRepositoryFile+1), "? [a]\n: b\n", "!!binary x", "%TAG ! x\n", "<<: {mode: quick}\n"} {
		if _, problems := ReadRepository([]byte(text), Repository{}); len(problems) == 0 {
			t.Errorf("%.20q has no problem", text)
		}
	}
}

func FuzzReadRepository(f *testing.F) {
	for _, s := range []string{"mode: quick\n", "ci: {branches: [a]}", "a: &b [*b]", "- 1\n- 2", "test: >\n  x\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, problems := ReadRepository(data, Repository{})
		if len(problems) > 0 && !reflect.DeepEqual(got, Repository{}) {
			t.Errorf("problems %v and settings %+v", problems, got)
		}
		for _, p := range problems {
			if p.Line < 1 || p.Text == "" {
				t.Errorf("problem %+v says nothing", p)
			}
		}
	})
}

func TestWhichCIStartsASession(t *testing.T) {
	t.Parallel()
	match := func(p, b string) bool { return p == b }
	no := false
	for _, tt := range []struct {
		r  Repository
		ok bool
	}{
		{Repository{}, true},
		{Repository{CI: RepositoryCI{Branches: []string{"x", "main"}}}, true},
		{Repository{CI: RepositoryCI{Branches: []string{"x"}}}, false},
		{Repository{CI: RepositoryCI{Enabled: &no, Branches: []string{"main"}}}, false},
	} {
		if why, ok := tt.r.CISessions("main", match); ok != tt.ok || (why == "") != ok {
			t.Errorf("%+v: %v, %q", tt.r.CI, ok, why)
		}
	}
}

func TestTheRepositoryDocumentsAreUpToDate(t *testing.T) {
	t.Parallel()
	page := filepath.Join("..", "..", "docs", "repository.md")
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(data), "the table -->\n")
	if !ok {
		t.Fatal("the document has lost its marker")
	}
	for path, want := range map[string]string{
		page: head + "the table -->\n\n" + RepositoryMarkdown(),
		filepath.Join("..", "..", "docs", "culprit.schema.json"): string(RepositorySchema()),
	} {
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s is out of date: go test ./internal/config -update (%v)", path, err)
		}
	}
}
