package report

import (
	"fmt"
	"slices"
	"strings"

	"culprit/internal/session"
)

// section is one section of a report.
type section struct {
	Name string
	Body string
}

// BugReport is BUG_REPORT.md (DB7). Its status is complete only when every
// section holds what was found; a section that says what is missing makes it a
// draft.
func BugReport(s *session.Session) []byte {
	v := show(s)
	status := "complete"
	sections := []section{
		{"Symptom", v.symptomSection()}, {"Reproducer", v.reproducerSection()}, {"Hypotheses", v.hypothesesSection()},
		{"Root cause", v.causeSection()}, {"Fix & verification", v.fixSection()},
	}
	missing := map[string]string{
		"Symptom":            "No symptom was given and none was seen.",
		"Reproducer":         "The failure was not reproduced" + because(s),
		"Hypotheses":         "No hypothesis was tested.",
		"Root cause":         "No root cause is confirmed" + because(s),
		"Fix & verification": "No fix is proposed" + because(s),
	}
	for i := range sections {
		if strings.TrimSpace(sections[i].Body) == "" {
			status = "draft"
			sections[i].Body = missing[sections[i].Name]
		}
	}
	return []byte(render("bug", struct {
		*view
		Status   string
		Sections []section
	}{v, status, sections}))
}

// because adds the session's reason to a sentence about what is missing.
func because(s *session.Session) string {
	if line(s.Reason) == "" {
		return "."
	}
	return ": " + sentence(prose(lower(cut(line(s.Reason), 400))))
}

func (v *view) symptomSection() string {
	var parts []string
	add := func(name, text string) {
		if line(text) != "" {
			parts = append(parts, "**"+name+"**: "+prose(cut(line(text), 2*v.cell)))
		}
	}
	if t := v.Title(); t != "" {
		parts = append(parts, sentence(t))
	}
	add("Expected", v.Symptom.Expected)
	add("Actual", v.Symptom.Actual)
	add("Since", v.Symptom.Timeline)
	if f := v.Failure(); f != "" {
		parts = append(parts, f)
	} else if line(v.Symptom.Text) != "" {
		parts = append(parts, fence("text", v.Symptom.Text, v.lines))
	}
	for _, e := range v.Symptom.Environment {
		add("Environment", e)
	}
	if before := v.SeenBefore(); before != "" {
		parts = append(parts, before)
	}
	return strings.Join(parts, "\n\n")
}

func (v *view) reproducerSection() string {
	r := v.Reproduction
	if r == nil || !r.Reproduced {
		return ""
	}
	s := "`repro.sh` exits 1 while the failure is there. " + v.Test() + " fails " + rate(r.Count, r.Interval)
	if v.Bad != nil {
		s += " at " + v.named(*v.Bad)
	}
	s += "."
	if c := v.followedText(r); c != "" {
		s += " " + prose(c)
	}
	if r.Toolchain != "" {
		s += " Toolchain: " + prose(line(r.Toolchain)) + "."
	}
	if len(r.Differences) > 0 {
		s += "\n\nDifferences from where it failed first:\n\n" + v.differences(r)
	}
	return s + "\n\n" + v.Commands()
}

func (v *view) hypothesesSection() string {
	table := v.HypothesisTable()
	if table == "" {
		return ""
	}
	return strings.TrimSpace(strings.Join([]string{table + "\n" + v.Evidence(), v.Pressure(), v.Contradiction(), v.account()}, "\n\n"))
}

func (v *view) causeSection() string {
	c := v.RootCause
	switch {
	case c == nil && v.Result == session.ResultFlaky && v.Flake != nil:
		return strings.TrimSpace(v.flakyLead() + "\n\n" + v.Advice())
	case c == nil:
		return ""
	case v.Result == session.ResultFlaky:
		return strings.TrimSpace(sentence(prose(cut(line(c.Summary), v.cell))) + "\n\n" + v.flakyLead() + "\n\n" + v.Advice())
	}
	parts := []string{v.causeLead()}
	if c.AtCulprit.Runs > 0 && c.Parent != nil && c.Culprit != nil {
		parts = append(parts, "Verified: the test "+tally(c.AtCulprit)+" at "+v.commit(*c.Culprit)+" and "+tally(c.AtParent)+" at its parent "+v.commit(*c.Parent)+".")
	}
	if c.Probability > 0 {
		parts = append(parts, "Probability that this commit introduced it: "+percent(c.Probability)+".")
	}
	for _, change := range []string{v.Lines(), v.Hunks()} {
		if change != "" {
			parts = append(parts, change)
		}
	}
	for _, note := range []string{c.MinimalNote, c.MovedNote} {
		if note != "" {
			parts = append(parts, sentence(prose(cut(line(note), v.cell))))
		}
	}
	parts = append(parts, v.challenge())
	return strings.TrimSpace(strings.Join(parts, "\n\n"))
}

// short is the most lines of a change that are shown without unfolding.
const short = 12

// HunksShown is Hunks where it is short; HunksFolded is where it is long.
//
// The lines that decide are shown in its place where they are known.
func (v *view) HunksShown() string {
	change := v.hunksIf(func(n int) bool { return n <= short })
	if c := v.RootCause; c != nil && len(c.Lines) > 0 && len(c.Lines) <= short && v.Result != session.ResultFlaky {
		change = v.Lines()
	}
	_, fence, _ := strings.Cut(change, "\n\n")
	return fence // the lead has said what it is
}

// HunksFolded is for the part that is folded.
func (v *view) HunksFolded() string { return v.hunksIf(func(n int) bool { return n > short }) }

func (v *view) hunksIf(fits func(lines int) bool) string {
	if v.RootCause == nil || v.Result == session.ResultFlaky {
		return ""
	}
	n := 0
	for _, h := range v.RootCause.Minimal {
		n += strings.Count(h.Text, "\n")
	}
	if n == 0 || !fits(n) {
		return ""
	}
	return v.Hunks()
}

// Hunks is the smallest change that brings the failure, as a diff.
func (v *view) Hunks() string {
	c := v.RootCause
	if c == nil || len(c.Minimal) == 0 {
		return ""
	}
	lead := "The smallest part of it that brings the failure:"
	if len(c.Minimal) > 1 && c.MinimalNote != "" {
		lead = "A part of it that brings the failure:"
	}
	if !slices.ContainsFunc(c.Minimal, func(h session.Hunk) bool { return h.Text != "" }) {
		return "" // too many to be kept
	}
	return lead + "\n\n" + v.diff(c.Minimal)
}

// deciding says to how many lines the hunks come down.
func (v *view) deciding() string {
	c := v.RootCause
	if c == nil || len(c.Lines) == 0 {
		return ""
	}
	s := fmt.Sprintf("Of %s %d %s", count(c.ChangedLines, "changed line"), len(c.Lines), word(len(c.Lines) == 1, "decides", "decide"))
	if n := len(c.Conditions); n > 0 {
		s += fmt.Sprintf(", with %d more that the code does not build without", n)
	}
	if c.LinesNote != "" {
		s += " (" + prose(cut(line(c.LinesNote), v.cell)) + ")"
	}
	return s
}

// Lines are the changed lines that bring the failure, as a diff.
func (v *view) Lines() string {
	lead := v.deciding()
	if lead == "" || !slices.ContainsFunc(v.RootCause.Lines, func(h session.Hunk) bool { return h.Text != "" }) {
		return ""
	}
	return lead + ":\n\n" + v.diff(v.RootCause.Lines)
}

// movedText says which dependencies of a culprit commit bring the failure, each
// with the releases next to one another of which the first passes and the
// second fails, or why they are not known.
func (v *view) movedText() string {
	c := v.RootCause
	if len(c.Moved) == 0 {
		return ""
	}
	var out []string
	for _, m := range c.Moved[:min(len(c.Moved), 5)] {
		out = append(out, prose(cut(line(m.String()), v.cell)))
	}
	s := " It is " + strings.Join(out, ", and ")
	if c.MovedOf > 1 {
		s = fmt.Sprintf(" Of %s it is %s", count(c.MovedOf, "move"), strings.Join(out, ", and "))
	}
	return s + "."
}

// diff is a fence with hunks.
func (v *view) diff(hunks []session.Hunk) string {
	var b strings.Builder
	for _, h := range hunks[:min(len(hunks), v.lines)] {
		b.WriteString("@@ " + line(h.Location()) + "\n" + h.Text)
		if !strings.HasSuffix(h.Text, "\n") {
			b.WriteByte('\n')
		}
	}
	return fence("diff", b.String(), v.lines)
}

// challenge names what was ruled out beside the cause (DB5).
func (v *view) challenge() string {
	var out []string
	for _, t := range v.Wave(1) {
		if t.Verdict == session.Refuted && len(out) <= v.items {
			out = append(out, line(t.ID)+" "+prose(cut(line(t.Title), v.cell))+": "+v.decisive(t))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "Alternatives that were ruled out:\n\n" + v.bullets(out, func(s string) string { return s })
}

func (v *view) fixSection() string {
	if v.Result != session.ResultFixed || v.Fix == nil || v.Confirmation == nil {
		return ""
	}
	return strings.TrimSpace(v.FixParagraph() + "\n\n" + v.ProofTable())
}
