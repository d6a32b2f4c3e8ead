package experiment_test

import (
	"slices"
	"strings"
	"testing"

	"culprit/internal/experiment"
	"culprit/internal/requiretest"
	"culprit/internal/session"
)

const priceTest = `import unittest
from price import total

class Price(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([250, 250], 10), 450)
`

const priceBefore = `def total(items, discount):
    amount = 0
    for i in items:
        amount += i
    return amount - amount * discount // 100
`

// priceAfter adds thirty lines in one hunk, one of which is wrong.
const priceAfter = `def total(items, discount):
    amount = 0
    for i in items:
        amount += i
    if not items:
        return 0
    cheapest, dearest = items[0], items[0]
    for i in items:
        if i < 0:
            raise ValueError("an item costs less than nothing")
        cheapest = min(cheapest, i)
        dearest = max(dearest, i)
    if cheapest > dearest:
        raise ValueError("the cheapest is the dearest")
    if discount < 0:
        discount = 0
    if discount > 100:
        discount = 100
    if len(items) > 1:
        amount = amount // 100 * 100
        discount += len(items)
        amount = max(amount, dearest)
    limit = 1 << 40
    if amount > limit:
        amount = limit
    elif amount < 0:
        raise ValueError("the sum is too large")
    if amount < cheapest:
        raise ValueError(
            "the sum is less than the cheapest item",
            amount,
            cheapest,
        )
    assert amount >= dearest
    return amount - amount * discount // 100
`

func TestAHunkOfThirtyLinesIsNarrowedToTheRightOne(t *testing.T) {
	t.Parallel()
	requiretest.Program(t, "python3")
	r := newRepository(t)
	r.commit(map[string]string{"price.py": priceBefore, "test_price.py": priceTest})
	culprit := r.commit(map[string]string{"price.py": priceAfter})
	r.commit(map[string]string{"notes": "later\n"})
	failure := session.Failure{Framework: "unittest", Package: "test_price", File: "test_price.py", Test: "Price.test_total", Line: 6, Kind: session.KindTest}
	l, s, p := openKit(t, r, failure, "")
	f := solveCause(t, l, s)
	c := f.Cause
	if c.Culprit.SHA != culprit || len(c.Minimal) != 1 || c.ChangedLines != 30 {
		t.Fatalf("%s: %d hunks, %d lines", f.Findings, len(c.Minimal), c.ChangedLines)
	}
	if len(c.Lines) != 1 || c.Lines[0].Text != "+        discount += len(items)\n" || c.Location != "price.py:21" {
		t.Errorf("%s\nlines %+v at %s", f.Findings, c.Lines, c.Location)
	}
	if !strings.Contains(f.Findings, "Of 30 changed lines 1 decides.") || !slices.ContainsFunc(f.EvidenceFor, func(e string) bool { return strings.HasPrefix(e, "price.py:21 — ") }) {
		t.Errorf("%s\n%s", f.Findings, strings.Join(f.EvidenceFor, "\n"))
	}
	runs := 0
	for _, n := range p.count {
		runs += n
	}
	if runs > 50 {
		t.Errorf("%d runs", runs)
	}
	t.Logf("%d runs", runs)
}

// solveCause finds good commit and culprit.
func solveCause(t *testing.T, l *experiment.Lab, s *session.Session) session.Finding {
	t.Helper()
	a, err := experiment.FindGood(t.Context(), l, s)
	if err != nil {
		t.Fatal(err)
	}
	s.Archaeology = &a
	f := experiment.NewInvestigator(l).Investigate(t.Context(), s, session.Task{ID: "H1"})
	if f.Verdict != session.Confirmed {
		t.Fatalf("%s: %s%s", f.Verdict, f.Findings, f.Error)
	}
	return f
}
