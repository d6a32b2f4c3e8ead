package evidence

import (
	"strings"

	"culprit/internal/session"
)

// Signature is the failure's message with everything that differs from run to
// run replaced: numbers, durations and times become N, addresses and hex HEX,
// UUIDs UUID, paths of temporary and home folders PATH. Two failures of the
// same kind with equal signatures are the same fault. Only the first ten lines
// count: what follows is mostly dump. It is empty when there is no message.
func Signature(f session.Failure) string {
	if f.Message == "" {
		return ""
	}
	lines := strings.SplitN(f.Message, "\n", 11)
	if len(lines) > 10 {
		lines = lines[:10]
	}
	return string(f.Kind) + ": " + normalise(strings.Join(lines, "\n"))
}

// normalise is one pass over the words of s.
func normalise(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	space := true // nothing written yet, or a blank
	for i := 0; i < len(s); {
		c := s[i]
		if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
			if !space {
				b.WriteByte(' ')
			}
			space = true
			i++
			continue
		}
		space = false
		switch {
		case c == '/' || c == '\\' || c == '~':
			if n := pathLen(s[i:]); n > 0 && (i == 0 || !isWord(s[i-1]) && s[i-1] != '/' || s[i-1] == ':') {
				b.WriteString(shortPath(s[i : i+n]))
				i += n
				continue
			}
			b.WriteByte(c)
			i++
		case isAlnum(c):
			j := i
			for j < len(s) && isWord(s[j]) {
				j++
			}
			b.WriteString(normalWord(s[i:j]))
			i = j
		default:
			b.WriteByte(c)
			i++
		}
	}
	return strings.TrimSpace(b.String())
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

// isWord takes what holds a number, a time or a UUID together.
func isWord(c byte) bool { return isAlnum(c) || c == '-' || c == '.' || c == ':' }

// normalWord replaces the changing parts of one word.
func normalWord(w string) string {
	if !strings.ContainsAny(w, "0123456789") {
		if len(w) >= 12 && hexLen(w) == len(w) {
			return "HEX"
		}
		return w
	}
	if len(w) >= 36 && isUUID(w[:36]) {
		return "UUID" + normalWord(w[36:])
	}
	var b strings.Builder
	for i := 0; i < len(w); {
		c := w[i]
		if c == '0' && i+2 < len(w) && (w[i+1] == 'x' || w[i+1] == 'X') && hexLen(w[i+2:]) > 0 {
			b.WriteString("HEX")
			i += 2 + hexLen(w[i+2:])
			continue
		}
		if i == 0 || !isAlnum(w[i-1]) {
			if n := hexLen(w[i:]); n >= 7 && (i+n == len(w) || !isAlnum(w[i+n])) && mixed(w[i:i+n]) {
				b.WriteString("HEX")
				i += n
				continue
			}
		}
		if c < '0' || c > '9' {
			b.WriteByte(c)
			i++
			continue
		}
		// A run of digits with the separators of numbers, dates and clocks in it.
		j := i + 1
		for j < len(w) && (w[j] >= '0' && w[j] <= '9' || j+1 < len(w) && strings.IndexByte("-.:", w[j]) >= 0 && w[j+1] >= '0' && w[j+1] <= '9') {
			j++
		}
		// "T12:00", "e-9": joined to the number before.
		if j+1 < len(w) && (w[j] == 'T' || w[j] == 'e') && w[j+1] >= '0' && w[j+1] <= '9' {
			i = j + 1
			continue
		}
		b.WriteByte('N')
		i = j + unitLen(w[j:])
	}
	return b.String()
}

// unitLen is the length of a unit of time that ends the word.
func unitLen(s string) int {
	for _, u := range [...]string{"ns", "us", "ms", "s", "m", "h", "sec", "secs", "seconds", "min", "Z"} {
		if strings.HasPrefix(s, u) && (len(s) == len(u) || !isAlnum(s[len(u)]) || s[len(u)] >= '0' && s[len(u)] <= '9') {
			return len(u)
		}
	}
	return 0
}

func hexLen(s string) int {
	n := 0
	for n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] >= 'a' && s[n] <= 'f' || s[n] >= 'A' && s[n] <= 'F') {
		n++
	}
	return n
}

// mixed reports digits and letters both: "3f2a91c", not "1234567" or "defaced".
func mixed(s string) bool {
	var digit, letter bool
	for i := 0; i < len(s); i++ {
		if s[i] <= '9' {
			digit = true
		} else {
			letter = true
		}
	}
	return digit && letter
}

func isUUID(s string) bool {
	for i := 0; i < 36; i++ {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return false
			}
		} else if hexLen(s[i:i+1]) == 0 {
			return false
		}
	}
	return true
}

// pathLen is the length of an absolute path at the start of s.
func pathLen(s string) int {
	if len(s) < 2 || !isAlnum(s[1]) && s[1] != '.' && (s[0] != '~' || s[1] != '/') {
		return 0
	}
	i := 1
	for i < len(s) && strings.IndexByte(" \t\n\"'`,;()[]{}<>|:", s[i]) < 0 {
		i++
	}
	if strings.Count(s[:i], string(s[0])) < 2 && s[0] != '~' {
		return 0
	}
	return i
}

// shortPath keeps a path's last element, normalised: the folders before it
// are a machine's own.
func shortPath(p string) string {
	base := p[strings.LastIndexAny(p, `/\`)+1:]
	if strings.HasPrefix(p, "/tmp/") || strings.HasPrefix(p, "/var/folders/") || strings.HasPrefix(p, "/private/") {
		return "PATH"
	}
	return "PATH/" + normalWord(base)
}
