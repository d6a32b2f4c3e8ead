package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"culprit/internal/checkout"
	"culprit/internal/experiment"
	"culprit/internal/requiretest"
	"culprit/internal/sandbox"
	"culprit/internal/session"
)

// What one repository's code writes to its caches, or through them, is not
// there for another's, nor for the repository itself when the code was a
// fork's.
func TestAPoisonedCacheReachesNoOtherRepository(t *testing.T) {
	t.Parallel()
	requiretest.Program(t, "git")
	box, err := sandbox.Open("auto", sandbox.Options{})
	if err != nil {
		requiretest.Missing(t, "no sandbox is to be had here: "+err.Error())
	}
	data := t.TempDir()
	cache, err := checkout.OpenCache(filepath.Join(data, "repositories"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cache.Close() })
	run := func(s *session.Session, name, script string) string {
		dir := filepath.Join(data, "source", name)
		if _, err := os.Stat(dir); err != nil {
			for _, args := range [][]string{{"init", "-q", "-b", "main", dir}, {"-C", dir, "-c", "user.name=A", "-c", "user.email=a@a.example", "commit", "-q", "--allow-empty", "-m", name}} {
				if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
					t.Fatalf("git %v: %v\n%s", args, err, out)
				}
			}
		}
		m, err := cache.OpenLocal(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		done, err := executor{box: box, caches: cacheFolder(data, m, s)}.Execute(t.Context(), experiment.Execution{Dir: t.TempDir(), Script: script})
		if err != nil {
			t.Fatal(err)
		}
		return done.Output
	}
	const poison = `for d in "$GOCACHE" "$GOMODCACHE" "$npm_config_cache" "$PIP_CACHE_DIR" "$CARGO_HOME"; do
	mkdir -p "$d/sub" && echo poison >"$d/sub/poison"
	ln -sfn / "$d/link"; echo poison >"$d/../poison" 2>/dev/null
done; echo done`
	const look = `for d in "$GOCACHE" "$GOMODCACHE" "$npm_config_cache" "$PIP_CACHE_DIR" "$CARGO_HOME"; do ls -A "$d" "$d/.." | grep -E 'poison|sub|link'; done; echo looked`
	own, fork := &session.Session{}, &session.Session{Source: session.Source{PR: 7}}
	if out := run(own, "evil", poison); !strings.Contains(out, "done") {
		t.Fatalf("nothing was poisoned: %s", out)
	}
	if out := run(own, "evil", look); strings.Count(out, "sub") != len(cacheFolders) {
		t.Fatalf("the repository does not keep its own caches: %s", out)
	}
	run(fork, "good", poison)
	for _, name := range []string{"good", "evil2/evil"} { // another name, and the same one elsewhere
		if out := run(own, name, look); strings.TrimSpace(out) != "looked" {
			t.Errorf("%s sees what another wrote: %s", name, out)
		}
	}
}
