package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"culprit/internal/session"
)

// Colours of a terminal.
const (
	bright = "\x1b[1m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	dim    = "\x1b[2m"
	reset  = "\x1b[0m"
)

// screen collects lines for a terminal.
type screen struct {
	b     strings.Builder
	width int
	color bool
}

func (t *screen) paint(colour, s string) string {
	if !t.color || s == "" {
		return s
	}
	return colour + s + reset
}

// text writes a paragraph, broken at the width, with the given indents of its
// first and other lines. Foreign text must be clean already.
func (t *screen) text(first, rest, s string) {
	if s == "" {
		return
	}
	body := wrap(s, max(t.width-utf8.RuneCountInString(rest), 20))
	for i, l := range strings.Split(body, "\n") {
		if i == 0 {
			t.b.WriteString(first + l + "\n")
		} else {
			t.b.WriteString(rest + l + "\n")
		}
	}
}

func (t *screen) head(s string) { t.b.WriteString("\n" + t.paint(bright, s) + "\n") }

// Terminal is the report for a terminal of the given width in columns, the
// verdict first, without Markdown. color adds ANSI colours; no other control
// character is in it.
func Terminal(s *session.Session, width int, color bool) string {
	v := show(s)
	if width < 40 {
		width = 80
	}
	t := &screen{width: min(width, 120), color: color}
	colour := yellow
	switch s.Result {
	case session.ResultFixed:
		colour = green
	case session.ResultRootCause:
		colour = bright
	case "":
		colour = red
	}
	t.b.WriteString(t.paint(colour, line(v.headlineText())) + "\n")
	t.b.WriteString("\n")
	t.text("", "", v.leadText())
	if f := v.failure(); f != nil && line(f.Message) != "" {
		t.b.WriteByte('\n')
		if l := line(f.Location()); l != "" {
			t.b.WriteString(t.paint(dim, "  "+l) + "\n")
		}
		lines := strings.Split(strings.Trim(clean(f.Message), "\n"), "\n")
		for _, l := range lines[:min(len(lines), 8)] {
			t.b.WriteString("  | " + cut(strings.ReplaceAll(l, "\t", "    "), t.width-4) + "\n")
		}
	}
	t.hypotheses(v)
	t.change(v)
	t.rest(v)
	return t.b.String()
}

// hypotheses with verdict and what decided it.
func (t *screen) hypotheses(v *view) {
	rows := v.Wave(1)
	if len(rows) == 0 {
		return
	}
	t.head("Hypotheses")
	for _, h := range rows {
		verdict, colour := string(h.Verdict), dim
		switch {
		case h.Status == session.Failed:
			verdict = "not tested"
		case h.Verdict == session.Confirmed:
			colour = green
		case h.Verdict == session.Inconclusive:
			colour = yellow
		case h.Verdict == "":
			verdict = "open"
		}
		t.b.WriteString(fmt.Sprintf("  %-4s ", cut(line(h.ID), 12)) + t.paint(colour, fmt.Sprintf("%-12s", verdict)) + " " + cut(line(h.Title), max(t.width-21, 20)) + "\n")
		t.text("       ", "       ", v.decisiveText(h))
	}
}

func (t *screen) change(v *view) {
	if c := v.RootCause; c != nil && len(c.Minimal) > 0 {
		t.head("The change that brings it")
		n, hunks := 0, c.Minimal
		if len(c.Lines) > 0 {
			hunks = c.Lines
		}
		for _, h := range hunks {
			t.b.WriteString("  " + t.paint(dim, line(h.Location())) + "\n")
			for l := range strings.SplitSeq(strings.TrimSuffix(h.Text, "\n"), "\n") {
				if n++; n > 30 {
					t.b.WriteString("  …\n")
					return
				}
				l = cut(strings.ReplaceAll(clean(l), "\t", "    "), t.width-2)
				switch {
				case strings.HasPrefix(l, "-"):
					l = t.paint(red, l)
				case strings.HasPrefix(l, "+"):
					l = t.paint(green, l)
				}
				t.b.WriteString("  " + l + "\n")
			}
		}
	}
	switch {
	case v.Result == session.ResultFixed && v.Fix != nil:
		t.head("Fix")
		t.text("  ", "  ", line(v.Fix.Strategy)+": "+v.changeText()+". "+v.proofText())
		t.b.WriteString("  patches/" + line(v.Fix.Task) + ".patch\n")
	case v.Result == session.ResultRootCause:
		t.head("No fix is proposed")
		t.text("  ", "  ", sentence(line(v.Reason)))
		if v.Fix != nil {
			for _, c := range v.Fix.Conflicts[:min(len(v.Fix.Conflicts), 8)] {
				t.text("  - ", "    ", line(c))
			}
		}
	}
}

func (t *screen) rest(v *view) {
	if before := v.SeenBefore(); before != "" {
		t.head("This test before")
		for _, p := range strings.Split(strings.TrimSuffix(strings.TrimPrefix(unmark(before), "This test before: "), "."), "; ") {
			t.text("  - ", "    ", p)
		}
	}
	if v.Result == session.ResultFlaky && v.Flake != nil {
		if v.Flake.Advice != "" {
			t.head("What to do")
			t.text("  ", "  ", line(v.Flake.Advice))
		}
	}
	if r := v.Reproduction; r != nil && v.followedText(r) != "" {
		t.head("As CI does it")
		t.text("  ", "  ", v.followedText(r))
	}
	if r := v.Reproduction; r != nil && len(r.Differences) > 0 {
		t.head("What differs from where it failed")
		for _, d := range r.Differences {
			t.text("  - ", "    ", line(d.String()))
		}
	}
	if q := v.Question; q != nil {
		t.head("Question")
		t.text("  ", "  ", line(q.Text))
		for _, o := range q.Options {
			t.b.WriteString("    " + line(o) + "\n")
		}
		t.text("  ", "  ", sentence(line(prefixed("Without an answer: ", q.Default))))
	}
	if len(v.NotChecked) > 0 {
		t.head("Not checked")
		for _, n := range v.NotChecked {
			t.text("  - ", "    ", line(n))
		}
	}
	if v.NextStep != "" {
		t.head("Next")
		t.text("  ", "  ", line(v.NextStep))
	}
	t.b.WriteString("\n" + t.paint(dim, v.Cost()+" · session "+line(v.ID)) + "\n")
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// leadText is Lead in plain words.
func (v *view) leadText() string { return unmark(v.Lead()) }

func (v *view) decisiveText(t session.Task) string { return unmark(v.decisive(t)) }

func (v *view) changeText() string { return unmark(v.change()) }

func (v *view) proofText() string { return unmark(v.Proof()) }
