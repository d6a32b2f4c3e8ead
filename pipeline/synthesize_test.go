package pipeline

import (
	"context"
	"slices"
	"testing"

	"culprit/internal/session"
)

// synthesizer gives one account and counts how often it was asked.
type synthesizer struct {
	out   session.Synthesis
	asked int
}

func (x *synthesizer) Synthesize(context.Context, *session.Session) session.Synthesis {
	x.asked++
	return x.out
}

func TestFindingsAreWeighedTogetherOnceWhereThereAreSeveral(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		world func(w *world)
		asked int
	}{
		"two readers":    {read, 1},
		"one experiment": {func(w *world) { w.verdicts = regressionConfirmed }, 0},
		"nothing":        {func(*world) {}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			c.world(w)
			x := &synthesizer{out: session.Synthesis{
				Statements: []session.Statement{{Text: "It is so.", Cites: []string{"a.go:1"}}}, Causes: []session.RankedCause{{Task: "H3"}, {Task: "H99"}}, Obvious: true,
				Spent: session.Spent{Tokens: 5},
			}}
			d := w.deps()
			d.Reads, d.Synthesizer = true, x
			s := w.start()
			if err := Run(t.Context(), s, d); err != nil {
				t.Fatal(err)
			}
			if x.asked != c.asked || (s.Synthesis != nil) != (c.asked == 1) || s.Budget.Tokens != 5*c.asked {
				t.Errorf("asked %d times, %+v, %d tokens", x.asked, s.Synthesis, s.Budget.Tokens)
			}
			if c.asked == 1 && (len(s.Synthesis.Causes) != 2 || s.Synthesis.Causes[0].Task != "H3" || s.Synthesis.Causes[0].Strength != "by reading") {
				t.Errorf("causes %+v", s.Synthesis.Causes)
			}
		})
	}
}

// CR9: a model's order holds only among what is backed equally.
func TestCausesAreRankedByWhatBacksThem(t *testing.T) {
	t.Parallel()
	s := &session.Session{
		Tasks: []session.Task{
			{ID: "H1", Wave: 1, Verdict: session.Confirmed}, {ID: "H2", Wave: 1, Verdict: session.Confirmed}, {ID: "H3", Wave: 1, Verdict: session.Confirmed},
			{ID: "H4", Wave: 1, Verdict: session.Refuted, EvidenceFor: "a.go:1 — x"}, {ID: "H5", Wave: 1, Verdict: session.Inconclusive, EvidenceFor: "a.go:1 — x"},
			{ID: "H6", Wave: 1, Verdict: session.Confirmed}, {ID: "FIX-H1", Wave: 2},
		},
		Causes: map[string]*session.RootCause{
			"H1": {Task: "H1", Kind: session.Reading}, "H2": {Task: "H2", Kind: session.Regression}, "H3": {Task: "H3", Kind: session.Reading}, "H6": {Task: "H6", Kind: session.Reading},
		},
		Challenges: []session.Challenge{{Task: "H6", Result: session.Contested}},
	}
	var named []session.RankedCause
	for _, id := range []string{"H5", "H4", "H6", "H3", "H3", "FIX-H1", "H77", "H2"} {
		named = append(named, session.RankedCause{Task: id})
	}
	want := []session.RankedCause{{Task: "H2", Strength: "by runs"}, {Task: "H3", Strength: "by reading"}, {Task: "H1", Strength: "by reading"}, {Task: "H6", Strength: "contested"}, {Task: "H5", Strength: "open"}}
	if got := ranked(s, named); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}
