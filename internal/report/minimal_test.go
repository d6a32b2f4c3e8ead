package report

import (
	"strings"
	"testing"

	"culprit/internal/session"
)

func TestAPartThatIsNotProvedMinimalIsNotCalledTheSmallest(t *testing.T) {
	t.Parallel()
	hunks := []session.Hunk{{ID: "a.go#1", File: "a.go", NewStart: 1, Text: "+x\n"}, {ID: "b.go#1", File: "b.go", NewStart: 2, Text: "+y\n"}}
	s := &session.Session{
		Result: session.ResultRootCause,
		RootCause: &session.RootCause{
			Culprit: &session.Commit{SHA: strings.Repeat("a", 40), Subject: "refactor"}, Location: "a.go:1", Minimal: hunks, Hunks: 359,
			MinimalNote: "not proved minimal: the limit of 120 runs for it was reached",
		},
	}
	got := string(BugReport(s))
	for _, want := range []string{"2 of its 359 hunks together bring the failure (not proved minimal: the limit of 120 runs for it was reached)", "A part of it that brings the failure:"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for _, wrong := range []string{"needed together", "The smallest part"} {
		if strings.Contains(got, wrong) {
			t.Errorf("%q in\n%s", wrong, got)
		}
	}
	hunks[0].Text, hunks[1].Text = "", "" // as a session keeps many of them
	if got := string(BugReport(s)); strings.Contains(got, "```diff") {
		t.Errorf("an empty diff is shown:\n%s", got)
	}
}

func TestNecessityIsSaidAsItWasSeen(t *testing.T) {
	t.Parallel()
	one := func(o session.Outcome) session.Necessity {
		return session.Necessity{Hunk: "a.go#1", Outcome: o, Required: o != session.Passed}
	}
	cases := []struct {
		hunks int
		seen  []session.Necessity
		want  string
	}{
		{1, []session.Necessity{one(session.FailedSame)}, "Without its hunk the failure is back."},
		{2, []session.Necessity{one(session.FailedSame), one(session.Untestable)}, "Without any one of its 2 hunks the failure is back, or nothing builds."},
		{2, []session.Necessity{one(session.FailedSame), one(session.Passed)}, "1 of its 2 hunks are each needed."},
		{40, []session.Necessity{one(session.FailedSame), one(session.Passed)}, "Its 40 hunks are too many to leave out one by one: of 2 that were, 1 are needed."},
	}
	for _, c := range cases {
		s := &session.Session{Result: session.ResultFixed, Fix: &session.Fix{Hunks: make([]session.Hunk, c.hunks)}, Confirmation: &session.Confirmation{Necessity: c.seen}}
		if got := show(s).Proof(); !strings.HasSuffix(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestTheLinesThatDecideAreShownBeforeTheirHunk(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("+harmless\n", 29)
	s := &session.Session{
		Result: session.ResultRootCause,
		RootCause: &session.RootCause{
			Culprit: &session.Commit{SHA: strings.Repeat("a", 40), Subject: "price"}, Location: "a.go:7", Hunks: 4,
			Minimal:      []session.Hunk{{ID: "a.go#1", File: "a.go", NewStart: 1, NewLines: 30, Text: long + "+wrong\n"}},
			Lines:        []session.Hunk{{ID: "a.go#1:7", File: "a.go", NewStart: 7, NewLines: 1, Text: "+wrong\n"}},
			Conditions:   []session.Hunk{{ID: "a.go#1:2", File: "a.go", NewStart: 2, NewLines: 1, Text: "+harmless\n"}},
			ChangedLines: 30,
		},
	}
	report := string(BugReport(s))
	lines := strings.Index(report, "Of 30 changed lines 1 decides, with 1 more that the code does not build without:")
	if hunk := strings.Index(report, "The smallest part of it"); lines < 0 || hunk < lines || !strings.Contains(report[lines:hunk], "@@ a.go:7\n+wrong\n") {
		t.Errorf("\n%s", report)
	}
	if got := show(s).HunksShown(); !strings.Contains(got, "+wrong") || strings.Contains(got, "harmless") {
		t.Errorf("shown unfolded: %s", got)
	}
}

func TestTheDependencyThatMovedIsNamed(t *testing.T) {
	t.Parallel()
	s := &session.Session{
		Result: session.ResultRootCause,
		RootCause: &session.RootCause{
			Culprit: &session.Commit{SHA: strings.Repeat("a", 40), Subject: "bump"}, Location: "go.mod:7", Hunks: 2, MovedOf: 3,
			Minimal: []session.Hunk{{ID: "go.mod#1", File: "go.mod", NewStart: 7, NewLines: 1, Text: "+x\n"}},
			Moved:   []session.Moved{{Name: "example.com/x", File: "go.mod", Old: "v1.0.0", New: "v1.4.0", Passes: "v1.2.3", Fails: "v1.2.4"}},
		},
	}
	if got := string(BugReport(s)); !strings.Contains(got, "Of 3 moves it is example.com/x between v1.2.3 (passes) and v1.2.4 (fails).") {
		t.Errorf("\n%s", got)
	}
	s.RootCause.Moved = []session.Moved{{Name: "example.com/x", Old: "v1", New: "v2", Note: "its releases were not tried: the registry knows none"}}
	if got := string(BugReport(s)); !strings.Contains(got, "example.com/x, which moved from v1 to v2; its releases were not tried: the registry knows none.") {
		t.Errorf("\n%s", got)
	}
}

func TestSuspiciousLinesAreShownAsAHint(t *testing.T) {
	t.Parallel()
	s := &session.Session{Archaeology: &session.Archaeology{
		Coverage:   "1 failing and 3 passing tests",
		Suspicious: []session.SuspiciousLine{{File: "a.go", Line: 4, To: 6, Score: 1, Failing: 1}},
	}}
	got := string(Understanding(s, nil))
	for _, want := range []string{"by the coverage of 1 failing and 3 passing tests (Ochiai). They say where to read first, and prove nothing.", "| 1.00 | `a.go:4` to 6 | 0 |"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
