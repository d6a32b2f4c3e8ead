package report

import (
	"html"
	"strings"
)

// unmark takes the Markdown out of a text that this package wrote: links
// become their text, code and emphasis what they hold, escapes the characters
// that they stand for.
func unmark(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			b.WriteByte(s[i+1])
			i += 2
		case c == '`':
			i += unmarkCode(&b, s[i:])
		case strings.HasPrefix(s[i:], "**"):
			i += 2
		case c == '[':
			i++
		case c == ']' && i+1 < len(s) && s[i+1] == '(':
			end := strings.IndexByte(s[i:], ')')
			if end < 0 {
				end = 1
			}
			i += end + 1
		case c == '&':
			end := strings.IndexByte(s[i:], ';')
			if end < 0 {
				end = 0
			}
			b.WriteString(html.UnescapeString(s[i : i+end+1]))
			i += end + 1
		default:
			b.WriteByte(c)
			i++
		}
	}
	return strings.ReplaceAll(b.String(), joiner, "")
}

// unmarkCode writes the content of the code span at the beginning of s and
// returns the length of the span.
func unmarkCode(b *strings.Builder, s string) int {
	ticks := len(s) - len(strings.TrimLeft(s, "`"))
	mark := s[:ticks]
	for at := ticks; at < len(s); {
		end := strings.Index(s[at:], mark)
		if end < 0 {
			break
		}
		end += at
		run := len(s[end:]) - len(strings.TrimLeft(s[end:], "`"))
		if run == ticks {
			content := s[ticks:end]
			if len(content) > 2 && content[0] == ' ' && content[len(content)-1] == ' ' {
				content = content[1 : len(content)-1]
			}
			b.WriteString(content)
			return end + run
		}
		at = end + run
	}
	b.WriteString(mark)
	return ticks
}
