package command

import (
	"fmt"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// maxComment is more than GitHub's longest comment (65,536 characters of up to
// four bytes).
const maxComment = 4 * 65_536

// markdown reads comments as GitHub does, as far as blocks and code go.
var markdown = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough))

// Find reads the command of a comment; found is false when it has none.
func Find(comment string) (c Command, found bool) {
	if len(comment) > maxComment || !mentions(comment) {
		return Command{}, false
	}
	lines := commandLines([]byte(comment))
	if len(lines) == 0 {
		return Command{}, false
	}
	c = parse(lines[0])
	for _, l := range lines[1:] {
		if other := parse(l); other.Sum() != c.Sum() {
			c.Problem = fmt.Sprintf("the comment has %d commands, and one is possible", len(lines))
		}
	}
	return c, true
}

// mentions spares the parser for nearly every comment.
func mentions(comment string) bool {
	for i := range len(comment) {
		if comment[i] == '/' && nameOf(comment[i:]) != "" {
			return true
		}
	}
	return false
}

// names of commands, with the slash.
var names = []string{"/debug", "/autotest"}

// nameOf returns the name that a line begins with, in small letters.
func nameOf(line string) string {
	for _, n := range names {
		if len(line) >= len(n) && strings.EqualFold(line[:len(n)], n) && (len(line) == len(n) || space(line[len(n)])) {
			return n
		}
	}
	return ""
}

func space(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// commandLines are the lines of plain paragraphs that begin with a name.
func commandLines(src []byte) []string {
	var out []string
	doc := markdown.Parser().Parse(text.NewReader(src))
	for block := doc.FirstChild(); block != nil; block = block.NextSibling() {
		p, ok := block.(*ast.Paragraph)
		if !ok {
			continue
		}
		hidden := htmlIn(p)
		for i := range p.Lines().Len() {
			seg := p.Lines().At(i)
			start := seg.Start
			for start < seg.Stop && space(src[start]) {
				start++
			}
			if nameOf(string(src[start:seg.Stop])) == "" || !plainAt(p, start) {
				continue
			}
			out = append(out, strings.TrimSpace(without(src, start, seg.Stop, hidden)))
		}
	}
	return out
}

// plainAt reports whether plain text stands at a place of a paragraph: not
// code, a link or HTML that began on an earlier line.
func plainAt(p *ast.Paragraph, pos int) bool {
	for n := p.FirstChild(); n != nil; n = n.NextSibling() {
		if t, ok := n.(*ast.Text); ok && t.Segment.Start <= pos && pos < t.Segment.Stop {
			return true
		}
	}
	return false
}

// htmlIn lists the tags and comments in a paragraph, which nobody sees.
func htmlIn(p *ast.Paragraph) []text.Segment {
	var out []text.Segment
	_ = ast.Walk(p, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if h, ok := n.(*ast.RawHTML); ok && entering {
			for i := range h.Segments.Len() {
				out = append(out, h.Segments.At(i))
			}
		}
		return ast.WalkContinue, nil
	})
	return out
}

// without is a part of the source without the hidden segments in it.
func without(src []byte, from, to int, hidden []text.Segment) string {
	var b strings.Builder
	for _, h := range hidden {
		if h.Stop <= from || h.Start >= to {
			continue
		}
		b.Write(src[from:max(from, h.Start)])
		from = min(h.Stop, to)
	}
	b.Write(src[from:to])
	return b.String()
}
