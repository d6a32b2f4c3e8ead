package report

import (
	"fmt"
	"slices"
	"strings"

	"culprit/internal/session"
)

// classes of the pictures, readable on light and dark pages.
const classes = `  classDef pass fill:#dafbe1,stroke:#1a7f37,color:#1f2328
  classDef fail fill:#ffebe9,stroke:#cf222e,color:#1f2328
  classDef open fill:#f6f8fa,stroke:#6e7781,color:#1f2328
`

// Picture shows the commits that were tried, in the order of history. Labels
// hold IDs only: no foreign text gets into a picture's syntax.
func (v *view) Picture() string {
	search := v.search()
	if search == nil || len(search.Tried) == 0 {
		return ""
	}
	type node struct {
		index int
		short string
		class string
		label string
	}
	classOf := func(o session.Outcome) string {
		switch o {
		case session.Passed:
			return "pass"
		case session.FailedSame:
			return "fail"
		}
		return "open"
	}
	var nodes []node
	for _, p := range search.Tried {
		n := node{p.Index, safeID(p.Commit.Short()), classOf(p.Outcome), outcome(p.Outcome)}
		if i := slices.IndexFunc(nodes, func(o node) bool { return o.short == n.short }); i >= 0 {
			if nodes[i].class != n.class {
				nodes[i].class, nodes[i].label = "open", "both"
			}
			continue
		}
		nodes = append(nodes, n)
	}
	slices.SortStableFunc(nodes, func(a, b node) int { return a.index - b.index })
	c := v.RootCause.Culprit
	if drop := len(nodes) - v.nodes; drop > 0 {
		// Those near the culprit tell most.
		at := len(nodes) / 2
		if c != nil {
			if i := slices.IndexFunc(nodes, func(n node) bool { return n.short == safeID(c.Short()) }); i >= 0 {
				at = i
			}
		}
		from := min(max(at-v.nodes/2, 0), drop)
		nodes = nodes[from : from+v.nodes]
	}
	var b strings.Builder
	b.WriteString("```mermaid\nflowchart LR\n")
	for i, n := range nodes {
		label := n.short + "<br>" + n.label
		if c != nil && n.short == safeID(c.Short()) {
			label += "<br><b>culprit</b>"
		}
		fmt.Fprintf(&b, "  c%d[\"%s\"]:::%s\n", i, label, n.class)
		if i > 0 {
			if gap := n.index - nodes[i-1].index - 1; gap > 0 {
				fmt.Fprintf(&b, "  c%d -- \"%d between\" --> c%d\n", i-1, gap, i)
			} else {
				fmt.Fprintf(&b, "  c%d --> c%d\n", i-1, i)
			}
		}
	}
	return b.String() + classes + "```"
}

// Tree shows the hypotheses and what became of them.
func (v *view) Tree() string {
	rows := v.Wave(1)
	if len(rows) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("```mermaid\nflowchart LR\n  s([\"symptom\"])\n")
	for i, t := range rows[:min(len(rows), v.nodes)] {
		class, verdict := "open", string(t.Verdict)
		switch t.Verdict {
		case session.Confirmed:
			class = "fail"
		case session.Refuted:
			class = "pass"
		case "":
			verdict = "open"
		}
		fmt.Fprintf(&b, "  s --> h%d[\"%s %s<br>%s\"]:::%s\n", i, safeID(t.ID), v.kindOf(t.ID), safeID(verdict), class)
		if f := v.Task("FIX-" + t.ID); f != nil && f.Status == session.Completed {
			result, class := "fix failed", "open"
			if f.FixResult == session.Fixed {
				result, class = "fixed", "pass"
			}
			fmt.Fprintf(&b, "  h%d --> f%d[\"%s<br>%s\"]:::%s\n", i, i, safeID(f.ID), result, class)
		}
	}
	return b.String() + classes + "```"
}

func (v *view) kindOf(id string) string {
	for _, h := range v.Hypotheses {
		if h.ID == id {
			return safeID(string(h.Kind))
		}
	}
	return ""
}

// safeID keeps what can stand in a picture's label.
func safeID(s string) string {
	return cut(strings.Map(func(r rune) rune {
		if (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') || (r >= '0' && r <= '9') || r == '-' || r == ' ' {
			return r
		}
		return -1
	}, s), 40)
}
