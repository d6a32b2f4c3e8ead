package patch

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // git's name for a blob, no protection
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"culprit/internal/session"
)

// File is one file on both sides of a change.
type File struct {
	Path    string
	OldPath string // when it was renamed
	Old     []byte // nil: the file is created
	New     []byte // nil: the file is deleted
	OldMode uint32 // git's mode; 0 means ModeFile
	Mode    uint32 // 0 means as before, or ModeFile
}

// Unified is the change of one ordinary file as git diff prints it, with three
// lines of context; nil is a file that isn't there, and the result is empty
// when nothing changed. git apply takes it.
func Unified(path string, old, new []byte) string {
	return string(Format(File{Path: path, Old: old, New: new}, 3))
}

// Hunks compares a file's two sides and returns what Split would find in the
// diff.
func Hunks(f File) []session.Hunk {
	// What Format writes can be read: a test holds the two together.
	hunks, _ := Split(Format(f, 0))
	return hunks
}

// Format writes the change of one file as git diff --full-index --binary does,
// with the given lines of context.
func Format(f File, context int) []byte {
	f = f.filled()
	renamed := f.OldPath != f.Path
	if (f.Old == nil && f.New == nil) || (f.Old != nil && f.New != nil && bytes.Equal(f.Old, f.New) && f.OldMode == f.Mode && !renamed) {
		return nil
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "diff --git %s %s\n", quote("a/"+f.OldPath), quote("b/"+f.Path))
	oldID, newID := blobID(f.Old), blobID(f.New)
	switch {
	case f.Old == nil:
		fmt.Fprintf(&b, "new file mode %06o\n", f.Mode)
	case f.New == nil:
		fmt.Fprintf(&b, "deleted file mode %06o\n", f.OldMode)
	case f.OldMode != f.Mode:
		fmt.Fprintf(&b, "old mode %06o\nnew mode %06o\n", f.OldMode, f.Mode)
	}
	if renamed {
		fmt.Fprintf(&b, "similarity index %d%%\nrename from %s\nrename to %s\n", similarity(f.Old, f.New), quote(f.OldPath), quote(f.Path))
	}
	if bytes.Equal(f.Old, f.New) && f.Old != nil && f.New != nil {
		return b.Bytes()
	}
	fmt.Fprintf(&b, "index %s..%s", oldID, newID)
	if f.Old != nil && f.New != nil && f.OldMode == f.Mode {
		fmt.Fprintf(&b, " %06o", f.Mode)
	}
	b.WriteByte('\n')
	if IsBinary(f.Old) || IsBinary(f.New) {
		b.WriteString("GIT binary patch\n")
		b.Write(encode85(f.New))
		b.Write(encode85(f.Old))
		return b.Bytes()
	}
	changes := changesOf(splitLines(f.Old), splitLines(f.New))
	if len(changes) == 0 {
		return b.Bytes()
	}
	name := func(prefix, path string, content []byte) string {
		if content == nil {
			return "/dev/null"
		}
		// A tab ends a name that holds a space, as git has it.
		if strings.Contains(path, " ") && quote(path) == path {
			path += "\t"
			return prefix + path
		}
		return quote(prefix + path)
	}
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", name("a/", f.OldPath, f.Old), name("b/", f.Path, f.New))
	writeHunks(&b, splitLines(f.Old), changes, context)
	return b.Bytes()
}

func (f File) filled() File {
	if f.OldPath == "" {
		f.OldPath = f.Path
	}
	if f.OldMode == 0 {
		f.OldMode = ModeFile
	}
	if f.Mode == 0 {
		f.Mode = f.OldMode
	}
	return f
}

// writeHunks joins changes that share context and prints them.
func writeHunks(b *bytes.Buffer, old [][]byte, changes []change, context int) {
	for i := 0; i < len(changes); {
		j := i + 1
		for j < len(changes) && changes[j].oldAt-(changes[j-1].oldAt+len(changes[j-1].old)) <= 2*context {
			j++
		}
		first, last := changes[i], changes[j-1]
		from := max(first.oldAt-context, 0)
		to := min(last.oldAt+len(last.old)+context, len(old))
		newFrom := first.newAt - (first.oldAt - from)
		newTo := last.newAt + len(last.new) + to - (last.oldAt + len(last.old))
		fmt.Fprintf(b, "@@ -%s +%s @@\n", position(from, to), position(newFrom, newTo))
		at := from
		for _, c := range changes[i:j] {
			writeLines(b, ' ', old[at:c.oldAt])
			writeLines(b, '-', c.old)
			writeLines(b, '+', c.new)
			at = c.oldAt + len(c.old)
		}
		writeLines(b, ' ', old[at:to])
		i = j
	}
}

func position(from, to int) string {
	switch n := to - from; n {
	case 0:
		return strconv.Itoa(from) + ",0"
	case 1:
		return strconv.Itoa(from + 1)
	default:
		return strconv.Itoa(from+1) + "," + strconv.Itoa(n)
	}
}

func writeLines(b *bytes.Buffer, sign byte, lines [][]byte) {
	for _, line := range lines {
		b.WriteByte(sign)
		b.Write(line)
		if line[len(line)-1] != '\n' {
			b.WriteString("\n" + noNewline)
		}
	}
}

// IsBinary tells as git does: a NUL among the first 8,000 bytes.
func IsBinary(content []byte) bool {
	return bytes.IndexByte(content[:min(len(content), 8000)], 0) >= 0
}

// blobID is git's (SHA-1) name of the content; nil has the null name.
func blobID(content []byte) string {
	if content == nil {
		return strings.Repeat("0", 40)
	}
	sum := sha1.New() //nolint:gosec // see the import
	fmt.Fprintf(sum, "blob %d\x00", len(content))
	sum.Write(content)
	return hex.EncodeToString(sum.Sum(nil))
}

// similarity is the share of bytes that stay, in percent, for a rename's
// header; no program decides by it.
func similarity(old, new []byte) int {
	size := max(len(old), len(new))
	if size == 0 || bytes.Equal(old, new) {
		return 100
	}
	kept := len(old)
	for _, c := range changesOf(splitLines(old), splitLines(new)) {
		for _, line := range c.old {
			kept -= len(line)
		}
	}
	return min(kept*100/size, 99)
}
