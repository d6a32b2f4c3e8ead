package evidence

import (
	"strconv"
	"strings"

	"culprit/internal/session"
)

const (
	frameworkMocha   = "mocha"
	frameworkCypress = "cypress"
)

// mocha reads Mocha's spec reporter. Its tree has no heading, so the passes in
// it count only once "N passing" has come; the failures are listed after that,
// each title over as many lines as it has suites. A test's ID is its full
// title, as --grep takes it.
type mocha struct {
	out    *collector
	stack  []string
	passed []string
	done   bool // "N passing" was seen
	nPass  int
	nSkip  int
	nFail  int
	title  []string // of the block whose title is being read
	from   int64
	block  *jsBlock
	spec   string // Cypress: the file that runs
}

func (m *mocha) line(l line) bool {
	s := l.text
	if strings.TrimLeft(s, " ") == "" {
		if m.block != nil {
			m.block.line("", l.to)
			return true
		}
		return false
	}
	n := indent(s)
	if n == 0 {
		if m.block != nil && !m.block.stack {
			// Assertion libraries print their differences without indentation.
			m.block.line(s, l.to)
			return true
		}
		if strings.HasPrefix(s, "Error: No test files found") {
			m.out.use(m.framework())
			m.out.none()
			return true
		}
		return false
	}
	t := s[n:]
	if spec, ok := strings.CutPrefix(t, "Running:  "); ok && n == 2 && strings.HasSuffix(spec, ")") {
		m.end()
		spec, _, _ = strings.Cut(spec, " ")
		m.spec = strings.Clone(cut(spec, maxName))
		return true
	}
	if strings.HasPrefix(t, "(Results)") && m.spec != "" {
		m.close()
		return true
	}
	if m.title != nil {
		if n >= 7 && len(m.title) < 50 {
			m.titleLine(t, l)
			return true
		}
		m.title = nil
	}
	if m.done && n == 2 && m.number(t, l) {
		return true
	}
	if m.block != nil {
		m.block.line(s[min(n, 5):], l.to)
		return true
	}
	if n == 2 && t[0] >= '0' && t[0] <= '9' && m.count(t) {
		return true
	}
	if n%2 == 0 {
		m.node(t, n/2-1)
	}
	return false
}

// count takes "1 passing (89ms)", "1 pending", "6 failing".
func (m *mocha) count(t string) bool {
	if !startsWithDigit(t) {
		return false
	}
	num, word, _ := strings.Cut(t, " ")
	n, err := strconv.Atoi(num)
	if err != nil {
		return false
	}
	word, _, timed := strings.Cut(word, " (")
	switch {
	case word == "passing" && timed:
		m.out.use(m.framework())
		m.done, m.nPass, m.nSkip, m.nFail = true, n, 0, 0
		for _, id := range m.passed {
			m.out.pass(m.framework(), m.spec, id)
		}
		m.passed, m.stack = nil, nil
		m.out.total(m.framework(), n, 0, 0)
	case word == "pending" && m.done:
		m.nSkip = n
		m.out.total(m.framework(), 0, 0, n)
	case word == "failing" && m.done:
		m.nFail = n
		m.out.total(m.framework(), 0, n, 0)
	default:
		return false
	}
	return true
}

// node takes a line of the tree: a mark and a test, or a suite.
func (m *mocha) node(t string, depth int) {
	if depth > 50 || len(t) > maxName {
		return
	}
	sign, name := mark(t)
	switch {
	case sign == '✓':
		name, _ = untimed(name)
		if len(m.passed) < maxPassed {
			m.passed = append(m.passed, joinNames(m.stack[:min(depth, len(m.stack))], " ", name))
		}
	case sign == 0 && t[0] != '-' && (t[0] < '0' || t[0] > '9'):
		m.stack = nest(m.stack, depth, t)
	}
}

// startsWithDigit spares the indented lines of a log, which all come here, an
// error of Atoi's.
func startsWithDigit(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

// number takes the first line of a block's title: "4) sum".
func (m *mocha) number(t string, l line) bool {
	if !startsWithDigit(t) {
		return false
	}
	num, rest, ok := strings.Cut(t, ") ")
	if _, err := strconv.Atoi(num); !ok || err != nil {
		return false
	}
	m.close()
	m.title, m.from = []string{}, l.from
	m.titleLine(rest, l)
	return true
}

func (m *mocha) titleLine(t string, l line) {
	name, last := strings.CutSuffix(t, ":")
	if name != "" {
		m.title = append(m.title, strings.Clone(name))
	}
	if !last {
		return
	}
	m.block = &jsBlock{Failure: session.Failure{Framework: m.framework(), Package: m.spec, Test: cut(strings.Join(m.title, " "), maxName), From: m.from, To: l.to}}
	m.title = nil
}

// framework is Cypress where its runner named the file.
func (m *mocha) framework() string {
	if m.spec != "" {
		return frameworkCypress
	}
	return frameworkMocha
}

func (m *mocha) close() {
	if m.block != nil {
		m.out.fail(m.block.finish(), primary)
	}
	m.block, m.title = nil, nil
}

func (m *mocha) busy() bool { return m.block != nil || m.done }

func (m *mocha) end() {
	m.close()
	if m.done && m.nPass+m.nFail == 0 {
		m.out.none()
	}
	m.done, m.stack, m.passed, m.nPass, m.nFail, m.spec = false, nil, nil, 0, 0, ""
}
