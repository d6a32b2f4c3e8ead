package report

import (
	"fmt"
	"strings"

	"culprit/internal/session"
)

// mostPast is how many earlier sessions are named.
const mostPast = 3

// SeenBefore tells what earlier sessions found of the failing test, the newest
// first (QD4).
func (v *view) SeenBefore() string {
	tests := v.FailingTests()
	if len(tests) == 0 {
		return ""
	}
	var said []string
	more := 0
	for _, p := range v.Past {
		switch {
		case p.Test != tests[0]:
		case len(said) == mostPast:
			more++
		default:
			said = append(said, v.past(p))
		}
	}
	if len(said) == 0 {
		return ""
	}
	s := "**This test before**: " + strings.Join(said, "; ")
	if more > 0 {
		s += "; and " + count(more, "earlier session")
	}
	return s + "."
}

// past is one earlier session: what it found, when, and its link.
func (v *view) past(p session.Past) string {
	day := p.At.UTC().Format("2 January 2006")
	if u := address(p.URL); u != "" {
		day = "[" + day + "](" + u + ")"
	}
	culprit := ""
	if p.Culprit != nil {
		culprit = ", culprit " + v.commit(*p.Culprit)
	}
	switch p.Result {
	case session.ResultFlaky:
		s := "flaky on " + day
		if p.Flake != nil && p.Flake.Runs > 0 {
			s += fmt.Sprintf(" (failed %d of %s)", p.Flake.Failures, count(p.Flake.Runs, "run"))
		}
		return s
	case session.ResultFixed:
		s := "fixed on " + day
		if p.FixPR > 0 {
			s = "a fix proposed on " + day + " in " + number(p.FixPR)
		}
		return s + culprit
	case session.ResultRootCause:
		return "root cause found on " + day + culprit
	case session.ResultNotReproduced:
		return "did not fail here on " + day
	}
	return "no cause found on " + day
}
