package eval

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"culprit/internal/patch"
	"culprit/internal/session"
)

// Place is a range of lines of a file, from 1 and including To. From 0 stands
// for the whole file: its lines are not known.
type Place struct {
	File     string
	From, To int
}

// String is PATH, PATH:LINE or PATH:FROM-TO.
func (p Place) String() string {
	switch p.From {
	case 0:
		return p.File
	case p.To:
		return fmt.Sprintf("%s:%d", p.File, p.From)
	}
	return fmt.Sprintf("%s:%d-%d", p.File, p.From, p.To)
}

// ParsePlace reads what String writes.
func ParsePlace(text string) (Place, error) {
	bad := fmt.Errorf("want PATH, PATH:LINE or PATH:FROM-TO, got %q", text)
	file, lines, has := strings.Cut(text, ":")
	if !fs.ValidPath(file) || file == "." {
		return Place{}, bad
	}
	if !has {
		return Place{File: file}, nil
	}
	from, to, ranged := strings.Cut(lines, "-")
	if !ranged {
		to = from
	}
	a, err1 := strconv.Atoi(from)
	b, err2 := strconv.Atoi(to)
	if errors.Join(err1, err2) != nil || a < 1 || b < a {
		return Place{}, bad
	}
	return Place{file, a, b}, nil
}

// distance is how many lines lie between two ranges of one file: 0 where they
// share a line.
func (p Place) distance(q Place) int { return max(p.From-q.To, q.From-p.To, 0) }

// Changed are the places on the old side of a change outside of tests: where a
// fix had to do something. Lines that are only added stand between two old
// ones, which are both named. A file that is created has no old side.
func Changed(hunks []session.Hunk) []Place {
	var out []Place
	for _, h := range hunks {
		file := h.OldFile
		if file == "" {
			file = h.File
		}
		switch {
		case patch.IsTestFile(file) || patch.IsTestFile(h.File):
		case h.Whole:
			if m, err := patch.MetaOf(h); err == nil && !m.Created {
				out = append(out, Place{File: file})
			}
		case h.OldLines == 0:
			out = append(out, Place{file, max(h.OldStart, 1), h.OldStart + 1})
		default:
			out = append(out, Place{file, h.OldStart, h.OldStart + h.OldLines - 1})
		}
	}
	return out
}

// Named is the place that a session's root cause points at, in the tree of its
// culprit, or in the failing one when it names no culprit: the hunk that it
// calls the decisive one, or else the one line.
func Named(c *session.RootCause) (p Place, ok bool) {
	if c == nil || c.Location == "" {
		return Place{}, false
	}
	for _, h := range c.Minimal {
		if h.Location() == c.Location && !h.Whole && h.NewLines > 0 {
			return Place{h.File, h.NewStart, h.NewStart + h.NewLines - 1}, true
		}
	}
	file, line := c.Location, 0
	if i := strings.LastIndexByte(file, ':'); i > 0 {
		if n, err := strconv.Atoi(file[i+1:]); err == nil && n > 0 {
			file, line = file[:i], n
		}
	}
	return Place{file, line, line}, true
}

// Carry takes a place from an old content of its file to a new one: where do
// these lines stand now. Lines that were changed since are where the change is.
func (p Place) Carry(before, after []byte) Place {
	if p.From == 0 {
		return p
	}
	hunks := patch.Hunks(patch.File{Path: p.File, Old: before, New: after})
	p.From, _ = carry(hunks, p.From)
	_, p.To = carry(hunks, p.To)
	p.To = max(p.From, p.To)
	return p
}

// carry is where an old line stands on the new side: one line, or the lines
// that took its place.
func carry(hunks []session.Hunk, line int) (from, to int) {
	offset := 0
	for _, h := range hunks {
		if h.Whole { // the file came or went
			return line, line
		}
		end := h.OldStart + h.OldLines // first old line behind the hunk
		if h.OldLines == 0 {
			end++
		}
		switch {
		case line >= end:
			offset += h.NewLines - h.OldLines
		case h.OldLines > 0 && line >= h.OldStart:
			at := max(h.NewStart, 1)
			return at, max(at, h.NewStart+h.NewLines-1)
		}
	}
	return line + offset, line + offset
}
