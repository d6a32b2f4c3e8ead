package patch

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"culprit/internal/session"
)

// ErrFormat means that the input is not a git diff of two trees.
var ErrFormat = errors.New("not a git diff")

// noNewline is the line by which diff marks that the line before it, the last
// of its file, ends without a newline.
const noNewline = "\\ No newline at end of file\n"

// Split reads the output of git diff (any amount of context; -U0, -M and
// --full-index are best; --binary where contents of binary files matter) and
// returns its smallest contiguous changes in order. A file that is created,
// deleted, renamed, copied, binary, a symbolic link or a submodule, or whose
// mode changes, is one hunk with Whole set, whose Text is the file's section
// of the diff below its "diff --git" line.
//
// IDs are "path#n", n counting from 1 within the path, so that the same diff
// always gives the same IDs. The error wraps ErrFormat and names the line.
func Split(diff []byte) ([]session.Hunk, error) {
	r := &reader{lines: splitLines(diff)}
	// Whatever stands before the first file (the message of git show or
	// format-patch) is passed over.
	for !r.end() && !isFileStart(r.peek()) {
		r.next()
	}
	var out []session.Hunk
	count := map[string]int{}
	for !r.end() {
		hunks, err := r.file()
		if err != nil {
			return nil, fmt.Errorf("read diff line %d: %w", r.pos+1, err)
		}
		for _, h := range hunks {
			count[h.File]++
			h.ID = h.File + "#" + strconv.Itoa(count[h.File])
			if !utf8.ValidString(h.Text) {
				h.Raw = []byte(h.Text)
			}
			out = append(out, h)
		}
	}
	return out, nil
}

// reader walks the lines of a diff; each line keeps its newline.
type reader struct {
	lines [][]byte
	pos   int
}

func (r *reader) end() bool    { return r.pos >= len(r.lines) }
func (r *reader) peek() []byte { return r.lines[r.pos] }
func (r *reader) next() []byte { r.pos++; return r.lines[r.pos-1] }

func isFileStart(line []byte) bool {
	return bytes.HasPrefix(line, []byte("diff --git ")) || bytes.HasPrefix(line, []byte("diff --cc ")) ||
		bytes.HasPrefix(line, []byte("diff --combined "))
}

// file reads one "diff --git" section.
func (r *reader) file() ([]session.Hunk, error) {
	start := string(r.next())
	if !strings.HasPrefix(start, "diff --git ") {
		return nil, fmt.Errorf("%w: a combined diff of a merge; compare with one parent instead", ErrFormat)
	}
	oldPath, newPath, _ := gitLinePaths(strings.TrimSuffix(start[len("diff --git "):], "\n"))
	from := r.pos
	var m Meta
	for !r.end() && !isFileStart(r.peek()) && !isBody(r.peek()) {
		if err := m.header(r.next(), &oldPath, &newPath); err != nil {
			return nil, err
		}
	}
	if oldPath == "" && newPath == "" {
		return nil, fmt.Errorf("%w: no path", ErrFormat)
	}
	if newPath == "" {
		newPath = oldPath
	}
	if oldPath == "" {
		oldPath = newPath
	}
	var hunks []session.Hunk
	for !r.end() && !isFileStart(r.peek()) {
		switch line := r.peek(); {
		case bytes.HasPrefix(line, []byte("@@ ")):
			part, err := r.hunk()
			if err != nil {
				return nil, err
			}
			hunks = append(hunks, part...)
		case bytes.HasPrefix(line, []byte("Binary files ")):
			m.Binary = true
			r.next()
		case bytes.HasPrefix(line, []byte("GIT binary patch")):
			m.Binary = true
			r.skipBinary()
		default:
			// The signature of format-patch, or blank lines after the last
			// file: no part of the change.
			r.next()
		}
	}
	if m.whole() {
		h := session.Hunk{File: newPath, Whole: true, Text: string(bytes.Join(r.lines[from:r.pos], nil))}
		if m.Deleted {
			h.File = oldPath
		}
		if oldPath != h.File {
			h.OldFile = oldPath
		}
		for i, c := range hunks {
			if i == 0 {
				h.OldStart, h.NewStart = c.OldStart, c.NewStart
			}
			h.OldLines += c.OldLines
			h.NewLines += c.NewLines
		}
		return []session.Hunk{h}, nil
	}
	for i := range hunks {
		hunks[i].File = newPath
	}
	return hunks, nil
}

func isBody(line []byte) bool {
	return bytes.HasPrefix(line, []byte("@@ ")) || bytes.HasPrefix(line, []byte("Binary files ")) ||
		bytes.HasPrefix(line, []byte("GIT binary patch"))
}

// hunk reads one "@@" block by the counts in its header, and splits it at
// its context lines.
func (r *reader) hunk() ([]session.Hunk, error) {
	oldStart, oldLeft, newStart, newLeft, err := hunkHeader(r.next())
	if err != nil {
		return nil, err
	}
	// Positions are counted as lines already passed on each side.
	oldAt, newAt := oldStart-1, newStart-1
	if oldLeft == 0 {
		oldAt = oldStart
	}
	if newLeft == 0 {
		newAt = newStart
	}
	var out []session.Hunk
	var cur change
	flush := func() {
		if cur.empty() {
			return
		}
		out = append(out, cur.hunk())
		cur = change{}
	}
	var last *[]byte
	for !r.end() {
		line := r.peek()
		if line[0] == '\\' {
			if last != nil {
				*last = bytes.TrimSuffix(*last, []byte{'\n'})
				last = nil
			}
			r.next()
			continue
		}
		if oldLeft == 0 && newLeft == 0 {
			break
		}
		if cur.empty() {
			cur.oldAt, cur.newAt = oldAt, newAt
		}
		last = nil
		switch line[0] {
		case '-':
			cur.old = append(cur.old, line[1:])
			last = &cur.old[len(cur.old)-1]
			oldAt, oldLeft = oldAt+1, oldLeft-1
		case '+':
			cur.new = append(cur.new, line[1:])
			last = &cur.new[len(cur.new)-1]
			newAt, newLeft = newAt+1, newLeft-1
		case ' ', '\n':
			flush()
			oldAt, oldLeft = oldAt+1, oldLeft-1
			newAt, newLeft = newAt+1, newLeft-1
		default:
			return nil, fmt.Errorf("%w: a line of a hunk begins with %q", ErrFormat, line[0])
		}
		if oldLeft < 0 || newLeft < 0 {
			return nil, fmt.Errorf("%w: a hunk has more lines than its header says", ErrFormat)
		}
		r.next()
	}
	if oldLeft != 0 || newLeft != 0 {
		return nil, fmt.Errorf("%w: the diff ends within a hunk", ErrFormat)
	}
	flush()
	return out, nil
}

// skipBinary passes over a binary patch: blocks of base85 lines, each ended
// by an empty line.
func (r *reader) skipBinary() {
	for !r.end() && !isFileStart(r.peek()) {
		r.next()
	}
}

// hunkHeader reads "@@ -a,b +c,d @@ …".
func hunkHeader(line []byte) (oldStart, oldLines, newStart, newLines int, err error) {
	fields := strings.Fields(string(line))
	if len(fields) < 4 || fields[0] != "@@" || fields[3] != "@@" || fields[1][0] != '-' || fields[2][0] != '+' {
		return 0, 0, 0, 0, fmt.Errorf("%w: hunk header %q", ErrFormat, bytes.TrimSpace(line))
	}
	oldStart, oldLines, ok1 := span(fields[1][1:])
	newStart, newLines, ok2 := span(fields[2][1:])
	if !ok1 || !ok2 {
		return 0, 0, 0, 0, fmt.Errorf("%w: hunk header %q", ErrFormat, bytes.TrimSpace(line))
	}
	return oldStart, oldLines, newStart, newLines, nil
}

// maxLine bounds line numbers, so that arithmetic on them cannot overflow.
const maxLine = 1 << 30

func span(s string) (start, lines int, ok bool) {
	first, second, two := strings.Cut(s, ",")
	start, err := strconv.Atoi(first)
	lines = 1
	if err == nil && two {
		lines, err = strconv.Atoi(second)
	}
	if err != nil || start < 0 || lines < 0 || start > maxLine || lines > maxLine || (start == 0 && lines > 0) {
		return 0, 0, false
	}
	return start, lines, true
}

// splitLines cuts after each newline; the last line may lack one.
func splitLines(b []byte) [][]byte {
	if len(b) == 0 {
		return nil
	}
	lines := make([][]byte, 0, bytes.Count(b, []byte{'\n'})+1)
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			i = len(b) - 1
		}
		lines = append(lines, b[:i+1:i+1])
		b = b[i+1:]
	}
	return lines
}
