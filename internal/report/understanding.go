package report

import (
	"fmt"
	"strings"

	"culprit/internal/session"
)

// Understanding is understanding.md: the narrative in nine sections, then the
// summary, the confidence table and the next step (OD12, QD13). entries is the
// session's trail of evidence.
func Understanding(s *session.Session, entries []session.Entry) []byte {
	v := show(s)
	none := func(text, otherwise string) string {
		if strings.TrimSpace(text) == "" {
			return otherwise
		}
		return strings.TrimSpace(text)
	}
	sections := []section{
		{"1 Issue & Scope", none(v.scopeSection(), "No symptom was given.")},
		{"2 Archaeology", none(v.archaeologySection(), "History was not looked at.")},
		{"3 Exploration", none(v.exploreSection(entries), "No exploration was made in this mode.")},
		{"4 Hypotheses", none(v.hypothesesSection(), "No hypothesis was tested.")},
		{"5 Root Cause", none(v.causeSection(), "No root cause is confirmed"+because(s))},
		{"6 Fix & Confirmation", none(v.fixSection(), none(v.FixParagraph(), "No fix is proposed"+because(s)))},
		{"7 Generalization", none(v.phaseSection(entries, "generalize"), "Other places with the same pattern were not searched in this mode.")},
		{"8 Discoveries", none(v.phaseSection(entries, "discovery"), "No other defect was found, and none was searched for in this mode.")},
		{"9 Learnings", none(v.learningsSection(), "Nothing was kept.")},
	}
	return []byte(render("understanding", struct {
		*view
		Sections []section
		Trail    string
	}{v, sections, v.trail(entries)}))
}

func (v *view) scopeSection() string {
	parts := []string{v.symptomSection()}
	where := ""
	if v.Source.Repository != "" {
		where = "Repository " + prose(line(v.Source.Repository))
	}
	if v.Source.Ref != "" {
		where += ", branch " + code(v.Source.Ref)
	}
	if v.Bad != nil {
		where += ", at " + v.named(*v.Bad)
	}
	if where != "" {
		parts = append(parts, strings.TrimPrefix(where, ", ")+".")
	}
	if r := v.Reproduction; r != nil {
		if c := v.followedText(r); c != "" {
			parts = append(parts, prose(c))
		}
		if len(r.Differences) > 0 {
			parts = append(parts, "What differs here from where it failed first:\n\n"+v.differences(r))
		}
	}
	return strings.Join(parts, "\n\n")
}

func (v *view) archaeologySection() string {
	a := v.Archaeology
	if a == nil {
		return ""
	}
	var parts []string
	if a.Good != nil {
		how := ""
		if a.GoodHow != "" {
			how = " (" + prose(line(a.GoodHow)) + ")"
		}
		parts = append(parts, "Last known good: "+v.named(*a.Good)+how+".")
	} else {
		s := "No commit was found at which the test passes"
		switch a.Boundary {
		case "root":
			s += ": it fails back to the first commit"
		case "untestable":
			s += ": nothing older can be tested"
		case "limit":
			s += " within the budget"
		}
		parts = append(parts, s+".")
	}
	if a.Total > 0 {
		parts = append(parts, fmt.Sprintf("The history has %s on its main line; %s in question; %s could not be tested.", count(a.Total, "commit"), were(a.Candidates), count(a.Skipped, "commit")))
	}
	if len(a.Suspects) > 0 {
		rows := []string{"| relevance | commit | why |", "|---|---|---|"}
		for _, x := range a.Suspects[:min(len(a.Suspects), v.rows)] {
			rows = append(rows, "| "+cell(prose(string(x.Relevance)))+" | "+cell(v.named(x.Commit))+" | "+cell(prose(cut(line(x.Why), v.cell)))+" |")
		}
		parts = append(parts, strings.Join(rows, "\n"))
	}
	return strings.Join(append(parts, v.suspicious(a)...), "\n\n")
}

// suspicious are the lines that stand out by coverage.
func (v *view) suspicious(a *session.Archaeology) []string {
	if len(a.Suspicious) == 0 {
		if a.Coverage == "" {
			return nil
		}
		return []string{"Suspicious lines: " + prose(cut(line(a.Coverage), v.cell)) + "."}
	}
	rows := []string{"Suspicious lines, by the coverage of " + prose(cut(line(a.Coverage), v.cell)) + " (Ochiai). They say where to read first, and prove nothing.", "", "| score | lines | passing tests that run through them |", "|---|---|---|"}
	for _, x := range a.Suspicious[:min(len(a.Suspicious), v.rows)] {
		place := v.place(x.Location(), v.treeOf())
		if x.To > x.Line {
			place += fmt.Sprintf(" to %d", x.To)
		}
		rows = append(rows, fmt.Sprintf("| %.2f | %s | %d |", x.Score, cell(place), x.Passing))
	}
	return []string{strings.Join(rows, "\n")}
}

func were(n int) string { return count(n, "commit") + word(n == 1, " was", " were") }

// exploreSection has the notes of exploration, and the culprit search.
func (v *view) exploreSection(entries []session.Entry) string {
	return strings.TrimSpace(v.phaseSection(entries, "explore") + "\n\n" + v.SearchTable())
}

// phaseSection lists the trail's lines of one phase.
func (v *view) phaseSection(entries []session.Entry, phase string) string {
	var lines []string
	for _, e := range entries {
		if e.Phase != phase {
			continue
		}
		text := e.Content
		if text == "" {
			text = e.Note
		}
		if line(text) != "" {
			lines = append(lines, strings.TrimSpace(e.Type+" "+text))
		}
	}
	return v.bullets(lines, func(s string) string { return prose(cut(line(s), v.cell)) })
}

func (v *view) learningsSection() string {
	parts := []string{v.bullets(v.Patterns, func(s string) string { return prose(cut(line(s), v.cell)) })}
	if len(v.Decisions) > 0 {
		rows := []string{"| | stage | decision | status |", "|---|---|---|---|"}
		for _, d := range v.Decisions[:min(len(v.Decisions), v.rows)] {
			rows = append(rows, fmt.Sprintf("| %d | %s | %s | %s |", d.N, cell(prose(d.Stage)), cell(prose(cut(line(d.Text), v.cell))), cell(prose(d.Status))))
		}
		parts = append(parts, strings.Join(rows, "\n"))
	}
	return strings.TrimSpace(strings.Join(parts, "\n\n"))
}

// trail sums the executed experiments up.
func (v *view) trail(entries []session.Entry) string {
	runs, failed, untestable := 0, 0, 0
	for _, e := range entries {
		if e.Phase != "experiment" {
			continue
		}
		n := max(e.Runs, 1)
		runs += n
		switch e.Outcome {
		case session.FailedSame:
			failed += n
		case session.Untestable:
			untestable += n
		}
	}
	if runs == 0 {
		return ""
	}
	return fmt.Sprintf("The trail in evidence.ndjson has %s: %d failed for the same reason, %d could not be tested.", count(runs, "run"), failed, untestable)
}

// Counts is the line of the summary (QD13).
func (v *view) Counts() string {
	confirmed, fixed, verified := 0, 0, 0
	for _, t := range v.Tasks {
		if t.Wave == 1 && t.Verdict == session.Confirmed {
			confirmed++
		}
		if t.Wave == 2 && t.FixResult == session.Fixed {
			fixed++
		}
		if t.Wave == 2 && t.Verified == "true" {
			verified++
		}
	}
	return fmt.Sprintf("Mode %s; %s, %d confirmed, %d fixed, %d verified; %s.", line(string(v.Mode)), count(len(v.Wave(1)), "hypothesis"), confirmed, fixed, verified, v.Cost())
}

// ConfidenceTable shows how sure the session is, and why (QD14).
func (v *view) ConfidenceTable() string {
	c := v.Confidence
	if c.Level == "" {
		return "Not scored."
	}
	rows := []string{"| | score |", "|---|---|"}
	for _, k := range sortedKeys(c.Factors) {
		rows = append(rows, "| "+cell(prose(strings.ReplaceAll(k, "_", " ")))+" | "+percent(c.Factors[k])+" |")
	}
	for _, k := range sortedKeys(c.Dims) {
		rows = append(rows, "| _"+cell(prose(strings.ReplaceAll(k, "_", " ")))+"_ | "+percent(c.Dims[k])+" |")
	}
	rows = append(rows, "| **confidence** | **"+percent(c.Score)+"** ("+prose(c.Level)+") |")
	out := strings.Join(rows, "\n")
	if why := v.bullets(c.Why, func(s string) string { return prose(cut(line(s), v.cell)) }); why != "" {
		out += "\n\n" + why
	}
	return out
}

// NextText is the next step (QD18).
func (v *view) NextText() string {
	if v.NextStep == "" {
		return "None."
	}
	s := sentence(prose(cut(line(v.NextStep), 2*v.cell)))
	if pr := web(v.Published.PRURL); pr != "" {
		s = strings.ReplaceAll(s, prose(pr), "["+number(v.Published.PR)+"]("+pr+")")
	}
	return s
}
