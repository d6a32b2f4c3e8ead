package report

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"culprit/internal/requiretest"
	"culprit/internal/session"
)

// repo is a real repository in a temporary folder.
type repo struct {
	t   *testing.T
	dir string
}

func newRepo(t *testing.T) repo {
	t.Helper()
	requiretest.Program(t, "git")
	r := repo{t, t.TempDir()}
	r.git("init", "-q")
	return r
}

func (r repo) env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "TMPDIR=" + filepath.Dir(r.dir), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}
}

func (r repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=T", "-c", "user.email=t@example.com"}, args...)...)
	cmd.Dir, cmd.Env = r.dir, r.env()
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r repo) commit(files map[string]string) string {
	r.t.Helper()
	for name, content := range files {
		path := filepath.Join(r.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "c")
	return r.git("rev-parse", "HEAD")
}

// run executes a script and returns its exit code and output. Nothing of it
// may be left behind.
func (r repo) run(script []byte, dir string, env []string, args ...string) (int, string) {
	r.t.Helper()
	path := filepath.Join(r.t.TempDir(), "script.sh")
	if err := os.WriteFile(path, script, 0o755); err != nil {
		r.t.Fatal(err)
	}
	tmp := r.t.TempDir()
	cmd := exec.Command("sh", append([]string{path}, args...)...)
	cmd.Dir, cmd.Env = dir, append(append(r.env(), "TMPDIR="+tmp), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) > 0 {
		r.t.Errorf("the script leaves %v behind", left)
	}
	if trees := strings.Count(r.git("worktree", "list"), "\n"); trees > 0 {
		r.t.Errorf("the script leaves %d worktrees behind", trees)
	}
	if dirty := r.git("status", "--porcelain"); dirty != "" {
		r.t.Errorf("the script changes the clone: %s", dirty)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

const hostileName = "it's a \"test\" $(touch owned) `touch owned`.sh"

// broken is a session about a repository in which a test, kept in a file with
// a hostile name, fails for a known reason.
func broken(r repo) *session.Session {
	code := "value() { echo 1; }\n"
	test := ". ./code.sh\nif [ \"$(value)\" = 1 ]; then echo 'ok TestValue'; else echo '--- FAIL: TestValue (0.00s)'; exit 1; fi\n"
	r.commit(map[string]string{"code.sh": code})
	bad := r.commit(map[string]string{"code.sh": strings.Replace(code, "1", "2", 1)})
	late := r.commit(map[string]string{hostileName: test})
	return &session.Session{
		ID: "20261130-debug-value", State: session.StateDone, Result: session.ResultFixed,
		Symptom: session.Symptom{Title: "x\nrm -rf / #"}, Bad: &session.Commit{SHA: bad},
		Reproduction: &session.Reproduction{
			Command: "sh " + quote("./"+hostileName), Setup: "test -f code.sh && touch made-by-setup",
			Target: session.Target{Tests: []string{"TestValue"}}, Count: session.Count{Runs: 3, Failures: 3},
			Overlay: []session.Overlay{{Rev: late, Path: hostileName}}, Reproduced: true,
		},
		Fix: &session.Fix{Task: "FIX-H1", Base: bad, Patch: "diff --git a/code.sh b/code.sh\n--- a/code.sh\n+++ b/code.sh\n@@ -1 +1 @@\n-value() { echo 2; }\n+value() { echo 1; }\n"},
	}
}

func TestScriptsProveTheFailureAndTheFix(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := broken(r)
	elsewhere := t.TempDir()
	for name, c := range map[string]struct {
		script []byte
		args   []string
		dir    string
		want   int
	}{
		"repro in the clone":      {ReproScript(s), nil, r.dir, ExitSeen},
		"repro from elsewhere":    {ReproScript(s), []string{r.dir}, elsewhere, ExitSeen},
		"verify with the fix":     {VerifyScript(s), []string{r.dir}, elsewhere, ExitGone},
		"verify without the fix":  {VerifyScript(s), []string{"--without-fix", r.dir}, elsewhere, ExitSeen},
		"no repository":           {ReproScript(s), nil, elsewhere, ExitCannot},
		"no repository by option": {VerifyScript(s), []string{"--without-fix", elsewhere}, r.dir, ExitCannot},
	} {
		if code, out := r.run(c.script, c.dir, nil, c.args...); code != c.want {
			t.Errorf("%s: exit %d, want %d\n%s", name, code, c.want, out)
		}
	}
	late := *s
	fix := *s.Fix
	fix.Patch = ""
	late.Fix = &fix
	late.Published.FixCommit = r.git("rev-parse", "HEAD~2") // the commit before the culprit is a fix too
	for args, want := range map[string]int{r.dir: ExitGone, "--without-fix " + r.dir: ExitSeen} {
		if code, out := r.run(VerifyScript(&late), elsewhere, nil, strings.Fields(args)...); code != want {
			t.Errorf("verify.sh %s with the fix as a commit: exit %d, want %d\n%s", args, code, want, out)
		}
	}
	late.Reproduction = &session.Reproduction{Command: "true", Overlay: []session.Overlay{{Rev: "--upload-pack=touch owned", Path: "x"}}}
	if code, out := r.run(ReproScript(&late), r.dir, nil); code != ExitCannot {
		t.Errorf("a revision that is an option: exit %d\n%s", code, out)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "owned")); err == nil {
		t.Error("a hostile name was executed")
	}
}

func TestScriptsTellAnotherFailureFromThisOne(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := broken(r)
	same := *s
	binary := *s.Reproduction
	binary.Command = "\n\n\nprintf 'a\\000b\\377\\n--- FAIL: TestValue (0.00s)\\n'; exit 1"
	same.Reproduction = &binary
	if code, out := r.run(ReproScript(&same), r.dir, nil); code != ExitSeen {
		t.Errorf("output that is no text: exit %d\n%q", code, out)
	}
	for name, change := range map[string]func(r *session.Reproduction){
		"another message":    func(r *session.Reproduction) { r.Command = "echo 'cannot start'; exit 1" },
		"another test":       func(r *session.Reproduction) { r.Command = "echo '--- FAIL: TestOther (0.00s)'; exit 1" },
		"a failing set-up":   func(r *session.Reproduction) { r.Setup = "exit 5" },
		"only named, passes": func(r *session.Reproduction) { r.Command = "echo 'ok TestValue'; exit 1" },
	} {
		other := *s.Reproduction
		change(&other)
		c := *s
		c.Reproduction = &other
		if code, out := r.run(ReproScript(&c), r.dir, nil); code != ExitElse {
			t.Errorf("%s: exit %d, want %d\n%s", name, code, ExitElse, out)
		}
	}
	c := *s
	c.Bad = &session.Commit{SHA: strings.Repeat("ab", 20)}
	if code, out := r.run(ReproScript(&c), r.dir, nil); code != ExitCannot || !strings.Contains(out, "fetch it first") {
		t.Errorf("an unknown commit: exit %d\n%s", code, out)
	}
	c = *s
	fix := *s.Fix
	fix.Patch = strings.Replace(fix.Patch, "echo 2", "echo 7", 1)
	c.Fix = &fix
	if code, out := r.run(VerifyScript(&c), r.dir, nil); code != ExitCannot || !strings.Contains(out, "does not apply") {
		t.Errorf("a patch that does not apply: exit %d\n%s", code, out)
	}
}

func TestScriptsJudgeAPreparedTreeWithoutGit(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := broken(r)
	tree := t.TempDir()
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(tree, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(hostileName, r.git("show", "HEAD:"+hostileName))
	write("code.sh", "value() { echo 2; }\n")
	// A git that cannot be called shows that none is.
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\nexit 99\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{"CULPRIT_IN_PLACE=1", "PATH=" + bin + ":" + os.Getenv("PATH")}
	if code, out := r.run(ReproScript(s), tree, env); code != ExitSeen {
		t.Errorf("repro.sh: exit %d\n%s", code, out)
	}
	if code, out := r.run(VerifyScript(s), tree, env); code != ExitSeen {
		t.Errorf("verify.sh without the fix: exit %d\n%s", code, out)
	}
	write("code.sh", "value() { echo 1; }\n")
	if code, out := r.run(VerifyScript(s), tree, env); code != ExitGone {
		t.Errorf("verify.sh with the fix: exit %d\n%s", code, out)
	}
}

func TestAFlakyFailureIsLookedForOftenEnough(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := broken(r)
	counter := filepath.Join(t.TempDir(), "n")
	s.Reproduction.Count = session.Count{Runs: 20, Failures: 5}
	s.Reproduction.Setup = ""
	s.Reproduction.Command = "echo x >> " + quote(counter) + "; if [ $(wc -l < " + quote(counter) + ") -ge 9 ]; then echo '--- FAIL: TestValue'; exit 1; fi"
	if code, out := r.run(ReproScript(s), r.dir, nil); code != ExitSeen || !strings.Contains(out, "in run 9 of 17") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

func TestMarksNameTheFailureInTheOutputOfEachRunner(t *testing.T) {
	t.Parallel()
	for test, want := range map[string]string{
		"TestParse/negative": "TestParse/negative", "tests/test_a.py::TestX::test_y[1-2]": "test_y", "math > adds > two": "two",
		"suite › it works.": "it works.", "com.example.AddTest.adds": "adds", "a::b::tests::adds": "adds", "TestA/v1.2": "TestA/v1.2",
	} {
		if got := leaf(test); got != want {
			t.Errorf("leaf of %q is %q, want %q", test, got, want)
		}
	}
	list, strong := marks(&session.Reproduction{Failure: &session.Failure{Message: "/tmp/x/a.go:12:3: undefined: frobnicate (0xc0001)"}})
	if strong || len(list) != 1 || !strings.Contains(list[0], "undefined: frobnicate") {
		t.Errorf("marks of a message are %q", list)
	}
}
