package experiment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"culprit/internal/patch"
	"culprit/internal/session"
)

// regress builds a root, a culprit and what came after it, and returns a
// session whose cause is the confirmed regression.
func regress(t *testing.T, root, culprit map[string]string, after ...map[string]string) (*world, *Lab, *session.Session) {
	t.Helper()
	w := newWorld()
	w.commit(root)
	w.commit(culprit)
	for _, change := range after {
		w.commit(change)
	}
	s := w.session(session.Regression)
	l := w.lab(t, Options{})
	f := investigate(t, l, s)
	if f.Verdict != session.Confirmed || f.Cause.Culprit.SHA != w.at(1) {
		t.Fatalf("%s: %s", f.Verdict, f.Findings)
	}
	s.RootCause = f.Cause
	return w, l, s
}

func TestTheFixRevertsOnlyWhatBroughtTheFailure(t *testing.T) {
	t.Parallel()
	code := func(replaced map[int]string) map[string]string { return map[string]string{"code": lines(40, replaced)} }
	tests := []struct {
		name          string
		root, culprit map[string]string
		after         []map[string]string
		files         string // touched by the fix
		content       string // of the first of them afterwards, "-" = deleted
		conflict      string // words of the conflict when there is no fix
	}{
		{
			name: "one of several hunks", root: code(nil),
			culprit: code(map[int]string{3: "x", 20: "BUG", 33: "y"}),
			files:   "code", content: lines(40, map[int]string{3: "x", 33: "y"}),
		},
		{
			name: "later changes elsewhere in the file stay", root: code(nil),
			culprit: code(map[int]string{3: "x", 20: "BUG"}),
			after:   []map[string]string{code(map[int]string{1: "later", 3: "x", 20: "BUG", 39: "later"})},
			files:   "code", content: lines(40, map[int]string{1: "later", 3: "x", 39: "later"}),
		},
		{
			name: "a file that moved since is followed", root: code(nil),
			culprit: code(map[int]string{20: "BUG"}),
			after:   []map[string]string{{"code": "", "moved": lines(40, map[int]string{20: "BUG"})}},
			files:   "moved", content: lines(40, nil),
		},
		{
			name: "a created file goes", root: map[string]string{"code": "fine\n"},
			culprit: map[string]string{"new": "BUG\n", "other": "fine\n"},
			files:   "new", content: "-",
		},
		{
			name: "the same place changed again is a conflict", root: code(nil),
			culprit:  code(map[int]string{20: "BUG"}),
			after:    []map[string]string{code(map[int]string{20: "BUG and more", 21: "more"})},
			conflict: "code:20 — was changed again since",
		},
		{
			name: "a created file that was changed is a conflict", root: map[string]string{"code": "fine\n"},
			culprit:  map[string]string{"new": "BUG\n"},
			after:    []map[string]string{{"new": "BUG\nmore\n"}},
			conflict: "new — was changed again since",
		},
		{
			name: "a protected file is for people", root: map[string]string{".github/workflows/ci.yml": "fine\n"},
			culprit:  map[string]string{".github/workflows/ci.yml": "BUG\n"},
			conflict: "protected",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.root["a_test"] = "BUG"
			w, l, s := regress(t, tt.root, tt.culprit, tt.after...)
			rep := NewFixer(l).Fix(t.Context(), s, *s.Task("FIX-H1"))
			if tt.conflict != "" {
				if rep.Result != session.FixFailed || rep.Status != session.Completed || !strings.Contains(strings.Join(rep.Fix.Conflicts, "\n"), tt.conflict) {
					t.Errorf("report %+v, fix %+v", rep, rep.Fix)
				}
				if rep.Fix.Patch != "" || rep.Fix.Edits != nil {
					t.Error("a conflict is forced")
				}
				return
			}
			if rep.Result != session.Fixed || !rep.Verified {
				t.Fatalf("report %+v", rep)
			}
			fix := rep.Fix
			if strings.Join(fix.Files, " ") != tt.files || fix.Base != s.Bad.SHA {
				t.Errorf("files %v at %s", fix.Files, fix.Base)
			}
			if e := fix.Edits[0]; tt.content == "-" != e.Delete || (!e.Delete && string(e.Content) != tt.content) {
				t.Errorf("content %q", e.Content)
			}
			// The patch text and the edits say the same.
			hunks, err := patch.Split([]byte(fix.Patch))
			if err != nil {
				t.Fatal(err)
			}
			edits, err := patch.ApplyEdits(hunks, content{t.Context(), w, fix.Base})
			if err != nil || len(edits) != len(fix.Edits) || string(edits[0].Content) != string(fix.Edits[0].Content) {
				t.Errorf("patch gives %+v, %v", edits, err)
			}
		})
	}
}

func TestARejectedFixIsFollowedByTheNextCandidate(t *testing.T) {
	t.Parallel()
	_, l, s := regress(t,
		map[string]string{"code": lines(30, nil), "a_test": "BUGA BUGB"},
		map[string]string{"code": lines(30, map[int]string{5: "BUGA", 20: "BUGB"})})
	series := func(fixer func() *Fixer) []string {
		s.Rejected = nil
		var patches []string
		for {
			f := fixer()
			rep := f.Fix(t.Context(), s, *s.Task("FIX-H1"))
			if again := f.Fix(t.Context(), s, *s.Task("FIX-H1")); again.Result == session.Fixed && again.Fix.Patch != rep.Fix.Patch {
				t.Error("a fix that was not rejected is followed by another")
			}
			if rep.Result != session.Fixed {
				return patches
			}
			if len(patches) > 10 {
				t.Fatalf("the series does not end: %q", patches)
			}
			patches = append(patches, rep.Fix.Patch)
			s.Rejected = append(s.Rejected, rep.Fix.Digest())
		}
	}
	one := NewFixer(l)
	kept := series(func() *Fixer { return one })
	restarted := series(func() *Fixer { return NewFixer(l) })
	if len(kept) != 2 || kept[0] == kept[1] {
		t.Errorf("%d candidates: %q", len(kept), kept)
	}
	if strings.Join(kept, "|") != strings.Join(restarted, "|") {
		t.Errorf("after a restart the series is %q, before %q", restarted, kept)
	}
}

func TestNecessityIsBoundedByHunksAndBudget(t *testing.T) {
	t.Parallel()
	root, culprit := map[string]string{"a_test": "BUG"}, map[string]string{}
	for i := range maxNecessity + 4 {
		name := fmt.Sprintf("code%02d", i)
		root[name], culprit[name] = "fine\n", "BUG\n"
	}
	w, _, s := regress(t, root, culprit)
	fix := session.Fix{Base: s.Bad.SHA}
	for name := range culprit {
		fix.Edits = append(fix.Edits, session.Edit{Path: name, Content: []byte("fine\n")})
	}
	roomy := w.lab(t, Options{})
	fix, err := roomy.rendered(t.Context(), fix.Base, fix.Edits)
	if err != nil {
		t.Fatal(err)
	}
	trial, err := Reproduction(t.Context(), w, s)
	if err != nil {
		t.Fatal(err)
	}
	used, _ := roomy.Used()
	tight := w.lab(t, Options{MaxRuns: used + 3})
	if need, err := tight.Necessity(t.Context(), fix, trial, 1); err != nil || len(need) != 3 {
		t.Errorf("with 3 runs left: %+v, %v", need, err)
	}
	need, err := roomy.Necessity(t.Context(), fix, trial, 1)
	if err != nil || len(need) != maxNecessity || !need[maxNecessity-1].Required || need[0].Hunk != fix.Hunks[0].ID {
		t.Errorf("%d hunks: %+v, %v", len(need), need, err)
	}
}

func TestARevertThatIsTooLargeIsNotOffered(t *testing.T) {
	t.Parallel()
	bug := map[int]string{}
	for i := range 400 {
		bug[i] = "BUG"
	}
	_, l, s := regress(t, map[string]string{"code": lines(400, nil), "a_test": "BUG"}, map[string]string{"code": lines(400, bug)})
	rep := NewFixer(l).Fix(t.Context(), s, *s.Task("FIX-H1"))
	if rep.Result != session.FixFailed || !strings.Contains(rep.Findings, "lines are changed, at most 600 are allowed") {
		t.Errorf("%s: %s", rep.Result, rep.Findings)
	}
}

func TestWhyThereIsNoFixIsCounted(t *testing.T) {
	t.Parallel()
	// A later commit brings the failure a second time, so that no revert of the
	// culprit helps; one of its hunks conflicts besides.
	_, l, s := regress(t,
		map[string]string{"code": lines(30, nil), "other": "fine\n", "a_test": "BUG"},
		map[string]string{"code": lines(30, map[int]string{5: "BUG"}), "other": "changed\n"},
		map[string]string{"more": "BUG\n", "other": "changed again\n"})
	rep := NewFixer(l).Fix(t.Context(), s, *s.Task("FIX-H1"))
	want := "No part of the culprit makes the test pass when it is taken off today's code: 1 combination tried, 1 × fails as before; " +
		"the rest conflicts with later changes: other:1 — was changed again since, in the same place."
	if rep.Result != session.FixFailed || rep.Findings != want || rep.Fix.Conflicts != nil {
		t.Errorf("%s: %q, want %q; conflicts %q", rep.Result, rep.Findings, want, rep.Fix.Conflicts)
	}
}

func TestAFixWithoutAConfirmedCauseIsRefused(t *testing.T) {
	t.Parallel()
	w := linear(4, 2)
	s := w.session(session.Regression)
	rep := NewFixer(w.lab(t, Options{})).Fix(t.Context(), s, *s.Task("FIX-H1"))
	if rep.Status != session.Failed || w.executed != 0 {
		t.Errorf("report %+v after %d runs", rep, w.executed)
	}
}

func TestTheTestAtFaultLeavesTheCodeAlone(t *testing.T) {
	t.Parallel()
	w := linear(4, 2)
	s := w.session(session.TestFault)
	s.RootCause = &session.RootCause{Task: "H1", Kind: session.TestFault, NoCodeChange: true, MinimalNote: "the test is at fault"}
	rep := NewFixer(w.lab(t, Options{})).Fix(t.Context(), s, *s.Task("FIX-H1"))
	if rep.Result != session.FixFailed || !strings.Contains(rep.Findings, "test is at fault") || w.executed != 0 {
		t.Errorf("report %+v after %d runs", rep, w.executed)
	}
}

func TestANeedlessHunkIsFoundOut(t *testing.T) {
	t.Parallel()
	w, l, s := regress(t,
		map[string]string{"code": lines(30, nil), "a_test": "BUG"},
		map[string]string{"code": lines(30, map[int]string{5: "BUG", 20: "harmless"})})
	c, err := NewFixer(l).Candidates(t.Context(), s, *s.Task("FIX-H1"), s.RootCause)
	if err != nil {
		t.Fatal(err)
	}
	var fixes []*session.Fix
	for {
		fix, err := c.Next(t.Context())
		if errors.Is(err, ErrNoMore) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		fixes = append(fixes, fix)
	}
	if len(fixes) != 2 || len(fixes[0].Hunks) != 1 || len(fixes[1].Hunks) != 2 {
		t.Fatalf("candidates %+v", fixes)
	}
	trial, err := Reproduction(context.Background(), w, s)
	if err != nil {
		t.Fatal(err)
	}
	need, err := l.Necessity(t.Context(), *fixes[1], trial, 1)
	if err != nil || !need[0].Required || need[1].Required {
		t.Errorf("necessity %+v, %v", need, err)
	}
}
