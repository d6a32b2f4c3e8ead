package patch

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"strings"

	"culprit/internal/session"
)

// ErrMismatch means that the lines which a hunk replaces are not what stands
// there.
var ErrMismatch = errors.New("hunk does not match")

// ErrBinary means that a hunk changes a binary file and holds no content:
// fetch the blob that MetaOf names, or diff with --binary.
var ErrBinary = errors.New("hunk has no binary content")

// change replaces the lines old, which stand after oldAt lines of the old
// side, by new, which stand after newAt lines of the new side. Each line
// keeps its newline; the last of a file may have none.
type change struct {
	oldAt, newAt int
	old, new     [][]byte
}

func (c change) empty() bool { return len(c.old) == 0 && len(c.new) == 0 }

func (c change) reversed() change { return change{c.newAt, c.oldAt, c.new, c.old} }

// hunk writes the change in the form that a diff has.
func (c change) hunk() session.Hunk {
	var b strings.Builder
	put := func(sign byte, lines [][]byte) {
		for _, line := range lines {
			b.WriteByte(sign)
			b.Write(line)
			if len(line) == 0 || line[len(line)-1] != '\n' {
				b.WriteByte('\n')
				b.WriteString(noNewline)
			}
		}
	}
	put('-', c.old)
	put('+', c.new)
	h := session.Hunk{OldStart: c.oldAt, OldLines: len(c.old), NewStart: c.newAt, NewLines: len(c.new), Text: b.String()}
	if h.OldLines > 0 {
		h.OldStart++
	}
	if h.NewLines > 0 {
		h.NewStart++
	}
	return h
}

// text is the hunk's Text, byte for byte even after a trip through JSON.
func text(h session.Hunk) []byte {
	if h.Raw != nil {
		return h.Raw
	}
	return []byte(h.Text)
}

// changeOf reads a hunk that is not Whole.
func changeOf(h session.Hunk) (change, error) {
	c := change{oldAt: h.OldStart, newAt: h.NewStart}
	if h.OldLines > 0 {
		c.oldAt--
	}
	if h.NewLines > 0 {
		c.newAt--
	}
	var last *[]byte
	for _, line := range splitLines(text(h)) {
		switch line[0] {
		case '-':
			c.old = append(c.old, line[1:])
			last = &c.old[len(c.old)-1]
		case '+':
			c.new = append(c.new, line[1:])
			last = &c.new[len(c.new)-1]
		case '\\':
			if last != nil {
				*last = bytes.TrimSuffix(*last, []byte{'\n'})
			}
			last = nil
		default:
			return c, fmt.Errorf("read hunk %s: %w: a line begins with %q", h.ID, ErrFormat, line[0])
		}
	}
	if len(c.old) != h.OldLines || len(c.new) != h.NewLines {
		return c, fmt.Errorf("read hunk %s: %w: its text has %d old and %d new lines, its numbers say %d and %d",
			h.ID, ErrFormat, len(c.old), len(c.new), h.OldLines, h.NewLines)
	}
	return c, nil
}

// Apply puts hunks, any subset of one file's, onto the diff's old side. A
// Whole hunk stands alone: base is nil for a created file, and nil is returned
// for a deleted one. The error wraps ErrMismatch where base is not the old
// side, and ErrBinary where content is missing.
func Apply(base []byte, hunks []session.Hunk) ([]byte, error) {
	return apply(base, hunks, false)
}

// Reverse takes hunks, any subset of one file's, off the diff's new side. For
// any subset of a file's hunks Apply(old, subset) equals Reverse(new,
// complement).
func Reverse(base []byte, hunks []session.Hunk) ([]byte, error) {
	return apply(base, hunks, true)
}

func apply(base []byte, hunks []session.Hunk, reverse bool) ([]byte, error) {
	var changes []change
	for _, h := range hunks {
		if h.File != hunks[0].File {
			return nil, fmt.Errorf("apply hunk %s: it belongs to another file than %s", h.ID, hunks[0].ID)
		}
		if h.Whole {
			if len(hunks) > 1 {
				return nil, fmt.Errorf("apply hunk %s: a whole-file change cannot be combined with other hunks of the file", h.ID)
			}
			return applyWhole(base, h, reverse)
		}
		c, err := changeOf(h)
		if err != nil {
			return nil, err
		}
		if reverse {
			c = c.reversed()
		}
		changes = append(changes, c)
	}
	if len(changes) == 0 {
		return base, nil
	}
	out, err := replace(base, changes)
	if err != nil {
		return nil, fmt.Errorf("apply hunks to %s: %w", hunks[0].File, err)
	}
	return out, nil
}

func applyWhole(base []byte, h session.Hunk, reverse bool) ([]byte, error) {
	m, changes, err := section(h)
	if err != nil {
		return nil, err
	}
	gone := m.Deleted
	if reverse {
		gone = m.Created
	}
	if m.Submodule() {
		return nil, fmt.Errorf("apply hunk %s: submodules are not changed", h.ID)
	}
	if gone {
		return nil, nil
	}
	if m.Binary {
		content, err := binaryContent(text(h), reverse)
		if err != nil {
			return nil, fmt.Errorf("apply hunk %s: %w", h.ID, err)
		}
		return content, nil
	}
	if reverse {
		for i := range changes {
			changes[i] = changes[i].reversed()
		}
	}
	out, err := replace(base, changes)
	if err != nil {
		return nil, fmt.Errorf("apply hunk %s: %w", h.ID, err)
	}
	if out == nil {
		out = []byte{}
	}
	return out, nil
}

// replace carries out changes on base, whose lines must be theirs.
func replace(base []byte, changes []change) ([]byte, error) {
	sorted := append([]change(nil), changes...)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].oldAt < sorted[j].oldAt })
	lines := splitLines(base)
	var out []byte
	at := 0
	for _, c := range sorted {
		if c.oldAt < at || c.oldAt+len(c.old) > len(lines) {
			return nil, fmt.Errorf("%w at line %d", ErrMismatch, c.oldAt+1)
		}
		for ; at < c.oldAt; at++ {
			out = append(out, lines[at]...)
		}
		for _, line := range c.old {
			if !bytes.Equal(line, lines[at]) {
				return nil, fmt.Errorf("%w at line %d", ErrMismatch, at+1)
			}
			at++
		}
		if len(c.new) > 0 && len(out) > 0 && out[len(out)-1] != '\n' {
			return nil, fmt.Errorf("%w at line %d: the line before has no end", ErrMismatch, at+1)
		}
		for _, line := range c.new {
			out = append(out, line...)
		}
	}
	for ; at < len(lines); at++ {
		if len(out) > 0 && out[len(out)-1] != '\n' {
			return nil, fmt.Errorf("%w at line %d: a line without end stands before it", ErrMismatch, at+1)
		}
		out = append(out, lines[at]...)
	}
	return out, nil
}
