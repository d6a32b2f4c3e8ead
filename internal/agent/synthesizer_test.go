package agent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"culprit/internal/session"
)

// words makes a statement of n words.
func words(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) + "." }

const lineBacks = `quotes: [{path: cart.go, line: 4, quote: "sum := 1"}], runs: []`

func said(text, backing string) string { return `{text: "` + text + `", ` + backing + `}` }

func accountOf(statements ...string) string {
	return `{calls: [{name: report, arguments: {causes: [H1, H9], obvious: true, statements: [` + strings.Join(statements, ", ") + `]}}]}`
}

// CR9: what a synthesis says counts as far as it names what is there.
func TestASynthesisKeepsWhatIsBacked(t *testing.T) {
	t.Parallel()
	whole := []string{}
	for range 5 {
		whole = append(whole, said(words(40), lineBacks))
	}
	for _, c := range []struct {
		name, rules  string
		kept, struck int
		why, told    string
	}{
		{"all of it is backed", `[{answer: ` + accountOf(whole...) + `}]`, 5, 0, "", ""},
		{"too short", `[{answer: ` + accountOf(said("It is the sum.", lineBacks)) + `}]`, 1, 0, "", "is to have 200 to 400"},
		{"too long", `[{answer: ` + accountOf(append(whole, append(whole, whole...)...)...) + `}]`, 15, 0, "", "it has 600 words"},
		{"a sentence with nothing", `[{answer: ` + accountOf(append(whole, said("Trust me.", "quotes: [], runs: []"))...) + `}]`, 5, 1, "", "1 of 6 statements name nothing"},
		{"an invented line", `[{answer: ` + accountOf(append(whole, said("Trust me.", `quotes: [{path: cart.go, line: 4, quote: "sum := 99"}], runs: []`))...) + `}]`, 5, 1, "", "cart.go:4"},
		{"a run", `[{answer: ` + accountOf(append(whole, said("It fails.", `quotes: [], runs: [{log: logs/run.log, outcome: fail}]`))...) + `}]`, 6, 0, "", ""},
		{"a run with another outcome", `[{answer: ` + accountOf(append(whole, said("It passes.", `quotes: [], runs: [{log: logs/run.log, outcome: pass}]`))...) + `}]`, 5, 1, "", "its outcome was fail"},
		{"it is mended", `
  - {times: 1, answer: ` + accountOf(said("Trust me.", "quotes: [], runs: []")) + `}
  - {answer: ` + accountOf(whole...) + `}
`, 5, 0, "", "1 of 1 statements"},
		{"nothing holds", `[{answer: ` + accountOf(said("Trust me.", "quotes: [], runs: []")) + `}]`, 0, 1, "nothing that was said is backed", ""},
		{"no report", `[{answer: {text: "It is the sum."}}]`, 0, 0, "missing", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, r, d := newShop(t, "rules: "+c.rules+"\n")
			if err := p.store.Record(session.Entry{Phase: "experiment", Source: "logs/run.log", Outcome: session.FailedSame, Commit: head}); err != nil {
				t.Fatal(err)
			}
			s, _, _ := shopSession()
			confirm(s)
			x := NewSynthesizer(r.client, d).Synthesize(t.Context(), s)
			if len(x.Statements) != c.kept || x.Struck != c.struck || !strings.Contains(x.Why, c.why) || (c.why == "") != (x.Why == "") || x.Spent.Tokens == 0 {
				t.Errorf("%+v", x)
			}
			var told strings.Builder
			for _, q := range r.server.Requests() {
				told.WriteString(q.Text("tool"))
				if q.Model != "other" || q.Offers("run_test") || !q.Offers("read") {
					t.Errorf("model %s, tools %+v", q.Model, q.Tools)
				}
			}
			if !strings.Contains(told.String(), c.told) {
				t.Errorf("the model was told %q", told.String())
			}
		})
	}
	_, r, d := newShop(t, `rules: [{answer: `+accountOf(said("It is the sum.", `quotes: [{path: cart.go, line: 4, quote: "sum := 1"}], runs: []`))+`}]`)
	s, _, _ := shopSession()
	x := NewSynthesizer(r.client, d).Synthesize(t.Context(), s)
	x.Spent = session.Spent{}
	want := session.Synthesis{
		Statements: []session.Statement{{Text: "It is the sum.", Cites: []string{"cart.go:4"}}},
		Causes:     []session.RankedCause{{Task: "H1"}, {Task: "H9"}}, Obvious: true,
	}
	if diff := cmp.Diff(want, x); diff != "" {
		t.Error(diff)
	}
	d.Budget = NewLocalBudget(Limits{Tokens: 100}, Amount{})
	if x := NewSynthesizer(r.client, d).Synthesize(t.Context(), s); !strings.Contains(x.Why, "limit on tokens") || len(x.Statements) != 0 {
		t.Errorf("%+v", x)
	}
}
