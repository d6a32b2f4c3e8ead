package report

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"culprit/internal/session"
)

var update = flag.Bool("update", false, "write the goldens instead of comparing with them")

// sample is testdata/NAME.json.
type sample struct {
	Name    string `json:"-"`
	About   string
	Session *session.Session
	Tasks   []session.Task
	Patch   string
	Entries []session.Entry
}

// samples reads all cases. Adding one needs a JSON file and -update.
func samples(t testing.TB) []sample {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases in testdata: %v", err)
	}
	var out []sample
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c := sample{Name: strings.TrimSuffix(filepath.Base(path), ".json")}
		if err := json.Unmarshal(data, &c); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		c.Session.Tasks = c.Tasks
		if c.Session.Fix != nil {
			c.Session.Fix.Patch = c.Patch
		}
		out = append(out, c)
	}
	return out
}

// texts are all texts of a session, by the golden's name.
func (c sample) texts(t testing.TB) map[string]string {
	s := c.Session
	check, err := json.MarshalIndent(CheckRun(s), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{
		"comment.md": Comment(s), "check.json": string(check) + "\n", "BUG_REPORT.md": string(BugReport(s)),
		"understanding.md": string(Understanding(s, c.Entries)), "status.md": Status(s),
		"terminal.txt": Terminal(s, 100, false), "report.json": string(JSON(s)),
	}
	if s.Result == session.ResultFixed {
		pull := PullRequest(s)
		draft := ""
		if pull.Draft {
			draft = "(draft) "
		}
		out["pull.md"] = draft + pull.Title + "\n\n" + pull.Body
		out["commit.txt"] = CommitMessage(s)
		out["verify.sh"] = string(VerifyScript(s))
	}
	if s.Reproduction != nil {
		out["repro.sh"] = string(ReproScript(s))
	}
	return out
}

// compareGolden holds a text against its golden, or writes it with -update.
func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Errorf("%v (run with -update and look at what is written)", err)
		return
	}
	if got != string(want) {
		t.Errorf("%s differs from its golden (run with -update and look at the difference); it is now\n%s", path, got)
	}
}

func TestTextsAreAsTheGoldensSay(t *testing.T) {
	t.Parallel()
	for _, c := range samples(t) {
		for name, got := range c.texts(t) {
			compareGolden(t, filepath.Join("testdata", c.Name, name), got)
		}
	}
}

func TestTextsHoldNoCharacterThatHides(t *testing.T) {
	t.Parallel()
	for _, c := range samples(t) {
		for name, text := range c.texts(t) {
			if name == "report.json" || strings.HasSuffix(name, ".sh") {
				continue // these are for machines; scripts have their own test
			}
			for _, r := range strings.ReplaceAll(text, joiner, "") {
				if (unicode.IsControl(r) && r != '\n' && r != '\t') || unicode.Is(unicode.Cf, r) || r == utf8.RuneError {
					t.Errorf("%s/%s holds %U", c.Name, name, r)
				}
			}
		}
	}
}
