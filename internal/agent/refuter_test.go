package agent

import (
	"context"
	"strings"
	"testing"
	"time"

	"culprit/internal/session"
)

const stands = `{name: report, arguments: {id: H1, result_status: completed, challenge_verdict: stands, findings: "The sum is not touched elsewhere.", evidence: [], alternatives: [
  {explanation: "the loop skips a price", possible: false, path: cart.go, line: 5, quote: "for _, p := range prices {", shows: "it takes each"},
  {explanation: "the test is wrong", possible: true, path: cart_test.go, line: 9, quote: "want 99", shows: "nothing"}]}}`

const contested = `{name: report, arguments: {id: H1, result_status: completed, challenge_verdict: broken, findings: "The loop adds too much.", evidence: [{path: cart.go, line: 6, quote: "sum += p", shows: "it adds"}], alternatives: []}}`

// at another commit, whose ID is of one letter.
func at(letter string) string { return strings.Repeat(letter, 40) }

func byRun(letter, outcome string) string {
	return `
  - {times: 1, answer: {calls: [{name: run_at, arguments: {rev: ` + at(letter) + `}}]}}
  - {answer: {calls: [{name: report, arguments: {id: H1, result_status: completed, challenge_verdict: broken, findings: "The reason is elsewhere.", evidence: [], alternatives: [], runs: [{log: logs/` + strings.Repeat(letter, 2) + `.log, outcome: ` + outcome + `, shows: "another outcome"}]}}]}}
`
}

// QD14: what a refuter cannot show changes nothing, what it shows is told, and
// only a run that decides overturns a verdict.
func TestEveryReportOfARefuterHasItsResult(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, rules string
		want        session.Challenged
		says        string
		evidence    int
	}{
		{"it stands", `[{answer: {calls: [` + stands + `]}}]`, session.Stands, "", 0},
		{"a line against it", `[{answer: {calls: [` + contested + `]}}]`, session.Contested, "", 1},
		{"an invented line", `[{answer: {calls: [` + strings.Replace(contested, "sum += p", "sum += 99", 1) + `]}}]`, session.Stands, "nothing of what was said against it is there", 0},
		{"nothing but words", `[{answer: {calls: [` + strings.Replace(contested, `[{path: cart.go, line: 6, quote: "sum += p", shows: "it adds"}]`, "[]", 1) + `]}}]`, session.Stands, "nothing of what was said", 0},
		{"a run that was not made", `[{answer: {calls: [` + strings.Replace(contested, "alternatives: []", "alternatives: [], runs: [{log: logs/no.log, outcome: pass, shows: x}]", 1) + `]}}]`, session.Contested, "", 1},
		{"the reproduction as a run", `
  - {times: 1, answer: {calls: [{name: run_test, arguments: {}}]}}
  - {answer: {calls: [` + strings.Replace(contested, "alternatives: []", "alternatives: [], runs: [{log: logs/run.log, outcome: fail, shows: x}]", 1) + `]}}
`, session.Contested, "", 2},
		{"it passes where the file is the same", byRun("c", "pass"), session.Broken, "the test passes at cccccccc with the same cart.go", 1},
		{"it passes where the file differs", byRun("d", "pass"), session.Contested, "", 1},
		{"it fails where the file is not there", byRun("e", "fail"), session.Broken, "fails in the same way at eeeeeeee without cart.go", 1},
		{"the run had another outcome", byRun("e", "pass"), session.Stands, "nothing of what was said", 0},
		{"for another row", `[{answer: {calls: [` + strings.Replace(contested, "id: H1", "id: H2", 1) + `]}}]`, session.Undecided, "could not work", 0},
		{"failed", `[{answer: {calls: [` + strings.NewReplacer("completed", "failed", "broken", "stands").Replace(contested) + `]}}]`, session.Undecided, "could not work", 0},
		{"no report", `[{answer: {text: "it is wrong"}}]`, session.Undecided, "missing", 0},
		{"refused", `[{answer: {refusal: "no"}}]`, session.Undecided, "refused", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, r, d := newShop(t, "rules: "+c.rules+"\n")
			p.old = map[string]map[string]string{at("c"): p.files, at("d"): {"cart.go": "package cart\n"}, at("e"): {"other.go": "package cart\n"}}
			p.passes = at("c")
			if strings.Contains(c.name, "differs") {
				p.passes = at("d")
			}
			s, _, _ := shopSession()
			confirm(s)
			x := NewRefuter(r.client, d).Refute(t.Context(), s, s.Tasks[0])
			if x.Task != "H1" || x.Result != c.want || !strings.Contains(x.Why, c.says) || len(x.Evidence) != c.evidence || x.Spent.Tokens == 0 {
				t.Errorf("%+v", x)
			}
			if c.want == session.Stands && c.name == "it stands" && (len(x.Alternatives) != 1 || x.Struck != 1 || x.Alternatives[0].Possible) {
				t.Errorf("alternatives %+v, struck %d", x.Alternatives, x.Struck)
			}
			for _, q := range r.server.Requests() {
				if q.Model != "other" || q.Offers("board_read") || q.Offers("edit") {
					t.Errorf("model %s, tools %+v", q.Model, q.Tools)
				}
			}
		})
	}
}

func TestARefuterLeavesEnoughForTheFix(t *testing.T) {
	t.Parallel()
	_, r, d := newShop(t, "rules: [{answer: {calls: ["+stands+"]}}]\n")
	s, _, _ := shopSession()
	confirm(s)
	d.Context = 10_000
	for _, c := range []struct {
		tokens int64
		want   session.Challenged
	}{{21_000, session.LeftOut}, {22_000, session.Stands}} {
		d.Budget = NewLocalBudget(Limits{Tokens: c.tokens}, Amount{})
		if x := NewRefuter(r.client, d).Refute(t.Context(), s, s.Tasks[0]); x.Result != c.want || (c.want == session.LeftOut) != strings.Contains(x.Why, "limit on tokens for the session") {
			t.Errorf("%d tokens: %+v", c.tokens, x)
		}
	}
}

func TestARefuterThatRunsOutChangesNothing(t *testing.T) {
	t.Parallel()
	_, r, d := newShop(t, "rules: [{answer: {text: x, hold: never}}]\n")
	s, _, _ := shopSession()
	confirm(s)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if x := NewRefuter(r.client, d).Refute(ctx, s, s.Tasks[0]); x.Result != session.Undecided || !strings.Contains(x.Why, "out of time") {
		t.Errorf("%+v", x)
	}
}
