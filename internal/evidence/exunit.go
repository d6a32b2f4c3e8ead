package evidence

import (
	"strings"

	"culprit/internal/session"
)

const frameworkExUnit = "mix test"

// exUnit reads Elixir's ExUnit:
//
//  1. test adds (CartTest)
//     test/cart_test.exs:12
//     Assertion with == failed
//     code:  assert add(1, 2) == 3
//     left:  -1
//     right: 3
//     stacktrace:
//     test/cart_test.exs:13: (test)
type exUnit struct {
	out   *collector
	title string // read, its place comes next
	from  int64
	block *block
	stack bool
}

func (x *exUnit) line(l line) bool {
	s := l.text
	if x.title != "" {
		title := x.title
		x.title = ""
		if file, n, ok := lineColumn(strings.TrimSpace(s)); ok && indent(s) == 5 && strings.Contains(file, ".exs") {
			x.open(title, file, n, l)
			return true
		}
	}
	if x.block != nil {
		if s == "" {
			return true
		}
		if indent(s) >= 5 {
			x.detail(s[5:], l)
			return true
		}
		x.close()
	}
	if title, ok := numberedTitle(s, 2); ok && strings.HasSuffix(title, ")") {
		if kind, _, _ := strings.Cut(title, " "); kind == "test" || kind == "doctest" || kind == "property" || kind == "feature" {
			x.title, x.from = strings.Clone(cut(title, maxName)), l.from
			return true
		}
	}
	if rest, ok := strings.CutPrefix(s, "** ("); ok && (strings.HasPrefix(rest, "CompileError) ") || strings.HasPrefix(rest, "SyntaxError) ") || strings.HasPrefix(rest, "TokenMissingError) ")) {
		_, rest, _ = strings.Cut(rest, ") ")
		place, msg, _ := strings.Cut(rest, ": ")
		if file, n, ok := lineColumn(strings.TrimSuffix(place, ":")); ok {
			x.out.fail(session.Failure{Framework: "mix", Kind: session.KindBuild, File: file, Line: n, Message: msg, From: l.from, To: l.to}, primary)
			return true
		}
	}
	if s != "" && s[0] >= '0' && s[0] <= '9' && strings.Contains(s, " test") {
		return x.totals(s)
	}
	return false
}

func (x *exUnit) open(title, file string, n int, l line) {
	i := strings.LastIndex(title, " (")
	module := ""
	if i > 0 {
		title, module = title[:i], title[i+2:len(title)-1]
	}
	x.block = newBlock(frameworkExUnit, module, title, line{from: x.from, to: l.to})
	x.block.place(file, n)
	x.stack = false
}

func (x *exUnit) detail(s string, l line) {
	b := x.block
	b.To = l.to
	switch {
	case s == "stacktrace:":
		x.stack = true
	case strings.HasPrefix(s, "The following output was logged:"):
		x.stack = true
	case x.stack:
		t := strings.TrimLeft(s, " ")
		if strings.HasPrefix(t, "(") {
			if _, rest, ok := strings.Cut(t, ") "); ok {
				t = rest
			}
		}
		place, fn, ok := strings.Cut(t, ": ")
		if file, n, isPlace := lineColumn(place); ok && isPlace {
			b.frame(fn, file, n)
			if file == b.File {
				b.Line = n
			}
		}
	default:
		if v, ok := strings.CutPrefix(s, "left:"); ok {
			b.Actual = strings.Clone(cut(strings.TrimSpace(v), maxValue))
		}
		if v, ok := strings.CutPrefix(s, "right:"); ok {
			b.Expected = strings.Clone(cut(strings.TrimSpace(v), maxValue))
		}
		b.msg.add(s)
	}
}

func (x *exUnit) close() {
	b := x.block
	x.block = nil
	if b == nil {
		return
	}
	x.out.use(frameworkExUnit)
	f := b.failure()
	switch first := firstLine(f.Message); {
	case strings.HasPrefix(first, "** (ExUnit.TimeoutError)"), strings.HasPrefix(first, "test timed out after"):
		f.Kind = session.KindTimeout
	case strings.HasPrefix(first, "** ("):
		f.Kind = session.KindPanic
	}
	x.out.fail(f, primary)
}

// totals takes "9 doctests, 592 tests, 1 failure, 7 excluded".
func (x *exUnit) totals(s string) bool {
	n, ok := tally(s)
	_, one := n["failure"]
	_, many := n["failures"]
	total := n["test"] + n["tests"] + n["doctest"] + n["doctests"] + n["property"] + n["properties"]
	if !ok || !one && !many || n["assertions"] > 0 || total == 0 && n["excluded"] == 0 {
		return false
	}
	x.close()
	x.out.use(frameworkExUnit)
	failed, skipped := n["failure"]+n["failures"]+n["invalid"], n["skipped"]+n["excluded"]
	x.out.total(frameworkExUnit, max(total-failed-skipped, 0), failed, skipped)
	if total == 0 || total == n["excluded"] {
		x.out.none()
	}
	return true
}

func (x *exUnit) busy() bool { return x.title != "" || x.block != nil }

func (x *exUnit) end() {
	x.close()
	x.title = ""
}
