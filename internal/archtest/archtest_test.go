// Package archtest holds the rules of docs/architecture.md over the real
// imports, as `go list` tells them.
package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pure packages do no I/O of their own: they may not start programs or open
// network connections.
var pure = []string{"command", "strictyaml", "evidence", "toolchain", "workflow", "patch", "redact", "report", "experiment/search", "experiment/ddmin", "experiment/rate", "experiment/spectrum", "agent/roster"}

// allowed says for each of our packages which of ours it may import ("x/..."
// includes sub-packages). A package that is not listed fails the test: whoever
// adds one decides here where it stands.
var allowed = map[string][]string{
	"internal/session":             {},
	"internal/requiretest":         {},
	"internal/evidence":            {"internal/session"},
	"internal/toolchain":           {"internal/session"},
	"internal/workflow":            {"internal/session"},
	"internal/patch":               {"internal/session"},
	"internal/redact":              {"internal/session"},
	"internal/report":              {"internal/session"},
	"internal/experiment/search":   {"internal/session"},
	"internal/experiment/ddmin":    {"internal/session"},
	"internal/experiment/rate":     {"internal/session"},
	"internal/experiment/spectrum": {"internal/session"},
	"internal/experiment":          {"internal/session", "internal/patch", "internal/evidence", "internal/toolchain", "internal/experiment/..."},
	"internal/checkout":            {"internal/session", "internal/patch"},
	"internal/egress":              {},
	"internal/sandbox":             {"internal/session", "internal/egress"},
	"internal/github":              {"internal/session", "internal/report", "internal/redact", "internal/evidence"},
	"internal/githubtest":          {},
	"internal/modeltest":           {},
	"internal/agent":               {"internal/session", "internal/evidence", "internal/patch", "internal/agent/tools", "internal/agent/roster"},
	"internal/agent/roster":        {},
	"internal/agent/tools":         {"internal/session", "internal/patch"},
	"internal/conformance":         {"internal/githubtest", "internal/requiretest"},
	"internal/conformance/install": {"internal/conformance"},
	"internal/strictyaml":          {},
	"internal/config":              {"internal/session", "internal/strictyaml", "internal/agent/roster", "internal/egress", "queue/connect"},
	"internal/telemetry":           {"queue"},
	"queue":                        {},
	"queue/connect":                {},
	"queue/embedded":               {},
	"queue/queuetest":              {"queue", "queue/embedded", "internal/requiretest"},
	"internal/command":             {},
	"internal/index":               {"internal/session"},
	"internal/budget":              {},
	"internal/eval":                {"internal/session", "internal/strictyaml", "internal/patch", "internal/experiment/rate"},
	"internal/knowledge":           {"internal/session"},
	"handlers":                     {"queue", "internal/command"},
	"pipeline/wave":                {"internal/session"},
	"pipeline":                     {"internal/session", "internal/evidence", "internal/toolchain", "internal/workflow", "internal/patch", "internal/report", "internal/experiment/rate", "pipeline/wave"},
	"cmd/bot":                      {"..."},
	"internal/archtest":            {},
}

type listed struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "culprit/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestPackagesImportOnlyWhatTheArchitectureAllows(t *testing.T) {
	t.Parallel()
	all := packages(t)
	if len(all) < 10 {
		t.Fatalf("go list names %d packages: the test sees too little to hold anything", len(all))
	}
	for _, p := range all {
		name := strings.TrimPrefix(p.ImportPath, "culprit/")
		rules, known := allowed[name]
		if !known {
			t.Errorf("package %s has no rule here: say what it may import", name)
			continue
		}
		for _, imp := range p.Imports {
			ours, isOurs := strings.CutPrefix(imp, "culprit/")
			if isOurs && !slices.ContainsFunc(rules, func(r string) bool { return matches(r, ours) }) {
				t.Errorf("%s imports %s, which the architecture does not allow", name, ours)
			}
		}
	}
}

func TestPurePackagesStartNoProgramAndOpenNoConnection(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, "culprit/internal/")
		isPipeline := strings.HasPrefix(p.ImportPath, "culprit/pipeline")
		if !slices.Contains(pure, name) && !isPipeline && name != "session" {
			continue
		}
		for _, imp := range p.Imports {
			if imp == "os/exec" || imp == "net" || imp == "net/http" || (imp == "os" && name != "session") {
				t.Errorf("%s imports %s: it must do no I/O", p.ImportPath, imp)
			}
		}
	}
}

func TestEchoIsUsedByHandlersOnly(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, imp := range p.Imports {
			if strings.HasPrefix(imp, "github.com/labstack/echo") && p.ImportPath != "culprit/handlers" {
				t.Errorf("%s imports echo", p.ImportPath)
			}
			if strings.HasPrefix(imp, "github.com/openai/openai-go") && p.ImportPath != "culprit/internal/agent" {
				t.Errorf("%s imports openai-go: models are asked by internal/agent only", p.ImportPath)
			}
			if strings.HasPrefix(imp, "github.com/google/go-github") && p.ImportPath != "culprit/internal/github" {
				t.Errorf("%s imports go-github: tokens live only in internal/github", p.ImportPath)
			}
		}
	}
}

func matches(rule, name string) bool {
	if prefix, ok := strings.CutSuffix(rule, "..."); ok {
		return strings.HasPrefix(name, strings.TrimSuffix(prefix, "/"))
	}
	return rule == name
}

// A loopback GitHub that nobody checks could drift away from the real one.
func TestEveryTestStartsItsGitHubUnderConformance(t *testing.T) {
	t.Parallel()
	seen := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "archtest_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.Contains(string(text), "githubtest.New(") {
			t.Errorf("%s starts a GitHub with githubtest.New: use conformance.Start, which checks what is said to it", path)
		}
		if strings.Contains(string(text), "conformance.Start(") {
			seen++
		}
		return nil
	})
	if err != nil || seen == 0 {
		t.Errorf("%d tests start a GitHub: %v", seen, err)
	}
}
