package report

import (
	"strings"

	"culprit/internal/session"
)

// CheckRunText is what a check run shows (GH5).
type CheckRunText struct {
	Title       string // the first line of the comment, at most 250 characters
	Summary     string // Markdown: the lead and the table
	Text        string // Markdown: how it was found
	Conclusion  string // "neutral", or "failure" when the session itself broke; empty while it runs
	Annotations []Annotation
}

// Annotation stands at lines of a file of the checked commit.
type Annotation struct {
	Path       string
	Start, End int    // lines, from 1
	Level      string // notice, warning or failure
	Title      string
	Message    string
}

// maxAnnotations is what GitHub takes in one request.
const maxAnnotations = 50

// CheckRun is the session's check run, named "culprit". It never makes a
// commit red: what failed is red already.
func CheckRun(s *session.Session) CheckRunText {
	v := show(s)
	c := CheckRunText{Title: cut(plain(v.headlineText()), 250)}
	if !s.Done() && s.Result == "" {
		c.Summary = fit("check_running", s)
		return c
	}
	c.Summary, c.Text = fit("check", s), fit("check_text", s)
	c.Conclusion = "neutral"
	if s.Result == "" && s.Question == nil {
		c.Conclusion = "failure"
	}
	c.Annotations = v.annotations()
	return c
}

// annotations stand at the lines that the evidence names.
func (v *view) annotations() []Annotation {
	var out []Annotation
	seen := map[string]bool{}
	add := func(location, level, title, message string) {
		file, n := splitLocation(location)
		if n <= 0 || seen[location] || len(out) == maxAnnotations || line(file) != file || strings.HasPrefix(file, "/") || strings.HasPrefix(file, "../") || strings.Contains(file, "/../") {
			return
		}
		seen[location] = true
		out = append(out, Annotation{Path: file, Start: n, End: n, Level: level, Title: cut(plain(title), 250), Message: cut(plain(message), 2000)})
	}
	if c := v.RootCause; c != nil && v.Result != session.ResultFlaky {
		why := c.Summary
		if c.Culprit != nil {
			why = v.testText() + " fails since " + c.Culprit.Short() + ": " + c.Summary
		}
		add(c.Location, "warning", "Root cause", why)
		for _, h := range c.Lines {
			add(h.Location(), "warning", "Root cause", "Without this change "+v.testText()+" passes.")
		}
		for _, h := range c.Minimal {
			add(h.Location(), "warning", "Root cause", "This change is needed to make "+v.testText()+" fail.")
		}
	}
	if f := v.failure(); f != nil {
		add(f.Location(), "notice", "Fails here: "+v.testText(), f.Message)
	}
	for _, t := range v.Wave(1) {
		if t.Verdict != session.Confirmed {
			continue
		}
		for e := range strings.SplitSeq(t.EvidenceFor, "\n") {
			place, says, found := strings.Cut(line(e), " — ")
			if found && !strings.HasPrefix(place, "commit ") {
				add(place, "notice", "Evidence for "+t.ID, says)
			}
		}
	}
	return out
}
