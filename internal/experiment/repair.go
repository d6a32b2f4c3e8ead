package experiment

import (
	"regexp"
	"slices"
	"strings"

	"culprit/internal/session"
)

// maxRepairs bounds how often one combination of hunks is completed.
const maxRepairs = 8

// patientRepairs of them add as little as possible.
const patientRepairs = 2

// What is read of an output that does not build.
const (
	maxErrorLines = 12
	maxNames      = 12
)

var (
	errorLine  = regexp.MustCompile(`^\s*([\w./+@-]+\.\w+):\d+|error\b|Error:|undefined|not defined|cannot find|unresolved`)
	identifier = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]+`)
	definition = regexp.MustCompile(`\b(func|type|var|const|class|def|interface|struct|enum|fn|trait|let|function|static|public|private|protected|val|export)\b`)
)

// needed picks, when a combination of hunks does not build, the hunks of the
// rest without which it cannot: those that define what the messages miss;
// else those that stop using what was removed; else those of the files that
// the messages name. The messages are foreign text: at worst too much or
// nothing is picked. With eager set all three are picked at once.
func needed(output string, have, all []session.Hunk, eager bool) []session.Hunk {
	var rest []session.Hunk
	for _, h := range all {
		if !slices.ContainsFunc(have, func(x session.Hunk) bool { return x.ID == h.ID }) {
			rest = append(rest, h)
		}
	}
	names, files := complaints(output)
	var defining, releasing, beside []session.Hunk
	for _, h := range rest {
		switch {
		case mentions(h, '+', names, true):
			defining = append(defining, h)
		case mentions(h, '-', names, false) && !mentions(h, '+', names, false):
			releasing = append(releasing, h)
		case slices.Contains(files, h.File):
			beside = append(beside, h)
		}
	}
	if eager {
		return slices.Concat(defining, releasing, beside)
	}
	for _, found := range [][]session.Hunk{defining, releasing, beside} {
		if found != nil {
			return found
		}
	}
	return nil
}

// complaints reads the names and files in the first error lines.
func complaints(output string) (names, files []string) {
	n := 0
	for line := range strings.Lines(output) {
		m := errorLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if n++; n > maxErrorLines {
			break
		}
		rest := line
		if m[1] != "" {
			if file := strings.TrimPrefix(strings.TrimSpace(m[1]), "./"); !slices.Contains(files, file) {
				files = append(files, file)
			}
			rest = line[strings.Index(line, m[1])+len(m[1]):]
		}
		for _, name := range identifier.FindAllString(rest, -1) {
			if len(names) < maxNames && len(name) > 2 && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, files
}

// mentions reports whether a changed line of the hunk on that side holds one
// of the names as a word; with defined, in a place where names are defined.
func mentions(h session.Hunk, side byte, names []string, defined bool) bool {
	for line := range strings.Lines(h.Text) {
		if len(line) < 2 || line[0] != side {
			continue
		}
		text := line[1:]
		words := identifier.FindAllString(text, -1)
		for i, w := range words {
			if !slices.Contains(names, w) {
				continue
			}
			// The first word of a line may be a field or an assignment.
			if !defined || i == 0 || definition.MatchString(text) {
				return true
			}
		}
	}
	return false
}
