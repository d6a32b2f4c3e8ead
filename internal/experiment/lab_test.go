package experiment

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"culprit/internal/experiment/rate"
	"culprit/internal/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAResumedSessionRunsNothingTwice(t *testing.T) {
	t.Parallel()
	w := linear(60, 37)
	s := w.session(session.Regression, session.Nondeterminism)
	whole := func(l *Lab) (session.Finding, session.FixReport) {
		s.Archaeology, s.RootCause = nil, nil
		f := investigate(t, l, s)
		s.RootCause = f.Cause
		return f, NewFixer(l).Fix(t.Context(), s, *s.Task("FIX-H1"))
	}
	first, fix := whole(w.lab(t, Options{}))
	paid := w.executed
	second, again := whole(w.lab(t, Options{}))
	if w.executed != paid {
		t.Errorf("%d runs were paid for, %d more after the restart", paid, w.executed-paid)
	}
	if first.Findings != second.Findings || fix.Fix.Patch != again.Fix.Patch {
		t.Errorf("findings %q and %q", first.Findings, second.Findings)
	}
}

func TestAKilledSearchGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	for budget := 1; budget < 30; budget += 3 {
		w := linear(60, 37)
		s := w.session(session.Regression)
		l := w.lab(t, Options{MaxRuns: budget})
		if a, err := FindGood(t.Context(), l, s); err == nil {
			s.Archaeology = &a
			NewInvestigator(l).Investigate(t.Context(), s, *s.Task("H1"))
		}
		s.Archaeology = nil
		f := investigate(t, w.lab(t, Options{}), s)
		if f.Verdict != session.Confirmed || f.Cause.Culprit.SHA != w.at(37) {
			t.Errorf("after %d runs and a restart: %s: %s", budget, f.Verdict, f.Findings)
		}
		if runs, _ := w.lab(t, Options{}).Used(); runs != w.executed {
			t.Errorf("%d runs are charged, %d were executed", runs, w.executed)
		}
	}
}

func TestTheBudgetEndsRuns(t *testing.T) {
	t.Parallel()
	w := linear(5, 2)
	l := w.lab(t, Options{MaxRuns: 3})
	count, seen, err := l.Repeat(t.Context(), session.Trial{Rev: w.at(4), Command: "test"}, 10)
	var budget *BudgetError
	if !errors.Is(err, ErrBudget) || !errors.As(err, &budget) || count.Runs != 3 || len(seen) != 3 || w.executed != 3 {
		t.Errorf("%+v, %d seen, %d executed, %v", count, len(seen), w.executed, err)
	}
	if !strings.Contains(err.Error(), "--max-runs") {
		t.Errorf("the error does not say what to do: %v", err)
	}
}

func TestRunsAreBoundedAndWorktreesAreGivenBack(t *testing.T) {
	t.Parallel()
	w := linear(5, 2)
	l := w.lab(t, Options{Parallel: 2})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, _, err := l.Repeat(t.Context(), session.Trial{Rev: w.at(4), Command: "test"}, 25); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if w.most > 2 || w.live > 2 || w.executed != 100 {
		t.Errorf("%d at one time, %d worktrees, %d runs", w.most, w.live, w.executed)
	}
	if err := l.Close(t.Context()); err != nil || w.live != 0 {
		t.Errorf("%d worktrees are left, %v", w.live, err)
	}
	if _, err := l.Run(t.Context(), session.Trial{Rev: w.at(4), Command: "test"}); err == nil {
		t.Error("a closed lab runs")
	}
}

func TestEveryRunLeavesItsLogAndOneEntry(t *testing.T) {
	t.Parallel()
	w := linear(5, 2)
	l := w.lab(t, Options{})
	trial := session.Trial{Name: "why", Task: "H1", Rev: w.at(4), Command: "test"}
	if _, _, err := l.Repeat(t.Context(), trial, 3); err != nil {
		t.Fatal(err)
	}
	if len(w.entries) != 3 {
		t.Fatalf("%d entries", len(w.entries))
	}
	if len(w.files) != 3 {
		t.Errorf("%d logs for 3 runs", len(w.files))
	}
	for _, e := range w.entries {
		if e.Phase != "experiment" || e.Key != Key(trial) || e.Outcome != session.FailedSame || e.Commit != trial.Rev || e.Task != "H1" || e.Name != "why" || e.Runs != 1 {
			t.Errorf("entry %+v", e)
		}
		if _, ok := w.files[e.Source]; !ok {
			t.Errorf("no log %q", e.Source)
		}
	}
}

func TestAnOlderCommitIsAdaptedBeforeItIsCalledUntestable(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.commit(map[string]string{"code": "fine\n"}) // today's test is not there
	w.commit(map[string]string{"a_test": "BUG"})
	lang := plain()
	lang.Adapt = func(_ session.Trial, old, newer Snapshot) ([]session.Edit, string) {
		if _, err := old.Read("a_test"); err == nil {
			return nil, ""
		}
		data, _ := newer.Read("a_test")
		return []session.Edit{{Path: "a_test", Content: data}}, "took the newer file"
	}
	l, err := NewLab(Outside{History: w, Trees: w, Executor: w, Store: w, Language: lang}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close(context.Background())
	trial := session.Trial{Rev: w.at(0), Command: "test"}
	if o, err := l.Run(t.Context(), trial); err != nil || o.Outcome != session.Untestable {
		t.Errorf("without leave: %+v, %v", o, err)
	}
	trial.Adapt, trial.Newer = true, w.at(1)
	o, err := l.Run(t.Context(), trial)
	if err != nil || o.Outcome != session.Passed || o.Adapted != "took the newer file" {
		t.Errorf("%+v, %v", o, err)
	}
	if runs, _ := l.Used(); runs != 3 {
		t.Errorf("%d runs are charged", runs)
	}
}

func TestACommitThatIsTestableAsItIsIsNotAdaptedForWhatIsLaidOverIt(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.commit(map[string]string{"code": "fine\n", "a_test": "BUG"})
	w.commit(map[string]string{"code": "BUG\n"})
	lang := plain()
	asked := 0
	lang.Adapt = func(session.Trial, Snapshot, Snapshot) ([]session.Edit, string) {
		asked++
		return []session.Edit{{Path: "a_test", Content: []byte("BUG")}}, "adapted"
	}
	l, err := NewLab(Outside{History: w, Trees: w, Executor: w, Store: w, Language: lang}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close(context.Background())
	trial := session.Trial{Rev: w.at(0), Command: "test", Adapt: true, Newer: w.at(1)}
	if o, err := l.Run(t.Context(), trial); err != nil || o.Outcome != session.Passed {
		t.Errorf("%+v, %v", o, err)
	}
	trial.Edits = []session.Edit{{Path: "a_test", Delete: true}}
	if o, err := l.Run(t.Context(), trial); err != nil || o.Outcome != session.Untestable || asked != 0 {
		t.Errorf("%+v, %v after %d questions", o, err, asked)
	}
	if runs, _ := l.Used(); runs != 2 {
		t.Errorf("%d runs are charged", runs)
	}
}

func TestAnOlderCommitIsSetUpAsItsTimeHadIt(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.commit(map[string]string{"yarn": "x", "a_test": "BUG"})
	w.commit(map[string]string{"npm": "x"})
	lang := plain()
	lang.Setup = func(setup string, old Snapshot) string {
		if _, err := old.Read("npm"); err != nil {
			return "yarn"
		}
		return setup
	}
	var mu sync.Mutex
	ran := map[string]int{}
	w.program = func(files map[string]string, script string, _ int) session.Outcome {
		mu.Lock()
		defer mu.Unlock()
		ran[script]++
		return session.Passed
	}
	l, err := NewLab(Outside{History: w, Trees: realTrees{w, t.TempDir()}, Executor: w, Store: w, Language: lang}, Options{Parallel: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close(context.Background())
	for i := range 2 {
		trial := session.Trial{Rev: w.at(i), Setup: "npm", Command: "test", Adapt: true, Newer: w.at(1)}
		if o, err := l.Run(t.Context(), trial); err != nil || o.Outcome != session.Passed {
			t.Errorf("%+v, %v", o, err)
		}
	}
	if ran["yarn"] != 1 || ran["npm"] != 1 || ran["test"] != 2 {
		t.Errorf("ran %v", ran)
	}
}

// realTrees are worktrees in memory that have a folder too, as the set-up
// needs one.
type realTrees struct {
	w   *world
	dir string
}

func (r realTrees) Tree(context.Context) (Tree, error) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	t := &memoryTree{w: r.w, dir: r.dir}
	r.w.trees[t.dir] = t
	r.w.live++
	return t, nil
}

// TestTheCulpritOfAnyHistoryIsFound holds for generated histories: branches
// and merges, commits that do not build, and one commit that brings the
// failure, somewhere.
func TestTheCulpritOfAnyHistoryIsFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld()
		w.commit(map[string]string{"code": lines(12, nil), "a_test": "BUG"})
		n := rapid.IntRange(2, 40).Draw(rt, "commits")
		bug := rapid.IntRange(1, n-1).Draw(rt, "culprit")
		main := w.at(0)
		for len(w.order) < n {
			i := len(w.order)
			change := map[string]string{"notes": strings.Repeat("n", i)}
			if i == bug {
				change["code"] = lines(12, map[int]string{2: "x", 6: "BUG", 10: "y"})
			}
			kind := "commit"
			if i != bug && len(w.order) < n-1 {
				kind = rapid.SampledFrom([]string{"commit", "commit", "broken", "branch"}).Draw(rt, "kind")
			}
			switch kind {
			case "broken":
				change["broken"] = "NOBUILD"
				main = w.commit(change, main)
				w.commit(map[string]string{"broken": ""}, main)
				main = w.order[len(w.order)-1].SHA
				if len(w.order)-1 == bug { // its number was taken by the repair
					bug = len(w.order)
					n = max(n, bug+1)
				}
			case "branch":
				side := main
				for range rapid.IntRange(1, 4).Draw(rt, "length") {
					j := len(w.order)
					change := map[string]string{"side": strings.Repeat("s", j)}
					if j == bug {
						change["code"] = lines(12, map[int]string{2: "x", 6: "BUG", 10: "y"})
					}
					side = w.commit(change, side)
				}
				tip := w.byID[side].files
				main = w.commit(map[string]string{"code": tip["code"], "side": tip["side"]}, main, side)
				if len(w.order)-1 == bug {
					bug = len(w.order)
					n = max(n, bug+1)
				}
			default:
				main = w.commit(change, main)
			}
		}
		if w.byID[main].files["code"] == w.order[0].files["code"] {
			rt.Skip("the culprit was not placed")
		}
		w.commit(map[string]string{"notes": "end"}, main)
		s := w.session(session.Regression)
		l, err := NewLab(Outside{History: w, Trees: w, Executor: w, Store: w, Language: plain()}, Options{Parallel: rapid.IntRange(1, 4).Draw(rt, "parallel")})
		if err != nil {
			rt.Fatal(err)
		}
		defer l.Close(context.Background())
		a, err := FindGood(context.Background(), l, s)
		if err != nil {
			rt.Fatal(err)
		}
		s.Archaeology = &a
		f := NewInvestigator(l).Investigate(context.Background(), s, *s.Task("H1"))
		if f.Verdict != session.Confirmed {
			rt.Fatalf("%s: %s", f.Verdict, f.Findings)
		}
		found := f.Cause.Culprit.SHA == w.at(bug)
		for _, alt := range f.Cause.Alternatives {
			found = found || alt.SHA == w.at(bug)
		}
		if !found {
			rt.Fatalf("commit %d is the culprit, not: %s", bug, f.Findings)
		}
		if len(f.Cause.Minimal) != 1 || !strings.Contains(f.Cause.Minimal[0].Text, "BUG") {
			rt.Fatalf("minimal %+v (%s)", f.Cause.Minimal, f.Cause.MinimalNote)
		}
		s.RootCause = f.Cause
		rep := NewFixer(l).Fix(context.Background(), s, *s.Task("FIX-H1"))
		if rep.Result != session.Fixed || string(rep.Fix.Edits[0].Content) != lines(12, map[int]string{2: "x", 10: "y"}) {
			rt.Fatalf("fix %+v", rep)
		}
	})
}

func TestClassifyStopsAsSoonAsItIsDecided(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		run  func(n int) session.Outcome
		want rate.Decision
		most int
	}{
		{"always fails", func(int) session.Outcome { return session.FailedSame }, rate.Deterministic, 5},
		{"fails sometimes", func(n int) session.Outcome {
			if n == 3 {
				return session.Passed
			}
			return session.FailedSame
		}, rate.Flaky, 4},
		{"never runs", func(int) session.Outcome { return session.Untestable }, rate.Undecided, 20},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := linear(3, 1)
			w.program = func(_ map[string]string, _ string, n int) session.Outcome { return tt.run(n) }
			got, count, seen, err := w.lab(t, Options{Parallel: 2}).Classify(t.Context(), session.Trial{Rev: w.at(2), Command: "test"}, 20)
			if err != nil || got != tt.want || len(seen) > tt.most || w.executed != len(seen) {
				t.Errorf("%s after %d runs (%+v), %v", got, len(seen), count, err)
			}
		})
	}
}
