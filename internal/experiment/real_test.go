package experiment_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"culprit/internal/checkout"
	"culprit/internal/experiment"
	"culprit/internal/requiretest"
	"culprit/internal/sandbox"
	"culprit/internal/session"
)

// repository is a real one, made by git in a temporary folder.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) *repository {
	requiretest.Program(t, "git")
	r := &repository{t: t, dir: t.TempDir()}
	r.git("init", "-q", "-b", "main")
	return r
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.invalid", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.invalid")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes files ("" deletes, a name that ends in "*" is executable) and
// commits them.
func (r *repository) commit(files map[string]string) string {
	r.t.Helper()
	for name, text := range files {
		name, executable := strings.CutSuffix(name, "*")
		path := filepath.Join(r.dir, name)
		if text == "" {
			if err := os.Remove(path); err != nil {
				r.t.Fatal(err)
			}
			continue
		}
		mode := os.FileMode(0o644)
		if executable {
			mode = 0o755
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			r.t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			r.t.Fatal(err)
		}
	}
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", "change "+fmt.Sprint(len(files)))
	return r.git("rev-parse", "HEAD")
}

type history struct{ *checkout.Mirror }

func (h history) Touching(ctx context.Context, rev string, paths []string, limit int) ([]session.Commit, error) {
	return h.Log(ctx, rev, checkout.LogOptions{Paths: paths, Limit: limit})
}

func (h history) Diff(ctx context.Context, from, to string) ([]byte, error) {
	return h.Mirror.Diff(ctx, from, to, checkout.DiffOptions{})
}

func (h history) Tree(ctx context.Context) (experiment.Tree, error) { return h.Mirror.Tree(ctx) }

// processes runs commands as processes and counts them by script.
type processes struct {
	box    sandbox.Sandbox
	before string // shell command before each
	mu     sync.Mutex
	count  map[string]int
}

func (p *processes) Execute(ctx context.Context, e experiment.Execution) (experiment.Executed, error) {
	p.mu.Lock()
	p.count[e.Script]++
	p.mu.Unlock()
	var out bytes.Buffer
	script := strings.TrimPrefix(p.before+"\n"+e.Script, "\n")
	if !e.Network {
		script = "export GOPROXY=off\n" + strings.ReplaceAll(script, "GOPROXY=file:", "UNUSED=file:")
	}
	res, err := p.box.Run(ctx, sandbox.Command{Script: script, Dir: e.Dir, Network: e.Network, Timeout: e.Timeout, Output: &out})
	return experiment.Executed{Exit: res.Exit, TimedOut: res.TimedOut, Limit: res.Limit, Duration: res.Duration, Output: out.String()}, err
}

// shell is the language of tests that are scripts: 0 passes, 1 is the failure,
// anything else could not be tested.
func shell() experiment.Language {
	return experiment.Language{
		Parse: func(string) session.TestReport { return session.TestReport{} },
		Judge: func(_ session.Target, exit int, timedOut bool, _ session.TestReport, output string) (session.Outcome, string) {
			switch {
			case timedOut:
				return session.FailedElse, "timed out"
			case exit == 0:
				return session.Passed, ""
			case exit == 1:
				return session.FailedSame, ""
			}
			return session.Untestable, "exit " + fmt.Sprint(exit) + ": " + output
		},
		IsTestFile: func(path string) bool { return strings.HasPrefix(path, "tests/") },
		IsLockFile: func(path string) bool { return path == "lock" },
	}
}

// open makes a lab on the repository and a session that fails at its HEAD.
func open(t *testing.T, r *repository, command string, overlay ...string) (*experiment.Lab, *session.Session, *processes) {
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
	box, err := sandbox.Open(sandbox.Off, sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	folder, err := session.OpenFolder(filepath.Join(t.TempDir(), "session"), func(b []byte) []byte { return b })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folder.Close() })
	p := &processes{box: box, count: map[string]int{}}
	l, err := experiment.NewLab(experiment.Outside{History: history{m}, Trees: history{m}, Executor: p, Store: folder, Language: shell()},
		experiment.Options{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	bad, err := m.Resolve(ctx, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	s := &session.Session{
		ID: "x", Bad: &bad, Hypotheses: []session.Hypothesis{{ID: "H1", Kind: session.Regression}},
		Reproduction: &session.Reproduction{Command: command, Count: session.Count{Runs: 3, Failures: 3}, Reproduced: true},
	}
	for _, path := range overlay {
		s.Reproduction.Overlay = append(s.Reproduction.Overlay, session.Overlay{Rev: bad.SHA, Path: path})
	}
	return l, s, p
}

// solve finds good commit, culprit and fix.
func solve(t *testing.T, l *experiment.Lab, s *session.Session) (session.Finding, session.FixReport) {
	t.Helper()
	a, err := experiment.FindGood(t.Context(), l, s)
	if err != nil {
		t.Fatal(err)
	}
	s.Archaeology = &a
	f := experiment.NewInvestigator(l).Investigate(t.Context(), s, session.Task{ID: "H1"})
	if f.Verdict != session.Confirmed {
		t.Fatalf("%s: %s%s", f.Verdict, f.Findings, f.Error)
	}
	s.RootCause = f.Cause
	return f, experiment.NewFixer(l).Fix(t.Context(), s, session.Task{ID: "FIX-H1", Deps: []string{"H1"}})
}

// numbered makes a file of lines, some replaced.
func numbered(n int, replaced map[int]string) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		if text, ok := replaced[i]; ok {
			fmt.Fprintln(&b, text)
			continue
		}
		fmt.Fprintln(&b, "line", i)
	}
	return b.String()
}

func TestARealRepositoryIsSolvedAndLeftAlone(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	// The test is executable, exists only at the end, and is carried back. It
	// leaves files behind that would break the next run.
	test := "#!/bin/sh\ntest -e junk && exit 3\ntouch junk ignored/x\nrm -f other\n! grep -rqs BUG src\n"
	r.commit(map[string]string{"src/code": numbered(30, nil), "other": "x\n", ".gitignore": "ignored/\n", "ignored/.keep": "x\n"})
	r.git("add", "-f", "ignored/.keep")
	var culprit string
	for i := range 12 {
		change := map[string]string{"notes": fmt.Sprintln("note", i)}
		switch i {
		case 6:
			change["src/code"] = numbered(30, map[int]string{4: "harmless", 14: "BUG", 25: "harmless"})
		case 8:
			change["src/code"], change["src/moved"] = "", numbered(30, map[int]string{4: "harmless", 14: "BUG", 25: "harmless"})
		}
		sha := r.commit(change)
		if i == 6 {
			culprit = sha
		}
	}
	r.commit(map[string]string{"tests/run*": test})
	before := r.git("for-each-ref") + r.git("status", "--porcelain", "--ignored") + r.git("worktree", "list")

	l, s, _ := open(t, r, "./tests/run", "tests/run")
	f, rep := solve(t, l, s)
	if f.Cause.Culprit.SHA != culprit || f.Cause.Location != "src/code:14" || len(f.Cause.Minimal) != 1 {
		t.Errorf("%s: %+v", f.Findings, f.Cause)
	}
	if rep.Result != session.Fixed || strings.Join(rep.Fix.Files, " ") != "src/moved" {
		t.Fatalf("fix %+v", rep)
	}
	if after := r.git("for-each-ref") + r.git("status", "--porcelain", "--ignored") + r.git("worktree", "list"); after != before {
		t.Errorf("the repository changed:\n%s\nbefore:\n%s", after, before)
	}
	// git itself takes the patch, and the failure is gone.
	if err := os.WriteFile(filepath.Join(r.dir, "fix.patch"), []byte(rep.Fix.Patch), 0o644); err != nil {
		t.Fatal(err)
	}
	r.git("apply", "fix.patch")
	got, err := os.ReadFile(filepath.Join(r.dir, "src/moved"))
	if err != nil || string(got) != numbered(30, map[int]string{4: "harmless", 25: "harmless"}) {
		t.Errorf("after the fix: %q, %v", got, err)
	}
}

func TestSetUpRunsOnceForEqualDependencies(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	// The set-up makes what the test needs, from the lock file; the run must
	// find exactly that.
	test := "cmp -s lock deps/lock || exit 3\n! grep -q BUG code\n"
	r.commit(map[string]string{"code": "fine\n", "lock": "1\n", "tests/run": test})
	for i := range 10 {
		change := map[string]string{"notes": fmt.Sprintln(i)}
		if i == 5 {
			change["code"] = "BUG\n"
		}
		if i == 3 {
			change["lock"] = "2\n"
		}
		r.commit(change)
	}
	l, s, p := open(t, r, "sh tests/run", "tests/run")
	setup := "mkdir -p deps && cp lock deps/lock"
	s.Reproduction.Setup = setup
	solve(t, l, s)
	runs, setups := p.count["sh tests/run"], p.count[setup]
	if runs < 8 || setups > 3*l.Parallel() || setups == 0 {
		t.Errorf("%d set-ups for %d runs in %d worktrees", setups, runs, l.Parallel())
	}
}

func TestWhatASetUpMadeIsMadeAgainAfterItWasOverwritten(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	bare := r.commit(map[string]string{"code": "fine\n"})
	tracked := r.commit(map[string]string{"made": "by the commit\n"})
	l, _, _ := open(t, r, "true")
	trial := session.Trial{Rev: bare, Setup: "echo by the set-up >made", Command: "grep -q 'by the set-up' made"}
	again := func(after string) {
		t.Helper()
		_, seen, err := l.Repeat(t.Context(), trial, 2*l.Parallel())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range seen {
			if o.Outcome != session.Passed {
				t.Errorf("after %s: %+v", after, o)
			}
		}
	}
	spoil := func(t0 session.Trial) {
		t.Helper()
		if _, _, err := l.Repeat(t.Context(), t0, 2*l.Parallel()); err != nil {
			t.Fatal(err)
		}
	}
	again("nothing")
	spoil(session.Trial{Rev: bare, Command: "true", Edits: []session.Edit{{Path: "made", Content: []byte("by an edit\n")}}})
	again("an edit")
	spoil(session.Trial{Rev: tracked, Command: "true"})
	again("a commit that has the file")
}

func TestASetUpThatFailsMakesTheCommitUntestable(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	sha := r.commit(map[string]string{"code": "fine\n"})
	l, _, _ := open(t, r, "true")
	o, err := l.Run(t.Context(), session.Trial{Rev: sha, Setup: "echo no such package; exit 7", Command: "true"})
	if err != nil || o.Outcome != session.Untestable || o.Reason != "set-up failed (exit 7): no such package" {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestAWholeFileChangeIsReverted(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	// The culprit takes the executable bit off a script and adds a binary file.
	r.commit(map[string]string{"tool*": "#!/bin/sh\nexit 0\n", "tests/run": "test -x tool\n"})
	r.commit(map[string]string{"tool": "#!/bin/sh\nexit 0\n", "image": "\x00\x01\x02"})
	r.commit(map[string]string{"notes": "later\n"})
	l, s, _ := open(t, r, "sh tests/run", "tests/run")
	f, rep := solve(t, l, s)
	if len(f.Cause.Minimal) != 1 || !f.Cause.Minimal[0].Whole || f.Cause.Hunks != 2 {
		t.Errorf("minimal %+v", f.Cause.Minimal)
	}
	if rep.Result != session.Fixed || rep.Fix.Edits[0].Mode != 0o755 || !strings.Contains(rep.Fix.Patch, "new mode 100755") {
		t.Errorf("fix %+v", rep.Fix)
	}
	trial, err := experiment.Reproduction(t.Context(), l.History, s)
	if err != nil {
		t.Fatal(err)
	}
	need, err := l.Necessity(t.Context(), *rep.Fix, trial, 1)
	if err != nil || len(need) != 1 || !need[0].Required {
		t.Errorf("necessity %+v, %v", need, err)
	}
}

func TestARunThatNeverEndsIsEnded(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	sha := r.commit(map[string]string{"code": "fine\n"})
	l, _, _ := open(t, r, "true")
	o, err := l.Run(t.Context(), session.Trial{Rev: sha, Command: "while :; do :; done", Timeout: 100 * time.Millisecond})
	if err != nil || !o.TimedOut || o.Outcome != session.FailedElse {
		t.Errorf("%+v, %v", o, err)
	}
}
