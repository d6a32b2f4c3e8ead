package toolchain

import "strings"

// Quote makes one word of s for a POSIX shell. What is plain stays readable.
func Quote(s string) string {
	plain := s != ""
	for i := 0; i < len(s) && plain; i++ {
		c := s[i]
		plain = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_-./:=@%+,", c) >= 0
	}
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// quoted always has the quotation marks: a pattern is easier to read so.
func quoted(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func quoteAll(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = Quote(w)
	}
	return strings.Join(out, " ")
}

// dashSafe keeps a path from being read as an option.
func dashSafe(p string) string {
	if strings.HasPrefix(p, "-") {
		return "./" + p
	}
	return p
}

// jsPattern escapes s for a JavaScript regular expression.
func jsPattern(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(`\^$.*+?()[]{}|/`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// words splits a command line as a POSIX shell would, without expanding
// anything. Operators (&&, ;, |, …) are words of their own, marked as such.
// ok is false for what only a shell can understand: substitutions, here
// documents, unbalanced quotes.
func words(cmd string) (out []word, ok bool) {
	var b strings.Builder
	started := false
	start := -1 // of the word in cmd
	flush := func(end int) {
		if started {
			out = append(out, word{text: b.String(), raw: cmd[start:end]})
		}
		b.Reset()
		started, start = false, -1
	}
	for i := 0; i < len(cmd); i++ {
		c := cmd[i]
		if start < 0 {
			start = i
		}
		switch c {
		case ' ', '\t':
			flush(i)
		case '\n', ';', '|', '&', '(', ')', '<', '>':
			flush(i)
			op := string(c)
			if i+1 < len(cmd) && cmd[i+1] == c && c != '\n' {
				op += string(c)
				i++
			}
			if op == "<<" || op == "(" || op == ")" {
				return nil, false
			}
			out = append(out, word{text: op, op: true})
		case '\'':
			j := strings.IndexByte(cmd[i+1:], '\'')
			if j < 0 {
				return nil, false
			}
			b.WriteString(cmd[i+1 : i+1+j])
			i, started = i+1+j, true
		case '"':
			started = true
			for i++; ; i++ {
				if i >= len(cmd) {
					return nil, false
				}
				if cmd[i] == '"' {
					break
				}
				if cmd[i] == '$' || cmd[i] == '`' {
					return nil, false
				}
				if cmd[i] == '\\' && i+1 < len(cmd) && strings.IndexByte("\\\"$`", cmd[i+1]) >= 0 {
					i++
				}
				b.WriteByte(cmd[i])
			}
		case '\\':
			if i+1 < len(cmd) {
				i++
				if cmd[i] != '\n' {
					b.WriteByte(cmd[i])
					started = true
				}
			}
		case '$', '`':
			return nil, false
		case '#':
			if !started {
				return out, true
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
			started = true
		}
	}
	flush(len(cmd))
	return out, true
}

type word struct {
	text string
	raw  string // as written, with its quotation marks
	op   bool
}
