package experiment

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"culprit/internal/requiretest"
	"culprit/internal/session"
)

func TestAPatchIsTakenByGitAmAndGitApply(t *testing.T) {
	t.Parallel()
	requiretest.Program(t, "git")
	diff := "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-bad\n+good\n"
	cases := map[string]struct{ summary, subject string }{
		"plain":    {`TestX fails since 1234abcd "break it"`, `Fix: TestX fails since 1234abcd "break it"`},
		"foreign":  {"Prüfung › fährt fort seit 1234abcd", "Fix: Prüfung › fährt fort seit 1234abcd"},
		"a diff":   {"diff --git a/g b/g\n--- a/g\n+++ b/g\n@@ -0,0 +1 @@\n+x", "Fix: diff --git a/g b/g --- a/g +++ b/g @@ -0,0 +1 @@ +x"},
		"controls": {"a\x1b[31mb\r\nFrom: x <x@x>", "Fix: a\x1b[31mb From: x <x@x>"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			git := func(stdin string, args ...string) string {
				cmd := exec.Command("git", args...)
				cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
				cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.invalid",
					"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.invalid")
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("git %v: %v\n%s", args, err, out)
				}
				return strings.TrimSpace(string(out))
			}
			git("", "init", "-q")
			if err := os.WriteFile(filepath.Join(dir, "f"), []byte("bad\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			git("", "add", "f")
			git("", "commit", "-q", "-m", "x")
			text := mail(session.Fix{Patch: diff, Summary: c.summary, Strategy: "minimal revert of 1234abcd (1 of 2 hunks)"})
			git(text, "apply", "--check", "-")
			git(text, "am", "-q")
			if got := git("", "log", "-1", "--format=%s"); got != c.subject {
				t.Errorf("subject %q, want %q", got, c.subject)
			}
			if got := git("", "log", "-1", "--name-only", "--format="); got != "f" {
				t.Errorf("files %q", got)
			}
		})
	}
}
