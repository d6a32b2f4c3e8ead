package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"culprit/internal/requiretest"
	"culprit/internal/sandbox"
)

func itoa(n int) string { return strconv.Itoa(n) }

// makeHostile puts a commit with a test that attacks on top of a project.
// phase is "test", or "set-up", where the network is a step further away.
func makeHostile(t *testing.T, w *world, b *bait, phase string) {
	t.Helper()
	place, err := json.MarshalIndent(b.places, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	const attack = "\n\ntry:\n    import hostile, steal, calls, reach, change\n    hostile.run()\nexcept (ImportError, KeyError):\n    pass\n"
	files := map[string]string{"bait.json": string(place), "test_price.py": priceTest + attack}
	if phase == "set-up" {
		files["test_price.py"], files["prepare.py"] = priceTest, attack
		files[".github/culprit.yml"] = "setup: test ! -e prepare.py || python3 prepare.py\n"
	}
	names, err := filepath.Glob("testdata/attack/*.py")
	if err != nil || len(names) < 5 {
		t.Fatalf("%d files of the hostile repository: %v", len(names), err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(name)] = string(data)
	}
	var in bytes.Buffer
	when := demoStart.Add(100 * time.Hour).Unix()
	fmt.Fprintf(&in, "commit refs/heads/main\nauthor Mallory <m@a.example> %d +0000\ncommitter Mallory <m@a.example> %d +0000\ndata 6\nAttack\nfrom refs/heads/main^0\n", when, when)
	for name, text := range files {
		fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", name, len(text), text)
	}
	target := w.home + "/.netrc"
	fmt.Fprintf(&in, "M 120000 inline innocent.txt\ndata %d\n%s\n", len(target), target)
	cmd := exec.CommandContext(t.Context(), "git", "--git-dir="+w.github.GitDir(w.repo), "fast-import", "--quiet")
	cmd.Stdin = &in
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// A said is what an attempt says of itself, and what it got.
type said struct {
	Said string `json:"said"`
	Loot string `json:"loot"`
}

// assault lets a hostile repository loose on a bot with a sandbox, in a whole
// session, and returns what its attempts say.
func assault(t *testing.T, backend, phase string, only []string) (*world, *bait, map[string]said) {
	t.Helper()
	p := newSmallProject(t)
	w := newWorld(t, realRedis(t, "pw-of-a-test").url, p)
	b := lay(t, w)
	b.places["only"], b.places["confined"] = only, backend != sandbox.Off
	t.Cleanup(b.cleanUp)
	makeHostile(t, w, b, phase)
	bot := w.start("--mode", "quick", "--sandbox", backend)
	startByCI(w, p)
	ended := eventually(t, 6*time.Minute, "the session ends", func() bool { return w.completed() > 0 && w.idle() })
	bot.terminate(t, 15*time.Second)
	if !ended {
		t.Fatalf("log:\n%s", w.log)
	}
	records, _ := filepath.Glob(filepath.Join(w.data, "builds", "*", "pip", "loot", "*.json"))
	out := map[string]said{}
	for _, name := range records {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var s said
		if err := json.Unmarshal(data, &s); err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(name), ".json")] = s
	}
	return w, b, out
}

// outcome judges an attempt by what is seen from outside; of calls that leave
// nothing to see, by the kernel's own answer.
func (b *bait) outcome(a attempt, s said) (what string, success bool) {
	loot, err := hex.DecodeString(s.Loot)
	if err != nil {
		return err.Error(), true
	}
	if from := b.stolen(string(loot)); len(from) > 0 {
		return "read: " + strings.Join(from, ", "), true
	}
	if seen := b.happened(a.name, a.at(b)); seen != "" {
		return seen, true
	}
	// What it says to have written may be a file of its own, in memory.
	if s.Said == "done" && a.place == "" || a.refusals != nil && !a.refused(s.Said) {
		return "it came through: " + s.Said, true
	}
	return s.Said, false
}

// TestAttacks lets a hostile repository try everything in the table, in a
// session of the running product, for each sandbox that runs here; with
// CULPRIT_ATTACK=all (make attack) from its set-up step too.
func TestAttacks(t *testing.T) {
	t.Parallel()
	for _, run := range []struct{ backend, phase string }{{sandbox.Bwrap, "test"}, {sandbox.Landlock, "test"}, {sandbox.Bwrap, "set-up"}, {sandbox.Landlock, "set-up"}} {
		backend, phase := run.backend, run.phase
		if phase == "set-up" && os.Getenv("CULPRIT_ATTACK") != "all" {
			continue
		}
		t.Run(backend+" "+phase, func(t *testing.T) {
			t.Parallel()
			if _, err := sandbox.Open(backend, sandbox.Options{}); errors.Is(err, sandbox.ErrUnavailable) {
				requiretest.Missing(t, err.Error())
			}
			w, b, records := assault(t, backend, phase, nil)
			var table strings.Builder
			successes := 0
			for _, a := range attempts() {
				s, tried := records[a.name]
				if !tried {
					t.Errorf("%s was not tried", a.name)
					continue
				}
				delete(records, a.name)
				what, success := b.outcome(a, s)
				if success {
					successes++
					t.Errorf("%s: %s", a.name, what)
				}
				fmt.Fprintf(&table, "%-26s %-55s %-24.24s %s\n", a.name, a.what, what, a.wall.line(t, backend))
			}
			for name := range records {
				t.Errorf("%s is not in the table", name)
			}
			for place, text := range w.written() {
				for _, from := range b.stolen(text) {
					if !strings.HasPrefix(from, w.data) { // the baits themselves lie there
						t.Errorf("%s holds what lay in %s", place, from)
					}
				}
			}
			t.Logf("%s, from a %s step: %d attempts, %d successes\n%s", backend, phase, len(attempts()), successes, table.String())
		})
	}
}

// Without a sandbox the same attempts succeed: so success would be seen.
func TestAttacksSucceedWithoutASandbox(t *testing.T) {
	t.Parallel()
	_, b, records := assault(t, sandbox.Off, "test", controls())
	n := 0
	for _, a := range attempts() {
		if !a.control {
			continue
		}
		if what, success := b.outcome(a, records[a.name]); !success {
			t.Errorf("%s is not seen to succeed: %s", a.name, what)
		} else {
			n++
		}
	}
	t.Logf("%d attempts that a sandbox stops succeed without one", n)
}

// cleanUp removes what a successful attempt left outside.
func (b *bait) cleanUp() {
	for _, a := range attempts() {
		if place := a.at(b); place != "" && strings.Contains(place, b.token) {
			if err := os.Remove(place); err != nil && !errors.Is(err, fs.ErrNotExist) {
				b.t.Log(err)
			}
		}
	}
	for _, top := range []string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids", "/sys/fs/cgroup"} {
		_ = os.Remove(filepath.Join(top, b.token))
	}
}
