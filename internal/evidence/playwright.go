package evidence

import (
	"strings"

	"culprit/internal/session"
)

const frameworkPlaywright = "playwright"

// playwright reads Playwright Test's list, line and dot reporters:
//
//  1. [chromium] › tests/cart.spec.ts:12:5 › cart › adds ─────
//
//     Error: expect(received).toBe(expected)
//
//     at tests/cart.spec.ts:13:21
//
// A test's ID is its suites and title, joined by " › ".
type playwright struct {
	out   *collector
	block *jsBlock
	list  string // "failed", "flaky": the list under the totals
}

func (p *playwright) line(l line) bool {
	s := l.text
	if i := strings.Index(s, " › "); i > 0 && i < 300 {
		if title, ok := numberedTitle(s, indent(s)); ok && indent(s) <= 4 {
			return p.open(title, l)
		}
		if p.result(s, l) {
			return true
		}
	}
	if s == "Error: No tests found" {
		p.out.use(frameworkPlaywright)
		p.out.none()
		return true
	}
	t := strings.TrimLeft(s, " ")
	if p.block == nil && p.list == "" || len(s)-len(t) == 2 && t != "" && t[0] >= '0' && t[0] <= '9' {
		return p.totals(s, t)
	}
	if p.block != nil {
		if t != "" && len(s)-len(t) < 4 {
			p.close()
			return false
		}
		if strings.HasPrefix(t, "Retry #") && strings.HasSuffix(t, "─") || strings.HasPrefix(t, "attachment #") || strings.HasPrefix(t, "Error Context: ") {
			p.block.stack = true
			return true
		}
		p.block.line(strings.TrimPrefix(s, "    "), l.to)
		return true
	}
	if t == "" || len(s)-len(t) < 4 {
		p.list = ""
	}
	return false
}

// title reads "[chromium] › tests/cart.spec.ts:12:5 › cart › adds ────".
func playwrightTitle(s string) (f session.Failure, ok bool) {
	s = strings.TrimRight(strings.TrimRight(s, "─━ "), " ")
	if project, rest, ok := strings.Cut(s, "] › "); ok && strings.HasPrefix(project, "[") {
		s = rest
	}
	place, name, ok := strings.Cut(s, " › ")
	file, n, isPlace := lineColumn(place)
	if !ok || !isPlace || !scriptFile(file) || name == "" {
		return f, false
	}
	return session.Failure{Framework: frameworkPlaywright, Package: strings.Clone(file), Test: strings.Clone(cut(name, maxName)), File: strings.Clone(file), Line: n}, true
}

func (p *playwright) open(title string, l line) bool {
	f, ok := playwrightTitle(title)
	if !ok {
		return false
	}
	p.close()
	p.out.use(frameworkPlaywright)
	f.From, f.To = l.from, l.to
	p.block, p.list = &jsBlock{Failure: f}, ""
	return true
}

// result takes "  ✓  1 [chromium] › tests/cart.spec.ts:3:1 › adds (12ms)".
func (p *playwright) result(s string, l line) bool {
	t := strings.TrimLeft(s, " ")
	if p.list != "" && t != s {
		f, ok := playwrightTitle(t)
		if ok && p.list == "failed" {
			f.Kind, f.From, f.To = session.KindTest, l.from, l.to
			p.out.fail(f, primary)
		}
		return ok
	}
	sign := ' '
	for _, m := range [...]struct {
		text string
		sign rune
	}{{"✓ ", '✓'}, {"ok ", '✓'}, {"✘ ", '✘'}, {"x ", '✘'}, {"- ", '-'}} {
		if rest, ok := strings.CutPrefix(t, m.text); ok {
			sign, t = m.sign, strings.TrimLeft(rest, " ")
			break
		}
	}
	if sign == ' ' {
		return false
	}
	num, rest, ok := strings.Cut(t, " ")
	if !ok || strings.Trim(num, "0123456789") != "" {
		return false
	}
	rest, _ = untimed(rest)
	f, ok := playwrightTitle(rest)
	if !ok {
		return false
	}
	p.close()
	p.out.use(frameworkPlaywright)
	switch sign {
	case '✓':
		p.out.pass(frameworkPlaywright, f.Package, f.Test)
	case '-':
		p.out.skip(frameworkPlaywright)
	}
	return true
}

// totals takes "  1 failed", "  2 passed (3.1s)" and the rest of the summary.
func (p *playwright) totals(s, t string) bool {
	if len(s)-len(t) != 2 || t == "" || t[0] < '0' || t[0] > '9' || p.out.framework != frameworkPlaywright {
		return false
	}
	t, _ = untimed(t)
	n, ok := tally(t)
	if !ok {
		return false
	}
	p.close()
	p.list = ""
	switch {
	case n["failed"] > 0:
		p.list = "failed"
		p.out.total(frameworkPlaywright, 0, n["failed"], 0)
	case n["flaky"] > 0:
		p.list = "flaky"
		p.out.total(frameworkPlaywright, n["flaky"], 0, 0)
	case n["skipped"] > 0, n["did not run"] > 0, n["interrupted"] > 0:
		p.list = "other"
		p.out.total(frameworkPlaywright, 0, 0, n["skipped"]+n["did not run"])
	case n["passed"] > 0:
		p.out.total(frameworkPlaywright, n["passed"], 0, 0)
	default:
		return false
	}
	return true
}

func (p *playwright) close() {
	b := p.block
	p.block = nil
	if b == nil {
		return
	}
	file, n := b.File, b.Line
	f := b.finish()
	if f.Line == 0 || f.File != file {
		f.File, f.Line = file, n
	}
	if strings.HasPrefix(f.Message, "Test timeout of ") {
		f.Kind = session.KindTimeout
	}
	p.out.fail(f, primary)
}

func (p *playwright) busy() bool { return p.block != nil || p.list != "" }

func (p *playwright) end() {
	p.close()
	p.list = ""
}
