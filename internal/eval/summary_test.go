package eval

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"culprit/internal/session"
)

var update = flag.Bool("update", false, "write the golden files and the docs")

// golden holds text against a file.
func golden(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != text {
		t.Errorf("%s is not what is written now (go test ./internal/eval -update):\n%s", file, text)
	}
}

// sample are results with every kind of answer, one of them hostile.
func sample() []Record {
	judged := func(id string, change func(o *Observed)) Record {
		r := Record{
			Schema: SchemaVersion, Case: id, Digest: "d", Version: "v1", Settings: "model none", Status: Ran, ResultHit: Unknown, Reproduced: None,
			Culprit: Unknown, FileHit: Unknown, LineHit: Unknown, Fix: None, HeldOut: Unknown,
		}
		o := found(shaA)
		change(&o)
		r.took(o)
		r.judge(o)
		return r
	}
	return []Record{
		judged("right", func(*Observed) {}),
		judged("wrong-culprit", func(o *Observed) {
			o.Session.RootCause.Culprit.SHA, o.Session.Result, o.Session.Reason = shaB, session.ResultRootCause, "the revert | conflicts\n\x1b[31m<b>"
			o.Place, o.HeldOut = Place{"a.go", 40, 41}, None
		}),
		judged("bad-fix", func(o *Observed) { o.HeldOut, o.Why = No, "exit code 1" }),
		judged("flaky", func(o *Observed) {
			o.Known, o.HeldOut, o.Place = Known{Result: session.ResultFlaky}, Unknown, Place{}
			o.Session.Result, o.Session.RootCause = session.ResultFlaky, nil
		}),
		{Case: "absent", Digest: "d", Status: NotRun, Error: "no clone of it", Reproduced: None, Culprit: Unknown, FileHit: Unknown, LineHit: Unknown, Fix: None, HeldOut: Unknown, ResultHit: Unknown},
		{Case: "broken", Digest: "d", Status: Broke, Error: "the disk is full", Reproduced: None, Culprit: None, FileHit: None, LineHit: None, Fix: None, HeldOut: None, ResultHit: Unknown},
	}
}

func TestTheSummaryOnATerminalAndAsMarkdown(t *testing.T) {
	t.Parallel()
	var terminal, page bytes.Buffer
	if err := WriteTable(&terminal, sample()); err != nil {
		t.Fatal(err)
	}
	if err := WriteMarkdown(&page, sample()); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(terminal.String()+page.String(), "\x1b\r") {
		t.Error("foreign text can steer the terminal")
	}
	golden(t, filepath.Join("testdata", "summary.txt"), terminal.String())
	golden(t, filepath.Join("testdata", "summary.md"), page.String())
}

func TestWhatDidNotRunIsPartOfNoShareAndWhatBrokeIs(t *testing.T) {
	t.Parallel()
	s := Summarize(sample())
	if s.Cases != 6 || s.NotRun != 1 || s.Broke != 1 {
		t.Errorf("counted %+v", s)
	}
	for _, want := range []Share{
		{"reproduced", 4, 5}, {"culprit right", 2, 4}, {"culprit named and wrong", 1, 4}, {"root cause on a right line", 2, 4},
		{"fix verified", 2, 4}, {"held-out test passed, of all cases", 1, 4}, {"held-out test passed, of verified fixes", 1, 2}, {"ended as it should", 1, 1},
	} {
		if got := s.share(want.What); got != want {
			t.Errorf("got %v of %q, want %v", got, want.What, want)
		}
	}
}

func TestComparisonTellsCaseByCaseWhatChanged(t *testing.T) {
	t.Parallel()
	a, b := sample(), sample()
	change := func(i int, f func(r *Record)) { f(&b[i]) }
	change(0, func(r *Record) { r.LineHit, r.Runs = None, 12 })            // worse
	change(1, func(r *Record) { r.Culprit = None })                        // better: no wrong claim any more
	change(2, func(r *Record) { r.HeldOut, r.Fix = None, None })           // mixed: a bad fix is not offered any more
	change(3, func(r *Record) { r.Tokens, r.Seconds = 1000, 50 })          // same: dearer is not worse
	change(4, func(r *Record) { r.Status, r.Error = Ran, "" })             // new
	change(5, func(r *Record) { r.Status, r.Reproduced = Ran, Yes })       // better
	b = append(b, Record{Case: "further", Status: Ran, Reproduced: Yes})   // new
	a = append(a, Record{Case: "gone", Status: Ran}, Record{Case: "edit"}) // not compared
	b = append(b, Record{Case: "edit", Digest: "other", Status: Ran})
	c := Compare(a, b)
	want := map[string]string{"right": Worse, "wrong-culprit": Better, "bad-fix": Mixed, "flaky": Same, "absent": New, "broken": Better, "further": New, "gone": NotCompared, "edit": NotCompared}
	if len(c.Changes) != len(want) {
		t.Errorf("%d changes, want %d", len(c.Changes), len(want))
	}
	for _, x := range c.Changes {
		if x.Kind != want[x.Case] {
			t.Errorf("%s is %q, want %q: %q", x.Case, x.Kind, want[x.Case], x.Notes)
		}
	}
	var out bytes.Buffer
	if err := c.Write(&out); err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "compare.txt"), out.String())
}

func TestOnlyResultsInWhichNothingWasLostAreAsGood(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(r *Record)
		good   bool
	}{
		{"the same", func(*Record) {}, true},
		{"dearer", func(r *Record) { r.Runs, r.Cost, r.Seconds = 900, 90, 900 }, true},
		{"wrong claim", func(r *Record) { r.Culprit = No }, false},
		{"broke", func(r *Record) { r.Status = Broke }, false},
		{"not run", func(r *Record) { r.Status = NotRun }, false},
		{"another case of that ID", func(r *Record) { r.Digest = "other" }, false},
	} {
		a, b := sample()[:1], sample()[:1]
		tt.change(&b[0])
		if got := Compare(a, b).AsGood(); got != tt.good {
			t.Errorf("%s: as good is %t", tt.name, got)
		}
	}
	if Compare(sample()[:2], sample()[:1]).AsGood() {
		t.Error("a case that is missing passes")
	}
	if absent := sample()[4:5]; !Compare(absent, absent).AsGood() {
		t.Error("a case that never ran fails")
	}
}

func TestOfSeveralRecordsOfACaseTheLastThatRanCounts(t *testing.T) {
	t.Parallel()
	old, ran, not := sample()[0], sample()[0], sample()[0]
	old.Culprit, not.Status = No, NotRun
	by, order := latest([]Record{old, ran, not})
	if len(order) != 1 || by["right"].Culprit != Yes || by["right"].Status != Ran {
		t.Errorf("counts %+v", by["right"])
	}
}

// The docs hold what the code says: the table of keys and the schema.
func TestTheDocsAreWhatTheCodeSays(t *testing.T) {
	t.Parallel()
	page := filepath.Join("..", "..", "docs", "eval.md")
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- keys: go test ./internal/eval -update -->\n\n", "\n<!-- end of keys -->"
	head, rest, ok := strings.Cut(string(data), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no table of keys", page)
	}
	golden(t, page, head+begin+Markdown()+end+tail)
	golden(t, filepath.Join("..", "..", "docs", "eval.schema.json"), string(Schema()))
}
