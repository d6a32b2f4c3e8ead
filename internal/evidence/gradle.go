package evidence

import (
	"strconv"
	"strings"

	"culprit/internal/session"
)

const frameworkGradle = "gradle"

// gradle reads Gradle's test logging: "Class > test() FAILED" and the
// exception under it. Passing tests are named only if the build asks for it.
type gradle struct {
	out   *collector
	block *javaBlock
	task  bool // "> Task :…" was seen
}

func (g *gradle) line(l line) bool {
	s := l.text
	if s == "" {
		g.close()
		return false
	}
	if g.block != nil {
		if s[0] == ' ' || s[0] == '\t' {
			g.detail(s, l)
			return true
		}
		g.close()
	}
	switch {
	case strings.HasPrefix(s, "> Task :"):
		g.task = true
		return true
	case strings.HasSuffix(s, " FAILED"), strings.HasSuffix(s, " PASSED"), strings.HasSuffix(s, " SKIPPED"):
		return g.result(s, l)
	case strings.HasPrefix(s, "> No tests found for given includes"), strings.HasPrefix(s, "No tests found for given includes"):
		g.out.use(frameworkGradle)
		g.out.none()
		return true
	case s[0] >= '0' && s[0] <= '9' && strings.Contains(s, " tests completed"), strings.HasPrefix(s, "1 test completed"):
		return g.totals(s)
	case strings.HasPrefix(s, "Execution failed for task "):
		g.out.use(frameworkGradle)
		g.out.fail(session.Failure{Framework: frameworkGradle, Kind: session.KindCommand, Message: s, From: l.from, To: l.to}, tertiary)
		return true
	case g.task && (strings.HasPrefix(s, "> Could not resolve ") || strings.HasPrefix(s, "> Could not find ")), strings.HasPrefix(s, "Could not determine the dependencies of task "):
		g.out.use(frameworkGradle)
		g.out.fail(session.Failure{Framework: frameworkGradle, Kind: session.KindDependency, Message: strings.TrimPrefix(s, "> "), From: l.from, To: l.to}, primary)
		return true
	}
	return false
}

// result takes "com.ex.CartTest > nested > adds() FAILED".
func (g *gradle) result(s string, l line) bool {
	i := strings.LastIndexByte(s, ' ')
	name, verdict := s[:i], s[i+1:]
	class, test, ok := strings.Cut(name, " > ")
	if !ok || class == "" || test == "" || strings.ContainsAny(class, " \t:") {
		return false
	}
	g.out.use(frameworkGradle)
	switch verdict {
	case "PASSED":
		g.out.pass(frameworkGradle, class, test)
	case "SKIPPED":
		g.out.skip(frameworkGradle)
	default:
		g.block = &javaBlock{Failure: session.Failure{Framework: frameworkGradle, Package: strings.Clone(class), Test: strings.Clone(test), From: l.from, To: l.to}}
	}
	return true
}

// detail takes the exception: in full, or short as "Error at CartTest.java:12".
func (g *gradle) detail(s string, l line) {
	t := strings.TrimLeft(s, " \t")
	if i := strings.LastIndex(t, " at "); i > 0 && g.block.msg.lines == 0 {
		if file, n, ok := lineColumn(t[i+4:]); ok && strings.HasSuffix(file, ".java") || ok && strings.HasSuffix(file, ".kt") || ok && strings.HasSuffix(file, ".groovy") {
			g.block.File, g.block.Line = strings.Clone(file), n
			t = t[:i]
		}
	}
	g.block.line(t, l.to)
}

// totals takes "3 tests completed, 1 failed, 1 skipped".
func (g *gradle) totals(s string) bool {
	total, failed, skipped := 0, 0, 0
	for _, part := range strings.Split(s, ", ") {
		num, word, _ := strings.Cut(part, " ")
		n, err := strconv.Atoi(num)
		if err != nil {
			return false
		}
		switch word {
		case "tests completed", "test completed":
			total = n
		case "failed":
			failed = n
		case "skipped":
			skipped = n
		default:
			return false
		}
	}
	g.out.use(frameworkGradle)
	g.out.total(frameworkGradle, max(total-failed-skipped, 0), failed, skipped)
	return true
}

func (g *gradle) close() {
	b := g.block
	g.block = nil
	if b == nil {
		return
	}
	file, n := b.File, b.Line
	f := b.finish()
	if f.File == "" {
		f.File, f.Line = file, n
	}
	g.out.fail(f, primary)
}

func (g *gradle) busy() bool { return g.block != nil }

func (g *gradle) end() {
	g.close()
	g.task = false
}
