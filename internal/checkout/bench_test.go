package checkout

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"culprit/internal/requiretest"
)

// BenchmarkWorktree compares a worktree of a warm mirror with what git itself
// needs for one, on the same repository of a thousand files.
func BenchmarkWorktree(b *testing.B) {
	requiretest.Program(b, "git")
	dir := filepath.Join(b.TempDir(), "repo")
	run := func(args ...string) {
		b.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "gc.auto=0"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	run("init", "-q")
	for i := range 1000 {
		name := filepath.Join(dir, fmt.Sprintf("d%d", i%40), fmt.Sprintf("f%d.go", i))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(fmt.Sprintf("package d\n\nvar V%d = %d\n", i, i)), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	run("add", "-A")
	run("commit", "-q", "-m", "files")
	c, err := OpenCache(filepath.Join(b.TempDir(), "cache"))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	m, err := c.OpenLocal(b.Context(), dir)
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			t, err := m.Worktree(b.Context(), "HEAD")
			if err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			if err := t.Remove(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	})
	b.Run("git", func(b *testing.B) {
		at := filepath.Join(b.TempDir(), "wt")
		for b.Loop() {
			run("worktree", "add", "-q", "--detach", at)
			b.StopTimer()
			run("worktree", "remove", "--force", at)
			b.StartTimer()
		}
	})
}
