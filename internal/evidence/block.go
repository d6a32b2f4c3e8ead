package evidence

import (
	"strconv"
	"strings"

	"culprit/internal/session"
)

// block is the report of one failed test while it is being read: its message,
// then the places in its stack, innermost first.
type block struct {
	session.Failure
	msg    message
	frames []session.Frame
}

func newBlock(framework, pkg, test string, l line) *block {
	return &block{Failure: session.Failure{
		Framework: framework, Package: strings.Clone(cut(pkg, maxName)), Test: strings.Clone(cut(test, maxName)), From: l.from, To: l.to,
	}}
}

// frame adds a place, unless it lies in a library.
func (b *block) frame(function, file string, n int) {
	if len(b.frames) < maxStack && file != "" && !foreign(file) {
		b.frames = append(b.frames, session.Frame{Function: strings.Clone(cut(function, maxName)), File: strings.Clone(cut(file, maxName)), Line: n})
	}
}

// place sets where it failed, when that is not known yet.
func (b *block) place(file string, n int) {
	if b.File == "" {
		b.File, b.Line = strings.Clone(cut(file, maxName)), n
	}
}

func (b *block) failure() session.Failure {
	f := b.Failure
	f.Message, f.Stack = b.msg.String(), b.frames
	if f.Kind == "" {
		f.Kind = session.KindTest
	}
	return f
}

// tally reads "3 examples, 1 failure, 2 pending": the number by each word. ok
// is false for any other text.
func tally(s string) (n map[string]int, ok bool) {
	n = map[string]int{}
	for _, part := range strings.Split(strings.TrimSuffix(s, "."), ", ") {
		num, word, found := strings.Cut(strings.TrimSpace(part), " ")
		v, err := strconv.Atoi(num)
		if !found || err != nil || word == "" {
			return nil, false
		}
		n[word] += v
	}
	return n, len(n) > 0
}

// named reads "Tests: 78, Assertions: 197, Failures: 1.": the number by each
// name. ok is false for any other text.
func named(s string) (n map[string]int, ok bool) {
	n = map[string]int{}
	for _, part := range strings.Split(strings.TrimSuffix(strings.TrimSpace(s), "."), ",") {
		name, num, found := strings.Cut(strings.TrimSpace(part), ":")
		v, err := strconv.Atoi(strings.TrimSpace(num))
		if !found || err != nil || name == "" {
			return nil, false
		}
		n[strings.TrimSpace(name)] += v
	}
	return n, len(n) > 0
}

// numberedTitle reads "  12) title" with exactly that many blanks before it.
func numberedTitle(s string, blanks int) (title string, ok bool) {
	if indent(s) != blanks || len(s) < blanks+4 {
		return "", false
	}
	num, title, ok := strings.Cut(s[blanks:], ") ")
	if !ok || num == "" || len(num) > 6 || strings.Trim(num, "0123456789") != "" {
		return "", false
	}
	return title, title != ""
}

// rubyFrame reads "path:12:in `method'", of Ruby 3.4 "path:12:in 'method'".
func rubyFrame(s string) (file string, n int, fn string, ok bool) {
	place, fn, ok := strings.Cut(s, ":in ")
	if !ok {
		return "", 0, "", false
	}
	file, n, ok = lineColumn(place)
	return strings.TrimPrefix(file, "./"), n, strings.Trim(fn, "`'"), ok
}

// rubyKind tells an assertion from a crash by the exception's name.
func rubyKind(msg string) session.Kind {
	first := firstLine(msg)
	name, _, _ := strings.Cut(first, ":")
	switch {
	case strings.HasPrefix(first, "LoadError"), strings.HasPrefix(first, "Gem::MissingSpecError"), strings.HasPrefix(first, "Bundler::"):
		return session.KindDependency
	case strings.HasPrefix(first, "SyntaxError"):
		return session.KindBuild
	case strings.HasPrefix(first, "Timeout::Error"):
		return session.KindTimeout
	case strings.HasPrefix(name, "Minitest::Assertion"), strings.HasPrefix(name, "RSpec::"):
		return session.KindTest
	case name != first && name != "" && !strings.Contains(name, " ") && name[0] >= 'A' && name[0] <= 'Z' && (strings.HasSuffix(name, "Error") || strings.Contains(name, "::")):
		return session.KindPanic
	}
	return session.KindTest
}
