package evidence

import (
	"strconv"
	"strings"

	"culprit/internal/session"
)

const frameworkNode = "node:test"

// nodeTest reads the spec reporter of Node's own runner: "▶" opens a suite or
// a test with subtests, "✔" and "✖" with a time are results, and the list of
// failing tests at the end knows their places. A test's ID is the path of its
// names, joined by " > "; the runner does not name files by test.
type nodeTest struct {
	out     *collector
	stack   []string
	block   *jsBlock
	depth   int
	found   []session.Failure
	failing bool   // in the list at the end
	at      string // "test at …" came just before
	passed  int
	failed  int
	skipped int
}

func (t *nodeTest) line(l line) bool {
	s := l.text
	if s == "" {
		return t.block != nil
	}
	n := indent(s)
	sign, name := mark(s[n:])
	if sign != 0 && n%2 == 0 && n < 100 && (t.block == nil || n <= t.depth) {
		if t.node(sign, name, n, l) {
			return true
		}
	}
	if t.block != nil {
		if n > t.depth {
			t.block.line(s[min(n, t.depth+2):], l.to)
			t.value(s[n:])
			return true
		}
		t.close()
	}
	switch {
	case strings.HasPrefix(s, "ℹ "):
		return t.totals(s[len("ℹ "):])
	case t.failing && strings.HasPrefix(s, "test at "):
		t.at = strings.Clone(s[len("test at "):])
		return true
	case strings.HasPrefix(s, "Could not find '") && strings.HasSuffix(s, "'"):
		t.out.use(frameworkNode)
		t.out.none()
		return true
	}
	return false
}

func (t *nodeTest) node(sign rune, name string, n int, l line) bool {
	depth := n / 2
	if name == "failing tests:" {
		t.close()
		t.failing = true
		return true
	}
	if sign == '▶' {
		if name, timed := untimed(name); timed { // older versions close a suite so
			_ = name
			return true
		}
		t.close()
		t.stack = nest(t.stack, depth, name)
		return true
	}
	comment := ""
	if i := strings.LastIndex(name, "ms) #"); i > 0 {
		name, comment = name[:i+3], strings.TrimSpace(name[i+5:])
	}
	bare, timed := untimed(name)
	if !timed || !strings.HasSuffix(name, "ms)") || !strings.Contains(name[len(bare):], ".") {
		return false // Mocha times whole milliseconds
	}
	t.close()
	t.out.use(frameworkNode)
	suite := depth < len(t.stack) && t.stack[depth] == bare
	id := joinNames(t.stack[:min(depth, len(t.stack))], " > ", bare)
	if suite {
		t.stack = t.stack[:depth]
	}
	switch {
	case sign == '○' || strings.HasPrefix(comment, "SKIP") || strings.HasPrefix(comment, "TODO"):
		t.out.skip(frameworkNode)
	case sign == '✓':
		t.out.pass(frameworkNode, "", id)
		if suite {
			t.out.ran--
		}
	case t.failing:
		t.place(bare)
		t.block, t.depth = &jsBlock{Failure: session.Failure{From: l.from, To: l.to}}, n // known already
	default:
		t.block, t.depth = &jsBlock{Failure: session.Failure{Framework: frameworkNode, Test: strings.Clone(id), From: l.from, To: l.to}}, n
		if suite {
			t.block.Kind = "suite"
		}
	}
	return true
}

// value takes "actual: -1," of an assertion's properties.
func (t *nodeTest) value(s string) {
	if !t.block.stack {
		return
	}
	if v, ok := strings.CutPrefix(s, "actual: "); ok {
		t.block.Actual = strings.Clone(cut(strings.TrimSuffix(v, ","), maxValue))
	}
	if v, ok := strings.CutPrefix(s, "expected: "); ok {
		t.block.Expected = strings.Clone(cut(strings.TrimSuffix(v, ","), maxValue))
	}
}

func (t *nodeTest) close() {
	b := t.block
	t.block = nil
	if b == nil || b.Framework == "" || len(t.found) >= maxFailures {
		return
	}
	suite := b.Kind == "suite"
	if suite {
		b.Kind = ""
	}
	f := b.finish()
	f.Message = strings.Trim(f.Message, "'")
	f.Kind = jsKind(f.Message)
	if suite && f.Message == "" {
		f.Package = "suite"
	}
	t.found = append(t.found, f)
}

// place gives the first failure of that name without one the place from the
// list: its file is the test's, its line that of the test itself.
func (t *nodeTest) place(name string) {
	file, line, ok := lineColumn(t.at)
	t.at = ""
	if !ok {
		return
	}
	for i := range t.found {
		f := &t.found[i]
		if f.Test != name && !strings.HasSuffix(f.Test, " > "+name) {
			continue
		}
		if f.File == "" || !pathSuffix(strings.TrimPrefix(f.File, "/"), file) {
			f.File, f.Line = file, line
			return
		}
	}
}

// totals takes "pass 3" and its like.
func (t *nodeTest) totals(s string) bool {
	key, num, _ := strings.Cut(s, " ")
	n, err := strconv.Atoi(num)
	if err != nil {
		return key == "duration_ms"
	}
	switch key {
	case "tests":
		t.out.use(frameworkNode)
		t.passed, t.failed, t.skipped = 0, 0, 0
	case "pass":
		t.passed = n
	case "fail", "cancelled":
		t.failed += n
	case "skipped":
		t.skipped += n
	case "todo":
		t.skipped += n
		t.out.total(frameworkNode, t.passed, t.failed, t.skipped)
		if t.passed+t.failed == 0 {
			t.out.none()
		}
	case "suites":
	default:
		return false
	}
	return true
}

func (t *nodeTest) busy() bool { return t.block != nil || t.failing }

func (t *nodeTest) end() {
	t.close()
	for _, f := range t.found {
		rank := primary
		if f.Package == "suite" {
			f.Package, rank = "", secondary
		}
		if scriptFile(f.Test) && !strings.Contains(f.Test, " ") {
			// The whole file failed: it could not be loaded, or it exited.
			f.File, f.Test, f.Line = f.Test, "", 0
			f.Kind, rank = session.KindBuild, secondary
			f.Package = f.File
		}
		t.out.fail(f, rank)
	}
	t.found, t.stack, t.failing, t.at = nil, nil, false, ""
}
