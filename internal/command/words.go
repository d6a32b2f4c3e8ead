package command

import (
	"strings"
	"unicode"
)

// A word of a command. Quoted words are never flags.
type word struct {
	text   string
	quoted bool
}

// flag reports whether the word is written as a flag: "-c", "--test", but not
// "-1" or "->".
func (w word) flag() bool {
	return !w.quoted && len(w.text) > 1 && w.text[0] == '-' && (w.text[1] == '-' || unicode.IsLetter(rune(w.text[1])))
}

// closing is the end of each kind of quote. Phones write the curly ones.
var closing = map[rune]string{'\'': "'", '"': "\"", '“': "”“", '‘': "’‘", '„': "“”"}

// split takes a line apart as a shell does, without its expansions: words are
// separated by white space, and quotes keep it. A quote that begins within a
// word is a letter ("don't"), except after "=" of a flag. Control characters
// are dropped.
func split(line string) (words []word, problem string) {
	var b strings.Builder
	open, quoted, begun := "", false, false
	end := func() {
		if begun {
			words = append(words, word{dashes(b.String(), quoted), quoted})
		}
		b.Reset()
		quoted, begun = false, false
	}
	for _, r := range line {
		switch {
		case open != "" && strings.ContainsRune(open, r):
			open = ""
		case open == "" && unicode.IsSpace(r):
			end()
		case unicode.IsControl(r), r == unicode.ReplacementChar:
		case open == "" && closing[r] != "" && (!begun || flagValue(b.String())):
			open, quoted = closing[r], !begun
			begun = true
		default:
			begun = true
			b.WriteRune(r)
		}
	}
	if open != "" {
		problem = "a quote is not closed"
	}
	end()
	return words, problem
}

// flagValue reports whether a flag stands before, whose value begins here.
func flagValue(s string) bool {
	return strings.HasSuffix(s, "=") && strings.HasPrefix(dashes(s, false), "-")
}

// dashes undoes what phones make of two hyphens.
func dashes(s string, quoted bool) string {
	if quoted {
		return s
	}
	for _, long := range []string{"—", "–"} {
		if rest, ok := strings.CutPrefix(s, long); ok {
			return "--" + strings.TrimLeft(rest, "-")
		}
	}
	return s
}
