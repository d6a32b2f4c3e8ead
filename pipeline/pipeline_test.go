package pipeline

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"culprit/internal/session"
)

var regressionConfirmed = map[session.HypothesisKind]session.Verdict{session.Regression: session.Confirmed}

// Every way in which a session can end, with what must be seen of it.
func TestEverySessionEndsWithTheResultThatItsWorldDemands(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		world func(w *world)
		sess  func(s *session.Session)
		want  session.Result
		check func(t *testing.T, w *world, s *session.Session)
	}{
		"a confirmed regression is fixed and proposed once": {
			world: func(w *world) { w.verdicts = regressionConfirmed }, want: session.ResultFixed,
			check: func(t *testing.T, w *world, s *session.Session) {
				if w.proposals != 1 || w.finals != 1 || s.Confirmation.Overall != "confirmed" || s.Confirmation.After.Failures != 0 || s.Confirmation.VerifyBefore == 0 {
					t.Errorf("proposals %d, finals %d, confirmation %+v", w.proposals, w.finals, s.Confirmation)
				}
				for _, f := range []string{"repro.sh", "verify.sh", "results.csv", "understanding.md", "BUG_REPORT.md", "status.md", "patches/FIX-H1.patch"} {
					if w.written[f] == "" {
						t.Errorf("%s was not written", f)
					}
				}
				for f := range w.written {
					if strings.HasPrefix(f, "wave-") {
						t.Errorf("temporary file %s is left", f)
					}
				}
				if s.Confidence.Level != "high" {
					t.Errorf("confidence %+v", s.Confidence)
				}
			},
		},
		"a fix that does not hold is followed by the next": {
			world: func(w *world) { w.verdicts, w.fixHolds = regressionConfirmed, []bool{false, true} }, want: session.ResultFixed,
			check: func(t *testing.T, w *world, s *session.Session) {
				if w.offered != 2 || len(s.Rejected) != 1 || s.Fix.Strategy != "candidate 1" {
					t.Errorf("offered %d, rejected %v, fix %+v", w.offered, s.Rejected, s.Fix)
				}
			},
		},
		"no fix that holds ends with the cause alone": {
			world: func(w *world) { w.verdicts, w.fixHolds = regressionConfirmed, []bool{false} }, want: session.ResultRootCause,
			check: func(t *testing.T, w *world, s *session.Session) {
				if w.proposals != 0 || !strings.Contains(s.Reason, "did not hold") {
					t.Errorf("proposals %d, reason %q", w.proposals, s.Reason)
				}
			},
		},
		"fixes that never hold are given up after the loops": {
			world: func(w *world) { w.verdicts, w.fixHolds = regressionConfirmed, make([]bool, 20) }, want: session.ResultRootCause,
			check: func(t *testing.T, w *world, s *session.Session) {
				if w.offered != maxLoops+1 || w.proposals != 0 {
					t.Errorf("offered %d", w.offered)
				}
			},
		},
		"a fix that breaks another test is not proposed": {
			world: func(w *world) { w.verdicts, w.breaks = regressionConfirmed, "TestB" }, want: session.ResultRootCause,
			check: func(t *testing.T, w *world, s *session.Session) {
				if w.proposals != 0 || !strings.Contains(s.Confirmation.Why, "TestB") {
					t.Errorf("proposals %d, why %q", w.proposals, s.Confirmation.Why)
				}
			},
		},
		"a conflict is reported and never forced": {
			world: func(w *world) { w.verdicts, w.conflict = regressionConfirmed, true }, want: session.ResultRootCause,
			check: func(t *testing.T, w *world, s *session.Session) {
				if !strings.Contains(s.Reason, "a.go:1 was changed since") {
					t.Errorf("reason %q", s.Reason)
				}
			},
		},
		"a flaky failure gets no fix": {
			world: func(w *world) {
				w.flaky = 3
				w.verdicts = map[session.HypothesisKind]session.Verdict{session.Regression: session.Confirmed, session.Nondeterminism: session.Confirmed}
			},
			want: session.ResultFlaky,
			check: func(t *testing.T, w *world, s *session.Session) {
				if w.proposals != 0 || !s.Reproduction.Flaky || s.Reproduction.Interval.Low <= 0 {
					t.Errorf("proposals %d, reproduction %+v", w.proposals, s.Reproduction)
				}
				for _, row := range s.Wave(2) {
					if row.Status != session.Skipped || row.Findings == "" {
						t.Errorf("fix row %+v", row)
					}
				}
			},
		},
		"what does not fail here is not reproduced": {
			world: func(w *world) { w.culprit = 10 }, want: session.ResultNotReproduced,
			check: func(t *testing.T, w *world, s *session.Session) {
				if len(s.Tasks) != 0 || s.Reason == "" || w.finals != 1 {
					t.Errorf("tasks %d, reason %q", len(s.Tasks), s.Reason)
				}
			},
		},
		"nothing confirmed asks a person one question": {
			want: session.ResultInconclusive,
			check: func(t *testing.T, w *world, s *session.Session) {
				if s.Question == nil || s.Question.Text == "" || len(s.Question.Options) == 0 || w.offered != 0 {
					t.Errorf("question %+v, fixes offered %d", s.Question, w.offered)
				}
				for _, row := range s.Wave(2) {
					if row.Status != session.Skipped || row.Findings != "upstream hypothesis_verdict=refuted" {
						t.Errorf("fix row %+v", row)
					}
				}
			},
		},
		"a spent budget is a result": {
			world: func(w *world) { w.maxRuns = 4 }, want: session.ResultStopped,
			check: func(t *testing.T, w *world, s *session.Session) {
				if !strings.Contains(s.Reason, "runs") || w.finals != 1 {
					t.Errorf("reason %q, finals %d", s.Reason, w.finals)
				}
			},
		},
		"time that is over is a result": {
			sess: func(s *session.Session) { s.Flags.Timeout = time.Millisecond }, want: session.ResultStopped,
			check: func(t *testing.T, w *world, s *session.Session) {
				if !strings.Contains(s.Reason, "time limit") {
					t.Errorf("reason %q", s.Reason)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			if c.world != nil {
				c.world(w)
			}
			s := w.start()
			if c.sess != nil {
				c.sess(s)
			}
			if err := Run(t.Context(), s, w.deps()); err != nil {
				t.Fatal(err)
			}
			if s.Result != c.want || !s.Done() {
				t.Fatalf("result %q (%s), want %q; stages %+v", s.Result, s.Reason, c.want, s.Stages)
			}
			c.check(t, w, s)
		})
	}
}

// A session that is killed before any of its saves, and run again from what
// was durable, ends the same and shows everything once.
func TestASessionThatIsKilledAtAnyTransitionEndsTheSame(t *testing.T) {
	t.Parallel()
	whole := newWorld()
	whole.verdicts = regressionConfirmed
	if err := Run(t.Context(), whole.start(), whole.deps()); err != nil {
		t.Fatal(err)
	}
	if whole.saves < 10 {
		t.Fatalf("only %d saves: the test would see little", whole.saves)
	}
	for at := 1; at <= whole.saves; at++ {
		w := newWorld()
		w.verdicts, w.killAt = regressionConfirmed, at
		if err := Run(t.Context(), w.start(), w.deps()); !errors.Is(err, errKilled) {
			t.Fatalf("save %d: got %v", at, err)
		}
		s := w.load(t)
		if err := Run(t.Context(), s, w.deps()); err != nil {
			t.Fatalf("save %d: resumed: %v", at, err)
		}
		if s.Result != session.ResultFixed || s.Published.PR != 7 {
			t.Errorf("save %d: result %q, published %+v", at, s.Result, s.Published)
		}
		for _, row := range s.Wave(1) {
			if row.Status != session.Completed {
				t.Errorf("save %d: row %+v", at, row)
			}
		}
	}
}

func TestACancelledSessionIsNotEndedAndCanBeResumed(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.verdicts = regressionConfirmed
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("worker is shutting down")
	d := w.deps()
	d.Progress = func(line string) {
		if strings.HasPrefix(line, "ranking") {
			cancel(why)
		}
	}
	s := w.start()
	if err := Run(ctx, s, d); !errors.Is(err, why) {
		t.Fatalf("got %v", err)
	}
	if s = w.load(t); s.Done() || w.finals != 0 {
		t.Fatalf("state %s, finals %d", s.State, w.finals)
	}
	if err := Run(t.Context(), s, w.deps()); err != nil || s.Result != session.ResultFixed {
		t.Errorf("resumed: %q, %v", s.Result, err)
	}
}

func TestAnUnknownRevisionIsTheUsersError(t *testing.T) {
	t.Parallel()
	w := newWorld()
	s := w.start()
	s.Flags.Good = "nowhere"
	err := Run(t.Context(), s, w.deps())
	var user *session.UserError
	if !errors.As(err, &user) || user.Code != "unknown-revision" {
		t.Errorf("got %v", err)
	}
}

func TestTheCILogNamesTheTestThatIsReproduced(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.verdicts = regressionConfirmed
	w.logs = []CILog{
		{Name: "lint", Note: "it is not kept any more"},
		{Name: "test", Content: []byte("--- FAIL: TestA (0.00s)\n    a_test.go:3: got 1, want 2\nFAIL\nFAIL\tm.example/m\t0.01s\nFAIL\n")},
	}
	s := w.start()
	if err := Run(t.Context(), s, w.deps()); err != nil {
		t.Fatal(err)
	}
	if len(s.Symptom.Failures) != 1 || s.Symptom.Failures[0].Test != "TestA" || !s.Reproduction.Alone || !strings.Contains(s.Reproduction.Command, "TestA") {
		t.Errorf("failures %+v, reproduction %+v", s.Symptom.Failures, s.Reproduction)
	}
	if !strings.Contains(strings.Join(s.NotChecked, "\n"), "lint: it is not kept any more") {
		t.Errorf("not checked: %v", s.NotChecked)
	}
	if w.written["logs/ci-2-test.log"] == "" {
		t.Error("the log was not kept")
	}
}

func TestRulesGiveThreeToFiveRankedHypothesesWithTheirFixRows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		f     facts
		most  int
		first session.HypothesisKind
		n     int
	}{
		"a good commit leads to the culprit": {facts{history: 9, hasGood: true, testFiles: []string{"a_test.go"}, lockFiles: []string{"go.sum"}}, 5, session.Regression, 5},
		"a flaky failure":                    {facts{history: 9, hasGood: true, flaky: true, testFiles: []string{"a_test.go"}}, 5, session.Nondeterminism, 4},
		"a dependency that does not resolve": {facts{history: 9, hasGood: true, kind: session.KindDependency, lockFiles: []string{"go.sum"}}, 5, session.DependencyMove, 4},
		"no commit passes":                   {facts{history: 9, testFiles: []string{"a_test.go"}}, 5, session.TestFault, 4},
		"one commit only":                    {facts{history: 1, testFiles: []string{"a_test.go"}}, 5, session.TestFault, 3},
		"quick mode":                         {facts{history: 9, hasGood: true, testFiles: []string{"a_test.go"}, lockFiles: []string{"go.sum"}}, 3, session.Regression, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hs, tasks := rank(c.f, limits{hypotheses: c.most, readers: 3})
			if len(hs) != c.n || hs[0].Kind != c.first || len(tasks) != 2*c.n {
				t.Fatalf("hypotheses %+v, %d rows", hs, len(tasks))
			}
			for i, h := range hs {
				row, fix := tasks[i], tasks[c.n+i]
				if row.ID != h.ID || row.Wave != 1 || row.Hypothesis == "" || h.Prediction == "" {
					t.Errorf("row %+v", row)
				}
				if fix.ID != "FIX-"+h.ID || fix.Wave != 2 || fix.Deps[0] != h.ID || fix.Hypothesis != "" {
					t.Errorf("fix row %+v", fix)
				}
			}
		})
	}
}

func TestModesNameKnownStagesAndEndWithPublishing(t *testing.T) {
	t.Parallel()
	for mode, list := range modes {
		for _, name := range list {
			if _, ok := stageNamed(name); !ok {
				t.Errorf("mode %s names unknown stage %q", mode, name)
			}
		}
		if list[len(list)-1] != "publish" || (&env{s: &session.Session{Mode: mode}}).stageAfter("publish") != session.StateDone || closingStage(mode) != "record" {
			t.Errorf("mode %s: %v", mode, list)
		}
	}
}

// memory of a test's earlier sessions.
type memory struct {
	past    []session.Past
	learnt  []session.Result
	failing error
}

func (m *memory) Recall(context.Context, *session.Session) ([]session.Past, error) {
	return m.past, m.failing
}

func (m *memory) Learn(_ context.Context, s *session.Session) error {
	m.learnt = append(m.learnt, s.Result)
	return m.failing
}

func TestATestThatWasFlakyIsSuspectedOfItAndItsHistoryIsShown(t *testing.T) {
	t.Parallel()
	place := func(m *memory) (int, *session.Session) {
		w := newWorld()
		s := w.start()
		d := w.deps()
		d.Memory = m
		if err := Run(t.Context(), s, d); err != nil {
			t.Fatal(err)
		}
		return slices.IndexFunc(s.Hypotheses, func(h session.Hypothesis) bool { return h.Kind == session.Nondeterminism }), s
	}
	plain, s := place(&memory{})
	result := s.Result
	id := s.Reproduction.Failure.ID()
	m := &memory{past: []session.Past{{Session: "s-1", Test: id, Result: session.ResultFlaky}}}
	suspected, s := place(m)
	if plain < 0 || suspected >= plain {
		t.Errorf("the hypothesis stands at %d, and at %d when the test was flaky before", plain, suspected)
	}
	if len(s.Past) != 1 || !slices.Equal(m.learnt, []session.Result{s.Result}) {
		t.Errorf("past %+v, learnt %v", s.Past, m.learnt)
	}
	if other, _ := place(&memory{past: []session.Past{{Session: "s-1", Test: "TestElse", Result: session.ResultFlaky}}}); other != plain {
		t.Errorf("another test's history moves it to %d", other)
	}
	// A memory that is out of reach keeps nobody from the work.
	if _, s := place(&memory{failing: errKilled}); s.Result != result {
		t.Errorf("without memory the session ends as %s, with one as %s", s.Result, result)
	}
}

// Who gives a command has seen it fail: one run that passes is no answer.
func TestAGivenCommandThatPassesAtFirstIsRunAgain(t *testing.T) {
	t.Parallel()
	for seldom, want := range map[int]session.Result{4: "", 1000: session.ResultNotReproduced} {
		w := newWorld()
		w.seldom = seldom
		s := w.start()
		s.Flags.Test = "go test ./..."
		if err := Run(t.Context(), s, w.deps()); err != nil {
			t.Fatal(err)
		}
		r := s.Reproduction
		if want != "" && (s.Result != want || r.Count.Runs < 20) {
			t.Errorf("one in %d: %s after %d runs", seldom, s.Result, r.Count.Runs)
		}
		if want == "" && (!r.Reproduced || !r.Flaky || len(r.Target.Tests) != 1 || !r.Alone) {
			t.Errorf("one in %d: %+v", seldom, r)
		}
	}
}

func TestAFailureThatWasSeenOnceSaysWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		again session.Count
		want  string
	}{
		{session.Count{Runs: 5, Skipped: 1}, "it failed once and then passed 5 of 5 runs"},
		{session.Count{Skipped: 3}, "it failed once, and then the test could not be run in any of 3 tries"},
		{session.Count{Skipped: 1, Other: 2}, "it failed once, and then in another way in 2 of 3 tries"},
	} {
		if got := seenOnce(tt.again); got != tt.want {
			t.Errorf("%+v: %s", tt.again, got)
		}
	}
}
