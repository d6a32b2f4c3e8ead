package evidence

import (
	"strings"

	"culprit/internal/session"
)

const frameworkPHPUnit = "phpunit"

// phpunit reads PHPUnit's list of failures: numbered blocks of a test's name,
// its message and the places it passed through. A test's ID is
// "Namespace\Class::method", with its data set.
type phpunit struct {
	out     *collector
	section string // "failure", "error", "other"
	block   *block
}

func (p *phpunit) line(l line) bool {
	s := l.text
	switch {
	case s == "" && p.section == "testdox":
		p.close()
		p.section = ""
		return true
	case s == "":
		if p.block != nil && len(p.block.frames) == 0 {
			p.block.msg.add("")
		}
		return p.section != ""
	case strings.HasPrefix(s, "There was 1 "), strings.HasPrefix(s, "There were "):
		return p.open(s)
	case s == "FAILURES!", s == "ERRORS!", s == "--", s == "WARNINGS!", strings.HasPrefix(s, "OK, but "):
		if p.section == "" {
			return false
		}
		p.close()
		if s != "--" {
			p.section = ""
		}
		return true
	case strings.HasPrefix(s, "Tests: ") && strings.Contains(s, "Assertions: "), strings.HasPrefix(s, "OK ("):
		return p.totals(s)
	case s == "No tests executed!":
		p.out.use(frameworkPHPUnit)
		p.out.none()
		return true
	}
	if p.section == "" || p.section == "testdox" {
		return p.testdox(s, l)
	}
	if title, ok := numberedTitle(s, 0); ok && (p.section == "other" || strings.Contains(title, "::")) {
		p.close()
		if p.section != "other" {
			p.block = newBlock(frameworkPHPUnit, "", title, l)
			if p.section == "error" {
				p.block.Kind = session.KindPanic
			}
		}
		return true
	}
	if p.block != nil {
		p.detail(s, l)
	}
	return true
}

// open takes "There was 1 failure:" and "There were 2 errors:".
func (p *phpunit) open(s string) bool {
	s, ok := strings.CutSuffix(s, ":")
	if !ok {
		return false
	}
	words := strings.Fields(s)
	if len(words) < 4 {
		return false
	}
	p.close()
	switch words[len(words)-1] {
	case "failure", "failures":
		p.section = "failure"
	case "error", "errors":
		p.section = "error"
	case "warning", "warnings", "test", "tests", "deprecation", "deprecations", "notice", "notices":
		p.section = "other" // risky, incomplete and skipped tests
	default:
		return false
	}
	return true
}

// testdox takes the tree of --testdox, which replaces the list: " ✘ Adds" and
// under it the message at "├" and the place at "╵".
func (p *phpunit) testdox(s string, l line) bool {
	if name, ok := strings.CutPrefix(s, " ✘ "); ok {
		p.close()
		p.section = "testdox"
		p.block = newBlock(frameworkPHPUnit, "", name, l)
		return true
	}
	if p.block == nil {
		return false
	}
	t := strings.TrimLeft(s, " ")
	switch {
	case strings.HasPrefix(t, "├ "):
		p.block.To = l.to
		p.block.msg.add(t[len("├ "):])
	case strings.HasPrefix(t, "╵ "):
		if file, n, ok := lineColumn(t[len("╵ "):]); ok {
			p.block.frame("", file, n)
			p.block.place(file, n)
		}
	case strings.HasPrefix(t, "┐"), strings.HasPrefix(t, "│"), strings.HasPrefix(t, "┴"):
	default:
		p.close()
		p.section = ""
		return false
	}
	return true
}

func (p *phpunit) detail(s string, l line) {
	b := p.block
	b.To = l.to
	if file, n, ok := lineColumn(s); ok && strings.HasSuffix(file, ".php") && !strings.Contains(file, " ") {
		b.frame("", file, n)
		return
	}
	if len(b.frames) == 0 {
		b.msg.add(s)
	}
}

func (p *phpunit) close() {
	b := p.block
	p.block = nil
	if b == nil || p.section == "testdox" && b.msg.lines == 0 {
		return
	}
	p.out.use(frameworkPHPUnit)
	// The place in the test's own class.
	class, _, _ := strings.Cut(b.Test, "::")
	class = class[strings.LastIndexByte(class, '\\')+1:]
	for _, fr := range b.frames {
		if strings.HasSuffix(fr.File, "/"+class+".php") {
			b.place(fr.File, fr.Line)
		}
	}
	f := b.failure()
	if f.Expected == "" {
		f.Expected, f.Actual = phpDiff(f.Message)
	}
	p.out.fail(f, primary)
}

// phpDiff reads the sides of "--- Expected", "+++ Actual".
func phpDiff(msg string) (expected, actual string) {
	_, body, ok := strings.Cut(msg, "--- Expected\n+++ Actual\n")
	if !ok {
		return "", ""
	}
	var minus, plus []string
	for l := range strings.Lines(body) {
		l = strings.TrimRight(l, "\n")
		switch {
		case strings.HasPrefix(l, "-"):
			minus = append(minus, strings.TrimSpace(l[1:]))
		case strings.HasPrefix(l, "+"):
			plus = append(plus, strings.TrimSpace(l[1:]))
		}
	}
	return strings.Join(minus, "\n"), strings.Join(plus, "\n")
}

// totals takes "Tests: 78, Assertions: 197, Failures: 1." and
// "OK (78 tests, 197 assertions)".
func (p *phpunit) totals(s string) bool {
	if rest, ok := strings.CutPrefix(s, "OK ("); ok {
		n, ok := tally(strings.TrimSuffix(rest, ")"))
		if !ok || n["assertions"]+n["assertion"] == 0 && !strings.Contains(s, "assertion") {
			return false
		}
		p.out.use(frameworkPHPUnit)
		p.out.total(frameworkPHPUnit, n["tests"]+n["test"], 0, 0)
		return true
	}
	n, ok := named(s)
	if !ok {
		return false
	}
	p.close()
	p.section = ""
	p.out.use(frameworkPHPUnit)
	failed, skipped := n["Failures"]+n["Errors"], n["Skipped"]+n["Incomplete"]
	p.out.total(frameworkPHPUnit, max(n["Tests"]-failed-skipped, 0), failed, skipped)
	return true
}

func (p *phpunit) busy() bool { return p.section != "" }

func (p *phpunit) end() {
	p.close()
	p.section = ""
}
