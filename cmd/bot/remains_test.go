package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"culprit/internal/session"
	"culprit/queue"
)

// openQueue connects to the bots' queue, once.
func (w *world) openQueue() *queue.Queue {
	w.t.Helper()
	if w.queue != nil {
		return w.queue
	}
	opts, err := redis.ParseURL(w.redisURL)
	if err != nil {
		w.t.Fatal(err)
	}
	client := redis.NewClient(opts)
	w.t.Cleanup(func() { _ = client.Close() })
	if w.queue, err = queue.Open(w.t.Context(), queue.Options{Redis: client}); err != nil {
		w.t.Fatal(err)
	}
	return w.queue
}

// idle reports whether the queue has nothing to do any more.
func (w *world) idle() bool {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Second)
	defer cancel()
	stats, err := w.openQueue().Stats(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	for state, n := range stats.Depth {
		if n > 0 && !state.Ended() {
			return false
		}
	}
	return true
}

// sessions are the folders of sessions in the data folder.
func (w *world) sessions() []string {
	w.t.Helper()
	dirs, err := filepath.Glob(filepath.Join(w.data, "sessions", "*"))
	if err != nil {
		w.t.Fatal(err)
	}
	return dirs
}

// tablesAreConsistent checks the one session folder: every row of tasks.csv
// has ended, once, and what was exported from it says the same.
func (w *world) tablesAreConsistent(id string) {
	t := w.t
	t.Helper()
	dirs := w.sessions()
	if len(dirs) != 1 || filepath.Base(dirs[0]) != id {
		t.Fatalf("session folders %v, want just that of %s", dirs, id)
	}
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(dirs[0], name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var s session.Session
	if err := json.Unmarshal(read("session.json"), &s); err != nil {
		t.Fatal(err)
	}
	if !s.Done() || s.ID != id || s.Result != session.ResultFixed {
		t.Errorf("session.json: session %s is %s with %s", s.ID, s.State, s.Result)
	}
	tasks, err := session.DecodeTasks("tasks.csv", read("tasks.csv"))
	if err != nil {
		t.Fatal(err)
	}
	rows, fixed, confirmed := map[string]bool{}, 0, 0
	for _, task := range tasks {
		if rows[task.ID] {
			t.Errorf("tasks.csv has %s twice", task.ID)
		}
		rows[task.ID] = true
		switch task.Status {
		case session.Completed, session.Failed, session.Skipped:
		default:
			t.Errorf("tasks.csv: %s is %q at the end", task.ID, task.Status)
		}
		if task.Wave == 1 && task.Status == session.Completed && task.Verdict == "" {
			t.Errorf("tasks.csv: %s is completed without a verdict", task.ID)
		}
		if task.Verdict == session.Confirmed {
			confirmed++
		}
		if task.FixResult == session.Fixed {
			fixed++
		}
	}
	if confirmed != 1 || fixed != 1 {
		t.Errorf("tasks.csv: %d hypotheses confirmed and %d fixes made, want one each:\n%s", confirmed, fixed, read("tasks.csv"))
	}
	exported, err := session.DecodeTasks("results.csv", read("results.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if len(exported) != len(tasks) {
		t.Errorf("results.csv has %d rows, tasks.csv %d", len(exported), len(tasks))
	}
	for i := range min(len(exported), len(tasks)) {
		if a, b := exported[i], tasks[i]; a.ID != b.ID || a.Status != b.Status || a.Verdict != b.Verdict || a.FixResult != b.FixResult {
			t.Errorf("results.csv says %s %s, tasks.csv %s %s", a.ID, a.Status, b.ID, b.Status)
		}
	}
	for _, name := range []string{"evidence.ndjson", "discoveries.ndjson"} {
		for i, line := range strings.Split(strings.TrimSuffix(string(read(name)), "\n"), "\n") {
			if !json.Valid([]byte(line)) && line != "" {
				t.Errorf("%s line %d is torn: %q", name, i+1, line)
			}
		}
	}
}

// nothingIsLeft checks that no process, worktree, lock or partial file remains
// once the bots have ended.
func (w *world) nothingIsLeft() {
	t := w.t
	t.Helper()
	var left []string
	if !eventually(t, 10*time.Second, "no process is left", func() bool {
		left = processesOf(t, w.data)
		return len(left) == 0
	}) {
		t.Errorf("processes: %s", strings.Join(left, "\n"))
	}
	for _, what := range leftovers(w.data) {
		t.Error(what)
	}
}

// leftovers lists worktrees, locks and partial files in a data folder whose
// bots have ended.
func leftovers(data string) (left []string) {
	add := func(format string, args ...any) { left = append(left, fmt.Sprintf(format, args...)) }
	trees, err := os.ReadDir(filepath.Join(data, "repositories", "trees"))
	if err != nil {
		add("%v", err)
	}
	for _, e := range trees {
		add("left among the worktrees: %s", e.Name())
	}
	files := 0
	err = filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(data, path)
		if d.IsDir() {
			if strings.HasSuffix(name, ".new") || strings.HasPrefix(d.Name(), "tmp_objdir") || d.Name() == "worktrees" {
				add("left: folder %s", name)
			}
			if d.Name() == "builds" {
				return fs.SkipDir // caches of other programs
			}
			return nil
		}
		files++
		switch ext := filepath.Ext(name); {
		case ext == ".tmp", strings.HasPrefix(d.Name(), "tmp_"), strings.HasPrefix(d.Name(), "wave-"), slices.Contains([]string{".pid", ".part", ".partial"}, ext):
			add("left: %s", name)
		case ext == ".lock":
			advisory := d.Name() == ".lock" && strings.HasPrefix(name, "sessions/")
			if _, err := os.Stat(strings.TrimSuffix(path, ".lock")); err == nil && filepath.Base(filepath.Dir(path)) == "mirrors" {
				advisory = true
			}
			if !advisory {
				add("left: lock file %s", name)
			} else if held(path) {
				add("held: %s", name)
			}
		}
		return nil
	})
	if err != nil {
		add("%v", err)
	}
	if files == 0 {
		add("%s is empty: there is nothing to look at", data)
	}
	return left
}

// held reports whether somebody holds an advisory lock.
func held(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}
