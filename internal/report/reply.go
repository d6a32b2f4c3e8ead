package report

import (
	"fmt"
	"strconv"
	"strings"

	"culprit/internal/session"
)

// ReplyMarker is the hidden line by which the answer to a remark is found again,
// so that a remark has one. Remarks have IDs of our own.
func ReplyMarker(m session.Remark) string { return "<!-- culprit:reply=" + line(m.ID) + " -->" }

// Reply is the answer to one remark of a round of the fix's review, in
// Markdown: what was changed and why, or why nothing was (GH7).
func Reply(s *session.Session, r session.Round, m session.Remark) string {
	return ReplyMarker(m) + "\n" + render("reply", replyView{show(s), r, m})
}

type replyView struct {
	*view
	round  session.Round
	remark session.Remark
}

// Kind of the answer.
func (v replyView) Kind() string { return string(v.remark.Answer.Kind) }

// Says is the detail within a sentence.
func (v replyView) Says() string {
	return strings.TrimRight(prose(cut(line(v.remark.Answer.Detail), v.cell)), ".")
}

// Command is the detail as code.
func (v replyView) Command() string {
	if v.remark.Answer.Detail == "" {
		return ""
	}
	return code(cut(line(v.remark.Answer.Detail), v.cell))
}

// Commit is the one that was pushed.
func (v replyView) Commit() string { return v.commit(session.Commit{SHA: v.round.Commit}) }

// Red is the commit that CI failed at.
func (v replyView) Red() string { return v.commit(session.Commit{SHA: v.remark.SHA}) }

// RedJobs are the jobs that failed.
func (v replyView) RedJobs() string {
	var out []string
	for _, j := range v.remark.Jobs[:min(len(v.remark.Jobs), 10)] {
		out = append(out, code(cut(line(j), 80)))
	}
	if len(out) == 0 {
		return "the red checks"
	}
	return "the red checks are " + strings.Join(out, ", ")
}

// Strategy is how the fix was made.
func (v replyView) Strategy() string {
	if v.Fix == nil {
		return ""
	}
	return prose(cut(line(v.Fix.Strategy), v.cell))
}

// Why says what CI showed.
func (v replyView) Why() string {
	if v.remark.Kind != session.RemarkCI {
		return ""
	}
	var tests []string
	for _, f := range v.remark.Failures {
		if f.Test != "" {
			tests = append(tests, code(cut(line(f.ID()), 160)))
		}
	}
	s := "CI failed at " + v.Red()
	if n := len(tests); n > 3 {
		s += ": " + strings.Join(tests[:3], ", ") + " and " + strconv.Itoa(n-3) + " more"
	} else if n > 0 {
		s += ": " + strings.Join(tests, ", ")
	}
	if k := v.remark.Answer.Kind; k == session.ReplyReplaced {
		s += ", which fails here with the fix and passes without it"
	}
	return s + ". "
}

// Needed says what was found out about the lines of the remark.
func (v replyView) Needed() string {
	c := v.Confirmation
	if c == nil || v.Fix == nil || v.remark.Path == "" {
		return ""
	}
	for _, h := range v.Fix.Hunks {
		if h.File != v.remark.Path || v.remark.Line < h.NewStart || v.remark.Start > h.NewStart+max(h.NewLines, 1)-1 {
			continue
		}
		for _, n := range c.Necessity {
			if n.Hunk == h.ID {
				return fmt.Sprintf("What is known of these lines: they were left out of the fix, and the test %s. ", necessity(n))
			}
		}
	}
	return ""
}

// RoundMessage is the message of the commit that the open round puts on top of
// the fix branch.
func RoundMessage(s *session.Session, recent ...string) string {
	r := s.OpenRound()
	if r == nil {
		return CommitMessage(s, recent...)
	}
	what := "use another fix, " + s.Fix.Strategy
	if r.Way == session.BySuggestion {
		what = "apply what the review of the fix suggests"
	}
	p := prefix(s, recent)
	if p != "fix: " {
		what = strings.ToUpper(what[:1]) + what[1:]
		p = ""
	}
	var why []string
	for _, m := range r.Remarks {
		if m.Answer.Kind != session.ReplyApplied && m.Answer.Kind != session.ReplyReplaced {
			continue
		}
		switch m.Kind {
		case session.RemarkCI:
			why = append(why, "CI failed at "+(session.Commit{SHA: m.SHA}).Short()+".")
		case session.RemarkLine:
			why = append(why, "Suggested by "+plain(m.By)+" for "+plain(m.Path)+".")
		default:
			why = append(why, "Changes were requested by "+plain(m.By)+".")
		}
	}
	body := []string{wrap(strings.Join(why, " "), 72)}
	if s.Confirmation != nil {
		body = append(body, wrap(plainProof(show(s)), 72))
	}
	return cut(plain(p+what), maxSubject) + "\n\n" + strings.Join(body, "\n\n") + "\n\nCulprit-Session: " + line(s.ID) + "\n"
}

// Rounds lists what became of the fix's review.
func (v *view) Rounds() string {
	if v.Review == nil {
		return ""
	}
	var out []string
	for _, r := range v.Review.Rounds {
		if r.Commit == "" {
			continue
		}
		var by []string
		for _, m := range r.Remarks {
			name := "CI"
			if m.Kind != session.RemarkCI {
				name = prose(line(m.By))
			}
			if (m.Answer.Kind == session.ReplyApplied || m.Answer.Kind == session.ReplyReplaced) && !strings.Contains(strings.Join(by, ", "), name) {
				by = append(by, name)
			}
		}
		what := "another fix took the place of the first"
		if r.Way == session.BySuggestion {
			what = "suggested lines were applied"
		}
		out = append(out, fmt.Sprintf("- round %d, after %s: %s in %s", r.N, strings.Join(by, " and "), what, v.commit(session.Commit{SHA: r.Commit})))
	}
	if len(out) == 0 {
		return ""
	}
	return "**Changed since it was opened**\n\n" + strings.Join(out, "\n")
}

// Outcome says how the fix pull request stands.
func (v *view) Outcome() string {
	r := v.Review
	if r == nil || v.Published.PR == 0 {
		return ""
	}
	by := ""
	if r.By != "" {
		by = " by " + prose(line(r.By))
	}
	s := ""
	switch r.State {
	case session.ReviewApproved:
		s = number(v.Published.PR) + " is approved" + by + "."
	case session.ReviewMerged:
		s = number(v.Published.PR) + " was merged" + by + "."
	case session.ReviewClosed:
		s = number(v.Published.PR) + " was closed" + by + " without being merged."
	}
	if r.Asked && (r.State == session.ReviewOpen || r.State == session.ReviewApproved) {
		s = strings.TrimSpace(s + " Its review needs a person: nothing more is tried there.")
	}
	return s
}
