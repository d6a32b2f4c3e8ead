package pipeline

import (
	"context"
	"strings"
	"testing"

	"culprit/internal/session"
)

// movedBranch is a Rebaser whose answer is known. In the world's terms "c12"
// fails, and what is not named like that passes.
type movedBranch struct{ answer session.Rebase }

func (m movedBranch) Rebase(context.Context, *session.Session) (*session.Rebase, error) {
	if m.answer.Head == "" {
		return nil, nil
	}
	r := m.answer
	r.Branch = "main"
	return &r, nil
}

// A branch that moved on while the session ran gets a fix that was proven on it
// as it is now, or none, or one that says what was not done.
func TestAFixIsProvenOnItsBranchAsItIsNow(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer   session.Rebase
		spent    bool // no run is left
		proposed bool
		base     string
		proven   bool
		says     string // in what was not checked
	}{
		"stands still":              {proposed: true, base: "c9"},
		"moved":                     {answer: session.Rebase{Head: "c12", Commit: "fix-on-c12"}, proposed: true, base: "c12", proven: true},
		"fixed by somebody":         {answer: session.Rebase{Head: "c2", Conflict: "a.go was changed"}, base: "c9", says: "passes the test without the fix"},
		"passes without the fix":    {answer: session.Rebase{Head: "c2", Commit: "fix-on-c2"}, base: "c2", says: "passes the test without the fix"},
		"fails with the fix too":    {answer: session.Rebase{Head: "c12", Commit: "c13"}, base: "c12", says: "fails the test with the fix too"},
		"conflict":                  {answer: session.Rebase{Head: "c12", Conflict: "a.go was changed"}, proposed: true, base: "c9", says: "the fix does not apply there (a.go was changed)"},
		"no run is left for proofs": {answer: session.Rebase{Head: "c12", Commit: "fix-on-c12"}, spent: true, proposed: true, base: "c12", says: "its proof was not run again: the session's limit of runs is reached"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			w.verdicts = regressionConfirmed
			d := w.deps()
			d.Rebaser = movedBranch{tt.answer}
			s := w.start()
			if tt.spent {
				d.Rebaser = spentBudget{movedBranch{tt.answer}, w}
			}
			if err := Run(t.Context(), s, d); err != nil {
				t.Fatal(err)
			}
			if s.Result != session.ResultFixed || (w.proposals == 1) != tt.proposed || w.finals != 1 {
				t.Errorf("result %s, %d proposals, %d finals", s.Result, w.proposals, w.finals)
			}
			if s.FixBase() != tt.base || (s.Rebase != nil && s.Rebase.Proven()) != tt.proven {
				t.Errorf("base %s, rebase %+v", s.FixBase(), s.Rebase)
			}
			if tt.says != "" && !strings.Contains(strings.Join(s.NotChecked, "\n"), tt.says) {
				t.Errorf("notes %q", s.NotChecked)
			}
			if saved := w.load(t); saved.FixBase() != tt.base {
				t.Errorf("saved with base %s", saved.FixBase())
			}
		})
	}
}

// spentBudget is a session whose runs are used up when its fix is proven.
type spentBudget struct {
	movedBranch
	w *world
}

func (b spentBudget) Rebase(ctx context.Context, s *session.Session) (*session.Rebase, error) {
	b.w.maxRuns = b.w.runs
	return b.movedBranch.Rebase(ctx, s)
}
