package experiment

import (
	"regexp"
	"strings"

	"culprit/internal/session"
)

// block is a changed line with the lines that close it, and the blocks within:
// what a person would take out of a program in one piece. It is guessed from
// the indentation, so that whole statements are dropped before single lines
// are, most of which don't build.
type block struct {
	lines []int // indexes; the first opens the block
	inner []*block
}

// closing begins a line that belongs to the block before it.
var closing = regexp.MustCompile(`^([})\]]|</|(end|else|elif|except|finally|catch|fi|done|esac|rescue|ensure)\b)`)

// blocksOf are the outermost blocks of changed lines, which are in their order.
// Lines of different files, and lines between which the file has others, are
// never in one block.
func blocksOf(lines []session.Hunk) []*block {
	type open struct {
		*block
		depth int
	}
	var out []*block
	var stack []open
	for i, l := range lines {
		if i > 0 && !adjoins(lines[i-1], l) {
			stack = nil
		}
		text := changedText(l)
		depth, blank := indentation(text), strings.TrimSpace(text) == ""
		for len(stack) > 0 && stack[len(stack)-1].depth > depth && !blank {
			stack = stack[:len(stack)-1]
		}
		if len(stack) > 0 && !blank && stack[len(stack)-1].depth == depth {
			if last := stack[len(stack)-1]; closing.MatchString(strings.TrimSpace(text)) {
				last.lines = append(last.lines, i)
				continue
			}
			stack = stack[:len(stack)-1]
		}
		b := &block{lines: []int{i}}
		if len(stack) == 0 {
			out = append(out, b)
		} else {
			parent := stack[len(stack)-1]
			parent.inner = append(parent.inner, b)
		}
		if !blank {
			stack = append(stack, open{b, depth})
		}
	}
	return out
}

// all are the lines of the block and of those within.
func (b *block) all() []int {
	out := append([]int(nil), b.lines...)
	for _, in := range b.inner {
		out = append(out, in.all()...)
	}
	return out
}

// adjoins reports whether b follows a with nothing between them.
func adjoins(a, b session.Hunk) bool {
	return a.File == b.File && b.Before() == a.Before()+a.OldLines
}

// changedText is what a changed line says: its new text, or the old one where
// it was taken out.
func changedText(h session.Hunk) string {
	var old string
	for l := range strings.Lines(h.Text) {
		switch l[0] {
		case '+':
			return l[1:]
		case '-':
			old = l[1:]
		}
	}
	return old
}

// indentation counts the space before a line; a tab goes to the next multiple
// of eight.
func indentation(s string) int {
	n := 0
	for _, r := range s {
		switch r {
		case ' ':
			n++
		case '\t':
			n += 8 - n%8
		default:
			return n
		}
	}
	return n
}
