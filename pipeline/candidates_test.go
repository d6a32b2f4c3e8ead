package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"culprit/internal/session"
)

// rewriter offers fixes of given sizes; content that begins with "fixed" holds.
type rewriter struct {
	sizes   []int
	content string
	err     error // of the runs while it is proven
	world   *world
	asked   int
}

func (r *rewriter) Another(_ context.Context, _ *session.Session, t session.Task, _ []*session.Fix) session.FixReport {
	r.asked++
	if len(r.sizes) == 0 {
		return session.FixReport{ID: t.ID, Result: session.FixFailed, Findings: "there is none"}
	}
	n := r.sizes[0]
	r.sizes = r.sizes[1:]
	if r.err != nil {
		r.world.maxRuns = r.world.runs + 1
	}
	text := fmt.Sprintf("%s %d", r.content, n)
	return session.FixReport{ID: t.ID, Status: session.Completed, Result: session.Fixed, Verified: true, Findings: "another", Spent: session.Spent{Tokens: 3}, Fix: &session.Fix{
		Task: t.ID, Strategy: text, Base: "c9", Patch: "patch " + text, Files: []string{"a.go"}, Added: n,
		Hunks: []session.Hunk{{ID: "a.go#1", File: "a.go", Text: "+" + text + "\n"}}, Edits: []session.Edit{{Path: "a.go", Content: []byte(text)}},
	}}
}

func TestTheBestOfSeveralProvenFixesIsProposed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first   int // lines of the first
		most    int
		sizes   []int
		content string
		err     error
		want    string
		asked   int
	}{
		"a smaller one that holds":   {9, 2, []int{3}, "fixed", nil, "fixed 3", 1},
		"a larger one":               {9, 2, []int{20}, "fixed", nil, "candidate 0", 1},
		"one of the same size":       {9, 2, []int{9}, "fixed", nil, "candidate 0", 1},
		"one that does not hold":     {9, 2, []int{3}, "broken", nil, "candidate 0", 1},
		"none":                       {9, 5, nil, "", nil, "candidate 0", 1},
		"the smallest of three":      {9, 3, []int{5, 4, 3}, "fixed", nil, "fixed 4", 2},
		"no more than one":           {9, 1, []int{3}, "fixed", nil, "candidate 0", 0},
		"the first is one line":      {2, 2, []int{1}, "fixed", nil, "candidate 0", 0},
		"the runs are used up by it": {9, 2, []int{3}, "fixed", session.ErrBudget, "candidate 0", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			w.verdicts = regressionConfirmed
			r := &rewriter{sizes: c.sizes, content: c.content, err: c.err, world: w}
			d := w.deps()
			d.Reads, d.Rewriter, d.Candidates = true, r, c.most
			s := w.start()
			w.added = c.first
			if err := Run(t.Context(), s, d); err != nil && !errors.Is(err, session.ErrBudget) {
				t.Fatal(err)
			}
			if s.Result != session.ResultFixed || s.Fix.Strategy != c.want || r.asked != c.asked || s.Confirmation.Overall != "confirmed" || w.proposals != 1 {
				t.Fatalf("result %s (%s), fix %+v, asked %d, %+v", s.Result, s.Reason, s.Fix, r.asked, s.Decisions)
			}
			if w.written["patches/"+s.Fix.Task+".patch"] != s.Fix.Patch || s.Fixes[s.Fix.Task] != s.Fix || s.Budget.Tokens > 3*c.asked {
				t.Errorf("patch %q, tokens %d", w.written["patches/"+s.Fix.Task+".patch"], s.Budget.Tokens)
			}
			if c.asked > 0 && (len(s.Decisions) == 0 || !strings.Contains(s.Decisions[0].Text, "candidate")) {
				t.Errorf("decisions %+v", s.Decisions)
			}
		})
	}
}

func TestAProofIsMoreThanASmallSize(t *testing.T) {
	t.Parallel()
	of := func(lines int, note string, required bool) candidate {
		return candidate{fix: &session.Fix{Added: lines}, proof: &session.Confirmation{Suite: &session.SuiteComparison{Note: note}, Necessity: []session.Necessity{{Required: required}}}}
	}
	if !of(9, "", true).beats(of(3, "not run", true)) || !of(9, "", true).beats(of(3, "", false)) || of(9, "", true).beats(of(3, "", true)) || of(3, "", true).beats(of(3, "", true)) {
		t.Error("the order of proof, size and first is not held")
	}
}
