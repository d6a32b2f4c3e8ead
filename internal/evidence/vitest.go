package evidence

import (
	"strconv"
	"strings"

	"culprit/internal/session"
)

const frameworkVitest = "vitest"

// vitest reads Vitest's default and verbose reporters: marked lines by test,
// then the sections of failures, in which several "FAIL" lines may share one
// error.
type vitest struct {
	out    *collector
	active bool
	file   string // whose tests follow, indented
	heads  []session.Failure
	block  *jsBlock
	marks  []session.Failure
}

func (v *vitest) line(l line) bool {
	s := l.text
	if !v.active {
		if strings.HasPrefix(s, " RUN  v") {
			v.active = true
			v.out.use(frameworkVitest)
			return true
		}
		if !strings.HasPrefix(s, " FAIL  ") || !strings.Contains(s, " > ") {
			return false
		}
		v.active = true
		v.out.use(frameworkVitest)
	}
	switch {
	case s == "":
		return v.block != nil
	case strings.HasPrefix(s, " FAIL  "):
		v.head(s[len(" FAIL  "):], l)
		return true
	case strings.HasPrefix(s, "⎯⎯"):
		v.rule(s, l)
		return true
	case strings.HasPrefix(s, "No test files found"):
		v.out.none()
		return true
	case strings.HasPrefix(s, "      Tests  "):
		return v.totals(strings.TrimSpace(s[len("      Tests  "):]))
	case strings.HasPrefix(s, " Test Files  "):
		v.closeAll()
		return true
	}
	if v.block != nil {
		v.block.line(s, l.to)
		return true
	}
	n := indent(s)
	if n > 0 && n <= 8 {
		return v.node(s[n:], n, l)
	}
	return false
}

// node takes "✓ path > suite > name 3ms", or the same without the path under
// the line of its file.
func (v *vitest) node(t string, n int, l line) bool {
	sign, name := mark(t)
	if sign == 0 {
		return false
	}
	if sign == '○' {
		v.out.skip(frameworkVitest)
		return true
	}
	name, _ = untimed(strings.TrimSpace(name))
	if strings.HasPrefix(name, "|") { // "|project| path"
		if _, after, ok := strings.Cut(name[1:], "| "); ok {
			name = after
		}
	}
	file, test, isTest := strings.Cut(name, " > ")
	if !scriptFile(file) {
		if p, _, ok := strings.Cut(name, " ("); ok && scriptFile(p) { // "path (6 tests | 4 failed)"
			v.file = strings.Clone(cut(p, maxName))
			return true
		}
		if v.file == "" || n < 2 {
			return false
		}
		file, test, isTest = v.file, name, true
	}
	if !isTest || test == "" {
		return true
	}
	if sign == '✓' {
		v.out.pass(frameworkVitest, strings.Clone(file), test)
	} else if sign == '✕' && len(v.marks) < maxFailures {
		v.marks = append(v.marks, session.Failure{Framework: frameworkVitest, Package: strings.Clone(file), File: strings.Clone(file), Test: strings.Clone(cut(test, maxName)), Kind: session.KindTest, From: l.from, To: l.to})
	}
	return true
}

// head takes what follows " FAIL  ": "path > suite > name" or "path [ path ]".
func (v *vitest) head(s string, l line) {
	if v.block != nil && v.block.msg.lines > 0 {
		v.close()
	}
	if strings.HasPrefix(s, "|") {
		if _, after, ok := strings.Cut(s[1:], "| "); ok {
			s = strings.TrimLeft(after, " ")
		}
	}
	f := session.Failure{Framework: frameworkVitest, From: l.from, To: l.to}
	file, test, _ := strings.Cut(s, " > ")
	if file == s {
		file, _, _ = strings.Cut(s, " [ ")
	}
	f.Package, f.Test = strings.Clone(cut(file, maxName)), strings.Clone(cut(test, maxName))
	if len(v.heads) < maxFailures {
		v.heads = append(v.heads, f)
	}
	if v.block == nil {
		v.block = &jsBlock{}
	}
}

// rule takes the lines that part the sections. Errors outside of any test
// stand under a title of their own.
func (v *vitest) rule(s string, l line) {
	v.close()
	title := strings.TrimSpace(strings.Trim(s, "⎯"))
	if title == "Unhandled Rejection" || title == "Uncaught Exception" || title == "Unhandled Error" {
		v.block = &jsBlock{}
		v.heads = []session.Failure{{Framework: frameworkVitest, From: l.from, To: l.to, Kind: session.KindPanic}}
	}
}

func (v *vitest) close() {
	b := v.block
	v.block = nil
	if b == nil {
		return
	}
	for _, h := range v.heads {
		one := jsBlock{Failure: h, msg: message{lines: 1}, frames: append([]session.Frame(nil), b.frames...)}
		one.msg.b.WriteString(b.msg.String())
		one.To = max(b.To, h.To)
		f := one.finish()
		if f.Test == "" && f.Package != "" {
			if f.Kind != session.KindDependency {
				f.Kind = session.KindBuild
			}
			f.File = f.Package
		}
		v.out.fail(f, primary)
	}
	v.heads = nil
}

func (v *vitest) closeAll() {
	v.close()
	for _, f := range v.marks {
		v.out.fail(f, primary)
	}
	v.marks = nil
}

// totals takes "4 failed | 2 passed | 1 skipped (7)".
func (v *vitest) totals(s string) bool {
	if i := strings.LastIndex(s, " ("); i > 0 {
		s = s[:i]
	}
	passed, failed, skipped := 0, 0, 0
	for _, part := range strings.Split(s, " | ") {
		num, word, _ := strings.Cut(part, " ")
		n, err := strconv.Atoi(num)
		if err != nil {
			return false
		}
		switch word {
		case "passed":
			passed = n
		case "failed":
			failed = n
		default:
			skipped += n
		}
	}
	v.closeAll()
	v.out.total(frameworkVitest, passed, failed, skipped)
	if passed+failed == 0 {
		v.out.none()
	}
	return true
}

func (v *vitest) busy() bool { return v.active }

func (v *vitest) end() {
	v.closeAll()
	v.active, v.file = false, ""
}
