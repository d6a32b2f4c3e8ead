package evidence

import (
	"strings"

	"culprit/internal/session"
)

const frameworkMinitest = "minitest"

// minitest reads Minitest, as it is and as Rails prints it, and test-unit:
//
//  1. Failure:                        Failure:
//     CartTest#test_adds [test.rb:12]:     CartTest#test_adds [test.rb:12]:
//     message                              message
//
//     Failure: test_adds(CartTest): message
//     test.rb:12:in `test_adds'
type minitest struct {
	out   *collector
	head  string // "Failure" or "Error": the test's name comes next
	from  int64
	block *block
	gap   bool // an empty line in an error's message: it may go on, indented
	rule  bool // test-unit: the block ends with a rule
}

func (m *minitest) line(l line) bool {
	s := l.text
	if m.head != "" {
		head := m.head
		m.head = ""
		if m.open(s, l) {
			if head == "Error" {
				m.block.Kind = session.KindPanic
			}
			return true
		}
		return false
	}
	if m.block != nil {
		switch {
		case m.rule && strings.HasPrefix(s, "====="):
			m.close()
			return true
		case s == "" && (m.block.Kind == session.KindPanic || m.rule):
			m.gap = !m.rule
			return true
		case s == "", m.gap && s[0] != ' ':
			m.close()
			if s == "" {
				return true
			}
		case m.gap && len(m.block.frames) > 0:
			m.close()
		default:
			m.gap = false
			m.detail(s, l)
			return true
		}
	}
	t := strings.TrimLeft(s, " ")
	if title, ok := numberedTitle(s, indent(s)); ok {
		t = title
	}
	switch {
	case t == "Failure:", t == "Error:":
		m.head, m.from = strings.TrimSuffix(t, ":"), l.from
		return true
	case strings.HasPrefix(s, "Failure: "), strings.HasPrefix(s, "Error: "):
		return m.testUnit(s, l)
	case strings.Contains(s, " assertions, "):
		return m.totals(s)
	case strings.Contains(s, " s = "):
		return m.verbose(s)
	}
	return false
}

// open takes "CartTest#test_adds [test/cart_test.rb:12]:", "CartTest#test_adds:"
// and, of old versions, "test_adds(CartTest) [test/cart_test.rb:12]:".
func (m *minitest) open(s string, l line) bool {
	s, ok := strings.CutSuffix(s, ":")
	if !ok {
		return false
	}
	place := ""
	if i := strings.LastIndex(s, " ["); i > 0 && strings.HasSuffix(s, "]") {
		s, place = s[:i], s[i+2:len(s)-1]
	}
	class, test, ok := strings.Cut(s, "#")
	if !ok {
		if test, class, ok = strings.Cut(strings.TrimSuffix(s, ")"), "("); !ok {
			return false
		}
	}
	if class == "" || test == "" || strings.ContainsAny(class, " \t") {
		return false
	}
	m.block = newBlock(frameworkMinitest, class, test, line{from: m.from, to: l.to})
	if file, n, ok := lineColumn(place); ok {
		m.block.place(file, n)
	}
	return true
}

// testUnit takes test-unit's "Failure: test_adds(CartTest): message".
func (m *minitest) testUnit(s string, l line) bool {
	head, rest, _ := strings.Cut(s, ": ")
	name, msg, _ := strings.Cut(strings.TrimSuffix(rest, ":"), ": ")
	test, class, ok := strings.Cut(strings.TrimSuffix(name, ")"), "(")
	if !ok || !strings.HasSuffix(name, ")") || class == "" || strings.ContainsAny(test, " \t") || strings.ContainsAny(class, " \t") {
		return false
	}
	m.block, m.rule = newBlock(frameworkMinitest, class, test, l), true
	if head == "Error" {
		m.block.Kind = session.KindPanic
	}
	if msg != "" {
		m.block.msg.add(msg)
	}
	return true
}

func (m *minitest) detail(s string, l line) {
	b := m.block
	b.To = l.to
	t := strings.TrimLeft(s, " ")
	if file, n, fn, ok := rubyFrame(t); ok && !strings.Contains(file, " ") {
		b.frame(fn, file, n)
		if strings.Contains(fn, b.Test) {
			b.place(file, n)
		}
		return
	}
	if m.rule {
		// The source around the place: "  => 5:     assert_equal 3, …".
		num, _, ok := strings.Cut(strings.TrimLeft(strings.TrimPrefix(t, "=>"), " "), ":")
		if ok && num != "" && strings.Trim(num, "0123456789") == "" {
			return
		}
		b.msg.add(t)
		return
	}
	if len(b.frames) == 0 {
		b.msg.add(s)
	}
}

func (m *minitest) close() {
	b := m.block
	m.block, m.gap, m.rule = nil, false, false
	if b == nil {
		return
	}
	m.out.use(frameworkMinitest)
	f := b.failure()
	if b.Kind == session.KindPanic {
		if k := rubyKind(f.Message); k != session.KindTest {
			f.Kind = k
		}
	}
	m.out.fail(f, primary)
}

// totals takes "2 runs, 4 assertions, 2 failures, 0 errors, 0 skips".
func (m *minitest) totals(s string) bool {
	n, ok := tally(s)
	total, known := n["runs"]
	if !known {
		total, known = n["tests"], n != nil
	}
	if _, failures := n["failures"]; !ok || !known || !failures {
		return false
	}
	m.out.use(frameworkMinitest)
	failed, skipped := n["failures"]+n["errors"], n["skips"]+n["pendings"]+n["omissions"]
	m.out.total(frameworkMinitest, max(total-failed-skipped, 0), failed, skipped)
	if total == 0 {
		m.out.none()
	}
	return true
}

// verbose takes "CartTest#test_adds = 0.00 s = .".
func (m *minitest) verbose(s string) bool {
	i := strings.LastIndex(s, " s = ")
	name, _, ok := strings.Cut(s[:i], " = ")
	class, test, isTest := strings.Cut(name, "#")
	if !ok || !isTest || strings.ContainsAny(name, " \t") {
		return false
	}
	switch s[i+len(" s = "):] {
	case ".":
		m.out.pass(frameworkMinitest, class, test)
	case "S":
		m.out.skip(frameworkMinitest)
	case "F", "E":
	default:
		return false
	}
	return true
}

func (m *minitest) busy() bool { return m.block != nil || m.head != "" }

func (m *minitest) end() {
	m.close()
	m.head = ""
}
