package report

import (
	"fmt"
	"strings"

	"culprit/internal/session"
)

// HypothesisTable has a row for each hypothesis with what decided it.
func (v *view) HypothesisTable() string {
	rows := v.Wave(1)
	if len(rows) == 0 {
		return ""
	}
	out := []string{"| | hypothesis | verdict | decisive evidence |", "|---|---|---|---|"}
	for _, t := range rows[:min(len(rows), v.rows)] {
		verdict := bold(t.Verdict)
		switch {
		case t.Status == session.Failed:
			verdict = "not tested"
		case t.Verdict == "":
			verdict = "open"
		}
		out = append(out, "| "+cell(prose(line(t.ID)))+" | "+cell(prose(cut(line(t.Title), v.cell)))+" | "+verdict+" | "+cell(v.decisive(t))+" |")
	}
	return strings.Join(out, "\n") + "\n" + italic(more(len(rows)-v.rows, "hypothesis"))
}

// decisive is the evidence that decided a row.
func (v *view) decisive(t session.Task) string {
	c := v.RootCause
	switch {
	case t.Error != "" && t.Status == session.Failed:
		return "could not be tested: " + prose(cut(line(t.Error), v.cell))
	case c != nil && c.Task == t.ID && c.Culprit != nil && c.Parent != nil && c.AtCulprit.Runs > 0:
		s := fmt.Sprintf("%s at %s, %s at its parent %s", tally(c.AtCulprit), v.commit(*c.Culprit), tally(c.AtParent), v.commit(*c.Parent))
		if len(c.Minimal) > 0 && c.Hunks > 0 {
			s += fmt.Sprintf("; %d of its %s %s", len(c.Minimal), count(c.Hunks, "hunk"), word(len(c.Minimal) == 1, "suffices", "suffice"))
		}
		return s
	case t.Findings != "":
		return prose(cut(line(t.Findings), v.cell))
	case t.Verdict == session.Refuted && t.EvidenceAgainst != "":
		return v.evidence(firstLine(t.EvidenceAgainst))
	}
	return v.evidence(firstLine(t.EvidenceFor))
}

func firstLine(s string) string {
	first, _, _ := strings.Cut(s, "\n")
	return first
}

// FixParagraph says what the fix is and how it was proved, or why there is
// none.
func (v *view) FixParagraph() string {
	f := v.Fix
	if v.Result == session.ResultRootCause {
		s := "**No fix is proposed**"
		if v.Reason != "" {
			s += ": " + sentence(prose(cut(line(lower(v.Reason)), v.cell)))
		} else {
			s += "."
		}
		if f != nil && len(f.Conflicts) > 0 {
			s += "\n\n" + v.bullets(f.Conflicts, func(c string) string { return prose(cut(line(c), v.cell)) })
		}
		return s
	}
	if f == nil || v.Result != session.ResultFixed {
		return ""
	}
	s := "**Fix**"
	if v.Published.PR > 0 {
		s += " " + number(v.Published.PR)
	}
	s += ": " + v.change()
	if f.Strategy != "" {
		s += ", " + prose(cut(line(f.Strategy), v.cell))
	}
	return s + ". " + v.Proof()
}

// change is "2 lines in `duration.go`".
func (v *view) change() string {
	f := v.Fix
	s := count(f.Added+f.Removed, "line")
	switch n := len(f.Files); {
	case n == 1:
		s += " in " + code(cut(f.Files[0], v.cell))
	case n > 1:
		s += fmt.Sprintf(" in %d files", n)
	}
	return s
}

// Proof is what was run on both sides of the fix.
func (v *view) Proof() string {
	c := v.Confirmation
	if c == nil {
		return "It was not run."
	}
	s := fmt.Sprintf("The test %s before, %s after", tally(c.Before), tally(c.After))
	if suite := c.Suite; suite != nil {
		switch {
		case suite.Note != "":
			s += "; " + prose(cut(line(lower(suite.Note)), v.cell))
		default:
			s += fmt.Sprintf("; %s pass, %s", count(suite.Passed, "test"), newly(suite))
		}
	}
	s += "."
	if r := v.Rebase; r != nil && r.Commit != "" && r.Note == "" {
		s += fmt.Sprintf(" On %s it %s without the fix, and %s with it.", v.rebased(r), tally(r.Before), tally(r.After))
	}
	if n := len(c.Necessity); n > 0 {
		needed, built := 0, true
		for _, x := range c.Necessity {
			if x.Required {
				needed++
			}
			built = built && x.Outcome != session.Untestable
		}
		back := word(built, "the failure is back.", "the failure is back, or nothing builds.")
		switch {
		case v.Fix != nil && n < len(v.Fix.Hunks):
			s += fmt.Sprintf(" Its %d hunks are too many to leave out one by one: of %d that were, %d are needed.", len(v.Fix.Hunks), n, needed)
		case needed == n && n == 1:
			s += " Without its hunk " + back
		case needed == n:
			s += fmt.Sprintf(" Without any one of its %d hunks ", n) + back
		default:
			s += fmt.Sprintf(" %d of its %s are each needed.", needed, count(n, "hunk"))
		}
	}
	return s
}

func newly(s *session.SuiteComparison) string {
	out := "none newly fails"
	if n := len(s.NewFailures); n > 0 {
		out = fmt.Sprintf("%d newly %s", n, word(n == 1, "fails", "fail"))
	}
	if s.Failed > 0 {
		out += fmt.Sprintf(" (%d failed before)", s.Baseline)
	}
	return out
}

// Advice is what a person can do about a flaky or unreproduced failure.
func (v *view) Advice() string {
	switch v.Result {
	case session.ResultFlaky:
		if v.Flake == nil {
			return ""
		}
		if v.Flake.Advice == "" {
			return ""
		}
		return "**What to do**: " + sentence(prose(cut(line(v.Flake.Advice), v.cell)))
	case session.ResultNotReproduced:
		r := v.Reproduction
		if r == nil && v.Question != nil {
			return "" // the question says what is missing
		}
		var s []string
		if r != nil && len(r.Differences) > 0 {
			s = append(s, "**What differs from where it failed**\n\n"+v.differences(r))
		} else {
			s = append(s, "What differs from where it failed is not known.")
		}
		if v.NextStep != "" {
			s = append(s, "**What would make it reproducible**: "+sentence(prose(cut(line(v.NextStep), v.cell))))
		}
		return strings.Join(s, "\n\n")
	}
	return ""
}

// Ask is the one question to a person.
func (v *view) Ask() string {
	q := v.Question
	if q == nil {
		return ""
	}
	s := "**Question**"
	if q.Over {
		s += ", which nobody answered"
	}
	s += ": " + prose(cut(line(q.Text), 2*v.cell))
	if q.Note != "" {
		s += "\n\nThe answer that was given cannot be used: " + sentence(prose(cut(line(q.Note), v.cell)))
	}
	if len(q.Options) > 0 {
		s += "\n\n" + fence("text", strings.Join(oneLines(q.Options), "\n"), v.lines)
	}
	switch {
	case q.Over:
		s += "\n\nAn answer still starts a session with it."
	case q.Default != "":
		s += "\n\nWithout an answer: " + sentence(prose(cut(line(lower(q.Default)), v.cell)))
	}
	return s
}

func oneLines(list []string) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = line(list[i])
	}
	return out
}

// GoOn says how to go on with a session that was stopped.
func (v *view) GoOn() string {
	if v.Result != session.ResultStopped || v.NextStep == "" {
		return ""
	}
	return "**How to go on**: " + sentence(prose(cut(line(v.NextStep), v.cell)))
}

// Runs is the cost in the last line.
func (v *view) Cost() string {
	return count(v.Budget.Runs, "run") + ", " + duration(v.elapsed()) + ", " + count(v.Budget.Tokens, "token")
}

// Evidence lists for and against, by row.
func (v *view) Evidence() string {
	var out []string
	for _, t := range v.Wave(1) {
		var lines []string
		left := 0
		add := func(sign, list string) {
			for l := range strings.SplitSeq(list, "\n") {
				switch {
				case strings.TrimSpace(l) == "":
				case len(lines) == v.items:
					left++
				default:
					lines = append(lines, "- "+sign+" "+v.evidence(l))
				}
			}
		}
		add("for:", t.EvidenceFor)
		add("against:", t.EvidenceAgainst)
		if len(lines) == 0 {
			continue
		}
		if left > 0 {
			lines = append(lines, "- _"+more(left, "line")+"_")
		}
		out = append(out, "**"+line(t.ID)+"** "+prose(cut(line(t.Title), v.cell))+"\n\n"+strings.Join(lines, "\n"))
		if len(out) == v.rows {
			break
		}
	}
	return strings.Join(out, "\n\n")
}

// SearchTable lists the commits that the culprit search ran.
func (v *view) SearchTable() string {
	search := v.search()
	if search == nil || len(search.Tried) == 0 {
		return ""
	}
	out := []string{
		fmt.Sprintf("Culprit search: %s in question, %s in %s.", count(search.Range, "commit"), count(search.Runs, "run"), count(search.Rounds, "round")), "",
		"| run | commit | result |", "|---|---|---|",
	}
	for i, p := range search.Tried[:min(len(search.Tried), v.rows)] {
		result := outcome(p.Outcome)
		if p.Reason != "" {
			result += ": " + prose(cut(line(p.Reason), min(v.cell, 160)))
		}
		subject := prose(cut(line(p.Commit.Subject), min(v.cell, 80)))
		out = append(out, fmt.Sprintf("| %d | %s %s | %s |", i+1, cell(v.commit(p.Commit)), cell(subject), cell(result)))
	}
	return strings.Join(out, "\n") + "\n" + italic(more(len(search.Tried)-v.rows, "run"))
}

func (v *view) search() *session.Search {
	if v.RootCause == nil {
		return nil
	}
	return v.RootCause.SearchSummary
}

// Timings are the stages with what they found.
func (v *view) Timings() string {
	if len(v.Stages) == 0 {
		return ""
	}
	out := []string{"| stage | found | took |", "|---|---|---|"}
	for _, r := range v.Stages[:min(len(v.Stages), v.rows)] {
		out = append(out, "| "+cell(prose(cut(line(r.Name), 40)))+" | "+cell(prose(cut(line(r.Note), v.cell)))+" | "+duration(r.Took)+" |")
	}
	return strings.Join(out, "\n") + "\n" + italic(more(len(v.Stages)-v.rows, "stage"))
}

// Commands are what a reader runs to see the failure and the fix.
func (v *view) Commands() string {
	r := v.Reproduction
	if r == nil || r.Command == "" || v.Bad == nil || !hexID.MatchString(v.Bad.SHA) {
		return ""
	}
	run := []string{}
	for _, o := range r.Overlay {
		if o.Rev != v.Bad.SHA {
			run = append(run, "git checkout "+quote(line(o.Rev))+" -- "+quote(line(o.Path)))
		}
	}
	if r.Setup != "" {
		run = append(run, strings.TrimSpace(clean(r.Setup)))
	}
	run = append(run, strings.TrimSpace(clean(r.Command)))
	out := append([]string{"# the failure", "git checkout --detach " + v.Bad.SHA}, run...)
	switch {
	case v.Published.Branch != "":
		out = append(append(out, "", "# the fix", "git fetch origin "+quote(line(v.Published.Branch))+" && git checkout --detach FETCH_HEAD"), run...)
	case v.Result == session.ResultFixed && v.Fix != nil:
		out = append(append(out, "", "# the fix", "git am "+quote("patches/"+line(v.Fix.Task)+".patch")+"  # from the session folder"), run...)
	}
	s := "In a clone of the repository:\n\n" + fence("sh", strings.Join(out, "\n"), v.lines)
	if v.Result == session.ResultFixed {
		return s + "\n\n`repro.sh` and `verify.sh` of the session folder do the same in a worktree of their own."
	}
	return s + "\n\n`repro.sh` of the session folder does the same in a worktree of its own."
}

// HasHistory reports whether anything was found out that can be shown.
func (v *view) HasHistory() bool { return len(v.Wave(1)) > 0 || len(v.Stages) > 0 }
