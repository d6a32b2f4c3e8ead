package github

import (
	"strings"
	"unicode/utf8"
)

// maxText is below GitHub's limit of 65,536 characters for a comment, a body
// or a summary.
const maxText = 65000

const cutNote = "\n\n_Cut here: GitHub takes no longer text._\n"

// fit redacts a text and, if it is too long, cuts it at a line, closing the
// code fence and the folded parts that are open there. The marker, which
// stands on the first or the last line, stays.
func (p *Publisher) fit(text string, limit int) string {
	text = p.redact(text)
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	last := ""
	if i := strings.LastIndexByte(strings.TrimRight(text, "\n"), '\n'); i >= 0 {
		if line := strings.TrimSpace(text[i:]); strings.HasPrefix(line, "<!--") && len(line) < 500 {
			last = line + "\n"
		}
	}
	kept := firstRunes(text, limit-1000-utf8.RuneCountInString(cutNote+last))
	if i := strings.LastIndexByte(kept, '\n'); i > 0 {
		kept = kept[:i+1]
	}
	return kept + closing(kept) + cutNote + last
}

// closing ends what is open at the end of a piece of Markdown.
func closing(text string) string {
	fence, open := "", 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if marker := fenceMarker(line); marker != "" {
			switch {
			case fence == "":
				fence = marker
			case marker[0] == fence[0] && len(marker) >= len(fence) && line == marker:
				fence = ""
			}
			continue
		}
		if fence == "" {
			open += strings.Count(line, "<details>") - strings.Count(line, "</details>")
		}
	}
	end := ""
	if fence != "" {
		end = fence + "\n"
	}
	for range min(max(open, 0), 20) {
		end += "\n</details>\n"
	}
	return end
}

// fenceMarker returns the backquotes or tildes of a line that opens or closes
// a code block.
func fenceMarker(line string) string {
	if line == "" || (line[0] != '`' && line[0] != '~') {
		return ""
	}
	marker := line[:len(line)-len(strings.TrimLeft(line, line[:1]))]
	if len(marker) < 3 {
		return ""
	}
	return marker
}

// firstRunes returns at most n characters.
func firstRunes(s string, n int) string {
	if n <= 0 {
		return ""
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// sameText compares a text with what GitHub gives back of it, which differs in
// line ends and in space at the ends.
func sameText(a, b string) bool {
	plain := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
	return plain(a) == plain(b)
}
