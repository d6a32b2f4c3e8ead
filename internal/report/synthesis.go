package report

import (
	"fmt"
	"strings"
)

// Account is what a model makes of all findings together: each statement with
// the places and runs that were looked up for it (CR9). Empty: there is none,
// and the other texts say what was found.
func (v *view) Account() string {
	x := v.Synthesis
	if x == nil || len(x.Statements) == 0 {
		return ""
	}
	var out []string
	for _, st := range x.Statements[:min(len(x.Statements), v.items)] {
		var cites []string
		for _, c := range st.Cites {
			if file, n := splitLocation(line(c)); n > 0 && !strings.Contains(file, " ") {
				cites = append(cites, v.place(line(c), v.foundAt()))
			} else {
				cites = append(cites, code(cut(c, v.cell)))
			}
		}
		out = append(out, "- "+sentence(prose(cut(line(st.Text), v.cell)))+" ("+strings.Join(cites, ", ")+")")
	}
	s := strings.Join(out, "\n")
	if n := len(x.Statements) - v.items; n > 0 {
		s += "\n- _" + more(n, "statement") + "_"
	}
	var order []string
	for _, c := range x.Causes[:min(len(x.Causes), v.items)] {
		order = append(order, "**"+prose(c.Task)+"** ("+prose(c.Strength)+")")
	}
	if len(order) > 0 {
		s += "\n\nCauses, the best backed first: " + strings.Join(order, ", ") + "."
	}
	s += " Written by a model; each statement is shown with the lines and runs that were looked up for it."
	if x.Struck > 0 {
		s += fmt.Sprintf(" %s had none and %s left out.", count(x.Struck, "statement"), word(x.Struck == 1, "was", "were"))
	}
	return s
}

// account is Account under a title.
func (v *view) account() string {
	s := v.Account()
	if s != "" {
		s = "**What the findings say together**\n\n" + s
	}
	return s
}

// foundAt is the commit in whose tree readers looked.
func (v *view) foundAt() string {
	if v.Bad != nil {
		return v.Bad.SHA
	}
	return v.treeOf()
}
