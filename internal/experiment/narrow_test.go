package experiment

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"culprit/internal/patch"
	"culprit/internal/session"
)

// texts are the changed lines without their signs.
func texts(hunks []session.Hunk) string {
	var out []string
	for _, h := range hunks {
		out = append(out, strings.TrimSpace(changedText(h)))
	}
	return strings.Join(out, "|")
}

// narrowWorld has one commit that replaces a line of code by many, and a
// program that does not build when something is used that is not defined.
func narrowWorld(lines ...string) *world {
	w := newWorld()
	w.program = func(files map[string]string, script string, n int) session.Outcome {
		code := files["code"]
		if strings.Contains(code, "use(lib)") && !strings.Contains(code, "import lib") {
			return session.Untestable
		}
		return lookAtCode(files, script, n)
	}
	w.commit(map[string]string{"code": "begin\nmiddle\nend\n", "a_test": "BUG\nLEFT RIGHT"})
	w.commit(map[string]string{"code": "begin\nmiddle\n" + strings.Join(lines, "\n") + "\nend\n"})
	return w
}

func filler(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("harmless %d", i))
	}
	return out
}

func TestLinesAreCausesOrConditions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines              []string
		causes, conditions string
	}{
		"one line":              {slices.Insert(filler(29), 17, "BUG"), "BUG", ""},
		"two lines together":    {slices.Insert(filler(28), 20, "LEFT", "x", "RIGHT"), "LEFT|RIGHT", ""},
		"a line needs another":  {slices.Insert(slices.Insert(filler(20), 15, "use(lib) BUG"), 3, "import lib"), "use(lib) BUG", "import lib"},
		"within an idle block":  {slices.Insert(filler(12), 6, "if x {", "\tBUG", "\tmore", "}"), "BUG", ""},
		"a definition in front": {append([]string{"import lib"}, append(filler(8), "for {", "\tuse(lib)", "\tBUG", "}")...), "BUG", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := narrowWorld(c.lines...)
			f := investigate(t, w.lab(t, Options{}), w.session(session.Regression))
			got := f.Cause
			if texts(got.Lines) != c.causes || texts(got.Conditions) != c.conditions || got.ChangedLines != len(c.lines) || got.LinesNote != "" {
				t.Errorf("causes %q, conditions %q of %d, %s", texts(got.Lines), texts(got.Conditions), got.ChangedLines, got.LinesNote)
			}
			if len(got.Minimal) != 1 || got.Location != got.Lines[0].Location() {
				t.Errorf("hunks %+v, location %s", got.Minimal, got.Location)
			}
			if w.executed > 8+maxLineRuns {
				t.Errorf("%d runs", w.executed)
			}
		})
	}
}

func TestLinesAreAnsweredFromTheRecord(t *testing.T) {
	t.Parallel()
	w := narrowWorld(slices.Insert(filler(29), 17, "BUG")...)
	s := w.session(session.Regression)
	first := investigate(t, w.lab(t, Options{}), s)
	runs := w.executed
	again := investigate(t, w.lab(t, Options{}), s)
	if w.executed != runs || texts(again.Cause.Lines) != texts(first.Cause.Lines) {
		t.Errorf("%d more runs, lines %q then %q", w.executed-runs, texts(first.Cause.Lines), texts(again.Cause.Lines))
	}
}

func TestLinesThatNeverBuildApartEndTheirSearchSoon(t *testing.T) {
	t.Parallel()
	w := narrowWorld(append(filler(60), "BUG")...)
	whole := w.byID[w.at(1)].files["code"]
	look := w.program
	w.program = func(files map[string]string, script string, n int) session.Outcome {
		if code := files["code"]; code != whole && strings.Contains(code, "harmless") {
			return session.Untestable
		}
		return look(files, script, n)
	}
	f := investigate(t, w.lab(t, Options{}), w.session(session.Regression))
	if w.executed > 40 {
		t.Errorf("%d runs", w.executed)
	}
	// The last line alone builds, and is found or not; nothing false is said.
	if texts(f.Cause.Lines) != "BUG" && (f.Cause.Lines != nil || !strings.HasPrefix(f.Cause.LinesNote, "the lines were not told apart")) {
		t.Errorf("lines %q: %s", texts(f.Cause.Lines), f.Cause.LinesNote)
	}
}

func TestLinesTakeAQuarterOfTheRunsThatAreLeft(t *testing.T) {
	t.Parallel()
	w := narrowWorld(slices.Insert(filler(29), 17, "BUG")...)
	s := w.session(session.Regression)
	f := investigate(t, w.lab(t, Options{MaxRuns: 30}), s)
	if f.Verdict != session.Confirmed || len(f.Cause.Minimal) != 1 || f.Cause.Lines != nil || f.Cause.LinesNote == "" || w.executed > 20 {
		t.Errorf("%s: %+v after %d runs", f.Findings, f.Cause, w.executed)
	}
}

func TestBlocksFollowTheIndentation(t *testing.T) {
	t.Parallel()
	old := "a\nz\n"
	var show func(lines []session.Hunk, blocks []*block) string
	show = func(lines []session.Hunk, blocks []*block) string {
		var out []string
		for _, b := range blocks {
			var own []session.Hunk
			for _, i := range b.lines {
				own = append(own, lines[i])
			}
			text := texts(own)
			if b.inner != nil {
				text += "(" + show(lines, b.inner) + ")"
			}
			out = append(out, text)
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct{ added, want string }{
		{"x\ny\n", "x y"},
		{"if a {\n\tb\n\tif c {\n\t\td\n\t}\n} else {\n\te\n}\nf\n", "if a {|} else {|}(b if c {|}(d) e) f"},
		{"if a:\n  b\nelif c:\n\n  d\ne\n", "if a:|elif c:(b  d) e"},
		{"  deep\nshallow\n", "deep shallow"},
		{"}\nx\n", "} x"},
		{"call(\n  a,\n)\n", "call(|)(a,)"},
	} {
		h := patch.Hunks(patch.File{Path: "f", Old: []byte(old), New: []byte("a\n" + c.added + "z\n")})
		lines := patch.Lines(h[0])
		if got := show(lines, blocksOf(lines)); got != c.want {
			t.Errorf("%q: %s, want %s", c.added, got, c.want)
		}
	}
}

func TestFewLinesAreToldApartInDeepModeOnly(t *testing.T) {
	t.Parallel()
	for mode, want := range map[session.Mode]string{session.Full: "", session.Deep: "BUG"} {
		w := narrowWorld("x", "BUG", "y")
		s := w.session(session.Regression)
		s.Mode = mode
		if f := investigate(t, w.lab(t, Options{}), s); texts(f.Cause.Lines) != want {
			t.Errorf("%s: %q", mode, texts(f.Cause.Lines))
		}
	}
}

func TestTheRevertTakesOffTheDecidingLinesAlone(t *testing.T) {
	t.Parallel()
	w := narrowWorld(slices.Insert(filler(29), 17, "BUG")...)
	w.commit(map[string]string{"notes": "later"})
	s, l := w.session(session.Regression), w.lab(t, Options{})
	s.RootCause = investigate(t, l, s).Cause
	rep := NewFixer(l).Fix(t.Context(), s, *s.Task("FIX-H1"))
	if rep.Fix == nil || rep.Fix.Removed != 1 || rep.Fix.Added != 0 || !strings.HasSuffix(rep.Fix.Strategy, "(1 of 30 changed lines)") {
		t.Errorf("%s: %+v", rep.Findings, rep.Fix)
	}
}
