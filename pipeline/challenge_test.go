package pipeline

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"culprit/internal/session"
)

// refuter answers each row with a result, and counts how often it was asked.
type refuter struct {
	mu     sync.Mutex
	result session.Challenged
	asked  []string
}

func (r *refuter) Refute(_ context.Context, _ *session.Session, t session.Task) session.Challenge {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, t.ID)
	x := session.Challenge{Task: t.ID, Result: r.result, Findings: "The line is not reached.", Spent: session.Spent{Tokens: 7}}
	switch r.result {
	case session.Contested:
		x.Evidence = []string{"a.go:9 — it returns before"}
	case session.Broken:
		x.Evidence, x.Why = []string{"logs/cc.log — it passes"}, "the test passes at c4 with the same a.go"
	}
	return x
}

// read is a cause as readers report them.
func read(w *world) {
	w.verdicts = map[session.HypothesisKind]session.Verdict{session.Reading: session.Confirmed}
	w.readCause = &session.RootCause{Kind: session.Reading, Summary: "a.go is wrong", Location: "a.go:1"}
}

func TestAChallengeChangesWhatItCanShow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		result  session.Challenged
		verdict session.Verdict
		want    session.Result
	}{
		"it stands":             {session.Stands, session.Confirmed, session.ResultFixed},
		"it is contested":       {session.Contested, session.Confirmed, session.ResultFixed},
		"it is broken by a run": {session.Broken, session.Inconclusive, session.ResultInconclusive},
		"nobody came to an end": {session.Undecided, session.Confirmed, session.ResultFixed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			read(w)
			r := &refuter{result: c.result}
			d := w.deps()
			d.Reads, d.Refuter = true, r
			s := w.start()
			if err := Run(t.Context(), s, d); err != nil {
				t.Fatal(err)
			}
			x := s.Challenge(r.asked[0])
			row := s.Task(r.asked[0])
			if s.Result != c.want || len(r.asked) != 1 || x.Result != c.result || row.Verdict != c.verdict || s.Budget.Tokens != 7 {
				t.Fatalf("result %s (%s), asked %v, challenge %+v, row %+v", s.Result, s.Reason, r.asked, x, row)
			}
			against := strings.Contains(row.EvidenceAgainst, "a.go:9") || strings.Contains(row.EvidenceAgainst, "logs/cc.log")
			if shown := c.result == session.Contested || c.result == session.Broken; against != shown {
				t.Errorf("evidence against: %q", row.EvidenceAgainst)
			}
			// Two readers name the place, which is challenged once.
			if twin := s.Challenges[1]; len(s.Challenges) != 2 || twin.As != x.Task || twin.Result != c.result || s.Task(twin.Task).Verdict != c.verdict {
				t.Errorf("challenges %+v", s.Challenges)
			}
			if (len(s.Contradictions) == 1) != (c.result == session.Contested) {
				t.Errorf("contradictions %q", s.Contradictions)
			}
			if c.result == session.Contested && s.Confidence.Level == "high" {
				t.Errorf("confidence %+v", s.Confidence)
			}
			if c.result == session.Broken && (s.RootCause != nil || s.Causes[row.ID] != nil || !strings.Contains(row.Findings, "does not stand") || w.offered != 0) {
				t.Errorf("cause %+v, findings %q, %d fixes", s.RootCause, row.Findings, w.offered)
			}
		})
	}
}

func TestWhatRunsHaveDecidedIsNotChallenged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		world func(w *world)
		sess  func(s *session.Session)
		why   string
	}{
		"a commit and its parent":       {func(w *world) { w.verdicts = regressionConfirmed }, nil, "with it and without it"},
		"nearly all of the time gone":   {read, func(s *session.Session) { s.Budget.MaxTime, s.Budget.Used = 100e9, 81e9 }, "of the session's time are used"},
		"nearly all of the runs gone":   {read, func(s *session.Session) { s.Budget.MaxRuns, s.Budget.Runs = 100, 81 }, "of the session's runs are used"},
		"a test that fails only seldom": {func(w *world) { read(w); w.flaky = 3 }, nil, "fails only sometimes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			c.world(w)
			d := w.deps()
			r := &refuter{result: session.Broken}
			d.Reads, d.Refuter = true, r
			s := w.start()
			e := &env{Deps: d, s: s, limits: modeLimits[session.Full]}
			prepare(s, w.now)
			for s.State != "challenge" {
				if err := e.step(t.Context()); err != nil || s.Done() {
					t.Fatal(err, s.State)
				}
			}
			if c.sess != nil {
				c.sess(s)
			}
			if _, err := challenge(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			if len(r.asked) != 0 || len(s.Challenges) == 0 || s.Challenges[0].Result != session.LeftOut || !strings.Contains(s.Challenges[0].Why, c.why) || len(s.Causes) != len(s.Challenges) {
				t.Errorf("asked %v, %+v, causes %+v", r.asked, s.Challenges, s.Causes)
			}
		})
	}
}

// A model costs nothing and leaves no trace where there is none.
func TestWithoutAModelNothingIsChallenged(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.verdicts = regressionConfirmed
	s := w.start()
	if err := Run(t.Context(), s, w.deps()); err != nil {
		t.Fatal(err)
	}
	for _, r := range s.Stages {
		if r.Name == "challenge" {
			t.Errorf("stage %+v", r)
		}
	}
	if len(s.Challenges)+len(s.Contradictions) != 0 || strings.Contains(w.written["understanding.md"], "Tried to break") {
		t.Errorf("%+v %q", s.Challenges, s.Contradictions)
	}
}

// What was challenged before a process was killed is not paid for again.
func TestAChallengeIsAskedOnceThoughTheSessionIsKilled(t *testing.T) {
	t.Parallel()
	whole := newWorld()
	read(whole)
	d := whole.deps()
	d.Reads, d.Refuter = true, &refuter{result: session.Broken}
	if err := Run(t.Context(), whole.start(), d); err != nil {
		t.Fatal(err)
	}
	for at := 1; at <= whole.saves; at++ {
		w := newWorld()
		read(w)
		w.killAt = at
		r := &refuter{result: session.Broken}
		d := w.deps()
		d.Reads, d.Refuter = true, r
		if err := Run(t.Context(), w.start(), d); !errors.Is(err, errKilled) {
			t.Fatalf("save %d: %v", at, err)
		}
		kept := w.load(t)
		asked, known := len(r.asked), min(1, len(kept.Challenges))
		if err := Run(t.Context(), kept, d); err != nil {
			t.Fatalf("save %d: %v", at, err)
		}
		if kept.Result != session.ResultInconclusive || len(kept.Challenges) != 2 || len(r.asked) != 1+asked-known {
			t.Errorf("save %d: result %s, asked %v, challenges %+v", at, kept.Result, r.asked, kept.Challenges)
		}
	}
}

func TestContradictionsAreNoted(t *testing.T) {
	t.Parallel()
	reading := func(id, location string) *session.RootCause {
		return &session.RootCause{Task: id, Kind: session.Reading, Location: location}
	}
	for name, c := range map[string]struct {
		causes  map[string]*session.RootCause
		against string // of H2
		want    string
	}{
		"one place":                       {map[string]*session.RootCause{"H1": reading("H1", "a.go:4"), "H2": reading("H2", "a.go:9")}, "", ""},
		"two places":                      {map[string]*session.RootCause{"H1": reading("H1", "a.go:4"), "H2": reading("H2", "b.go:4")}, "", "H1 and H2 name different places"},
		"far apart in one file":           {map[string]*session.RootCause{"H1": reading("H1", "a.go:4"), "H2": reading("H2", "a.go:400")}, "", "different places"},
		"a line and the commit of it":     {map[string]*session.RootCause{"H1": reading("H1", "a.go:4"), "H2": {Task: "H2", Kind: session.Regression, Location: "b.go:7"}}, "", ""},
		"the code and the test are wrong": {map[string]*session.RootCause{"H1": reading("H1", "a.go:4"), "H2": {Task: "H2", Kind: session.TestFault}}, "", "the other that the test is"},
		"the test is wrong, twice":        {map[string]*session.RootCause{"H1": reading("H1", "a_test.go:4"), "H2": {Task: "H2", Kind: session.TestFault}}, "", ""},
		"the code and the environment":    {map[string]*session.RootCause{"H1": reading("H1", "a.go:4"), "H2": {Task: "H2", Kind: session.Environment}}, "", "this environment makes it fail"},
		"a line for and against":          {map[string]*session.RootCause{"H1": reading("H1", "a.go:4")}, "a.go:4 — it is right", "H1 is confirmed by a.go:4, and H2 has the same line as evidence against it"},
		"another line against":            {map[string]*session.RootCause{"H1": reading("H1", "a.go:4")}, "a.go:5 — it is right", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &session.Session{
				Causes: c.causes, Hypotheses: []session.Hypothesis{{ID: "H1", Kind: session.Reading}, {ID: "H2", Kind: session.Reading}},
				Tasks: []session.Task{{ID: "H1", Wave: 1, EvidenceFor: "a.go:4 — it is wrong"}, {ID: "H2", Wave: 1, EvidenceAgainst: c.against}},
			}
			(&env{s: s}).contradict()
			if got := strings.Join(s.Contradictions, "; "); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
