package pipeline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"culprit/internal/session"
	"culprit/internal/toolchain"
)

// excludes are the kinds of which a cause that was read and one that was found
// by experiment cannot both be true. A line that is wrong and the commit that
// brought it can.
var excludes = map[session.HypothesisKind]string{
	session.TestFault:   "the one says that the code is wrong, the other that the test is",
	session.Environment: "the one says that the code is wrong, the other that it is right and this environment makes it fail",
}

// contradict notes what two workers say and cannot both be true. It decides
// nothing: people are told.
func (e *env) contradict() {
	s := e.s
	s.Contradictions = nil
	add := func(format string, args ...any) {
		s.Contradictions = append(s.Contradictions, fmt.Sprintf(format, args...))
	}
	rows := s.Wave(1)
	for i, a := range rows {
		ca := s.Causes[a.ID]
		if ca == nil || ca.Kind != session.Reading {
			continue
		}
		for j, b := range rows {
			cb := s.Causes[b.ID]
			switch {
			case i == j:
			case cb == nil:
				// Both were asked whether the code is wrong.
				if at := shared(a.EvidenceFor, b.EvidenceAgainst); at != "" && reads(s, b.ID) {
					add("%s is confirmed by %s, and %s has the same line as evidence against it", a.ID, at, b.ID)
				}
			case cb.Kind == session.Reading && i < j && apart(ca.Location, cb.Location):
				add("%s and %s name different places for the same failure: %s and %s", a.ID, b.ID, ca.Location, cb.Location)
			case excludes[cb.Kind] != "" && !toolchain.IsTestFile(fileOf(ca.Location)):
				add("%s and %s are both confirmed: %s", a.ID, b.ID, excludes[cb.Kind])
			}
		}
	}
	for _, x := range s.Challenges {
		if x.Result == session.Contested && x.As == "" {
			add("%s is confirmed, and a second look found evidence against it: %s", x.Task, x.Findings)
		}
	}
}

// reads reports whether a row was tested by reading.
func reads(s *session.Session, id string) bool {
	return slices.ContainsFunc(s.Hypotheses, func(h session.Hypothesis) bool { return h.ID == id && h.Kind == session.Reading })
}

// shared is the first place that stands in both lists of evidence.
func shared(a, b string) string {
	for l := range strings.Lines(a) {
		at, _, _ := strings.Cut(strings.TrimSpace(l), " — ")
		for m := range strings.Lines(b) {
			if other, _, _ := strings.Cut(strings.TrimSpace(m), " — "); other == at && strings.Contains(at, ":") {
				return at
			}
		}
	}
	return ""
}

// near is how many lines apart two workers may point and mean the same.
const near = 20

// apart reports whether two locations are different places.
func apart(a, b string) bool {
	if fileOf(a) != fileOf(b) {
		return true
	}
	x, y := lineOf(a), lineOf(b)
	return max(x-y, y-x) > near
}

// lineOf is the line of a location "path:line"; 0: it names none.
func lineOf(location string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(location[len(fileOf(location)):], ":"))
	if err != nil {
		return 0
	}
	return n
}

// fileOf is the file of a location "path:line".
func fileOf(location string) string {
	if i := strings.LastIndexByte(location, ':'); i > 0 {
		return location[:i]
	}
	return location
}
