package report

import (
	"strings"

	"culprit/internal/session"
)

// PullRequestText is what a fix pull request shows (GH6).
type PullRequestText struct {
	Title string
	Body  string // Markdown, at most MaxText characters
	Draft bool   // unless confidence is high
}

// PullRequest is the text of the session's fix. recent are subjects of the
// project's last commits, as for CommitMessage.
func PullRequest(s *session.Session, recent ...string) PullRequestText {
	return PullRequestText{
		Title: titleText(s, recent, 120),
		Body:  fit("pull", s),
		Draft: s.Flags.Draft || s.Confidence.Level != "high" || s.Rebase != nil && !s.Rebase.Proven(),
	}
}

// PerFile is the change in one sentence per file.
func (v *view) PerFile() string {
	f := v.Fix
	if f == nil {
		return ""
	}
	lines := map[string][2]int{}
	for _, h := range f.Hunks {
		n := lines[h.File]
		lines[h.File] = [2]int{n[0] + h.OldLines, n[1] + h.NewLines}
	}
	return v.bullets(f.Files, func(file string) string {
		n := lines[file]
		s := v.place(cut(line(file), v.cell), f.Base) + ": "
		switch {
		case n[0] == 0 && n[1] == 0:
			return s + "changed as a whole."
		case n[0] == 0:
			return s + count(n[1], "line") + " added."
		case n[1] == 0:
			return s + count(n[0], "line") + " removed."
		}
		return s + count(n[0], "line") + " replaced by " + thousands(n[1]) + "."
	})
}

// ProofTable sets both sides of the fix side by side.
func (v *view) ProofTable() string {
	c := v.Confirmation
	if c == nil {
		return ""
	}
	command := "the failing test"
	if v.Reproduction != nil {
		command = code(cut(line(v.Reproduction.Command), v.cell))
	}
	rows := []string{"| | without the fix | with it |", "|---|---|---|", "| " + cell(command) + " | " + tally(c.Before) + " | " + tally(c.After) + " |"}
	if suite := c.Suite; suite != nil && suite.Note == "" {
		rows = append(rows, "| "+cell(code(cut(line(suite.Command), v.cell)))+" | "+count(suite.Baseline, "failing test")+" | "+count(suite.Failed, "failing test")+", "+count(suite.Passed, "test")+" pass, "+newly(&session.SuiteComparison{NewFailures: suite.NewFailures})+" |")
	}
	if r := v.Rebase; r != nil && r.Commit != "" && r.Note == "" {
		rows = append(rows, "| the same, on "+cell(v.rebased(r))+" | "+tally(r.Before)+" | "+tally(r.After)+" |")
	}
	if c.VerifyRun {
		rows = append(rows, "| `verify.sh` | exit "+thousands(c.VerifyBefore)+" | exit "+thousands(c.VerifyAfter)+" |")
	}
	for _, n := range c.Necessity[:min(len(c.Necessity), v.rows)] {
		rows = append(rows, "| without hunk "+cell(code(cut(line(n.Hunk), v.cell)))+" | | "+necessity(n)+" |")
	}
	out := strings.Join(rows, "\n") + "\n"
	if suite := c.Suite; suite != nil && suite.Note != "" {
		out += "\nThe wider suite: " + sentence(prose(cut(line(suite.Note), v.cell))) + "\n"
	}
	if c.Why != "" {
		out += "\n" + sentence(prose(cut(line(c.Why), v.cell))) + "\n"
	}
	return out
}

// rebased names the branch as it was when the fix was put onto it.
func (v *view) rebased(r *session.Rebase) string {
	return code(cut(line(r.Branch), v.cell)) + " as it is now (" + v.commit(session.Commit{SHA: r.Head}) + ")"
}

// Scope says what the change touches and what it leaves alone.
func (v *view) Scope() string {
	f := v.Fix
	if f == nil {
		return ""
	}
	s := count(len(f.Files), "file") + ", " + count(f.Added, "line") + " added, " + count(f.Removed, "line") + " removed"
	if f.Strategy != "" {
		s += ": " + prose(cut(line(f.Strategy), v.cell))
	}
	s += ". No test is deleted, skipped or loosened; no protected path is touched."
	if c := v.Confirmation; c != nil && c.Review != "" {
		s += " Review: " + sentence(prose(cut(line(c.Review), v.cell)))
	}
	return s
}

// Closes is the line by which the merge closes the issue.
func (v *view) Closes() string {
	if v.Source.Issue <= 0 {
		return ""
	}
	return "Fixes " + number(v.Source.Issue)
}

// PullHeadline is the first line of the body: that it was verified, and how
// sure the cause is.
func (v *view) PullHeadline() string {
	s := "Root cause verified by its fix"
	if v.RootCause != nil && len(v.RootCause.Alternatives) > 0 {
		s = "Fix verified; the root cause lies in one of several commits"
	}
	if c := v.confidenceText(); c != "" {
		s += " · " + prose(c)
	}
	return s
}

// necessity is what leaving one hunk out showed.
func necessity(n session.Necessity) string {
	switch {
	case !n.Required:
		return outcome(n.Outcome) + " without it"
	case n.Outcome == session.Untestable:
		return "nothing builds or runs: the hunk is necessary"
	}
	return "fails again: the hunk is necessary"
}
