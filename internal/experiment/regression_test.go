package experiment

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"culprit/internal/session"
)

// lines makes a file of numbered lines, some of them replaced.
func lines(n int, replaced map[int]string) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		if r, ok := replaced[i]; ok {
			b.WriteString(r + "\n")
			continue
		}
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

// linear is a history of n commits in which commit bug writes BUG into the code.
func linear(n, bug int) *world {
	w := newWorld()
	w.commit(map[string]string{"code": lines(20, nil), "a_test": "BUG"})
	for i := 1; i < n; i++ {
		change := map[string]string{"notes": fmt.Sprintf("note %d\n", i)}
		if i == bug {
			change["code"] = lines(20, map[int]string{3: "harmless", 10: "BUG", 17: "harmless"})
		}
		w.commit(change)
	}
	return w
}

func TestTheCulpritOfALinearHistoryIsFoundAndMinimised(t *testing.T) {
	t.Parallel()
	w := linear(40, 23)
	s := w.session(session.Regression)
	f := investigate(t, w.lab(t, Options{}), s)
	if f.Verdict != session.Confirmed {
		t.Fatalf("verdict %s: %s", f.Verdict, f.Findings)
	}
	c := f.Cause
	if c.Culprit.SHA != w.at(23) || c.Parent.SHA != w.at(22) {
		t.Errorf("culprit %s, parent %s", c.Culprit.Subject, c.Parent.Subject)
	}
	if c.Location != "code:10" || len(c.Minimal) != 1 || c.Hunks != 4 {
		t.Errorf("location %q, %d of %d hunks", c.Location, len(c.Minimal), c.Hunks)
	}
	if c.AtCulprit.Failures < 3 || c.AtCulprit.Passes() != 0 || c.AtParent.Passes() < 3 || c.AtParent.Failures != 0 {
		t.Errorf("verified by %+v and %+v", c.AtCulprit, c.AtParent)
	}
	if c.SearchSummary == nil || c.SearchSummary.Range == 0 || len(c.SearchSummary.Tried) == 0 {
		t.Errorf("search: %+v", c.SearchSummary)
	}
}

func TestHunksThatFailOnlyTogetherAreKeptTogether(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.commit(map[string]string{"code": lines(30, nil), "a_test": "BUGA BUGB"})
	w.commit(map[string]string{"code": lines(30, map[int]string{2: "x", 9: "BUGA", 16: "y", 25: "BUGB"})})
	s := w.session(session.Regression)
	l := w.lab(t, Options{})
	f := investigate(t, l, s)
	if f.Verdict != session.Confirmed || len(f.Cause.Minimal) != 2 || f.Cause.Hunks != 4 {
		t.Fatalf("%s: %s, %+v", f.Verdict, f.Findings, f.Cause)
	}
	// Taking one of the two off mends the test, and then each hunk is needed.
	s.RootCause = f.Cause
	rep := NewFixer(l).Fix(t.Context(), s, *s.Task("FIX-H1"))
	if rep.Result != session.Fixed || len(rep.Fix.Hunks) != 1 {
		t.Fatalf("fix: %+v", rep)
	}
	trial, err := Reproduction(t.Context(), w, s)
	if err != nil {
		t.Fatal(err)
	}
	need, err := l.Necessity(t.Context(), *rep.Fix, trial, 1)
	if err != nil || len(need) != 1 || !need[0].Required || need[0].Outcome != session.FailedSame {
		t.Errorf("necessity: %+v, %v", need, err)
	}
}

func TestAMergeIsLookedInto(t *testing.T) {
	t.Parallel()
	w := newWorld()
	root := w.commit(map[string]string{"code": lines(10, nil), "other": "x\n", "a_test": "BUG"})
	main := root
	for i := range 6 {
		main = w.commit(map[string]string{"notes": fmt.Sprint(i)}, main)
	}
	side := w.commit(map[string]string{"other": "y\n"}, root)
	guilty := w.commit(map[string]string{"code": lines(10, map[int]string{4: "BUG"})}, side)
	tip := w.commit(map[string]string{"other": "z\n"}, guilty)
	merge := w.commit(map[string]string{"code": w.byID[tip].files["code"], "other": "z\n"}, main, tip)
	w.commit(map[string]string{"notes": "after"}, merge)
	f := investigate(t, w.lab(t, Options{}), w.session(session.Regression))
	if f.Verdict != session.Confirmed || f.Cause.Culprit.SHA != guilty || f.Cause.Merge == nil || f.Cause.Merge.SHA != merge {
		t.Fatalf("%s: %s, %+v", f.Verdict, f.Findings, f.Cause)
	}
}

func TestAMergeOfTwoPassingSidesIsTheCulpritItself(t *testing.T) {
	t.Parallel()
	w := newWorld()
	root := w.commit(map[string]string{"code": "a\n", "a_test": "BUGA BUGB"})
	a := w.commit(map[string]string{"one": "BUGA\n"}, root)
	b := w.commit(map[string]string{"two": "BUGB\n"}, root)
	merge := w.commit(nil, a, b)
	w.commit(map[string]string{"notes": "after"}, merge)
	f := investigate(t, w.lab(t, Options{}), w.session(session.Regression))
	if f.Verdict != session.Confirmed || f.Cause.Culprit.SHA != merge || !strings.Contains(f.Findings, "It is a merge") {
		t.Fatalf("%s: %s, %+v", f.Verdict, f.Findings, f.Cause)
	}
}

func TestUntestableCommitsBesideTheCulpritAreSaidToBePossible(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.commit(map[string]string{"code": "fine\n", "a_test": "BUG"})
	for i := 1; i < 20; i++ {
		change := map[string]string{"notes": fmt.Sprintf("note %d\n", i)}
		switch i {
		case 10:
			change["broken"] = "NOBUILD\n"
		case 11:
			change["code"] = "BUG\n"
		case 13:
			change["broken"] = "ok\n"
		}
		w.commit(change)
	}
	f := investigate(t, w.lab(t, Options{}), w.session(session.Regression))
	if f.Verdict != session.Confirmed {
		t.Fatalf("%s: %s", f.Verdict, f.Findings)
	}
	group := map[string]bool{f.Cause.Culprit.SHA: true}
	for _, a := range f.Cause.Alternatives {
		group[a.SHA] = true
	}
	for i := 10; i <= 13; i++ {
		if !group[w.at(i)] {
			t.Errorf("commit %d is not among the possible culprits", i)
		}
	}
	if len(group) != 4 || f.Cause.Parent.SHA != w.at(9) {
		t.Errorf("%d possible culprits, parent %s", len(group), f.Cause.Parent.Subject)
	}
}

func TestAFailureThatWasAlwaysThereIsNoRegression(t *testing.T) {
	t.Parallel()
	w := linear(12, 0)
	w.order[0].files["code"] = "BUG\n"
	for _, n := range w.order {
		n.files["code"] = "BUG\n"
	}
	s := w.session(session.Regression)
	f := investigate(t, w.lab(t, Options{}), s)
	if f.Verdict != session.Refuted || s.Archaeology.Boundary != "root" {
		t.Errorf("%s: %s (%s)", f.Verdict, f.Findings, s.Archaeology.Boundary)
	}
}

func TestAFlakyRegressionIsFound(t *testing.T) {
	t.Parallel()
	w := linear(30, 17)
	// After the culprit the test fails in two of three runs, before it never.
	w.program = func(files map[string]string, script string, n int) session.Outcome {
		if o := lookAtCode(files, script, n); o != session.FailedSame || n%3 == 1 {
			return session.Passed
		}
		return session.FailedSame
	}
	s := w.session(session.Regression)
	s.Reproduction.Flaky = true
	s.Reproduction.Count = session.Count{Runs: 12, Failures: 8}
	f := investigate(t, w.lab(t, Options{}), s)
	if f.Verdict != session.Confirmed || f.Cause.Culprit.SHA != w.at(17) {
		t.Fatalf("%s: %s", f.Verdict, f.Findings)
	}
}

func TestAGoodCommitThatFailsIsNamed(t *testing.T) {
	t.Parallel()
	w := linear(20, 5)
	s := w.session(session.Regression)
	s.Flags.Good = w.at(10)
	_, err := FindGood(t.Context(), w.lab(t, Options{}), s)
	var fails *GoodFailsError
	if !errors.As(err, &fails) || fails.Commit.SHA != w.at(10) || fails.Observation.Outcome != session.FailedSame {
		t.Errorf("error %v", err)
	}
}

func TestAGoodCommitThatWasGivenBoundsTheSearch(t *testing.T) {
	t.Parallel()
	w := linear(20, 15)
	s := w.session(session.Regression)
	s.Flags.Good = w.at(4)
	f := investigate(t, w.lab(t, Options{}), s)
	if f.Verdict != session.Confirmed || f.Cause.Culprit.SHA != w.at(15) || s.Archaeology.Candidates != 15 {
		t.Errorf("%s: %s, %d candidates", f.Verdict, f.Findings, s.Archaeology.Candidates)
	}
}

func TestTheDecisivePlaceIsNoImport(t *testing.T) {
	t.Parallel()
	st := &study{s: &session.Session{Reproduction: &session.Reproduction{Failure: &session.Failure{Stack: []session.Frame{{File: "deep.go"}}}}}}
	hunk := func(file string, line int, text string) session.Hunk {
		return session.Hunk{File: file, NewStart: line, NewLines: 1, Text: text}
	}
	doc, imported := hunk("a.md", 1, "+words\n"), hunk("b.go", 2, "+\t\"fmt\"\n")
	comment, code, deep := hunk("b.py", 3, "+# why\n"), hunk("c.go", 4, "-\tx()\n+\ty(\"s\")\n"), hunk("deep.go", 5, "+\tz()\n")
	for want, hunks := range map[string][]session.Hunk{
		"deep.go:5": {doc, imported, comment, code, deep},
		"c.go:4":    {doc, imported, comment, code},
		"b.go:2":    {doc, imported, comment},
		"a.md:1":    {doc},
		"":          nil,
	} {
		if got := st.decisive(hunks); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
