package evidence

import (
	"strconv"
	"strings"

	"culprit/internal/session"
)

// What the JavaScript runners have in common: stacks, marks, error kinds.

// jsFrame reads "at fn (file:12:5)", "at file:12:5" and vitest's "❯ fn file:12:5".
func jsFrame(s string) (session.Frame, bool) {
	s = strings.TrimLeft(s, " ")
	rest, ok := strings.CutPrefix(s, "at ")
	if !ok {
		if rest, ok = strings.CutPrefix(s, "❯ "); !ok {
			return session.Frame{}, false
		}
	}
	return jsLocation(strings.TrimSuffix(strings.TrimSuffix(rest, " {"), ")"))
}

// jsLocation reads "fn (file:12:5", "fn file:12:5" or "file:12:5".
func jsLocation(s string) (session.Frame, bool) {
	fn, loc := "", s
	if i := strings.LastIndex(s, " ("); i >= 0 {
		fn, loc = s[:i], s[i+2:]
	} else if i := strings.LastIndexByte(s, ' '); i >= 0 {
		fn, loc = s[:i], s[i+1:]
	}
	file, line, ok := lineColumn(loc)
	if !ok {
		return session.Frame{}, false
	}
	return session.Frame{Function: strings.TrimPrefix(fn, "async "), File: strings.TrimPrefix(file, "file://"), Line: line}, true
}

// lineColumn splits "file:12:5" or "file:12".
func lineColumn(s string) (string, int, bool) {
	i := strings.LastIndexByte(s, ':')
	if i <= 0 {
		return "", 0, false
	}
	last, err := strconv.Atoi(s[i+1:])
	if err != nil {
		return "", 0, false
	}
	if j := strings.LastIndexByte(s[:i], ':'); j > 1 {
		if n, err := strconv.Atoi(s[j+1 : i]); err == nil {
			return s[:j], n, true
		}
	}
	return s[:i], last, true
}

// jsBlock is the report of one failure: its message, then its stack.
type jsBlock struct {
	session.Failure
	msg    message
	frames []session.Frame
	stack  bool // the stack, or a code frame, has begun
}

// line takes a line of the block without its indentation.
func (b *jsBlock) line(s string, to int64) {
	b.To = to
	if f, ok := jsFrame(s); ok {
		b.stack = true
		if len(b.frames) < maxStack && !foreign(f.File) {
			f.File, f.Function = strings.Clone(f.File), strings.Clone(f.Function)
			b.frames = append(b.frames, f)
		}
		return
	}
	t := strings.TrimLeft(s, " ")
	if codeFrame(t) || strings.HasPrefix(t, "at ") {
		b.stack = true
		return
	}
	if b.stack || t == "" && b.msg.lines == 0 {
		return
	}
	if b.msg.lines == 0 {
		s = t
	}
	b.msg.add(s)
}

// codeFrame reports a line of quoted source: "> 6 | …", "4| …", "| ^".
func codeFrame(t string) bool {
	t = strings.TrimLeft(strings.TrimPrefix(t, ">"), " ")
	i := 0
	for i < len(t) && i < 7 && t[i] >= '0' && t[i] <= '9' {
		i++
	}
	rest := strings.TrimLeft(t[i:], " ")
	return strings.HasPrefix(rest, "|") && (i > 0 || strings.HasPrefix(strings.TrimLeft(rest[1:], " "), "^"))
}

// finish makes the failure of the block.
func (b *jsBlock) finish() session.Failure {
	f := b.Failure
	f.Message, f.Stack = b.msg.String(), b.frames
	if f.Kind == "" {
		f.Kind = jsKind(f.Message)
	}
	if f.Expected == "" && f.Actual == "" {
		f.Expected, f.Actual = expectation(f.Message)
		if f.Expected == "" && f.Actual == "" {
			f.Expected, f.Actual = diff(f.Message)
		}
	}
	// The place in the test's own file, when the stack has one.
	for _, fr := range f.Stack {
		if f.Package != "" && pathSuffix(strings.TrimPrefix(fr.File, "./"), f.Package) || f.Package == "" && testScript(fr.File) {
			f.File, f.Line = fr.File, fr.Line
			break
		}
	}
	if f.File == "" && scriptFile(f.Package) {
		f.File = f.Package
	}
	return f
}

// testScript reports the usual names of JavaScript's test files.
func testScript(p string) bool {
	return scriptFile(p) && (strings.Contains(p, ".test.") || strings.Contains(p, ".spec.") || strings.Contains(p, "/test/") || strings.Contains(p, "__tests__/") || strings.HasPrefix(p, "test/"))
}

func jsKind(msg string) session.Kind {
	first, _, _ := strings.Cut(msg, "\n")
	switch {
	case strings.Contains(first, "xceeded timeout of "), strings.Contains(first, "imed out in "), strings.Contains(first, "imed out after "), strings.HasPrefix(first, "Error: Timeout of "):
		return session.KindTimeout
	case strings.HasPrefix(first, "AssertionError"), strings.HasPrefix(first, "expect("), strings.HasPrefix(first, "Error: expect("):
		return session.KindTest
	case jsMissing(first):
		return session.KindDependency
	case strings.HasPrefix(first, "SyntaxError"):
		return session.KindBuild
	case jsError(first):
		return session.KindPanic
	}
	return session.KindTest
}

// jsMissing reports a package that is not installed; a missing file of the
// project itself is a fault of the code.
func jsMissing(s string) bool {
	for _, p := range [...]string{"Cannot find module '", "Cannot find package '", "Failed to resolve import \"", "Failed to load url "} {
		if _, name, ok := strings.Cut(s, p); ok {
			return name != "" && name[0] != '.' && name[0] != '/'
		}
	}
	return false
}

// jsError reports "TypeError: message" and "Error [CODE]: message".
func jsError(s string) bool {
	i := 0
	for i < len(s) && isAlnum(s[i]) {
		i++
	}
	name, rest := s[:i], s[i:]
	if !strings.HasSuffix(name, "Error") && !strings.HasSuffix(name, "Exception") {
		return false
	}
	return strings.HasPrefix(rest, ": ") || strings.HasPrefix(rest, " [") || rest == ""
}

// diff reads the removed and added lines of a printed difference, whose legend
// says which side was expected.
func diff(msg string) (expected, actual string) {
	plusExpected, found := false, false
	var plus, minus []string
	for line := range strings.Lines(msg) {
		line = strings.TrimRight(line, "\n")
		t := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(t, "- Expected"), strings.HasPrefix(t, "+ Received"), t == "+ actual - expected":
			found = true
		case t == "+ expected - actual":
			found, plusExpected = true, true
			plus, minus = nil, nil
		case found && strings.HasPrefix(t, "-"):
			minus = append(minus, strings.TrimRight(strings.TrimSpace(t[1:]), ","))
		case found && strings.HasPrefix(t, "+"):
			plus = append(plus, strings.TrimRight(strings.TrimSpace(t[1:]), ","))
		}
	}
	if plusExpected {
		plus, minus = minus, plus
	}
	return strings.Join(minus, "\n"), strings.Join(plus, "\n")
}

// mark finds one of the runners' signs at the start of s: ✓ for a pass, ✕ for
// a failure, ○ for a skipped test. rest is what follows.
func mark(s string) (sign rune, rest string) {
	if s == "" || s[0] < 0x80 {
		return 0, ""
	}
	for _, m := range marks {
		if r, ok := strings.CutPrefix(s, m.text); ok {
			return m.sign, r
		}
	}
	return 0, ""
}

var marks = [...]struct {
	text string
	sign rune
}{
	{"✓ ", '✓'}, {"✔ ", '✓'}, {"√ ", '✓'}, {"✕ ", '✕'}, {"✖ ", '✕'}, {"× ", '✕'}, {"✗ ", '✕'},
	{"○ ", '○'}, {"﹣ ", '○'}, {"✎ ", '○'}, {"↓ ", '○'}, {"▶ ", '▶'}, {"❯ ", '▶'},
}

// marksAnd are all marks, and more.
func marksAnd(more ...string) []string {
	for _, m := range marks {
		more = append(more, m.text)
	}
	return more
}

// untimed drops " (12 ms)", " (0.2ms)" or " 12ms" from the end of a name.
func untimed(s string) (name string, timed bool) {
	t := strings.TrimSuffix(s, ")")
	if !strings.HasSuffix(t, "s") {
		return s, false
	}
	t = strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(t, "s"), "m"), " ")
	i := len(t)
	for i > 0 && (t[i-1] >= '0' && t[i-1] <= '9' || t[i-1] == '.') {
		i--
	}
	if i == len(t) || i < 2 {
		return s, false
	}
	t = t[:i]
	if strings.HasSuffix(s, ")") {
		t, timed = strings.CutSuffix(t, " (")
	} else {
		t, timed = strings.CutSuffix(t, " ")
	}
	if !timed {
		return s, false
	}
	return t, true
}

// indent counts the blanks that s begins with.
func indent(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }

// nest puts name at a depth of a stack of names.
func nest(stack []string, depth int, name string) []string {
	for len(stack) < depth {
		stack = append(stack, "")
	}
	return append(stack[:depth], strings.Clone(cut(name, maxName)))
}

// path joins the names of a stack and a last one.
func joinNames(stack []string, sep, last string) string {
	var b strings.Builder
	for _, s := range stack {
		if s != "" {
			b.WriteString(s + sep)
		}
	}
	b.WriteString(last)
	return cut(b.String(), maxName)
}
