package evidence

import (
	"strconv"
	"strings"

	"culprit/internal/session"
)

// compiler takes what most compilers and many linters print, one line by
// error:
//
//	file:line:column: error: message    gcc, clang, javac, mypy, kotlinc
//	file(line,column): error TS1: message    tsc, csc, MSVC
//	file:line:column - error TS1: message    tsc --pretty
//	file:line:column: E501 message    ruff, flake8
//	file.go:line:column: message (linter)    golangci-lint
//	  line:column  error  message  rule    eslint, under the file's name
//
// and what make and the linker add. They come after failures that a runner
// names: a program under test may print such lines too.
type compiler struct {
	out  *collector
	file string // eslint's heading
}

func (c *compiler) line(l line) bool {
	s := l.text
	if s == "" {
		return false
	}
	if s[0] == ' ' {
		return c.file != "" && c.eslint(strings.TrimLeft(s, " "), l)
	}
	if s[0] == '/' || s[0] == '.' && len(s) > 1 && s[1] == '/' {
		if scriptFile(s) && !strings.Contains(s, " ") {
			c.file = strings.Clone(cut(s, maxName))
			return false
		}
	}
	if strings.HasPrefix(s, "make") && strings.Contains(s, ": *** ") {
		c.out.fail(session.Failure{Framework: "make", Kind: session.KindCommand, Message: s, From: l.from, To: l.to}, tertiary)
		return true
	}
	if strings.Contains(s, ": undefined reference to ") {
		i := strings.Index(s, ": undefined reference to ")
		c.out.fail(session.Failure{Framework: "ld", Kind: session.KindBuild, Message: s[i+2:], From: l.from, To: l.to}, secondary)
		return true
	}
	if i := strings.Index(s, "error"); i > 0 {
		return c.error(s, i, l)
	}
	return c.lint(s, l)
}

// error takes a line whose "error" stands at i.
func (c *compiler) error(s string, i int, l line) bool {
	before, msg := s[:i], s[i:]
	before = strings.TrimSuffix(before, "fatal ")
	switch {
	case strings.HasSuffix(before, ": "):
		before = before[:len(before)-2]
	case strings.HasSuffix(before, " - "):
		before = before[:len(before)-3]
	default:
		return false
	}
	msg = strings.TrimPrefix(msg, "error")
	if rest, ok := strings.CutPrefix(msg, ": "); ok {
		msg = rest
	} else if len(msg) > 2 && msg[0] == ' ' && msg[1] >= 'A' && msg[1] <= 'Z' && strings.Contains(msg, ": ") { // a code
		msg = msg[1:]
	} else {
		return false
	}
	file, n, ok := sourcePlace(before)
	if !ok {
		return false
	}
	c.out.fail(session.Failure{Framework: "compiler", Kind: session.KindBuild, File: file, Line: n, Message: msg, From: l.from, To: l.to}, secondary)
	return true
}

// sourcePlace reads "file:12:5", "file:12", "file(12,5)", "file(12)".
func sourcePlace(s string) (string, int, bool) {
	if strings.HasSuffix(s, ")") {
		i := strings.LastIndexByte(s, '(')
		if i <= 0 {
			return "", 0, false
		}
		num, _, _ := strings.Cut(s[i+1:len(s)-1], ",")
		n, err := strconv.Atoi(num)
		return s[:i], n, err == nil && sourceName(s[:i])
	}
	file, n, ok := lineColumn(s)
	return file, n, ok && sourceName(file)
}

// sourceName keeps out text that only looks like a place: a file has an
// extension and no blanks around it.
func sourceName(s string) bool {
	i := strings.LastIndexByte(s, '.')
	return i > 0 && len(s)-i <= 8 && !strings.ContainsAny(s, "\t\"'<>|*") && !strings.Contains(s, ": ") && (strings.IndexByte(s, ' ') < 0 || strings.ContainsAny(s, `/\`)) && len(s) < maxName
}

// lint takes lines of linters that don't say "error".
func (c *compiler) lint(s string, l line) bool {
	i := strings.Index(s, ": ")
	if i <= 0 {
		return false
	}
	file, n, ok := lineColumn(s[:i])
	if !ok || !sourceName(file) {
		return false
	}
	msg := s[i+2:]
	word, _, _ := strings.Cut(msg, " ")
	switch {
	case strings.HasSuffix(file, ".go") && strings.HasSuffix(msg, ")") && strings.LastIndexByte(msg, '(') > 0 && linterName(msg[strings.LastIndexByte(msg, '(')+1:len(msg)-1]):
	case strings.HasSuffix(file, ".py") && ruleCode(word):
	default:
		return false
	}
	c.out.fail(session.Failure{Framework: "linter", Kind: session.KindLint, File: file, Line: n, Message: msg, From: l.from, To: l.to}, secondary)
	return true
}

func linterName(s string) bool {
	for i := 0; i < len(s); i++ {
		if (s[i] < 'a' || s[i] > 'z') && (s[i] < '0' || s[i] > '9') && s[i] != '-' {
			return false
		}
	}
	return len(s) > 2 && len(s) < 30
}

// ruleCode is "E501", "F401", "PLR2004".
func ruleCode(s string) bool {
	i := 0
	for i < len(s) && s[i] >= 'A' && s[i] <= 'Z' {
		i++
	}
	return i > 0 && i <= 4 && len(s)-i >= 3 && len(s)-i <= 4 && strings.Trim(s[i:], "0123456789") == ""
}

// eslint takes "12:5  error  message  rule".
func (c *compiler) eslint(t string, l line) bool {
	place, rest, ok := strings.Cut(t, " ")
	num, column, isPlace := strings.Cut(place, ":")
	n, err := strconv.Atoi(num)
	if _, err2 := strconv.Atoi(column); !ok || !isPlace || err != nil || err2 != nil {
		return false
	}
	msg, isError := strings.CutPrefix(strings.TrimLeft(rest, " "), "error ")
	if !isError {
		return strings.HasPrefix(strings.TrimLeft(rest, " "), "warning ")
	}
	c.out.fail(session.Failure{Framework: "eslint", Kind: session.KindLint, File: c.file, Line: n, Message: strings.TrimSpace(msg), From: l.from, To: l.to}, secondary)
	return true
}

func (c *compiler) busy() bool { return c.file != "" }

func (c *compiler) end() { c.file = "" }
