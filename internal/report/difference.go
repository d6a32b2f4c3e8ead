package report

import (
	"slices"

	"culprit/internal/session"
)

// differences lists what this machine lacks or does otherwise than CI, what
// may hide the failure first (BX4).
func (v *view) differences(r *session.Reproduction) string {
	var lines []string
	for _, blocks := range []bool{true, false} {
		for _, d := range r.Differences {
			if d.Blocks == blocks {
				lines = append(lines, d.String())
			}
		}
	}
	return v.bullets(lines, func(d string) string { return prose(cut(line(d), v.cell)) })
}

// blocked reports whether a difference explains why the failure does not show
// here.
func (v *view) blocked() bool {
	r := v.Reproduction
	return r != nil && slices.ContainsFunc(r.Differences, func(d session.Difference) bool { return d.Blocks })
}

// followedText says which job of CI the reproduction does as; "" when it
// follows none.
func (v *view) followedText(r *session.Reproduction) string {
	c := r.CI
	if c == nil {
		return ""
	}
	s := "Command, environment and set-up are those of " + line(c.Step) + " in job " + line(c.Job) + " of " + line(c.Workflow) + "."
	if c.Guessed {
		s += " Nothing said which job failed; this one runs the tests."
	}
	return cut(s, 2*v.cell)
}
