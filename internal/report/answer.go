package report

import (
	"fmt"
	"strings"

	"culprit/internal/session"
)

// AnswerKind says what a command's comment is answered.
type AnswerKind string

// The answers (docs/commands.md).
const (
	AnswerMistake      AnswerKind = "mistake"       // Detail: what is wrong
	AnswerHelp         AnswerKind = "help"          //
	AnswerAutotest     AnswerKind = "autotest"      // there is no such pipeline yet
	AnswerRunning      AnswerKind = "running"       // a session is at work here; Session, URL
	AnswerClosed       AnswerKind = "closed"        // the issue or pull request is
	AnswerEmpty        AnswerKind = "empty"         // the repository has no commit
	AnswerNothingRuns  AnswerKind = "nothing_runs"  // stop
	AnswerNoSession    AnswerKind = "no_session"    // explain, answer: none is known here
	AnswerNoHypothesis AnswerKind = "no_hypothesis" // Detail: the one that was asked for; Session, List
	AnswerNoQuestion   AnswerKind = "no_question"   // Session, URL
	AnswerForkMoved    AnswerKind = "fork_moved"    // pushed to after the command; Detail: the present head
	AnswerForkRefused  AnswerKind = "fork_refused"  // a fork's code needs write permission
	AnswerTooMany      AnswerKind = "too_many"      // -c; Detail: the most
	AnswerFailed       AnswerKind = "failed"        // Detail: why it could not be carried out
	AnswerReviewFailed AnswerKind = "review_failed" // of a fix; Detail: why it could not be worked through
	AnswerReviewUnkept AnswerKind = "review_unkept" // the session of the fix is not kept any more
)

// Answer is what is said to a command that starts nothing.
type Answer struct {
	Kind    AnswerKind
	Detail  string   // foreign
	List    []string // foreign
	Session string
	URL     string // of the session's comment; empty when not known
	Usage   string // of the commands, for mistakes and help
}

// AnswerMarker is the hidden line by which the answer to a comment is found
// again, so that a comment has one.
func AnswerMarker(comment int64) string { return fmt.Sprintf("<!-- culprit:answer=%d -->", comment) }

// AnswerText is the answer to a comment, in Markdown.
func AnswerText(comment int64, a Answer) string {
	return AnswerMarker(comment) + "\n" + render("answer", answerView{a})
}

// NoticeMarker is the hidden line by which a notice is found again, so that a
// pull request has one of a kind.
func NoticeMarker(kind AnswerKind) string {
	return "<!-- culprit:notice=" + line(string(kind)) + " -->"
}

// Notice is what is said to a pull request as a whole, in Markdown.
func Notice(a Answer) string { return NoticeMarker(a.Kind) + "\n" + render("answer", answerView{a}) }

type answerView struct{ Answer }

// Where names the session, as a link where its comment is known.
func (v answerView) Where() string {
	name := "Session `" + line(v.Session) + "`"
	if u := address(v.URL); u != "" {
		return "[" + name + "](" + u + ")"
	}
	return name
}

// address is a link to something on GitHub, with its fragment.
func address(s string) string {
	page, fragment, _ := strings.Cut(s, "#")
	page = web(page)
	if page == "" || strings.ContainsFunc(fragment, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) {
		return ""
	}
	if fragment == "" {
		return page
	}
	return page + "#" + fragment
}

// Says is the detail within a sentence.
func (v answerView) Says() string { return prose(cut(line(v.Detail), 400)) }

// Listed is the list within a sentence.
func (v answerView) Listed() string {
	var out []string
	for _, s := range v.List[:min(len(v.List), 20)] {
		out = append(out, prose(cut(line(s), 40)))
	}
	return strings.Join(out, ", ")
}

// Commands is the list of commands.
func (v answerView) Commands() string { return fence("text", v.Usage, 60) }

// Explanation is the answer to "/debug explain H2": everything that the
// session holds about the hypothesis. The task must be one of its rows.
func Explanation(comment int64, s *session.Session, task string) string {
	marker := AnswerMarker(comment) + "\n"
	out := ""
	for _, l := range levels {
		if out = marker + render("explanation", explained{&view{s, l}, task}); len([]rune(out)) <= MaxText {
			break
		}
	}
	return out
}

type explained struct {
	*view
	id string
}

// Row is the hypothesis' row; an empty one when it is missing.
func (v explained) Row() session.Task {
	if t := v.Task(v.id); t != nil {
		return *t
	}
	return session.Task{ID: v.id}
}

// Head is the first line.
func (v explained) Head() string {
	t := v.Row()
	verdict := string(t.Verdict)
	switch {
	case t.Status == session.Failed:
		verdict = "not tested"
	case t.Status == session.Skipped:
		verdict = "skipped"
	case verdict == "":
		verdict = "not decided yet"
	}
	return prose(line(t.ID)) + " · " + verdict + " · " + prose(cut(line(t.Title), v.cell))
}

// Prediction is what had to be seen if the hypothesis is true.
func (v explained) Prediction() string {
	for _, h := range v.Hypotheses {
		if h.ID == v.id && h.Prediction != "" {
			return "**Predicted if it is true**: " + sentence(prose(cut(line(h.Prediction), v.cell)))
		}
	}
	return ""
}

// Found is the row's finding in words.
func (v explained) Found() string {
	t := v.Row()
	switch {
	case t.Error != "":
		return "**Found**: it could not be tested: " + sentence(prose(cut(line(t.Error), v.cell)))
	case t.Findings != "":
		return "**Found**: " + sentence(prose(cut(line(t.Findings), session.MaxFindings)))
	}
	return ""
}

// Sides are the evidence for and against.
func (v explained) Sides() string {
	t := v.Row()
	var out []string
	for _, side := range []struct{ name, list string }{{"Evidence for it", t.EvidenceFor}, {"Evidence against it", t.EvidenceAgainst}} {
		var lines []string
		for l := range strings.SplitSeq(side.list, "\n") {
			if strings.TrimSpace(l) != "" {
				lines = append(lines, l)
			}
		}
		if len(lines) == 0 {
			out = append(out, "**"+side.name+"**: none")
			continue
		}
		out = append(out, "**"+side.name+"**\n\n"+v.bullets(lines, v.evidence))
	}
	return strings.Join(out, "\n\n")
}

// Counts are the verification runs of a confirmed cause.
func (v explained) Counts() string {
	c := v.Causes[v.id]
	if c == nil && v.RootCause != nil && v.RootCause.Task == v.id {
		c = v.RootCause
	}
	if c == nil || c.Culprit == nil || c.AtCulprit.Runs == 0 {
		return ""
	}
	s := fmt.Sprintf("**Runs**: %s at %s", tally(c.AtCulprit), v.commit(*c.Culprit))
	if c.Parent != nil {
		s += fmt.Sprintf(", %s at its parent %s", tally(c.AtParent), v.commit(*c.Parent))
	}
	if len(c.Minimal) > 0 && c.Hunks > 0 {
		s += fmt.Sprintf("; %d of its %s %s", len(c.Minimal), count(c.Hunks, "hunk"), word(len(c.Minimal) == 1, "suffices", "suffice"))
	}
	return s + "."
}

// FixRow is what became of the fix for it.
func (v explained) FixRow() string {
	t := v.Task("FIX-" + v.id)
	if t == nil {
		return ""
	}
	says := string(t.FixResult)
	if says == "" {
		says = string(t.Status)
	}
	s := "**Fix**: " + strings.ReplaceAll(says, "_", " ")
	if t.Findings != "" {
		s += ": " + prose(cut(line(t.Findings), v.cell))
	}
	return sentence(s)
}
