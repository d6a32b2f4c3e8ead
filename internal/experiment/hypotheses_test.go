package experiment

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"culprit/internal/session"
)

func TestATestThatChangedItsDemandIsAtFault(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.commit(map[string]string{"code": "alpha beta\n", "a_test": "BUG"})
	w.commit(map[string]string{"notes": "1"})
	w.commit(map[string]string{"a_test": "beta"}) // now demands that beta is gone
	w.commit(map[string]string{"notes": "2"})
	s := w.session(session.TestFault)
	f := investigate(t, w.lab(t, Options{}), s)
	if f.Verdict != session.Confirmed || !f.Cause.NoCodeChange || f.Cause.Culprit.SHA != w.at(2) || f.Cause.Location != "a_test:1" {
		t.Errorf("%s: %s, %+v", f.Verdict, f.Findings, f.Cause)
	}
	if len(f.EvidenceFor) == 0 {
		t.Error("no evidence")
	}
}

func TestATestThatPassesOnOlderCodeIsNotAtFault(t *testing.T) {
	t.Parallel()
	t.Run("known without a run", func(t *testing.T) {
		t.Parallel()
		w := linear(10, 5)
		s := w.session(session.TestFault)
		l := w.lab(t, Options{})
		a, err := FindGood(t.Context(), l, s)
		if err != nil {
			t.Fatal(err)
		}
		s.Archaeology = &a
		before := w.executed
		f := investigate(t, l, s)
		if f.Verdict != session.Refuted || w.executed != before {
			t.Errorf("%s: %s (%d runs)", f.Verdict, f.Findings, w.executed-before)
		}
	})
	t.Run("the test changed after the code", func(t *testing.T) {
		t.Parallel()
		w := newWorld()
		w.commit(map[string]string{"code": "fine\n", "a_test": "BUG"})
		w.commit(map[string]string{"code": "BUG\n"})
		w.commit(map[string]string{"a_test": "BUG\nWORSE"})
		s := w.session(session.TestFault)
		s.Archaeology = &session.Archaeology{Boundary: "untestable"}
		f := investigate(t, w.lab(t, Options{}), s)
		if f.Verdict != session.Refuted {
			t.Errorf("%s: %s", f.Verdict, f.Findings)
		}
	})
}

func TestDeterministicFailuresRefuteNondeterminism(t *testing.T) {
	t.Parallel()
	w := linear(6, 2)
	f := investigate(t, w.lab(t, Options{}), w.session(session.Nondeterminism))
	if f.Verdict != session.Refuted || f.Flake != nil || !strings.Contains(f.Findings, "fails 5/5 alone, fails 2/2 shuffled") {
		t.Errorf("%s: %s", f.Verdict, f.Findings)
	}
}

func TestAnOrderDependentTestIsRecognised(t *testing.T) {
	t.Parallel()
	w := linear(6, 2)
	w.program = func(files map[string]string, script string, _ int) session.Outcome {
		if strings.Contains(script, "suite") {
			return session.Passed
		}
		return lookAtCode(files, script, 0)
	}
	s := w.session(session.Nondeterminism)
	s.Reproduction.Suite = "suite"
	f := investigate(t, w.lab(t, Options{}), s)
	if f.Verdict != session.Confirmed || f.Flake == nil || f.Flake.Suspected != "order" || f.Flake.Advice == "" {
		t.Errorf("%s: %s, %+v", f.Verdict, f.Findings, f.Flake)
	}
}

func TestAFlakyTestGetsItsRate(t *testing.T) {
	t.Parallel()
	w := linear(6, 2)
	w.program = func(files map[string]string, script string, n int) session.Outcome {
		if n%2 == 0 {
			return session.Passed
		}
		return session.FailedSame
	}
	s := w.session(session.Nondeterminism)
	s.Archaeology = &session.Archaeology{Boundary: "limit"}
	s.Reproduction.Flaky, s.Reproduction.Count = true, session.Count{Runs: 20, Failures: 9}
	f := investigate(t, w.lab(t, Options{}), s)
	if f.Verdict != session.Confirmed || f.Flake.Suspected != "unknown" || f.Flake.Count.Runs != 20 || f.Flake.Interval.High >= 1 {
		t.Errorf("%s: %s, %+v", f.Verdict, f.Findings, f.Flake)
	}
}

func TestDependenciesAreSwapped(t *testing.T) {
	t.Parallel()
	build := func(lock, code string) *world {
		w := newWorld()
		w.commit(map[string]string{"code": "fine\n", "lock": "dep 1.0\n", "a_test": "BUG"})
		w.commit(map[string]string{"lock": lock})
		w.commit(map[string]string{"code": code})
		return w
	}
	tests := []struct {
		name, lock, code string
		want             session.Verdict
	}{
		{"the dependency brings it", "dep 2.0 BUG\n", "fine too\n", session.Confirmed},
		{"the code brings it", "dep 2.0\n", "BUG\n", session.Refuted},
		{"nothing moved", "dep 1.0\n", "BUG\n", session.Refuted},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := build(tt.lock, tt.code)
			l := w.lab(t, Options{})
			s := w.session(session.DependencyMove)
			f := investigate(t, l, s)
			if f.Verdict != tt.want {
				t.Fatalf("%s: %s", f.Verdict, f.Findings)
			}
			if tt.want != session.Confirmed {
				return
			}
			if f.Cause.Location != "lock:1" || len(f.EvidenceFor) < 2 {
				t.Errorf("cause %+v, evidence %q", f.Cause, f.EvidenceFor)
			}
			s.RootCause = f.Cause
			rep := NewFixer(l).Fix(t.Context(), s, *s.Task("FIX-H1"))
			if rep.Result != session.Fixed || strings.Join(rep.Fix.Files, " ") != "lock" {
				t.Errorf("fix %+v", rep)
			}
		})
	}
}

func TestTheEnvironmentIsRefutedByAGoodCommitThatPassesHere(t *testing.T) {
	t.Parallel()
	w := linear(10, 5)
	f := investigate(t, w.lab(t, Options{}), w.session(session.Environment))
	if f.Verdict != session.Refuted {
		t.Errorf("%s: %s", f.Verdict, f.Findings)
	}
}

func TestNothingThatPassesLeavesTheEnvironmentOpen(t *testing.T) {
	t.Parallel()
	w := linear(6, 2)
	w.program = func(map[string]string, string, int) session.Outcome { return session.FailedSame }
	f := investigate(t, w.lab(t, Options{}), w.session(session.Environment))
	if f.Verdict != session.Inconclusive {
		t.Errorf("%s: %s", f.Verdict, f.Findings)
	}
	s := w.session(session.Environment)
	s.Flags.Good = w.at(1)
	s.Archaeology = &session.Archaeology{Boundary: "root", Oldest: &w.order[0].Commit}
	if f = investigate(t, w.lab(t, Options{}), s); f.Verdict != session.Confirmed || !f.Cause.NoCodeChange {
		t.Errorf("%s: %s", f.Verdict, f.Findings)
	}
}

func TestWhatEndsAnExperimentEarlyIsInconclusive(t *testing.T) {
	t.Parallel()
	a := &session.Archaeology{}
	for _, kind := range []session.HypothesisKind{session.Regression, session.TestFault, session.Nondeterminism, session.DependencyMove, session.Environment} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := linear(10, 5)
			s := w.session(kind)
			s.Archaeology = a
			if kind != session.Nondeterminism && kind != session.Regression {
				// No good commit is known: these say so at once.
				f := NewInvestigator(w.lab(t, Options{MaxRuns: 1})).Investigate(t.Context(), s, *s.Task("H1"))
				if f.Verdict == session.Confirmed || f.Status != session.Completed {
					t.Errorf("budget: %+v", f)
				}
			} else {
				f := NewInvestigator(w.lab(t, Options{MaxRuns: 1})).Investigate(t.Context(), s, *s.Task("H1"))
				if f.Verdict != session.Inconclusive || f.Status != session.Completed || !strings.Contains(f.Findings, "budget") {
					t.Errorf("budget: %+v", f)
				}
			}
			ctx, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
			defer cancel()
			f := NewInvestigator(w.lab(t, Options{})).Investigate(ctx, s, *s.Task("H1"))
			if f.Verdict == session.Confirmed || f.Status != session.Completed {
				t.Errorf("deadline: %+v", f)
			}
		})
	}
}

func TestAFaultOfTheMachineIsNoVerdict(t *testing.T) {
	t.Parallel()
	w := linear(10, 5)
	s := w.session(session.Regression)
	l, err := NewLab(Outside{History: w, Trees: broken{}, Executor: w, Store: w, Language: plain()}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := NewInvestigator(l).Investigate(t.Context(), s, *s.Task("H1"))
	if f.Status != session.Failed || f.Verdict != session.Inconclusive || !strings.Contains(f.Error, "no room") {
		t.Errorf("%+v", f)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

type broken struct{}

func (broken) Tree(context.Context) (Tree, error) { return nil, errors.New("no room") }
