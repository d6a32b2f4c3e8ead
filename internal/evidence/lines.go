package evidence

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"
)

// chunk is how much is read at once. Lines are slices of one string per
// piece, so that a line costs no allocation; what is kept is cloned. Pieces
// are of a size that the runtime hands out again without asking the kernel
// for fresh pages, which would cost more than all the rest.
const (
	chunk = 128 << 10
	piece = 24 << 10
)

// eachLine calls f with every line, without its line end, and the byte range
// that it had. Lines over maxLine bytes are cut.
func eachLine(r io.Reader, f func(text string, from, to int64)) error {
	buf := make([]byte, chunk)
	var (
		n    int   // bytes in buf
		base int64 // offset of buf[0]
		skip bool  // inside the tail of a line that was cut
		idle int   // reads in a row without data
	)
	for {
		m, err := r.Read(buf[n:])
		if m == 0 && err == nil {
			if idle++; idle > 100 {
				return io.ErrNoProgress
			}
			continue
		}
		idle = 0
		n += m
		end := n
		if err == nil {
			end = lastLine(buf, n, m)
		}
		if end == 0 && n < maxLine && err == nil {
			continue
		}
		if end == 0 && err == nil { // a line longer than the cap
			if !skip {
				f(string(buf[:maxLine]), base, base+int64(n))
			}
			skip, base, n = true, base+int64(n), 0
			continue
		}
		at := base
		for whole := buf[:end]; len(whole) > 0; {
			n := len(whole)
			if n > piece {
				if n = bytes.LastIndexByte(whole[:piece], '\n') + 1; n == 0 {
					n = len(whole)
				}
			}
			text := string(whole[:n])
			whole = whole[n:]
			for len(text) > 0 {
				line, rest := text, ""
				if i := strings.IndexByte(text, '\n'); i >= 0 {
					line, rest = text[:i], text[i+1:]
				}
				next := at + int64(len(text)-len(rest))
				if !skip {
					f(line[:min(len(line), maxLine)], at, next)
				}
				skip = false
				text, at = rest, next
			}
		}
		copy(buf, buf[end:n])
		base, n = base+int64(end), n-end
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// lastLine is the length of the whole lines in buf[:n], of which the last m
// bytes are new.
func lastLine(buf []byte, n, m int) int {
	for i := n - 1; i >= n-m; i-- {
		if buf[i] == '\n' {
			return i + 1
		}
	}
	return 0
}

// clean frees a line of everything that is for terminals: escape sequences,
// carriage returns and what they overwrite, control characters, bytes that
// are no UTF-8. Almost every line comes back as it is.
func clean(s string) string {
	s = strings.TrimRight(s, "\r")
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' && c != '\t' || c >= 0x7f {
			return cleanFrom(s, i)
		}
	}
	return s
}

// cleanFrom is clean for a line whose first i bytes are known to be fine.
func cleanFrom(s string, i int) string {
	var b strings.Builder
	kept := 0 // s[kept:i] is fine, and not in b yet
	drop := func(n int) {
		b.WriteString(s[kept:i])
		i += n
		kept = i
	}
	for i < len(s) {
		c := s[i]
		switch {
		case c == '\t' || c >= ' ' && c < 0x7f:
			i++
		case c == 0x1b:
			drop(escapeLen(s[i:]))
		case c == '\r': // a progress line: what follows overwrites it
			b.Reset()
			i++
			kept = i
		case c < utf8.RuneSelf:
			drop(1) // NUL, BEL, DEL, …
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			switch {
			case r >= 0x80 && r < 0xa0, r == 0xfeff: // C1 controls, byte order mark
				drop(n)
			case r == utf8.RuneError && n == 1:
				drop(1)
				b.WriteRune(utf8.RuneError)
			default:
				i += n
			}
		}
	}
	if kept == 0 {
		return s
	}
	b.WriteString(s[kept:])
	return b.String()
}

// escapeLen is the length of the escape sequence that s begins with. An
// unterminated one is taken as two bytes, so that it swallows no text.
func escapeLen(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[': // CSI: parameters, then one final byte
		for i := 2; i < len(s) && i < 64; i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 {
				break
			}
		}
	case ']', 'P', '_', '^', 'X': // OSC, DCS, APC, PM, SOS: up to BEL or ST
		for i := 2; i < len(s); i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
		}
	case '(', ')', '*', '+': // character set
		return min(3, len(s))
	}
	return 2
}

// cut shortens s to n bytes at a rune's boundary.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
