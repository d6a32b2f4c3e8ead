package eval

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Change is what became of one case between two results.
type Change struct {
	Case string
	// Kind is better, worse, mixed, same, new or not compared.
	Kind  string
	Notes []string // "culprit right: none → yes"
	A, B  *Record  // nil: there is none
}

// Kinds of Change.
const (
	Better      = "better"
	Worse       = "worse"
	Mixed       = "mixed" // better in something and worse in something else
	Same        = "same"
	New         = "new"
	NotCompared = "not compared"
)

// rank of an answer: claiming what is wrong is worse than claiming nothing.
var rank = map[Answer]int{Yes: 2, None: 1, No: 0}

// compared are the questions that make a case better or worse; what a session
// used does not.
var compared = []question{
	{"reproduced", func(r Record) Answer { return r.Reproduced }, Yes, false},
	{"culprit", func(r Record) Answer { return r.Culprit }, Yes, false},
	{"file", func(r Record) Answer { return r.FileHit }, Yes, false},
	{"line", func(r Record) Answer { return r.LineHit }, Yes, false},
	{"fix verified", func(r Record) Answer { return r.Fix }, Yes, false},
	{"held-out test", func(r Record) Answer { return r.HeldOut }, Yes, false},
	{"end", func(r Record) Answer { return r.ResultHit }, Yes, false},
}

// Comparison is what changed between two results files.
type Comparison struct {
	Changes []Change // in the order of A, then what only B has
}

// Compare sets two results against each other, case by case; of several records
// of a case the last one that was run counts, or else the last.
func Compare(a, b []Record) Comparison {
	left, order := latest(a)
	right, further := latest(b)
	var out Comparison
	for _, id := range order {
		out.Changes = append(out.Changes, compare(id, left[id], right[id]))
	}
	for _, id := range further {
		if left[id] == nil {
			out.Changes = append(out.Changes, Change{Case: id, Kind: New, B: right[id]})
		}
	}
	return out
}

func latest(records []Record) (by map[string]*Record, order []string) {
	by = map[string]*Record{}
	for i := range records {
		r := &records[i]
		old, known := by[r.Case]
		if !known {
			order = append(order, r.Case)
		}
		if !known || r.Status != NotRun || old.Status == NotRun {
			by[r.Case] = r
		}
	}
	return by, order
}

func compare(id string, a, b *Record) Change {
	c := Change{Case: id, Kind: Same, A: a, B: b}
	switch {
	case b == nil:
		c.Kind, c.Notes = NotCompared, []string{"it is not in the second results"}
		return c
	case a.Status == NotRun && b.Status == NotRun:
		c.Kind, c.Notes = NotCompared, []string{"it ran in neither"}
		return c
	case a.Status == NotRun:
		c.Kind, c.Notes = New, []string{"it did not run in the first results"}
		return c
	case b.Status == NotRun:
		c.Kind, c.Notes = NotCompared, []string{"it did not run in the second results: " + b.Error}
		return c
	case a.Digest != b.Digest:
		c.Kind, c.Notes = NotCompared, []string{"the case itself was changed"}
		return c
	}
	up, down := false, false
	if a.Status != b.Status {
		c.Notes = append(c.Notes, fmt.Sprintf("session: %s → %s", a.Status, b.Status))
		up, down = a.Status == Broke, b.Status == Broke
	}
	for _, q := range compared {
		x, y := q.answer(*a), q.answer(*b)
		if x == y || x == Unknown || y == Unknown {
			continue
		}
		up, down = up || rank[y] > rank[x], down || rank[y] < rank[x]
		c.Notes = append(c.Notes, fmt.Sprintf("%s: %s → %s", q.what, x, y))
	}
	switch {
	case up && down:
		c.Kind = Mixed
	case up:
		c.Kind = Better
	case down:
		c.Kind = Worse
	}
	return c
}

// Count is how many changes are of a kind.
func (c Comparison) Count(kind string) int {
	n := 0
	for _, x := range c.Changes {
		if x.Kind == kind {
			n++
		}
	}
	return n
}

// AsGood reports whether every case that ran in the first results is at least
// as good in the second ones. What cannot be compared is not known to be.
func (c Comparison) AsGood() bool {
	for _, x := range c.Changes {
		lost := x.Kind == NotCompared && x.A.Status != NotRun
		if x.Kind == Worse || x.Kind == Mixed || lost {
			return false
		}
	}
	return true
}

// Write writes the comparison for a terminal, and the shares of both sides.
func (c Comparison) Write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "case\t\truns\ttokens\tcost\tseconds\twhat changed")
	var a, b []Record
	for _, x := range c.Changes {
		var runs, tokens, money, took string
		if x.Kind != New && x.Kind != NotCompared {
			a, b = append(a, *x.A), append(b, *x.B)
			runs, tokens = arrow(number(x.A.Runs), number(x.B.Runs)), arrow(number(x.A.Tokens), number(x.B.Tokens))
			money, took = arrow(cost(x.A.Cost), cost(x.B.Cost)), arrow(seconds(x.A.Seconds), seconds(x.B.Seconds))
		}
		fmt.Fprintln(t, printable(strings.Join([]string{x.Case, x.Kind, runs, tokens, money, took, strings.Join(x.Notes, "; ")}, "\t")))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%d better, %d worse, %d mixed, %d same, %d new, %d not compared\n\n",
		c.Count(Better), c.Count(Worse), c.Count(Mixed), c.Count(Same), c.Count(New), c.Count(NotCompared))
	fmt.Fprintln(t, "of the cases that ran in both\tbefore\tafter")
	before, after := Summarize(a), Summarize(b)
	for _, q := range questions {
		x, y := before.share(q.what), after.share(q.what)
		if x.Of+y.Of > 0 {
			fmt.Fprintf(t, "%s\t%s\t%s\n", q.what, x, y)
		}
	}
	return t.Flush()
}

func (s Summary) share(what string) Share {
	for _, x := range s.Shares {
		if x.What == what {
			return x
		}
	}
	return Share{What: what}
}

func arrow(a, b string) string {
	if a == b {
		return a
	}
	return a + " → " + b
}
