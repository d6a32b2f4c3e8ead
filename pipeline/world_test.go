package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"culprit/internal/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is everything outside of the pipeline, in memory. Commits are named by
// their position: "c9" is the bad one, "c0" the first. The test fails from
// culprit on.
type world struct {
	now     time.Time
	files   map[string]string // of every commit
	culprit int
	flaky   int // every n-th run of a bad commit passes, 0 = none
	seldom  int // only every n-th run of a bad commit fails, 0 = each
	// fixHolds says whether the n-th fix that is offered makes the test pass.
	fixHolds []bool
	conflict bool
	added    int    // lines that a fix adds, 0 = one
	breaks   string // a test that the fix breaks
	stays    string // a test that fails with the fix and without it, when it is run alone
	verdicts map[session.HypothesisKind]session.Verdict
	// readCause is what a reader found, where a hypothesis is tested by reading.
	readCause *session.RootCause
	logs      []CILog
	maxRuns   int
	needs     string // in the command, or the failure does not show
	unusable  string // in the set-up, which fails then

	runs    int
	offered int

	// durable state and visible effects
	saved     []byte
	tasks     []byte
	entries   []session.Entry
	written   map[string]string
	saves     int
	killAt    int // save that does not happen any more, 0 = none
	proposals int
	finals    int
	progress  int
	published string // change on top of the fix branch
}

func newWorld() *world {
	return &world{
		now: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC), culprit: 5, fixHolds: []bool{true}, written: map[string]string{},
		files: map[string]string{"go.mod": "module m.example/m\n\ngo 1.21\n", "a.go": "package m\n", "a_test.go": "package m\n\nfunc TestA() {}\n"},
	}
}

// fixBranch is the head of the branch that has the first fix.
const fixBranch = "c9+fix"

var errKilled = errors.New("killed")

func (w *world) deps() Deps {
	return Deps{Workspace: w, Runner: w, History: w, Investigator: w, Fixer: w, Publisher: w, Store: w, Clock: w, Logs: w}
}

func (w *world) start() *session.Session {
	return &session.Session{ID: "20261130-debug-x", Flags: session.Flags{Bad: "c9"}}
}

func (w *world) Now() time.Time { w.now = w.now.Add(time.Second); return w.now }

func (w *world) Resolve(_ context.Context, rev string) (session.Commit, error) {
	if !strings.HasPrefix(rev, "c") {
		return session.Commit{}, &session.UserError{Code: "unknown-revision", What: "no such revision " + rev}
	}
	return session.Commit{SHA: rev, Subject: "change " + rev}, nil
}

func (w *world) Log(context.Context, string, LogOptions) ([]session.Commit, error) {
	return []session.Commit{{SHA: "c5", Subject: "change c5"}}, nil
}

func (w *world) Changed(context.Context, string, string) ([]session.FileChange, error) {
	return []session.FileChange{{Status: "M", Path: "a.go"}}, nil
}

func (w *world) Show(_ context.Context, rev, path string) ([]byte, error) {
	if rev == fixBranch && path == "a.go" {
		return []byte("fixed"), nil
	}
	if c, ok := w.files[path]; ok {
		return []byte(c), nil
	}
	return nil, fs.ErrNotExist
}

func (w *world) List(context.Context, string) ([]string, error) {
	var out []string
	for f := range w.files {
		out = append(out, f)
	}
	return out, nil
}

func (w *world) Blame(context.Context, string, string, int, int) ([]session.Commit, error) {
	return nil, nil
}

func (w *world) Reproduction(_ context.Context, s *session.Session) (session.Trial, error) {
	r := s.Reproduction
	return session.Trial{Rev: s.Bad.SHA, Command: r.Command, Setup: r.Setup, Target: r.Target}, nil
}

// Run answers by commit and edits: a fix edits a.go.
func (w *world) Run(_ context.Context, t session.Trial) (session.Observation, error) {
	w.runs++
	if w.maxRuns > 0 && w.runs > w.maxRuns {
		return session.Observation{}, session.ErrBudget
	}
	var at int
	fmt.Sscanf(t.Rev, "c%d", &at)
	bad := at >= w.culprit
	var broken bool
	for _, e := range t.Edits {
		if e.Path == "a.go" {
			bad = !strings.HasPrefix(string(e.Content), "fixed")
			broken = w.breaks != "" && !bad
		}
	}
	if w.seldom > 0 && w.runs%w.seldom != 0 {
		bad = false
	}
	if w.flaky > 0 && w.runs%w.flaky == 0 || !strings.Contains(t.Command, w.needs) {
		bad = false
	}
	if w.unusable != "" && strings.Contains(t.Setup, w.unusable) {
		return session.Observation{Outcome: session.Untestable, Reason: "set-up failed (exit 1): no " + w.unusable, Exit: 1}, nil
	}
	o := session.Observation{Outcome: session.Passed, Report: session.TestReport{Framework: "go test", NPassed: 3, Passed: []string{"m.example/m.TestA"}}}
	fail := func(test string) {
		o.Exit = 1
		o.Report.Failures = append(o.Report.Failures, session.Failure{
			Framework: "go test", Package: "m.example/m", Test: test, File: "a_test.go", Line: 3, Kind: session.KindTest, Message: "got 1, want 2", Signature: "got N, want N",
		})
	}
	if bad {
		fail("TestA")
		o.Outcome = session.FailedSame
		if len(t.Target.Tests) == 0 {
			o.Outcome = session.FailedElse
		}
	}
	if w.stays != "" && strings.Contains(t.Command, w.stays) && t.Name == "what failed in CI" {
		fail(w.stays)
		o.Outcome = session.FailedSame
	}
	if broken && len(t.Target.Tests) == 0 && !strings.Contains(t.Command, "-run") {
		fail(w.breaks)
	}
	return o, nil
}

func (w *world) Used() (int, time.Duration) { return w.runs, 0 }

func (w *world) Repeat(ctx context.Context, t session.Trial, n int) (c session.Count, seen []session.Observation, err error) {
	for range n {
		o, err := w.Run(ctx, t)
		if err != nil {
			return c, seen, err
		}
		c.Add(o.Outcome)
		seen = append(seen, o)
	}
	return c, seen, nil
}

func (w *world) FindGood(context.Context, *session.Session) (session.Archaeology, error) {
	if w.culprit == 0 {
		return session.Archaeology{Total: 10, Boundary: "root"}, nil
	}
	return session.Archaeology{Total: 10, Good: &session.Commit{SHA: "c4"}, GoodHow: "found by galloping back", Candidates: 5}, nil
}

func (w *world) Investigate(_ context.Context, s *session.Session, t session.Task) session.Finding {
	f := session.Finding{ID: t.ID, Status: session.Completed, Verdict: session.Refuted, Findings: "ruled out", EvidenceAgainst: []string{"a_test.go:3 — fails 8/8"}}
	for _, h := range s.Hypotheses {
		if h.ID != t.ID {
			continue
		}
		if v, ok := w.verdicts[h.Kind]; ok {
			f.Verdict = v
		}
		if f.Verdict == session.Confirmed {
			f.EvidenceFor = []string{"a.go:1 — fails 8/8 at c5, passes 8/8 at c4"}
			f.Cause = &session.RootCause{
				Task: t.ID, Kind: h.Kind, Summary: "c5 introduced it", Location: "a.go:1", Culprit: &session.Commit{SHA: "c5"}, Parent: &session.Commit{SHA: "c4"},
				AtCulprit: session.Count{Runs: 8, Failures: 8}, AtParent: session.Count{Runs: 8}, Probability: .99,
				Minimal: []session.Hunk{{ID: "a.go#1", File: "a.go"}}, Hunks: 3,
			}
			if h.Kind == session.Reading && w.readCause != nil {
				c := *w.readCause
				c.Task, f.Cause = t.ID, &c
			}
		}
	}
	return f
}

func (w *world) Fix(_ context.Context, s *session.Session, t session.Task) session.FixReport {
	rep := session.FixReport{ID: t.ID, Status: session.Completed, Result: session.FixFailed}
	if w.conflict {
		rep.Fix = &session.Fix{Task: t.ID, Conflicts: []string{"a.go:1 was changed since"}}
		return rep
	}
	for n, holds := range w.fixHolds {
		content := "fixed"
		if n > 0 {
			content = fmt.Sprintf("fixed %d", n)
		}
		if !holds {
			content = fmt.Sprintf("try %d", n)
		}
		fix := &session.Fix{
			Task: t.ID, Strategy: fmt.Sprintf("candidate %d", n), Base: "c9", Patch: "patch " + content, Files: []string{"a.go"}, Added: max(w.added-1, 1), Removed: 1,
			Hunks: []session.Hunk{{ID: "a.go#1", File: "a.go", OldStart: 1, OldLines: 1, NewStart: 1, NewLines: 1, Text: "-package m\n+" + content + "\n"}},
			Edits: []session.Edit{{Path: "a.go", Content: []byte(content)}},
		}
		rejected := false
		for _, d := range s.Rejected {
			rejected = rejected || d == fix.Digest()
		}
		if !rejected {
			w.offered++
			rep.Result, rep.Verified, rep.Fix, rep.FixApplied = session.Fixed, true, fix, []string{"a.go:1 — 1 line"}
			return rep
		}
	}
	rep.Findings = "nothing is left to try"
	return rep
}

func (w *world) Compose(_ context.Context, base string, edits []session.Edit, words session.Fix) (session.Fix, error) {
	fix := words
	fix.Base, fix.Edits, fix.Patch, fix.Files, fix.Hunks = base, edits, "patch", nil, nil
	for _, e := range edits {
		fix.Patch += " " + e.Path + " " + string(e.Content)
		fix.Files = append(fix.Files, e.Path)
		fix.Hunks = append(fix.Hunks, session.Hunk{ID: e.Path + "#1", File: e.Path, OldStart: 1, OldLines: 1, NewStart: 1, NewLines: 1, Text: "-package m\n+fixed\n"})
	}
	return fix, nil
}

func (w *world) Necessity(_ context.Context, fix session.Fix, _ session.Trial, _ int) ([]session.Necessity, error) {
	return []session.Necessity{{Hunk: fix.Hunks[0].ID, Outcome: session.FailedSame, Required: true}}, nil
}

func (w *world) Progress(context.Context, *session.Session) error { w.progress++; return nil }
func (w *world) Propose(_ context.Context, s *session.Session) error {
	if r := s.OpenRound(); r != nil {
		w.published = r.Patch
	}
	if s.Published.PR == 0 {
		w.proposals++
		s.Published.PR, s.Published.PRURL = 7, "https://github.example/o/r/pull/7"
	}
	return nil
}
func (w *world) Final(context.Context, *session.Session) error { w.finals++; return nil }

func (w *world) Logs(context.Context, *session.Session) ([]CILog, error) { return w.logs, nil }

func (w *world) Save(s *session.Session) error {
	if w.saves++; w.saves == w.killAt {
		return errKilled
	}
	data, err := json.Marshal(s)
	w.saved, w.tasks = data, session.EncodeTasks(s.Tasks, false)
	return err
}

// load is what another process finds.
func (w *world) load(t *testing.T) *session.Session {
	t.Helper()
	if w.saved == nil {
		return w.start()
	}
	var s session.Session
	if err := json.Unmarshal(w.saved, &s); err != nil {
		t.Fatal(err)
	}
	tasks, err := session.DecodeTasks("tasks.csv", w.tasks)
	if err != nil {
		t.Fatal(err)
	}
	s.Tasks = tasks
	return &s
}

func (w *world) Record(e session.Entry) error             { w.entries = append(w.entries, e); return nil }
func (w *world) Entries() ([]session.Entry, error)        { return w.entries, nil }
func (w *world) Discover(session.Discovery) (bool, error) { return true, nil }
func (w *world) Write(name string, data []byte) error     { w.written[name] = string(data); return nil }
func (w *world) Remove(name string) error                 { delete(w.written, name); return nil }
func (w *world) Read(name string) ([]byte, error) {
	if c, ok := w.written[name]; ok {
		return []byte(c), nil
	}
	return nil, fs.ErrNotExist
}
