package evidence

import (
	"strconv"
	"strings"

	"culprit/internal/session"
)

const frameworkPytest = "pytest"

// pytest reads the terminal report: results by test (-v), the sections ERRORS
// and FAILURES with a block for each, and the short summary. A block is titled
// by the test's name alone; the summary, or the results, know its file.
type pytest struct {
	out     *collector
	active  bool
	section string // "failures", "errors", "summary", "other"
	quiet   bool   // inside captured output of a block
	block   *pyBlock
	blocks  []*pyBlock
	nodes   []pyNode // tests named as failed, with file
}

type pyNode struct {
	id, message string
	from, to    int64
	used        bool
}

// pyBlock is one titled block.
type pyBlock struct {
	title      string
	collecting bool // "ERROR collecting path"
	from, to   int64
	msg        message
	frames     []session.Frame // outermost first
}

func (p *pytest) line(l line) bool {
	s := l.text
	if s == "" {
		return p.block != nil
	}
	switch s[0] {
	case '=':
		if title, ok := banner(s, '='); ok && p.banner(title, l) {
			return true
		}
	case '!':
		if title, ok := banner(s, '!'); ok && p.active {
			p.close()
			_ = title
			return true
		}
	case '_':
		if title, ok := banner(s, '_'); ok && (p.section == "failures" || p.section == "errors") {
			p.open(title, l)
			return true
		}
	case ' ':
		if title, ok := pyLongTitle(s); ok && (p.section == "failures" || p.section == "errors") {
			p.open(title, l)
			return true
		}
	case 'c':
		if strings.HasPrefix(s, "collected ") || strings.HasPrefix(s, "collecting ... collected ") {
			if strings.Contains(s, "collected 0 items") && !strings.Contains(s, " error") {
				p.use()
				p.out.none()
			}
			return true
		}
	case 'E':
		if strings.HasPrefix(s, "ERROR: not found: ") || strings.HasPrefix(s, "ERROR: file or directory not found: ") {
			p.use()
			p.out.none()
			return true
		}
	case 'n':
		if strings.HasPrefix(s, "no tests ran in ") {
			p.use()
			p.out.none()
			return true
		}
	}
	if p.block != nil {
		p.detail(s, l)
		return true
	}
	if p.section == "summary" && p.summary(s, l) {
		return true
	}
	if s[0] >= '0' && s[0] <= '9' && p.totals(s) {
		return true
	}
	return p.result(s, l)
}

func (p *pytest) use() {
	p.active = true
	p.out.use(frameworkPytest)
}

// pyLongTitle takes a title that leaves no room for the rule around it:
// " TestCart.test_adds[a long parameter] _".
func pyLongTitle(s string) (string, bool) {
	t := strings.TrimSuffix(s[1:], "_")
	if t == "" || t[0] == ' ' || t[len(t)-1] != ' ' {
		return "", false
	}
	t = t[:len(t)-1]
	name, _, params := strings.Cut(t, "[")
	for i := 0; i < len(name); i++ {
		if !isAlnum(name[i]) && name[i] != '.' {
			return "", false
		}
	}
	return t, strings.HasSuffix(t, "]") == params && strings.Contains(name, "test")
}

// banner is the title between two runs of c: "=== FAILURES ===".
func banner(s string, c byte) (string, bool) {
	t := strings.TrimLeft(s, string(c))
	left := len(s) - len(t)
	title := strings.TrimRight(t, string(c))
	if left == 0 || len(title) == len(t) || len(title) < 3 || title[0] != ' ' || title[len(title)-1] != ' ' {
		return "", false
	}
	return title[1 : len(title)-1], true
}

func (p *pytest) banner(title string, l line) bool {
	switch {
	case title == "test session starts":
		p.end()
		p.use()
		p.section = ""
	case title == "FAILURES":
		p.use()
		p.close()
		p.section = "failures"
	case title == "ERRORS":
		p.use()
		p.close()
		p.section = "errors"
	case title == "short test summary info":
		p.use()
		p.close()
		p.section = "summary"
	case strings.HasPrefix(title, "warnings summary"), title == "PASSES", title == "XFAILURES", title == "XPASSES", strings.HasPrefix(title, "slowest "):
		p.close()
		p.section = "other"
	case p.totals(title):
	default:
		return false
	}
	return true
}

// totals takes "3 failed, 2 passed, 1 error in 0.05s".
func (p *pytest) totals(s string) bool {
	i := strings.LastIndex(s, " in ")
	if i < 0 || !strings.Contains(s[i:], "s") {
		return false
	}
	if strings.HasPrefix(s, "no tests ran") {
		p.use()
		p.close()
		p.section = ""
		p.out.none()
		return true
	}
	var passed, failed, skipped int
	for _, part := range strings.Split(s[:i], ", ") {
		num, word, ok := strings.Cut(part, " ")
		n, err := strconv.Atoi(num)
		if !ok || err != nil {
			return false
		}
		switch word {
		case "passed":
			passed += n
		case "failed", "error", "errors":
			failed += n
		case "skipped", "xfailed", "xpassed":
			skipped += n
		case "deselected", "warning", "warnings", "rerun": // no test that ended
		default:
			return false
		}
	}
	p.use()
	p.close()
	p.section = ""
	if passed+failed+skipped == 0 {
		p.out.none()
	}
	p.flush()
	p.out.total(frameworkPytest, passed, failed, skipped)
	return true
}

func (p *pytest) open(title string, l line) {
	p.close()
	b := &pyBlock{from: l.from, to: l.to}
	switch {
	case strings.HasPrefix(title, "ERROR collecting "):
		title, b.collecting = title[len("ERROR collecting "):], true
	case strings.HasPrefix(title, "ERROR at setup of "):
		title = title[len("ERROR at setup of "):]
	case strings.HasPrefix(title, "ERROR at teardown of "):
		title = title[len("ERROR at teardown of "):]
	}
	b.title = strings.Clone(cut(title, maxName))
	p.block, p.quiet = b, false
}

func (p *pytest) close() {
	if p.block != nil && len(p.blocks) < maxFailures {
		p.blocks = append(p.blocks, p.block)
	}
	p.block, p.quiet = nil, false
}

// detail takes one line of a block: the message after "E ", places, and with
// --tb=native a Python traceback.
func (p *pytest) detail(s string, l line) {
	b := p.block
	b.to = l.to
	if s[0] == '-' {
		if title, ok := banner(s, '-'); ok && strings.HasPrefix(title, "Captured ") {
			p.quiet = true
			return
		}
	}
	if p.quiet {
		return
	}
	if s[0] == 'E' && (s == "E" || strings.HasPrefix(s, "E  ") || strings.HasPrefix(s, "E\t")) {
		text := strings.TrimPrefix(s[1:], "   ")
		if b.msg.lines == 0 || strings.HasPrefix(text, "    ") {
			text = strings.TrimPrefix(text, "    ")
		}
		b.msg.add(text)
		return
	}
	if file, n, ok := pyPlace(s); ok && len(b.frames) < maxStack {
		fn := ""
		if _, after, ok := strings.Cut(s, ": in "); ok {
			fn = strings.Clone(after)
		}
		b.frames = append(b.frames, session.Frame{Function: fn, File: strings.Clone(file), Line: n})
		return
	}
	if file, n, fn, ok := pyFrame(s); ok && len(b.frames) < maxStack {
		b.frames = append(b.frames, session.Frame{Function: strings.Clone(fn), File: strings.Clone(file), Line: n})
		return
	}
	if b.msg.lines == 0 && pyException(s) {
		b.msg.add(s)
	}
}

// pyPlace reads "tests/test_calc.py:19: AssertionError".
func pyPlace(s string) (string, int, bool) {
	i := strings.Index(s, ".py:")
	if i <= 0 || s[0] == ' ' || s[0] == '>' || strings.Contains(s[:i], "  ") {
		return "", 0, false
	}
	rest := s[i+4:]
	j := strings.IndexByte(rest, ':')
	if j <= 0 {
		return "", 0, false
	}
	n, err := strconv.Atoi(rest[:j])
	return s[:i+3], n, err == nil
}

// result takes "path::name PASSED [ 12%]", and with xdist
// "[gw0] [ 12%] PASSED path::name".
func (p *pytest) result(s string, l line) bool {
	i := strings.Index(s, ".py::")
	if i < 0 {
		return false
	}
	verdict, id := "", ""
	if s[0] == '[' {
		rest := s
		for strings.HasPrefix(rest, "[") {
			_, after, ok := strings.Cut(rest, "] ")
			if !ok {
				return false
			}
			rest = strings.TrimLeft(after, " ")
		}
		verdict, id, _ = strings.Cut(rest, " ")
	} else {
		id = strings.TrimRight(s, " ")
		if strings.HasSuffix(id, "%]") {
			if j := strings.LastIndex(id, "["); j > 0 {
				id = strings.TrimRight(id[:j], " ")
			}
		}
		if strings.HasSuffix(id, ")") { // SKIPPED (reason)
			if j := strings.LastIndex(id, " SKIPPED ("); j > 0 {
				id = id[:j+len(" SKIPPED")]
			} else if j := strings.LastIndex(id, " XFAIL ("); j > 0 {
				id = id[:j+len(" XFAIL")]
			}
		}
		j := strings.LastIndexByte(id, ' ')
		if j < 0 {
			return false
		}
		id, verdict = id[:j], id[j+1:]
	}
	if strings.Contains(id[:strings.Index(id, ".py::")+1], " ") || len(id) > maxName {
		return false
	}
	switch verdict {
	case "PASSED":
		p.out.pass(frameworkPytest, "", id)
	case "FAILED", "ERROR":
		p.node(id, "", l)
	case "SKIPPED", "XFAIL", "XPASS":
		p.out.skip(frameworkPytest)
	case "RERUN":
	default:
		return false
	}
	p.use()
	return true
}

func (p *pytest) node(id, msg string, l line) {
	for i := range p.nodes {
		if p.nodes[i].id == id {
			if p.nodes[i].message == "" {
				p.nodes[i].message = strings.Clone(cut(msg, maxMessage))
			}
			return
		}
	}
	if len(p.nodes) < maxFailures {
		p.nodes = append(p.nodes, pyNode{id: strings.Clone(id), message: strings.Clone(cut(msg, maxMessage)), from: l.from, to: l.to})
	}
}

// summary takes "FAILED path::name[params] - message".
func (p *pytest) summary(s string, l line) bool {
	rest, ok := strings.CutPrefix(s, "FAILED ")
	if !ok {
		if rest, ok = strings.CutPrefix(s, "ERROR "); !ok {
			return strings.HasPrefix(s, "SKIPPED ") || strings.HasPrefix(s, "PASSED ") || strings.HasPrefix(s, "XFAIL ")
		}
	}
	id, msg := rest, ""
	from := 0
	if i := strings.IndexByte(rest, '['); i > 0 && strings.Contains(rest[:i], "::") {
		if j := strings.LastIndex(rest, "] - "); j > 0 {
			from = j
		} else if strings.HasSuffix(rest, "]") {
			from = len(rest)
		}
	}
	if i := strings.Index(rest[from:], " - "); i >= 0 {
		id, msg = rest[:from+i], rest[from+i+3:]
	}
	p.node(id, msg, l)
	return true
}

func (p *pytest) busy() bool {
	return p.block != nil || p.section == "summary" || p.section == "failures" || p.section == "errors"
}

func (p *pytest) end() {
	p.close()
	p.flush()
	p.active, p.section = false, ""
}
