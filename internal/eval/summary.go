package eval

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"culprit/internal/experiment/rate"
	"culprit/internal/session"
)

// A Share is how many of how many, with its exact 95 % interval.
type Share struct {
	What      string
	Right, Of int
}

// Interval is where the true share lies with 95 % confidence; [0, 1] when
// nothing was counted.
func (s Share) Interval() session.Interval {
	return rate.Interval(session.Count{Runs: s.Of, Failures: s.Right})
}

// String is "4 of 6, 67 % (22–96 %)".
func (s Share) String() string {
	if s.Of == 0 {
		return "0 of 0"
	}
	i := s.Interval()
	return fmt.Sprintf("%d of %d, %.0f %% (%.0f–%.0f %%)", s.Right, s.Of, 100*float64(s.Right)/float64(s.Of), 100*i.Low, 100*i.High)
}

// Summary is what all records say together.
type Summary struct {
	Cases, Broke int
	NotRun       int // part of no share
	Shares       []Share
	Runs, Tokens int
	Cost         float64
	Seconds      float64
}

// question is one thing that is asked of each case.
type question struct {
	what   string
	answer func(Record) Answer
	right  Answer
	// claims leaves out cases in which nothing was claimed.
	claims bool
}

var questions = []question{
	{"reproduced", func(r Record) Answer { return r.Reproduced }, Yes, false},
	{"culprit right", func(r Record) Answer { return r.Culprit }, Yes, false},
	{"culprit named and wrong", func(r Record) Answer { return r.Culprit }, No, false},
	{"root cause in a right file", func(r Record) Answer { return r.FileHit }, Yes, false},
	{"root cause on a right line", func(r Record) Answer { return r.LineHit }, Yes, false},
	{"fix verified", func(r Record) Answer { return r.Fix }, Yes, false},
	{"held-out test passed, of all cases", func(r Record) Answer { return r.HeldOut }, Yes, false},
	{"held-out test passed, of verified fixes", func(r Record) Answer { return r.HeldOut }, Yes, true},
	{"ended as it should", func(r Record) Answer { return r.ResultHit }, Yes, false},
}

// Summarize counts. A question that no case answers has no share.
func Summarize(records []Record) Summary {
	s := Summary{Cases: len(records)}
	for _, r := range records {
		switch r.Status {
		case NotRun:
			s.NotRun++
		case Broke:
			s.Broke++
		}
		s.Runs += r.Runs
		s.Tokens += r.Tokens
		s.Cost += r.Cost
		s.Seconds += r.Seconds
	}
	for _, q := range questions {
		share := Share{What: q.what}
		for _, r := range records {
			a := q.answer(r)
			if r.Status == NotRun || a == Unknown || q.claims && a == None {
				continue
			}
			share.Of++
			if a == q.right {
				share.Right++
			}
		}
		if share.Of > 0 {
			s.Shares = append(s.Shares, share)
		}
	}
	return s
}

var header = []string{"case", "ended", "reproduced", "culprit", "file", "line", "fix", "held-out", "runs", "tokens", "cost", "seconds"}

// row of the table.
func row(r Record) []string {
	if r.Status != Ran {
		word := map[Status]string{NotRun: "not run", Broke: "broke"}[r.Status]
		return []string{r.Case, word, "", "", "", "", "", "", number(r.Runs), number(r.Tokens), cost(r.Cost), seconds(r.Seconds)}
	}
	line := cell(r.LineHit)
	if r.LineHit == No && r.LinesBeside != nil {
		line = fmt.Sprintf("no, %d beside", *r.LinesBeside)
	}
	ended := strings.ReplaceAll(string(r.Result), "_", " ")
	if r.ResultHit == No {
		ended += " (wrong)"
	}
	culprit := cell(r.Culprit)
	if r.Culprit == No {
		culprit = "WRONG"
	}
	return []string{
		r.Case, ended, cell(r.Reproduced), culprit, cell(r.FileHit), line, cell(r.Fix), cell(r.HeldOut),
		number(r.Runs), number(r.Tokens), cost(r.Cost), seconds(r.Seconds),
	}
}

func cell(a Answer) string {
	switch a {
	case Unknown:
		return "–"
	case None:
		return "none"
	}
	return string(a)
}

func number(n int) string { return strconv.Itoa(n) }

func cost(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func seconds(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

// notes are the lines below the table: why a case was not run or broke, why
// there is no fix, what a held-out test says.
func notes(records []Record) []string {
	var out []string
	for _, r := range records {
		for _, n := range []struct{ what, text string }{{"error", r.Error}, {"reason", r.Reason}, {"held-out test", r.HeldOutWhy}} {
			if n.what == "error" && r.Status == NotRun {
				n.what = "not run"
			}
			if n.text != "" {
				out = append(out, fmt.Sprintf("%s: %s: %s", r.Case, n.what, n.text))
			}
		}
	}
	return out
}

// totals are the lines of the summary.
func (s Summary) totals() [][2]string {
	cases := number(s.Cases)
	if s.NotRun > 0 {
		cases += fmt.Sprintf(", %d of them not run (part of no share)", s.NotRun)
	}
	if s.Broke > 0 {
		cases += fmt.Sprintf(", %d broke", s.Broke)
	}
	out := [][2]string{{"cases", cases}}
	for _, share := range s.Shares {
		out = append(out, [2]string{share.What, share.String()})
	}
	return append(out,
		[2]string{"runs", number(s.Runs)}, [2]string{"tokens", number(s.Tokens)}, [2]string{"cost", cost(s.Cost)}, [2]string{"seconds", seconds(s.Seconds)})
}

// WriteTable writes the cases and the summary for a terminal.
func WriteTable(w io.Writer, records []Record) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(header, "\t"))
	for _, r := range records {
		fmt.Fprintln(t, printable(strings.Join(row(r), "\t")))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, n := range notes(records) {
		fmt.Fprintln(w, printable(n))
	}
	fmt.Fprintln(w)
	for _, x := range Summarize(records).totals() {
		fmt.Fprintf(t, "%s\t%s\n", x[0], x[1])
	}
	return t.Flush()
}

// WriteMarkdown writes the same as Markdown.
func WriteMarkdown(w io.Writer, records []Record) error {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(header)
	b.WriteString(strings.Repeat("|---", len(header)) + "|\n")
	for _, r := range records {
		cells := row(r)
		for i := range cells {
			cells[i] = markdown(cells[i])
		}
		line(cells)
	}
	b.WriteString("\n| of all | |\n|---|---|\n")
	for _, x := range Summarize(records).totals() {
		line(x[:])
	}
	if list := notes(records); len(list) > 0 {
		b.WriteString("\n")
		for _, n := range list {
			fmt.Fprintf(&b, "- %s\n", markdown(n))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printable keeps foreign text from steering a terminal; a note is one line.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
}

// markdown keeps foreign text from being markup.
func markdown(s string) string {
	var b strings.Builder
	for _, r := range printable(s) {
		if strings.ContainsRune("\\`*_[]<>|#&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
