package report

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// joiner stands after characters that GitHub would act on (@, #, …) and shows
// nothing.
const joiner = "\u200d"

var (
	// ansi are the escape sequences of terminals: colours and cursor (CSI),
	// titles and links (OSC), and the rest with two characters.
	ansi = regexp.MustCompile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|\x1b[@-Z\\\\^_]|\u009b[0-?]*[ -/]*[@-~]")
	// skipCI are the words in a commit message by which CI is told not to run.
	skipCI    = regexp.MustCompile(`(?i)\[(skip|ci|no|actions)[ -](ci|skip|actions|checks)\]`)
	emoji     = regexp.MustCompile(`:((?:[A-Za-z+-][A-Za-z0-9_+-]*|100|1234):)`)
	reference = regexp.MustCompile(`(?i)\b(gh)-([0-9])`)
	www       = regexp.MustCompile(`(?i)\b(www)\.`)
)

// clean removes from foreign text what a reader cannot see: terminal escapes,
// control characters, and characters that are invisible or turn the direction
// of writing. Newlines and tabs stay.
func clean(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if strings.ContainsAny(s, "\x1b\u009b") {
		s = ansi.ReplaceAllString(s, "")
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\r':
			return '\n'
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), // joiners, marks and overrides of direction, tags
			r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef, // variation selectors
			unicode.Is(unicode.Co, r), r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, r == 0x2800, r == 0x034f: // blanks
			return -1
		case r == '\u2028', r == '\u2029':
			return '\n'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// maxLine bounds the foreign text that is looked at for one line, in bytes;
// what is shown of it is far shorter.
const maxLine = 16 << 10

// line is clean text on one line.
func line(s string) string {
	if len(s) > maxLine {
		s = s[:maxLine]
	}
	return strings.Join(strings.Fields(clean(s)), " ")
}

// cut shortens to at most n characters.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:max(n-1, 0)]), " ") + "…"
}

// plain is foreign text for a title or a commit message: no Markdown is read
// there, but mentions, references and commands to CI are.
func plain(s string) string {
	s = strings.NewReplacer("@", "@"+joiner, "#", "#"+joiner, "://", ":"+joiner+"//").Replace(line(s))
	s = reference.ReplaceAllString(s, "$1-"+joiner+"$2")
	return skipCI.ReplaceAllString(s, "["+joiner+"$1 $2]")
}

// markdown escapes what Markdown, HTML and GitHub's own syntax would read.
var markdown = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "~", `\~`, "|", `\|`, "!", `\!`,
	"<", "&lt;", ">", "&gt;", "&", "&amp;",
	"@", "@"+joiner, "#", "#"+joiner, "$", "$"+joiner, "://", ":"+joiner+"//",
)

// blockStart is what begins a heading, list, quote or rule at the start of a
// line. (Most of it is escaped anyway.)
var blockStart = regexp.MustCompile(`^([-+=]+|[0-9]+)([.)]?)(\s|$)`)

// prose is foreign text within a line of Markdown.
func prose(s string) string {
	s = markdown.Replace(line(s))
	s = emoji.ReplaceAllString(s, ":"+joiner+"$1")
	s = reference.ReplaceAllString(s, "$1-"+joiner+"$2")
	s = www.ReplaceAllString(s, "$1"+joiner+".")
	return blockStart.ReplaceAllStringFunc(s, func(m string) string {
		if m[0] >= '0' && m[0] <= '9' {
			i := strings.IndexAny(m, ".)")
			if i < 0 {
				return m
			}
			return m[:i] + `\` + m[i:]
		}
		return `\` + m
	})
}

// cell makes a text of Markdown fit for a table, whose cells are cut at every
// pipe without a backslash, those in code too.
func cell(s string) string {
	var b strings.Builder
	slashes := 0
	for _, r := range strings.ReplaceAll(s, "\n", " ") {
		switch {
		case r != '|':
		case slashes == 0:
			b.WriteByte('\\')
		case slashes%2 == 0:
			// A backslash before it in code would undo the escape.
			r = '\u2223'
		}
		b.WriteRune(r)
		if r == '\\' {
			slashes++
		} else {
			slashes = 0
		}
	}
	return b.String()
}

// code is foreign text as a code span, in which GitHub reads nothing.
func code(s string) string {
	s = line(s)
	if s == "" {
		return "`(empty)`"
	}
	ticks := "`"
	for strings.Contains(s, ticks) {
		ticks += "`"
	}
	if s[0] == '`' || s[len(s)-1] == '`' {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

// fence is foreign text as a block of code of at most n lines, with a fence
// longer than any in it.
func fence(language, s string, n int) string {
	s = strings.Trim(s, "\r\n")
	lines := strings.SplitN(s, "\n", n+1)
	note := ""
	if len(lines) > n {
		note = "\n_" + count(strings.Count(lines[n], "\n")+1, "more line") + " in the session folder._"
		lines = lines[:n]
	}
	for i, l := range lines {
		lines[i] = clean(strings.TrimSuffix(l[:min(len(l), maxLine)], "\r"))
	}
	for i := range lines {
		lines[i] = cut(lines[i], 400)
	}
	s = strings.Join(lines, "\n")
	ticks := "```"
	for strings.Contains(s, ticks) {
		ticks += "`"
	}
	return ticks + language + "\n" + s + "\n" + ticks + note
}

var hexID = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// web is the repository's web address for links, or empty.
func web(address string) string {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return ""
	}
	return strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", " ", "%20", "\"", "%22", "`", "%60").Replace(strings.TrimSuffix(u.String(), "/"))
}

// pathURL escapes a path for an address within Markdown.
func pathURL(path string) string {
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i] = strings.NewReplacer("(", "%28", ")", "%29").Replace(url.PathEscape(parts[i]))
	}
	return strings.Join(parts, "/")
}
