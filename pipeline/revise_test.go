package pipeline

import (
	"strings"
	"testing"

	"culprit/internal/session"
)

func suggest(start, line int, text string) *session.Remark {
	return &session.Remark{Kind: session.RemarkLine, By: "ada", Path: "a.go", Start: start, Line: line, Suggestion: &text}
}

func TestSuggestionsReplaceTheirLines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content string
		list    []*session.Remark
		want    string
		answers []session.ReplyKind // "" for one that is taken
	}{
		"one line":              {"a\nb\nc\n", []*session.Remark{suggest(2, 2, "B\n")}, "a\nB\nc\n", []session.ReplyKind{""}},
		"several lines":         {"a\nb\nc\n", []*session.Remark{suggest(1, 2, "x\n")}, "x\nc\n", []session.ReplyKind{""}},
		"lines are deleted":     {"a\nb\nc\n", []*session.Remark{suggest(2, 3, "")}, "a\n", []session.ReplyKind{""}},
		"two, in any order":     {"a\nb\nc\n", []*session.Remark{suggest(1, 1, "A\nA\n"), suggest(3, 3, "C\n")}, "A\nA\nb\nC\n", []session.ReplyKind{"", ""}},
		"two for one line":      {"a\nb\n", []*session.Remark{suggest(2, 2, "x\n"), suggest(1, 2, "y\n")}, "a\nx\n", []session.ReplyKind{"", session.ReplyRefused}},
		"the end of a file":     {"a\nb", []*session.Remark{suggest(2, 2, "B\n")}, "a\nB", []session.ReplyKind{""}},
		"lines as Windows ends": {"a\r\nb\r\n", []*session.Remark{suggest(1, 1, "x\ny\n")}, "x\r\ny\r\nb\r\n", []session.ReplyKind{""}},
		"lines that are gone":   {"a\n", []*session.Remark{suggest(2, 2, "x\n")}, "a\n", []session.ReplyKind{session.ReplyOutdated}},
		"no line":               {"a\n", []*session.Remark{suggest(0, 0, "x\n")}, "a\n", []session.ReplyKind{session.ReplyOutdated}},
		"a file that is gone":   {"", []*session.Remark{suggest(1, 1, "x\n")}, "", []session.ReplyKind{session.ReplyOutdated}},
	} {
		if got := replaced(c.content, c.list); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		for i, m := range c.list {
			if m.Answer.Kind != c.answers[i] {
				t.Errorf("%s: remark %d is answered %q, want %q", name, i, m.Answer.Kind, c.answers[i])
			}
		}
	}
}

// inReview is a session with a proposed fix, candidate 0, in its first round.
func inReview(t *testing.T, w *world, way session.RoundWay, remarks ...session.Remark) *session.Session {
	t.Helper()
	w.verdicts = regressionConfirmed
	s := w.start()
	if err := Run(t.Context(), s, w.deps()); err != nil || s.Fix == nil || s.Fix.Strategy != "candidate 0" {
		t.Fatalf("%v, fix %+v", err, s.Fix)
	}
	s.Published.FixCommit = fixBranch
	s.Review = &session.Review{State: session.ReviewOpen, Rounds: []session.Round{{
		N: 1, Head: s.Published.FixCommit, Way: way, Remarks: remarks, Fix: s.Fix, Confirmation: s.Confirmation, Rejected: s.Rejected,
	}}}
	s.State, s.Result = ReviseStage, ""
	if err := w.Save(s); err != nil {
		t.Fatal(err)
	}
	return w.load(t) // what is not stored is gone
}

func TestARoundOfTheReviewProvesWhatItPushes(t *testing.T) {
	t.Parallel()
	ciRed := func(test string) session.Remark {
		return session.Remark{ID: "ci", Kind: session.RemarkCI, Failures: []session.Failure{{Framework: "go test", Package: "m.example/m", Test: test, File: "a_test.go", Kind: session.KindTest}}}
	}
	wanted := session.Remark{ID: "review", Kind: session.RemarkReview, By: "ada", Text: "No."}
	for name, c := range map[string]struct {
		world   func(w *world)
		sess    func(s *session.Session)
		way     session.RoundWay
		remark  session.Remark
		proved  bool
		answer  session.ReplyKind
		detail  string
		patch   string // of the change on top of the branch
		fixedBy string // strategy of the fix at the end
	}{
		"a suggestion that holds": {
			way: session.BySuggestion, remark: *suggest(1, 1, "fixed better"), proved: true, answer: session.ReplyApplied,
			patch: "a.go fixed better", fixedBy: "candidate 0, with what ada suggested",
		},
		"a suggestion that does not hold": {
			way: session.BySuggestion, remark: *suggest(1, 1, "worse"), answer: session.ReplyRefused, detail: "with it the test passes only 0 of 3 runs", fixedBy: "candidate 0",
		},
		"a suggestion that breaks another test": {
			world: func(w *world) { w.breaks = "TestB" }, way: session.BySuggestion, remark: *suggest(1, 1, "fixed better"),
			answer: session.ReplyRefused, detail: "TestB", fixedBy: "candidate 0",
		},
		"a suggestion for lines that are gone": {way: session.BySuggestion, remark: *suggest(7, 7, "x"), answer: session.ReplyOutdated, fixedBy: "candidate 0"},
		"another fix that holds": {
			world: func(w *world) { w.fixHolds = []bool{true, true} }, way: session.ByCandidate, remark: wanted, proved: true,
			answer: session.ReplyReplaced, detail: "candidate 0", patch: "a.go fixed 1", fixedBy: "candidate 1",
		},
		"no other fix":       {way: session.ByCandidate, remark: wanted, answer: session.ReplyNoOther, detail: "nothing is left to try", fixedBy: "candidate 0"},
		"one that is no fix": {world: func(w *world) { w.fixHolds = []bool{true, false} }, way: session.ByCandidate, remark: wanted, answer: session.ReplyNoOther, detail: "does not hold", fixedBy: "candidate 0"},
		"people's commits": {
			world: func(w *world) { w.fixHolds = []bool{true, true} }, way: session.ByCandidate, remark: wanted,
			sess: func(s *session.Session) { s.Published.FixCommit = "another" }, answer: session.ReplyForeign, fixedBy: "candidate 0",
		},
		"CI that fails without the fix as well": {way: session.ByCandidate, remark: ciRed("TestA"), world: func(w *world) { w.stays = "TestA" }, answer: session.ReplyElsewhere, detail: "TestA", fixedBy: "candidate 0"},
		"CI that does not fail here":            {way: session.ByCandidate, remark: ciRed("TestA"), answer: session.ReplyNotHere, detail: "TestA", fixedBy: "candidate 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			// Only what is laid over the branch may break something.
			s := inReview(t, w, c.way, c.remark)
			if c.world != nil {
				c.world(w)
			}
			if c.sess != nil {
				c.sess(s)
			}
			before := w.proposals
			w.published = ""
			if err := Run(t.Context(), s, w.deps()); err != nil {
				t.Fatal(err)
			}
			r := s.Round()
			got := r.Remarks[0].Answer
			if !s.Done() || s.Result != session.ResultFixed || r.Proved != c.proved || got.Kind != c.answer || !strings.Contains(got.Detail, c.detail) {
				t.Errorf("ends with %s (%s), proved %v, answer %+v", s.Result, s.Reason, r.Proved, got)
			}
			if s.Fix.Strategy != c.fixedBy || s.Confirmation == nil || s.Confirmation.Overall != "confirmed" {
				t.Errorf("the fix is %q, confirmation %+v", s.Fix.Strategy, s.Confirmation)
			}
			if !strings.Contains(w.published, c.patch) || (w.published != "") != c.proved || w.proposals != before {
				t.Errorf("published %q", w.published)
			}
		})
	}
}

// A round that is killed before any of its saves ends the same.
func TestARoundThatIsKilledAtAnyTransitionEndsTheSame(t *testing.T) {
	t.Parallel()
	for _, way := range []session.RoundWay{session.BySuggestion, session.ByCandidate} {
		remark := *suggest(1, 1, "fixed better")
		if way == session.ByCandidate {
			remark = session.Remark{ID: "review", Kind: session.RemarkReview}
		}
		whole := newWorld()
		whole.fixHolds = []bool{true, true}
		s := inReview(t, whole, way, remark)
		first := whole.saves
		if err := Run(t.Context(), s, whole.deps()); err != nil || !s.Round().Proved {
			t.Fatalf("%v, round %+v", err, s.Round())
		}
		for at := first + 1; at <= whole.saves; at++ {
			w := newWorld()
			w.fixHolds = []bool{true, true}
			s := inReview(t, w, way, remark)
			w.killAt = at
			if err := Run(t.Context(), s, w.deps()); err == nil {
				t.Fatalf("%s, save %d: not killed", way, at)
			}
			s = w.load(t)
			w.published = ""
			if err := Run(t.Context(), s, w.deps()); err != nil {
				t.Fatal(err)
			}
			if r := s.Round(); s.Result != session.ResultFixed || !r.Proved || !strings.Contains(w.published, "a.go fixed") {
				t.Errorf("%s, save %d: %s, round %+v, published %q", way, at, s.Result, r, w.published)
			}
		}
	}
}
