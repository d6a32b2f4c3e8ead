package report

import (
	"strings"

	"culprit/internal/session"
)

// waits reports whether the session waits for another one.
func (v *view) waits() bool { return v.Incident != nil && v.State == "incident" }

// where names the other session of an incident, and its thread or branch.
func (v *view) where() string {
	in := v.Incident
	name := "session `" + line(in.Session) + "`"
	if u := address(in.URL); u != "" {
		name = "[" + name + "](" + u + ")"
	}
	switch {
	case in.PR > 0:
		name += " on " + number(in.PR)
	case in.Issue > 0:
		name += " on " + number(in.Issue)
	case in.Ref != "":
		name += " on " + code(cut(line(in.Ref), 100))
	}
	return name
}

func (v *view) waitingText() string {
	return "The same failure is being investigated: " + v.where() + ". Its result is awaited. `/debug retry` starts an investigation here."
}

// foundElsewhereText says in the headline what the other session found.
func (v *view) foundElsewhereText() string {
	in := v.Incident
	switch {
	case in == nil:
		return ""
	case in.FixPR > 0:
		return "root cause found there · fix in " + number(in.FixPR)
	case in.Result == session.ResultFlaky:
		return "flaky test"
	case in.Culprit != nil || in.Result == session.ResultRootCause || in.Result == session.ResultFixed:
		return "root cause found there"
	}
	return "no root cause found there"
}

// elsewhereLead says where the failure was investigated, and why that holds
// here.
func (v *view) elsewhereLead() string {
	in := v.Incident
	if in == nil {
		return sentence(prose(cut(line(v.Reason), v.cell)))
	}
	s := v.Test() + " fails with the same error as in " + v.where()
	if in.Why != "" {
		s += ": " + prose(cut(line(in.Why), v.cell))
	}
	s = sentence(s)
	switch {
	case in.Culprit != nil:
		s += " There it fails since " + v.named(*in.Culprit) + "."
	case in.Summary != "":
		s += " Found there: " + sentence(prose(cut(line(in.Summary), v.cell)))
	}
	return s + " Nothing was run here."
}

// SeenElsewhere lists where else the failure of this session was seen.
func (v *view) SeenElsewhere() string {
	if len(v.Sightings) == 0 {
		return ""
	}
	var out []string
	for _, x := range v.Sightings[:min(len(v.Sightings), v.items)] {
		name := code(cut(line(x.Ref), 100))
		switch {
		case x.PR > 0:
			name = number(x.PR)
		case x.Ref == "":
			name = v.commit(session.Commit{SHA: x.SHA})
		}
		if u := address(x.URL); u != "" && x.PR == 0 {
			name = "[" + name + "](" + u + ")"
		}
		out = append(out, name)
	}
	s := "**The same failure elsewhere**: " + strings.Join(out, ", ")
	if n := len(v.Sightings) - v.items; n > 0 {
		s += " and " + count(n, "more place")
	}
	return s + "."
}
