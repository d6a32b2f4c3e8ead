package report

import (
	"strings"

	"culprit/internal/session"
)

// Contradiction tells what workers say and cannot both be true. It is not
// folded: whoever acts on the cause must know of it.
func (v *view) Contradiction() string {
	if len(v.Contradictions) == 0 {
		return ""
	}
	return "**Workers disagree**\n\n" + v.bullets(v.Contradictions, func(s string) string { return sentence(prose(cut(line(s), v.cell))) })
}

// results of a challenge, in words.
var results = map[session.Challenged]string{
	session.Stands: "stands", session.Contested: "is contested", session.Broken: "does not stand",
	session.Undecided: "was challenged without an end", session.LeftOut: "was not challenged",
}

// Pressure tells how those fared who tried to break what was confirmed (QD14),
// and which other explanations they looked at (DB5).
func (v *view) Pressure() string {
	if len(v.Challenges) == 0 {
		return ""
	}
	var out []string
	for _, x := range v.Challenges[:min(len(v.Challenges), v.rows)] {
		if x.As != "" {
			out = append(out, "- "+"**"+prose(x.Task)+"**"+" "+results[x.Result]+": it names the place that "+prose(x.As)+" names.")
			continue
		}
		s := "- " + "**" + prose(x.Task) + "**" + " " + results[x.Result]
		why := line(x.Why)
		if x.Result == session.LeftOut {
			why = strings.TrimPrefix(why, "not challenged: ")
		}
		for _, text := range []string{line(x.Findings), why} {
			if text != "" {
				s += ": " + strings.TrimSuffix(prose(cut(text, v.cell)), ".")
			}
		}
		out = append(out, sentence(s))
		for _, e := range x.Evidence[:min(len(x.Evidence), v.items)] {
			out = append(out, "  - against: "+v.evidence(e))
		}
		for _, a := range x.Alternatives[:min(len(x.Alternatives), v.items)] {
			kind := "ruled out: "
			if a.Possible {
				kind = "possible as well: "
			}
			out = append(out, "  - "+kind+strings.TrimSuffix(prose(cut(line(a.Explanation), v.cell)), ".")+" ("+v.evidence(a.Evidence)+")")
		}
	}
	return "**Tried to break**\n\n" + strings.Join(out, "\n")
}
