package experiment_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"culprit/internal/checkout"
	"culprit/internal/evidence"
	"culprit/internal/experiment"
	"culprit/internal/requiretest"
	"culprit/internal/sandbox"
	"culprit/internal/session"
	"culprit/internal/toolchain"
)

// Each repository has a test that fails when one certain other test ran before
// it, among tests that do no harm.
var spoiled = []struct {
	program string
	probe   string // a command that says whether the test runner is there
	files   map[string]string
	victim  session.Failure
	spoiler string
}{
	{
		program: "go",
		files: map[string]string{
			"go.mod": "module example.org/m\n\ngo 1.21\n",
			"m.go":   "package m\n\nvar Limit = 10\n",
			"m_test.go": "package m\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {}\nfunc TestRaise(t *testing.T) { Limit = 20 }\nfunc TestSub(t *testing.T) {}\n" +
				"func TestLimit(t *testing.T) {\n\tif Limit != 10 {\n\t\tt.Fatalf(\"limit is %d\", Limit)\n\t}\n}\n",
		},
		victim:  session.Failure{Framework: "go", Package: "example.org/m", Test: "TestLimit", File: "m_test.go", Line: 10, Kind: session.KindTest},
		spoiler: "TestRaise",
	},
	{
		program: "node", probe: "node --test --version",
		files: map[string]string{
			"package.json": `{"name": "m", "scripts": {"test": "node --test"}}` + "\n",
			"m.test.js": "const test = require('node:test'); const assert = require('node:assert');\nlet limit = 10;\ntest('add', () => {});\n" +
				"test('raise', () => { limit = 20; });\ntest('sub', () => {});\ntest('limit', () => { assert.strictEqual(limit, 10); });\n",
		},
		victim:  session.Failure{Framework: "node:test", Package: "m.test.js", Test: "limit", File: "m.test.js", Line: 6, Kind: session.KindTest},
		spoiler: "raise",
	},
}

func TestTheTestThatSpoilsAnotherIsNamed(t *testing.T) {
	t.Parallel()
	for _, test := range spoiled {
		t.Run(test.program, func(t *testing.T) {
			t.Parallel()
			requiretest.Program(t, test.program)
			if test.probe != "" && exec.Command("sh", "-c", test.probe).Run() != nil {
				requiretest.Missing(t, "this fails: "+test.probe)
			}
			r := newRepository(t)
			r.commit(test.files)
			cache, err := checkout.OpenCache(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { cache.Close() })
			m, err := cache.OpenLocal(t.Context(), r.dir)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { m.Close() })
			bad, err := m.Resolve(t.Context(), "HEAD")
			if err != nil {
				t.Fatal(err)
			}
			files, err := m.List(t.Context(), bad.SHA)
			if err != nil {
				t.Fatal(err)
			}
			kits := toolchain.Detect(toolchain.FS(files, func(path string) ([]byte, error) {
				data, _, err := m.ShowMode(t.Context(), bad.SHA, path)
				return data, err
			}), []session.Failure{test.victim})
			if len(kits) == 0 {
				t.Fatal("no kit was detected")
			}
			kit := kits[0]
			alone, _ := kit.One(test.victim)
			group, ok := kit.Group(test.victim)
			if !ok {
				group = kit.Suite
			}
			// Compiled packages of the standard library are shared: nothing of it is tested here.
			shared := ""
			if test.program == "go" {
				out, err := exec.Command("go", "env", "GOCACHE").Output()
				if err != nil {
					t.Fatal(err)
				}
				shared = "export GOCACHE=" + toolchain.Quote(strings.TrimSpace(string(out))) + "; "
			}
			box, err := sandbox.Open(sandbox.Off, sandbox.Options{})
			if err != nil {
				t.Fatal(err)
			}
			folder, err := session.OpenFolder(t.TempDir()+"/session", func(b []byte) []byte { return b })
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { folder.Close() })
			l, err := experiment.NewLab(experiment.Outside{
				History: history{m}, Trees: history{m}, Executor: &processes{box: box, count: map[string]int{}}, Store: folder,
				Language: experiment.Language{
					Parse: func(output string) session.TestReport {
						report, _ := evidence.Parse(strings.NewReader(output), evidence.Options{})
						return report
					},
					Judge: evidence.Judge, IsTestFile: toolchain.IsTestFile,
					Some: func(tests []session.Failure) (string, bool) {
						command, ok := kit.Some(tests)
						return shared + command, ok
					},
				},
			}, experiment.Options{Timeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := l.Close(context.Background()); err != nil {
					t.Error(err)
				}
			})
			s := &session.Session{
				ID: "x", Bad: &bad, Hypotheses: []session.Hypothesis{{ID: "H1", Kind: session.Nondeterminism}},
				Reproduction: &session.Reproduction{
					Command: shared + alone, Alone: true, Group: shared + group, Flaky: true, Reproduced: true, Failure: &test.victim,
					Target: session.Target{Tests: []string{test.victim.Test}, Kind: session.KindTest},
					// CI saw it fail; alone it passes.
					Count: session.Count{Runs: 16},
				},
			}
			f := experiment.NewInvestigator(l).Investigate(t.Context(), s, session.Task{ID: "H1"})
			if f.Flake == nil || f.Flake.Suspected != "order" || !strings.Contains(f.Findings, "fails when these run before it: "+test.spoiler+".") {
				t.Errorf("%s: %s%s %+v\nalone: %s\ngroup: %s", f.Verdict, f.Findings, f.Error, f.Flake, alone, group)
			}
		})
	}
}
