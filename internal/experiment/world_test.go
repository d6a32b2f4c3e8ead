package experiment

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"culprit/internal/patch"
	"culprit/internal/session"
)

// world is a repository in memory with everything that the lab is plugged
// into: history, worktrees, an executor whose commands are functions over the
// files, and a store.
type world struct {
	mu      sync.Mutex
	order   []*node // in topological order
	byID    map[string]*node
	trees   map[string]*memoryTree
	program func(files map[string]string, script string, n int) session.Outcome

	says map[session.Outcome]string // printed before the outcome

	executed int            // runs
	byRev    map[string]int // runs by commit
	entries  []session.Entry
	files    map[string][]byte
	live     int // worktrees
	running  int
	most     int // runs at one time
}

type node struct {
	session.Commit
	files map[string]string
	n     int
}

func newWorld() *world {
	return &world{
		byID: map[string]*node{}, trees: map[string]*memoryTree{}, byRev: map[string]int{}, files: map[string][]byte{},
		program: lookAtCode,
	}
}

// lookAtCode is the usual program: it "builds" every file and "tests" code. The
// script names the files of the test, which list words that must not occur in
// any other file.
func lookAtCode(files map[string]string, script string, _ int) session.Outcome {
	all := ""
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(name, "_test") {
			all += files[name] + "\n"
		}
	}
	if strings.Contains(all, "NOBUILD") {
		return session.Untestable
	}
	test, ok := files["a_test"]
	if !ok {
		return session.Untestable
	}
	for _, alternative := range strings.Split(strings.TrimSpace(test), "\n") {
		found := true
		for _, word := range strings.Fields(alternative) {
			found = found && strings.Contains(all, word)
		}
		if found && alternative != "" {
			return session.FailedSame
		}
	}
	return session.Passed
}

// commit adds a commit; a change to "" deletes a file. Without parents the
// newest commit is the parent.
func (w *world) commit(change map[string]string, parents ...string) string {
	if len(parents) == 0 && len(w.order) > 0 {
		parents = []string{w.order[len(w.order)-1].SHA}
	}
	n := &node{n: len(w.order), files: map[string]string{}}
	n.SHA = fmt.Sprintf("%04d%036d", len(w.order), len(w.order))
	n.Subject = fmt.Sprintf("commit %d", len(w.order))
	n.Parents = parents
	for i, p := range parents {
		for name, text := range w.byID[p].files {
			if _, there := n.files[name]; i == 0 || !there {
				n.files[name] = text
			}
		}
	}
	for name, text := range change {
		if text == "" {
			delete(n.files, name)
			continue
		}
		n.files[name] = text
	}
	w.order = append(w.order, n)
	w.byID[n.SHA] = n
	return n.SHA
}

func (w *world) reach(rev string) map[string]bool {
	seen := map[string]bool{}
	todo := []string{rev}
	for len(todo) > 0 {
		r := todo[0]
		todo = todo[1:]
		if r != "" && !seen[r] {
			seen[r] = true
			todo = append(todo, w.byID[r].Parents...)
		}
	}
	return seen
}

func (w *world) Resolve(_ context.Context, rev string) (session.Commit, error) {
	if n := w.byID[rev]; n != nil {
		return n.Commit, nil
	}
	return session.Commit{}, fmt.Errorf("unknown revision %q", rev)
}

func (w *world) FirstParents(_ context.Context, rev string, limit int) ([]session.Commit, error) {
	var out []session.Commit
	for rev != "" && (limit == 0 || len(out) < limit) {
		n := w.byID[rev]
		out = append(out, n.Commit)
		rev = ""
		if len(n.Parents) > 0 {
			rev = n.Parents[0]
		}
	}
	return out, nil
}

func (w *world) Between(_ context.Context, from, to string) ([]session.Commit, error) {
	not, in := w.reach(from), w.reach(to)
	var out []session.Commit
	for _, n := range slices.Backward(w.order) {
		if in[n.SHA] && !not[n.SHA] {
			out = append(out, n.Commit)
		}
	}
	return out, nil
}

func (w *world) Touching(_ context.Context, rev string, paths []string, limit int) ([]session.Commit, error) {
	in := w.reach(rev)
	var out []session.Commit
	for _, n := range slices.Backward(w.order) {
		if !in[n.SHA] || len(n.Parents) > 1 || (limit > 0 && len(out) == limit) {
			continue
		}
		old := map[string]string{}
		if len(n.Parents) > 0 {
			old = w.byID[n.Parents[0]].files
		}
		for _, p := range paths {
			if old[p] != n.files[p] {
				out = append(out, n.Commit)
				break
			}
		}
	}
	return out, nil
}

func (w *world) MergeBase(_ context.Context, a, b string) (string, error) {
	in := w.reach(a)
	also := w.reach(b)
	for _, n := range slices.Backward(w.order) {
		if in[n.SHA] && also[n.SHA] {
			return n.SHA, nil
		}
	}
	return "", nil
}

// changes pairs files that differ; a file that moved without a change is a
// rename.
func (w *world) changes(from, to string) []patch.File {
	a, b := w.byID[from].files, w.byID[to].files
	var out []patch.File
	moved := map[string]bool{}
	bytesOf := func(m map[string]string, name string) []byte {
		if text, ok := m[name]; ok {
			return []byte(text)
		}
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if _, had := a[name]; had {
			continue
		}
		for _, old := range slices.Sorted(maps.Keys(a)) {
			if _, still := b[old]; !still && a[old] == b[name] && !moved[old] {
				moved[old], moved[name] = true, true
				out = append(out, patch.File{Path: name, OldPath: old, Old: []byte(a[old]), New: []byte(b[name])})
				break
			}
		}
	}
	names := maps.Clone(a)
	maps.Copy(names, b)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !moved[name] && a[name] != b[name] {
			out = append(out, patch.File{Path: name, Old: bytesOf(a, name), New: bytesOf(b, name)})
		}
	}
	return out
}

func (w *world) Changed(_ context.Context, from, to string) ([]session.FileChange, error) {
	var out []session.FileChange
	for _, f := range w.changes(from, to) {
		c := session.FileChange{Status: "M", Path: f.Path, OldPath: f.OldPath}
		switch {
		case f.OldPath != "":
			c.Status = "R"
		case f.Old == nil:
			c.Status = "A"
		case f.New == nil:
			c.Status = "D"
		}
		out = append(out, c)
	}
	return out, nil
}

func (w *world) Diff(_ context.Context, from, to string) ([]byte, error) {
	var out []byte
	for _, f := range w.changes(from, to) {
		out = append(out, patch.Format(f, 0)...)
	}
	return out, nil
}

func (w *world) ShowMode(_ context.Context, rev, path string) ([]byte, uint32, error) {
	n := w.byID[rev]
	if n == nil {
		return nil, 0, fmt.Errorf("unknown revision %q", rev)
	}
	text, ok := n.files[path]
	if !ok {
		return nil, 0, fs.ErrNotExist
	}
	return []byte(text), patch.ModeFile, nil
}

func (w *world) List(_ context.Context, rev string) ([]string, error) {
	return slices.Sorted(maps.Keys(w.byID[rev].files)), nil
}

// memoryTree is a worktree in memory.
type memoryTree struct {
	w     *world
	dir   string
	rev   string
	files map[string]string
}

func (w *world) Tree(context.Context) (Tree, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := &memoryTree{w: w, dir: fmt.Sprintf("/tree/%d", len(w.trees))}
	w.trees[t.dir] = t
	w.live++
	return t, nil
}

func (t *memoryTree) Dir() string { return t.dir }

func (t *memoryTree) Checkout(_ context.Context, rev string) error {
	n := t.w.byID[rev]
	if n == nil {
		return fmt.Errorf("unknown revision %q", rev)
	}
	t.rev, t.files = rev, maps.Clone(n.files)
	return nil
}

func (t *memoryTree) Apply(_ context.Context, edits []session.Edit) error {
	for _, e := range edits {
		if e.Delete {
			delete(t.files, e.Path)
			continue
		}
		t.files[e.Path] = string(e.Content)
	}
	return nil
}

func (t *memoryTree) Untracked(context.Context) ([]string, error)  { return nil, nil }
func (t *memoryTree) Clean(_ context.Context, keep []string) error { return nil }
func (t *memoryTree) Remove(context.Context) error {
	t.w.mu.Lock()
	defer t.w.mu.Unlock()
	t.w.live--
	return nil
}

func (w *world) Execute(ctx context.Context, e Execution) (Executed, error) {
	w.mu.Lock()
	t := w.trees[e.Dir]
	w.executed++
	w.byRev[t.rev]++
	n := w.byRev[t.rev]
	w.running++
	w.most = max(w.most, w.running)
	program := w.program
	w.mu.Unlock()
	o := program(t.files, e.Script, n)
	w.mu.Lock()
	w.running--
	w.mu.Unlock()
	exit := 1
	if o == session.Passed {
		exit = 0
	}
	return Executed{Exit: exit, Output: w.says[o] + string(o) + "\n", Duration: time.Millisecond}, ctx.Err()
}

func (w *world) Record(e session.Entry) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entries = append(w.entries, e)
	return nil
}

func (w *world) Entries() ([]session.Entry, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.entries), nil
}

func (w *world) Write(name string, data []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.files[name] = bytes.Clone(data)
	return nil
}

func (w *world) Read(name string) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	data, ok := w.files[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return data, nil
}

// plain is a language whose runner prints the outcome.
func plain() Language {
	return Language{
		Parse: func(string) session.TestReport { return session.TestReport{} },
		Judge: func(_ session.Target, _ int, _ bool, _ session.TestReport, output string) (session.Outcome, string) {
			output = strings.TrimSpace(output)
			o := session.Outcome(output[strings.LastIndexByte(output, '\n')+1:])
			if o == session.Untestable || o == session.FailedElse {
				return o, "the program says " + string(o)
			}
			return o, ""
		},
		IsTestFile: func(path string) bool { return strings.HasSuffix(path, "_test") },
		IsLockFile: func(path string) bool { return path == "lock" },
		Shuffled:   func(c string) (string, bool) { return c + " shuffled", true },
	}
}

func (w *world) lab(t testing.TB, opts Options) *Lab {
	t.Helper()
	l, err := NewLab(Outside{History: w, Trees: w, Executor: w, Store: w, Language: plain()}, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return l
}

// at is the i-th commit.
func (w *world) at(i int) string { return w.order[i].SHA }

// session is a reproduced session at the newest commit, the test carried along.
func (w *world) session(kinds ...session.HypothesisKind) *session.Session {
	bad := w.order[len(w.order)-1].Commit
	s := &session.Session{
		ID: "20261130-debug-x", Bad: &bad,
		Reproduction: &session.Reproduction{
			Command: "test", Alone: true, Count: session.Count{Runs: 5, Failures: 5}, Reproduced: true,
			Overlay: []session.Overlay{{Rev: bad.SHA, Path: "a_test"}},
			Failure: &session.Failure{File: "a_test", Line: 1, Kind: session.KindTest},
		},
	}
	for i, k := range kinds {
		id := fmt.Sprintf("H%d", i+1)
		s.Hypotheses = append(s.Hypotheses, session.Hypothesis{ID: id, Kind: k})
		s.Tasks = append(s.Tasks,
			session.Task{ID: id, Wave: 1, Status: session.Pending},
			session.Task{ID: "FIX-" + id, Wave: 2, Status: session.Pending, Deps: []string{id}})
	}
	return s
}

// investigate looks for a good commit and tests the session's first hypothesis.
func investigate(t testing.TB, l *Lab, s *session.Session) session.Finding {
	t.Helper()
	if s.Archaeology == nil {
		a, err := FindGood(t.Context(), l, s)
		if err != nil {
			t.Fatal(err)
		}
		s.Archaeology = &a
	}
	f := NewInvestigator(l).Investigate(t.Context(), s, *s.Task("H1"))
	if f.Status != session.Completed {
		t.Fatalf("the experiment failed: %s", f.Error)
	}
	if len(f.Findings) == 0 || len(f.Findings) > session.MaxFindings {
		t.Errorf("findings have %d bytes: %q", len(f.Findings), f.Findings)
	}
	return f
}
