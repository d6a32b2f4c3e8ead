package experiment_test

import (
	"context"
	"os/exec"
	"path/filepath"
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

// openKit is open for a repository in a language that the toolchain package
// knows, where one named test fails. Whatever prepare says runs before each
// command.
func openKit(t *testing.T, r *repository, failure session.Failure, prepare string) (*experiment.Lab, *session.Session, *processes) {
	t.Helper()
	ctx := t.Context()
	cache, err := checkout.OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cache.Close() })
	m, err := cache.OpenLocal(ctx, r.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	bad, err := m.Resolve(ctx, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	files, err := m.List(ctx, bad.SHA)
	if err != nil {
		t.Fatal(err)
	}
	kits := toolchain.Detect(toolchain.FS(files, func(path string) ([]byte, error) {
		data, _, err := m.ShowMode(ctx, bad.SHA, path)
		return data, err
	}), []session.Failure{failure})
	if len(kits) == 0 {
		t.Fatal("no kit was detected")
	}
	kit := kits[0]
	one, ok := kit.One(failure)
	if !ok {
		t.Fatal("the test cannot be run alone")
	}
	box, err := sandbox.Open(sandbox.Off, sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	folder, err := session.OpenFolder(filepath.Join(t.TempDir(), "session"), func(b []byte) []byte { return b })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folder.Close() })
	p := &processes{box: box, count: map[string]int{}, before: prepare}
	l, err := experiment.NewLab(experiment.Outside{
		History: history{m}, Trees: history{m}, Executor: p, Store: folder,
		Language: experiment.Language{
			Parse: func(output string) session.TestReport {
				report, _ := evidence.Parse(strings.NewReader(output), evidence.Options{})
				return report
			},
			Cover: func(f session.Failure) (string, func(string) toolchain.Coverage, bool) {
				command, ok := kit.Cover(f)
				return command, kit.ReadCoverage, ok
			},
			Judge: evidence.Judge, IsTestFile: toolchain.IsTestFile,
			IsLockFile: func(path string) bool { return toolchain.IsLockFile(path) || toolchain.IsModuleFile(path) },
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
	return l, &session.Session{
		ID: "x", Bad: &bad, Hypotheses: []session.Hypothesis{{ID: "H1", Kind: session.Regression}},
		Reproduction: &session.Reproduction{
			Command: one, Alone: true, Setup: kit.Setup, Reproduced: true, Failure: &failure, Count: session.Count{Runs: 3, Failures: 3},
			Target:  session.Target{Tests: []string{failure.Test}, Kind: session.KindTest},
			Overlay: []session.Overlay{{Rev: bad.SHA, Path: failure.File}},
		},
	}, p
}

// goCaches shares the compiled packages of the standard library: nothing of
// them is tested here.
func goCaches(t *testing.T) string {
	t.Helper()
	requiretest.Program(t, "go")
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return "export GOFLAGS=-p=1 GOCACHE=" + toolchain.Quote(strings.TrimSpace(string(out)))
}
