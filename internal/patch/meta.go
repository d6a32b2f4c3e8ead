package patch

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"culprit/internal/session"
)

// Modes of a git tree entry.
const (
	ModeFile      = 0o100644
	ModeExec      = 0o100755
	ModeSymlink   = 0o120000
	ModeSubmodule = 0o160000
)

// Meta is what a file's section of a diff says besides its lines.
type Meta struct {
	Created, Deleted, Renamed, Copied, Binary bool

	OldMode, NewMode uint32 // git's modes, such as ModeFile; 0 where the diff doesn't say
	OldBlob, NewBlob string // blob IDs, abbreviated without --full-index; empty for a pure rename or mode change
}

// whole reports whether the change is one that cannot be taken line by line.
func (m Meta) whole() bool {
	special := func(mode uint32) bool { return mode == ModeSymlink || mode == ModeSubmodule }
	return m.Created || m.Deleted || m.Renamed || m.Copied || m.Binary ||
		(m.OldMode != m.NewMode && m.NewMode != 0) || special(m.OldMode) || special(m.NewMode)
}

// Submodule reports whether either side is a submodule.
func (m Meta) Submodule() bool { return m.OldMode == ModeSubmodule || m.NewMode == ModeSubmodule }

// MetaOf reads the header of a hunk with Whole set; for any other hunk it is
// the zero Meta, a change of lines in an ordinary file.
func MetaOf(h session.Hunk) (Meta, error) {
	m, _, err := section(h)
	return m, err
}

// section reads the Text of a Whole hunk: its header, and its changes of
// lines. Binary content is left to binaryContent.
func section(h session.Hunk) (Meta, []change, error) {
	if !h.Whole {
		return Meta{}, nil, nil
	}
	r := &reader{lines: splitLines(text(h))}
	var m Meta
	var a, b string
	for !r.end() && !isBody(r.peek()) {
		if err := m.header(r.next(), &a, &b); err != nil {
			return m, nil, fmt.Errorf("read hunk %s: %w", h.ID, err)
		}
	}
	var changes []change
	for !r.end() {
		switch line := r.peek(); {
		case bytes.HasPrefix(line, []byte("@@ ")):
			parts, err := r.hunk()
			if err != nil {
				return m, nil, fmt.Errorf("read hunk %s: %w", h.ID, err)
			}
			for _, p := range parts {
				c, err := changeOf(p)
				if err != nil {
					return m, nil, err
				}
				changes = append(changes, c)
			}
		case isBody(line):
			m.Binary = true
			r.skipBinary()
		default:
			r.next()
		}
	}
	return m, changes, nil
}

// header takes one line of an extended header.
func (m *Meta) header(line []byte, oldPath, newPath *string) error {
	s := strings.TrimSuffix(string(line), "\n")
	mode := func(s string, into *uint32) error {
		v, err := strconv.ParseUint(strings.TrimSpace(s), 8, 32)
		if err != nil {
			return fmt.Errorf("%w: mode %q", ErrFormat, s)
		}
		*into = uint32(v)
		return nil
	}
	path := func(s string, into *string) error {
		p, rest, err := unquote(s)
		if err != nil || rest != "" {
			return fmt.Errorf("%w: path %q", ErrFormat, s)
		}
		*into = p
		return nil
	}
	word, rest := s, ""
	for _, prefix := range []string{
		"old mode ", "new mode ", "deleted file mode ", "new file mode ", "rename from ", "rename to ",
		"copy from ", "copy to ", "index ", "--- ", "+++ ",
	} {
		if strings.HasPrefix(s, prefix) {
			word, rest = prefix, s[len(prefix):]
		}
	}
	switch word {
	case "old mode ":
		return mode(rest, &m.OldMode)
	case "new mode ":
		return mode(rest, &m.NewMode)
	case "deleted file mode ":
		m.Deleted = true
		return mode(rest, &m.OldMode)
	case "new file mode ":
		m.Created = true
		return mode(rest, &m.NewMode)
	case "rename from ":
		m.Renamed = true
		return path(rest, oldPath)
	case "rename to ":
		m.Renamed = true
		return path(rest, newPath)
	case "copy from ":
		m.Copied = true
		return path(rest, oldPath)
	case "copy to ":
		m.Copied = true
		return path(rest, newPath)
	case "--- ", "+++ ":
		into, prefix := oldPath, "a/"
		if word == "+++ " {
			into, prefix = newPath, "b/"
		}
		var p string
		// git ends a name that holds a space with a tab.
		if err := path(strings.TrimSuffix(rest, "\t"), &p); err != nil {
			return err
		}
		if p != "/dev/null" {
			*into = strings.TrimPrefix(p, prefix)
		}
	case "index ":
		ids, modes, _ := strings.Cut(rest, " ")
		m.OldBlob, m.NewBlob, _ = strings.Cut(ids, "..")
		if modes != "" {
			if err := mode(modes, &m.OldMode); err != nil {
				return err
			}
			m.NewMode = m.OldMode
		}
	}
	return nil
}

// gitLinePaths reads "a/old b/new". Without quotes the line is ambiguous when
// names hold spaces; it is then read as two equal names, which is what it
// always is when no other header line names the paths.
func gitLinePaths(s string) (oldPath, newPath string, ok bool) {
	if strings.HasPrefix(s, `"`) {
		a, rest, err := unquote(s)
		if err != nil {
			return "", "", false
		}
		b, rest, err := unquote(strings.TrimPrefix(rest, " "))
		if err != nil || rest != "" {
			return "", "", false
		}
		return strings.TrimPrefix(a, "a/"), strings.TrimPrefix(b, "b/"), true
	}
	if half := len(s) / 2; len(s)%2 == 1 && s[half] == ' ' {
		a, b := s[:half], s[half+1:]
		if strings.HasPrefix(a, "a/") && strings.HasPrefix(b, "b/") && a[2:] == b[2:] {
			return a[2:], b[2:], true
		}
	}
	return "", "", false
}

// unquote reads a path as git prints it: plain to the end of the string, or
// C-quoted when it holds unusual bytes.
func unquote(s string) (path, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		return s, "", nil
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], nil
		case '\\':
			i++
			if i >= len(s) {
				return "", "", ErrFormat
			}
			if at := strings.IndexByte(`abtnvfr"\`, s[i]); at >= 0 {
				b.WriteByte("\a\b\t\n\v\f\r\"\\"[at])
				continue
			}
			if i+3 > len(s) {
				return "", "", ErrFormat
			}
			v, err := strconv.ParseUint(s[i:i+3], 8, 8)
			if err != nil {
				return "", "", ErrFormat
			}
			b.WriteByte(byte(v))
			i += 2
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", ErrFormat
}

// quote is the inverse of unquote.
func quote(s string) string {
	plain := true
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f || s[i] == '"' || s[i] == '\\' {
			plain = false
		}
	}
	if plain {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		c := s[i]
		if at := strings.IndexByte("\a\b\t\n\v\f\r\"\\", c); at >= 0 {
			b.WriteByte('\\')
			b.WriteByte(`abtnvfr"\`[at])
		} else if c < 0x20 || c >= 0x7f {
			fmt.Fprintf(&b, "\\%03o", c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
