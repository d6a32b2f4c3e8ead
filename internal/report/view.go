package report

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"culprit/internal/session"
)

// limits bound the parts of a text for GitHub. All texts are drawn with the
// widest limits first, and with narrower ones until they fit.
type limits struct {
	rows  int // of a table
	cell  int // characters of a cell or sentence
	items int // of a list
	lines int // of a block of code
	nodes int // of a picture
}

var levels = []limits{
	{rows: 40, cell: 400, items: 40, lines: 80, nodes: 40},
	{rows: 20, cell: 240, items: 20, lines: 40, nodes: 24},
	{rows: 10, cell: 120, items: 10, lines: 15, nodes: 12},
	{rows: 5, cell: 80, items: 4, lines: 5, nodes: 5},
}

// view is a session as the texts show it. Its methods return Markdown in
// which all foreign text is escaped; those whose name ends in Text return
// plain lines.
type view struct {
	*session.Session
	limits
}

func show(s *session.Session) *view { return &view{s, levels[0]} }

// link is text that leads to an address of the repository on the web, or the
// text alone.
func (v *view) link(text, path string) string {
	base := web(v.Source.URL)
	if base == "" {
		return text
	}
	return "[" + text + "](" + base + path + ")"
}

// place is a location "path:line" as a permalink at a commit.
func (v *view) place(location, sha string) string {
	text := code(cut(location, v.cell))
	file, n := splitLocation(location)
	if !hexID.MatchString(sha) || file == "" {
		return text
	}
	path := "/blob/" + sha + "/" + pathURL(file)
	if n > 0 {
		path += "#L" + strconv.Itoa(n)
	}
	return v.link(text, path)
}

// splitLocation takes "path:line" apart.
func splitLocation(location string) (file string, n int) {
	file = location
	if i := strings.LastIndexByte(location, ':'); i > 0 {
		if at, err := strconv.Atoi(location[i+1:]); err == nil && at > 0 {
			file, n = location[:i], at
		}
	}
	return file, n
}

// commit is the abbreviated ID as a link.
func (v *view) commit(c session.Commit) string {
	if !hexID.MatchString(c.SHA) {
		return code(c.Short())
	}
	return v.link(c.Short(), "/commit/"+c.SHA)
}

// named is a commit with its subject.
func (v *view) named(c session.Commit) string {
	s := "**" + v.commit(c) + "**"
	if c.Subject != "" {
		s += " “" + prose(cut(line(c.Subject), 100)) + "”"
	}
	return s
}

// number is "#12" as GitHub links it.
func number(n int) string { return "#" + strconv.Itoa(n) }

// testText names the failing thing for people.
func (v *view) testText() string {
	if r := v.Reproduction; r != nil {
		if len(r.Target.Tests) > 0 {
			more := ""
			if n := len(r.Target.Tests) - 1; n > 0 {
				more = fmt.Sprintf(" (and %d more)", n) // one subject for the verb
			}
			return r.Target.Tests[0] + more
		}
		if r.Failure != nil && r.Failure.Test != "" {
			return r.Failure.Test
		}
	}
	for _, f := range v.Symptom.Failures {
		if f.Test != "" {
			return f.Test
		}
	}
	if r := v.Reproduction; r != nil && r.Command != "" {
		return r.Command
	}
	if v.Flags.Test != "" {
		return v.Flags.Test
	}
	return ""
}

// Test is the failing thing as code.
func (v *view) Test() string {
	if t := v.testText(); t != "" {
		return code(cut(line(t), min(v.cell, 160)))
	}
	return "The failure"
}

// Title is the symptom in one line.
func (v *view) Title() string { return prose(cut(line(v.Symptom.Title), v.cell)) }

// confidenceText is "confidence 86 % (high)", or empty before it is known.
func (v *view) confidenceText() string {
	if v.Confidence.Level == "" {
		return ""
	}
	return "confidence " + percent(v.Confidence.Score) + " (" + line(v.Confidence.Level) + ")"
}

// headlineText is the first line of every text: what happened, how sure it
// is.
func (v *view) headlineText() string {
	if !v.Done() && v.Result == "" && v.Question == nil {
		return v.progressText()
	}
	parts := []string{}
	switch v.Result {
	case "":
		parts = []string{"The session itself failed", cut(line(v.Reason), 160)}
		if v.Question != nil {
			parts = []string{"not possible without an answer: " + doing[v.State][0]}
		}
	case session.ResultFixed:
		parts = []string{v.foundText(), v.confidenceText(), v.fixText()}
	case session.ResultRootCause:
		parts = []string{v.foundText(), v.confidenceText(), "no fix proposed"}
	case session.ResultFlaky:
		c, i := v.flakeCount()
		parts = []string{"Flaky test", "fails " + rate(c, i)}
	case session.ResultNotReproduced:
		parts = []string{"Not reproduced here"}
		if v.blocked() {
			parts[0] = "Not reproducible here"
		}
		switch r := v.Reproduction; {
		case r == nil && v.Question.Open():
			parts = []string{"nothing could be run yet"}
		case r != nil && r.Count.Runs > 0:
			parts = append(parts, tally(r.Count))
		}
	case session.ResultInconclusive:
		parts = []string{"Nothing confirmed", v.verdictCountText()}
	case session.ResultDuplicate:
		parts = []string{"Same failure as elsewhere", v.foundElsewhereText()}
	case session.ResultStopped:
		parts = []string{"Stopped", cut(line(v.Reason), 160)}
		if v.RootCause != nil {
			parts = append(parts, "root cause known")
		}
	}
	if v.Question.Open() && v.Result != session.ResultInconclusive {
		parts = append([]string{"Needs a person"}, parts...)
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

func (v *view) foundText() string {
	if v.RootCause != nil && v.RootCause.Kind == session.TestFault {
		return "Root cause found: the test is at fault"
	}
	if v.RootCause != nil && len(v.RootCause.Alternatives) > 0 {
		return fmt.Sprintf("Root cause found among %d commits", len(v.RootCause.Alternatives)+1)
	}
	return "Root cause found"
}

func (v *view) fixText() string {
	if v.Published.PR > 0 {
		return "fix in " + number(v.Published.PR)
	}
	return "fix verified"
}

// verdictCountText sums up wave 1.
func (v *view) verdictCountText() string {
	n := map[session.Verdict]int{}
	rows := v.Wave(1)
	tested := 0
	for _, t := range rows {
		n[t.Verdict]++
		if t.Verdict != "" {
			tested++
		}
	}
	if len(rows) == 0 {
		return ""
	}
	s := count(len(rows), "hypothesis") + " tested"
	if tested < len(rows) {
		s = fmt.Sprintf("%d of %s", tested, s)
	}
	for _, verdict := range []session.Verdict{session.Confirmed, session.Refuted, session.Inconclusive} {
		if n[verdict] > 0 {
			s += fmt.Sprintf(", %d %s", n[verdict], verdict)
		}
	}
	return s
}

// Headline is headlineText as Markdown. The one reference that GitHub may link
// is to our own pull request.
func (v *view) Headline() string {
	pr := "fix in #"
	return strings.Replace(prose(v.headlineText()), pr+joiner, pr, 1)
}

// flakeCount is the largest count that shows the rate.
func (v *view) flakeCount() (session.Count, session.Interval) {
	var c session.Count
	var i session.Interval
	if r := v.Reproduction; r != nil {
		c, i = r.Count, r.Interval
	}
	if f := v.Flake; f != nil && f.Count.Runs >= c.Runs {
		c, i = f.Count, f.Interval
	}
	return c, i
}

// Lead is the paragraph below the headline.
func (v *view) Lead() string {
	switch {
	case v.RootCause != nil && v.Result != session.ResultFlaky:
		return v.causeLead()
	case v.Result == session.ResultFlaky:
		return v.flakyLead()
	case v.Result == session.ResultNotReproduced:
		return v.notReproducedLead()
	case v.Result == session.ResultInconclusive:
		return v.Test() + " fails here (" + v.reproducedText() + "), and no experiment showed why."
	case v.Result == session.ResultDuplicate:
		return v.elsewhereLead()
	case v.Result == session.ResultStopped:
		s := "The investigation did not come to its end"
		if len(line(v.Reason)) > 160 {
			s += ": " + prose(cut(line(v.Reason), v.cell))
		}
		s = sentence(s)
		if hexID.MatchString(v.SupersededBy) {
			s += " It goes on at " + v.commit(session.Commit{SHA: v.SupersededBy}) + ", the newer commit."
		}
		if v.Reproduction != nil && v.Reproduction.Reproduced {
			s += " Known so far: " + v.Test() + " fails here (" + v.reproducedText() + ")."
		} else {
			s += " Nothing is known about the cause."
		}
		return s
	}
	if v.Question != nil {
		return "Nothing was tested yet."
	}
	return "A fault of the tool, not of your code, ended the session. Nothing was found out about the failure."
}

func (v *view) reproducedText() string {
	if r := v.Reproduction; r != nil && r.Count.Runs > 0 {
		return tally(r.Count)
	}
	return "not counted"
}

// causeLead says what the root cause is.
func (v *view) causeLead() string {
	c := v.RootCause
	summary := prose(cut(line(c.Summary), v.cell))
	if c.Location != "" {
		summary = strings.ReplaceAll(summary, prose(c.Location), v.place(c.Location, v.treeOf()))
	}
	if c.Culprit == nil {
		return v.Test() + ": " + sentence(summary)
	}
	s := v.Test() + " fails since " + v.named(*c.Culprit)
	// The summary of a culprit search repeats the commit; one in other words
	// says more.
	says := c.Summary != "" && !strings.Contains(c.Summary, c.Culprit.Short())
	switch {
	case c.Location != "" && says:
		s += ": " + v.place(c.Location, c.Culprit.SHA) + " " + sentence(lower(summary))
	case says:
		s += ": " + sentence(lower(summary))
	case c.Location != "" && len(c.Minimal) > 1 && c.MinimalNote != "":
		s += ". " + fmt.Sprintf("%d of its %s together bring the failure (%s)", len(c.Minimal), count(c.Hunks, "hunk"), prose(cut(line(c.MinimalNote), v.cell))) +
			", the first to look at: " + v.place(c.Location, c.Culprit.SHA) + "."
	case c.Location != "" && len(c.Minimal) > 0 && c.Hunks > 1:
		s += ". " + fmt.Sprintf("%d of its %s %s to bring the failure", len(c.Minimal), count(c.Hunks, "hunk"), word(len(c.Minimal) == 1, "is enough", "are needed together")) + ": " + v.place(c.Location, c.Culprit.SHA) + "."
	case c.Location != "":
		s += ", at " + v.place(c.Location, c.Culprit.SHA) + "."
	default:
		s += "."
	}
	if d := v.deciding(); d != "" {
		s += " " + d + "."
	}
	s += v.movedText()
	if c.Merge != nil {
		s += " It came in with merge " + v.named(*c.Merge) + "."
	}
	if n := len(c.Alternatives); n > 0 {
		var names []string
		for _, a := range c.Alternatives[:min(n, 5)] {
			names = append(names, v.named(a))
		}
		more := ""
		if n > 5 {
			more = fmt.Sprintf(" and %d more", n-5)
		}
		s += fmt.Sprintf(" It cannot be told from %s%s, because %s cannot be tested.", strings.Join(names, ", "), more, word(n == 1, "that commit", "those commits"))
	}
	return s
}

func word(one bool, a, b string) string {
	if one {
		return a
	}
	return b
}

func (v *view) flakyLead() string {
	s := v.Test() + " fails only sometimes on the same code"
	if v.Bad != nil {
		s += " (" + v.commit(*v.Bad) + ")"
	}
	s += "."
	if f := v.Flake; f != nil {
		switch f.Suspected {
		case "", "unknown":
			s += " What makes it appear is not known."
		default:
			s += " Suspected kind: **" + prose(f.Suspected) + "**."
		}
		if f.Since != nil {
			s += " It is so since " + v.named(*f.Since) + "."
		} else {
			s += " Since when was not established."
		}
	}
	return s + " No change is proposed: a change that makes it rarer would hide it."
}

func (v *view) notReproducedLead() string {
	r := v.Reproduction
	if r == nil && v.Reason != "" {
		why := line(v.Reason)
		return sentence(prose(cut(strings.ToUpper(why[:1])+why[1:], v.cell)))
	}
	if r == nil {
		return ""
	}
	s := ""
	if r.Command != "" {
		s = "Run here: " + code(cut(line(r.Command), v.cell))
		if v.Bad != nil {
			s += " at " + v.commit(*v.Bad)
		}
		s += ". "
	}
	why := r.Why
	if why == "" {
		why = v.Reason
	}
	return s + sentence(prose(cut(line(why), v.cell)))
}

// Failure is the failing test's own words.
func (v *view) Failure() string {
	f := v.failure()
	if f == nil || line(f.Message) == "" {
		return ""
	}
	s := ""
	if l := f.Location(); l != "" && v.Bad != nil {
		s = "It fails at " + v.place(l, v.Bad.SHA) + " with:\n\n"
		if v.Result == session.ResultNotReproduced {
			s = "What was reported, at " + v.place(l, v.Bad.SHA) + ":\n\n"
		}
	}
	return s + fence("text", f.Message, min(v.lines, 12))
}

func (v *view) failure() *session.Failure {
	if r := v.Reproduction; r != nil && r.Failure != nil {
		return r.Failure
	}
	if len(v.Symptom.Failures) > 0 {
		return &v.Symptom.Failures[0]
	}
	return nil
}

// more notes what a table or list left out.
func more(n int, what string) string {
	if n <= 0 {
		return ""
	}
	return count(n, "more "+what) + " in the session folder."
}

// bullets writes a list of foreign lines.
func (v *view) bullets(lines []string, write func(string) string) string {
	var out []string
	for _, l := range lines[:min(len(lines), v.items)] {
		out = append(out, "- "+write(l))
	}
	if n := len(lines) - v.items; n > 0 {
		out = append(out, "- _"+more(n, "line")+"_")
	}
	return strings.Join(out, "\n")
}

// evidence writes a line "path:line — what it shows" or "commit abc — …" with
// its place as a link.
func (v *view) evidence(s string) string {
	place, says, found := strings.Cut(line(s), " — ")
	if !found {
		return prose(cut(line(s), v.cell))
	}
	if sha, isCommit := strings.CutPrefix(place, "commit "); isCommit && hexID.MatchString(sha) {
		return v.commit(session.Commit{SHA: sha}) + ": " + prose(cut(says, v.cell))
	}
	if file, n := splitLocation(place); n > 0 && !strings.ContainsAny(file, " ") {
		return v.place(place, v.treeOf()) + ": " + prose(cut(says, v.cell))
	}
	return prose(cut(line(s), v.cell))
}

// treeOf is the commit at which locations are shown.
func (v *view) treeOf() string {
	if v.RootCause != nil && v.RootCause.Culprit != nil {
		return v.RootCause.Culprit.SHA
	}
	if v.Bad != nil {
		return v.Bad.SHA
	}
	return v.Source.SHA
}

// NotChecked is the list of what a reader might think was checked.
func (v *view) NotCheckedList() string {
	return v.bullets(v.NotChecked, func(s string) string { return prose(cut(line(s), v.cell)) })
}

// sortedKeys is for maps of scores.
func sortedKeys(m map[string]float64) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
