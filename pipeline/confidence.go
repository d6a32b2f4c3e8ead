package pipeline

import (
	"fmt"
	"math"

	"culprit/internal/session"
)

// weights of the five factors (QD14).
var weights = map[string]float64{
	"evidence_depth": .30, "evidence_strength": .25, "coverage_breadth": .20, "reproduction": .15, "consistency": .10,
}

// confidence scores the session from what was executed, never from what was
// claimed: factors in [0, 1], their weighted sum, and four dimensions (QD14).
func confidence(s *session.Session) session.Confidence {
	f, why := map[string]float64{}, []string{}
	set := func(name string, v float64, reason string) {
		f[name] = v
		why = append(why, fmt.Sprintf("%s %.0f %%: %s", name, v*100, reason))
	}
	set(depth(s))
	set(strengthOf(s))
	set(breadth(s))
	set(reproduced(s))
	set(consistency(s))
	c := session.Confidence{Factors: f, Why: why}
	for name, w := range weights {
		c.Score += w * f[name]
	}
	if s.RootCause == nil {
		// Without a confirmed cause the score speaks of nothing that a person
		// could act on; it stays below "medium".
		c.Score = math.Min(c.Score, .39)
	}
	if s.RootCause != nil && doubt(s, s.RootCause) < 1 {
		c.Score = math.Min(c.Score, .7) // a fix pull request of it is a draft
	}
	c.Score = math.Round(c.Score*100) / 100
	c.Level = level(c.Score)
	c.Dims = map[string]float64{
		"hypothesis_quality": f["coverage_breadth"], "evidence_completeness": (f["evidence_depth"] + f["reproduction"]) / 2,
		"root_cause_isolation": f["evidence_strength"], "fix_confidence": fixConfidence(s),
	}
	return c
}

// level maps a score to words: below 40 % low, to 70 % medium, above high.
func level(score float64) string {
	switch {
	case score < .4:
		return "low"
	case score <= .7:
		return "medium"
	}
	return "high"
}

func depth(s *session.Session) (string, float64, string) {
	const name = "evidence_depth"
	c := s.RootCause
	switch {
	case c == nil:
		return name, 0, "no cause was confirmed"
	case c.Kind == session.Reading:
		return name, .6, "a line that was read, without the commit that brought it"
	case c.Culprit == nil:
		return name, .5, "a cause without a commit"
	case len(c.Alternatives) > 0:
		return name, .4, fmt.Sprintf("the culprit is one of %d commits that could not be told apart", len(c.Alternatives)+1)
	case len(c.Minimal) == 0:
		return name, .7, "the commit, not the lines within it"
	case c.Location == "":
		return name, .8, "the hunks, but not the line"
	}
	// Not 1: why the line is wrong was not traced, only that it is the one.
	return name, .9, fmt.Sprintf("%d of %d hunks of one commit, down to the line", len(c.Minimal), c.Hunks)
}

func strengthOf(s *session.Session) (string, float64, string) {
	const name = "evidence_strength"
	c := s.RootCause
	switch {
	case c == nil:
		return name, 0, "no cause was confirmed"
	case c.Kind == session.Reading && proven(s):
		return name, .6, "a model read it, and the test passes with the line changed" + struck(c)
	case c.Kind == session.Reading:
		return name, math.Max(0, .4-.1*float64(c.Struck)) * doubt(s, c), "a model read it; no run decides it" + struck(c) + doubted(s, c)
	case c.Culprit == nil:
		return name, .6 * doubt(s, c), "decided by a swap, not by a commit and its parent" + doubted(s, c)
	}
	sure := c.Probability
	if sure == 0 {
		sure = 1
	}
	clean := c.AtCulprit.Runs >= 3 && c.AtCulprit.Failures == c.AtCulprit.Runs && c.AtParent.Runs >= 3 && c.AtParent.Failures == 0
	reason := fmt.Sprintf("fails %d/%d at the culprit, %d/%d at its parent", c.AtCulprit.Failures, c.AtCulprit.Runs, c.AtParent.Failures, c.AtParent.Runs)
	if !clean {
		sure *= .6
	}
	return name, sure * doubt(s, c), reason + doubted(s, c)
}

// doubt is what is left of a cause's strength after it was challenged. A proof
// by its fix is more than what was said against it (see Reading above).
func doubt(s *session.Session, c *session.RootCause) float64 {
	if x := s.Challenge(c.Task); x != nil && x.Result == session.Contested {
		return .5
	}
	return 1
}

func doubted(s *session.Session, c *session.RootCause) string {
	if doubt(s, c) < 1 {
		return "; there is evidence against it that decides nothing"
	}
	return ""
}

// proven reports whether the fix of the session's cause was confirmed by runs.
func proven(s *session.Session) bool {
	return s.Confirmation != nil && s.Confirmation.Overall == "confirmed"
}

func struck(c *session.RootCause) string {
	if c.Struck == 0 {
		return ""
	}
	return fmt.Sprintf("; %d pieces of its evidence were not there", c.Struck)
}

func breadth(s *session.Session) (string, float64, string) {
	const name = "coverage_breadth"
	rows := s.Wave(1)
	if len(rows) == 0 {
		return name, 0, "no hypothesis was tested"
	}
	decided := 0
	for _, t := range rows {
		if t.Verdict == session.Confirmed || t.Verdict == session.Refuted {
			decided++
		}
	}
	return name, float64(decided) / float64(len(rows)), fmt.Sprintf("%d of %d hypotheses decided", decided, len(rows))
}

func reproduced(s *session.Session) (string, float64, string) {
	const name = "reproduction"
	r := s.Reproduction
	switch {
	case r == nil || !r.Reproduced:
		return name, 0, "the failure was not seen here"
	case r.Flaky:
		return name, .5, fmt.Sprintf("it fails %d of %d runs", r.Count.Failures, r.Count.Runs)
	case !r.Alone:
		return name, .8, "it fails every time, but not alone"
	}
	return name, 1, fmt.Sprintf("it fails %d of %d runs, alone", r.Count.Failures, r.Count.Runs)
}

func consistency(s *session.Session) (string, float64, string) {
	const name = "consistency"
	confirmed := 0
	for _, t := range s.Wave(1) {
		// A line that was read does not contradict the commit that an
		// experiment found: it may be its reason.
		if t.Verdict == session.Confirmed && (s.Causes[t.ID] == nil || s.Causes[t.ID].Kind != session.Reading || s.RootCause == nil || s.RootCause.Task == t.ID) {
			confirmed++
		}
	}
	switch {
	case confirmed == 0:
		return name, 0, "no cause was confirmed"
	case len(s.Contradictions) > 0:
		return name, .3, "workers contradict each other: " + s.Contradictions[0]
	case confirmed > 1:
		return name, .5, fmt.Sprintf("%d hypotheses were confirmed at once", confirmed)
	case s.Confirmation != nil && s.Confirmation.Overall != "confirmed":
		return name, .5, "the fix did not hold: " + s.Confirmation.Why
	}
	return name, 1, "exactly one hypothesis was confirmed, the others do not contradict it"
}

func fixConfidence(s *session.Session) float64 {
	c := s.Confirmation
	switch {
	case c == nil || s.Fix == nil:
		return 0
	case c.Overall != "confirmed":
		return .1
	case c.Suite == nil || c.Suite.Note != "":
		return .7
	}
	return 1
}
