package command

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// Suggestion reads the change that a review comment suggests: the content of
// its block of code with the info string "suggestion", which GitHub offers to
// apply to the comment's lines. An empty block deletes them. A comment with two
// has none: both would be for the same lines.
func Suggestion(comment string) (lines string, found bool) {
	if len(comment) > maxComment || !strings.Contains(comment, "suggestion") {
		return "", false
	}
	src := []byte(strings.ReplaceAll(comment, "\r\n", "\n"))
	for block := markdown.Parser().Parse(text.NewReader(src)).FirstChild(); block != nil; block = block.NextSibling() {
		code, ok := block.(*ast.FencedCodeBlock)
		if !ok || string(code.Language(src)) != "suggestion" {
			continue
		}
		if found {
			return "", false
		}
		found = true
		var b strings.Builder
		for i := range code.Lines().Len() {
			seg := code.Lines().At(i)
			b.Write(seg.Value(src))
		}
		lines = b.String()
	}
	return lines, found
}
