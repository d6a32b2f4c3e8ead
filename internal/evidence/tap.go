package evidence

import (
	"strconv"
	"strings"

	"culprit/internal/session"
)

const frameworkTAP = "tap"

// tap reads the Test Anything Protocol, version 12 to 14: results in the
// first column, subtests indented by four, details in a YAML block or in
// indented text.
type tap struct {
	out     *collector
	names   []string // of the subtests around, from "# Subtest:"
	block   *jsBlock
	depth   int
	yaml    bool
	key     string // of the block scalar being read
	suite   bool
	node    bool
	passed  int
	failed  int
	results int
}

func (t *tap) line(l line) bool {
	s := l.text
	if s == "" {
		return t.block != nil
	}
	n := indent(s)
	r := s[n:]
	if r == "" {
		return t.block != nil
	}
	if t.block != nil && n > 4*t.depth && n != 4*t.depth+4 {
		t.detail(r, n, l)
		return true
	}
	switch r[0] {
	case 'o', 'n':
		if n%4 == 0 && n < 200 && t.result(r, n/4, l) {
			return true
		}
	case 'T':
		if strings.HasPrefix(r, "TAP version 1") && n == 0 {
			t.close()
			t.out.use(frameworkTAP)
			return true
		}
	case 'B':
		if reason, ok := strings.CutPrefix(r, "Bail out!"); ok && n == 0 {
			t.close()
			t.out.fail(session.Failure{Framework: t.framework(), Kind: session.KindCommand, Message: "Bail out!" + reason, From: l.from, To: l.to}, primary)
			return true
		}
	case '#':
		if name, ok := strings.CutPrefix(r, "# Subtest: "); ok && n%4 == 0 && n < 200 {
			t.close()
			t.names = nest(t.names, n/4, name)
			return true
		}
		if n == 0 && t.results > 0 && t.count(r) {
			return true
		}
	case '1':
		if n == 0 && strings.HasPrefix(r, "1..0") && (r == "1..0" || r[4] == ' ') {
			t.out.none()
			return true
		}
	}
	if t.block != nil {
		if n > 4*t.depth {
			t.detail(r, n, l)
			return true
		}
		t.close()
	}
	return false
}

// result takes "not ok 1 - name # TODO reason".
func (t *tap) result(r string, depth int, l line) bool {
	rest, failed := strings.CutPrefix(r, "not ok")
	if !failed {
		var ok bool
		if rest, ok = strings.CutPrefix(r, "ok"); !ok {
			return false
		}
	}
	if len(rest) < 2 || rest[0] != ' ' || rest[1] < '0' || rest[1] > '9' {
		return false
	}
	_, name, _ := strings.Cut(rest[1:], " ")
	name = strings.TrimPrefix(name, "- ")
	directive := ""
	if i := strings.LastIndex(name, " # "); i >= 0 {
		if d := strings.ToUpper(name[i+3:]); strings.HasPrefix(d, "SKIP") || strings.HasPrefix(d, "TODO") || strings.HasPrefix(d, "TIME=") {
			name, directive = name[:i], d
		}
	}
	name = strings.ReplaceAll(strings.ReplaceAll(name, `\#`, "#"), `\\`, `\`)
	t.close()
	t.out.use(frameworkTAP)
	t.results++
	suite := depth+1 < len(t.names)
	if len(t.names) > depth {
		t.names = t.names[:depth]
	}
	id := joinNames(t.names, " > ", name)
	switch {
	case strings.HasPrefix(directive, "SKIP"), strings.HasPrefix(directive, "TODO"):
		t.out.skip(frameworkTAP)
	case failed:
		t.block, t.depth, t.suite = &jsBlock{Failure: session.Failure{Test: strings.Clone(id), From: l.from, To: l.to}}, depth, suite
	default:
		t.out.pass(frameworkTAP, "", id)
		if suite {
			t.out.ran--
		}
	}
	return true
}

// detail takes a line under a failed result.
func (t *tap) detail(r string, n int, l line) {
	b := t.block
	b.To = l.to
	if r == "---" {
		t.yaml, t.key = true, ""
		return
	}
	if r == "..." && t.yaml {
		t.close()
		return
	}
	if !t.yaml {
		b.line(strings.TrimPrefix(r, "# "), l.to)
		return
	}
	if t.key != "" && n > 4*t.depth+2 {
		switch t.key {
		case "error", "message":
			b.msg.add(r)
		case "stack":
			if f, ok := jsLocation(strings.TrimSuffix(strings.TrimPrefix(r, "at "), ")")); ok && len(b.frames) < maxStack && !foreign(f.File) {
				f.File, f.Function = strings.Clone(f.File), strings.Clone(f.Function)
				b.frames = append(b.frames, f)
			}
		case "expected":
			b.Expected = cut(strings.TrimSpace(b.Expected+"\n"+r), maxValue)
		case "actual":
			b.Actual = cut(strings.TrimSpace(b.Actual+"\n"+r), maxValue)
		}
		return
	}
	key, value, ok := strings.Cut(r, ":")
	if !ok {
		return
	}
	t.key = strings.Clone(key)
	value = strings.TrimSpace(value)
	if value == "" || value == "|-" || value == "|" || value == ">-" || value == ">" {
		return
	}
	value = strings.Clone(unquoteYAML(value))
	switch key {
	case "error", "message":
		b.msg.add(value)
	case "failureType":
		t.node = true
		t.suite = t.suite || value == "subtestsFailed"
		if value == "testTimeoutFailure" {
			b.Kind = session.KindTimeout
		}
	case "name":
		if b.msg.lines == 1 && strings.HasSuffix(value, "Error") && value != "AssertionError" {
			b.Kind = session.KindPanic
		}
	case "location", "at":
		if file, line, ok := lineColumn(value); ok {
			b.File, b.Line = file, line
		}
	case "expected", "wanted":
		b.Expected = cut(value, maxValue)
	case "actual", "found":
		b.Actual = cut(value, maxValue)
	}
}

func unquoteYAML(s string) string {
	if len(s) >= 2 && (s[0] == '\'' || s[0] == '"') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

func (t *tap) framework() string {
	if t.node {
		return frameworkNode
	}
	return frameworkTAP
}

func (t *tap) close() {
	b := t.block
	t.block, t.yaml, t.key = nil, false, ""
	if b == nil {
		return
	}
	rank := primary
	if t.suite {
		rank = secondary
	}
	b.Framework = t.framework()
	file, line := b.File, b.Line
	f := b.finish()
	if len(f.Stack) == 0 || f.File == "" {
		f.File, f.Line = file, line
	}
	if scriptFile(f.Test) && !strings.Contains(f.Test, " ") {
		f.File, f.Package, f.Test, f.Line, f.Kind, rank = f.Test, f.Test, "", 0, session.KindBuild, secondary
	}
	t.out.fail(f, rank)
}

// count takes node's "# pass 3" and "# fail 5" at the end.
func (t *tap) count(r string) bool {
	key, num, ok := strings.Cut(r[min(2, len(r)):], " ")
	n, err := strconv.Atoi(num)
	if !ok || err != nil {
		return false
	}
	switch key {
	case "pass":
		t.passed = n
	case "fail":
		t.failed = n
		if t.passed+t.failed == 0 {
			t.out.none()
		}
	case "tests", "suites", "cancelled", "skipped", "todo", "duration_ms":
	default:
		return false
	}
	return true
}

func (t *tap) busy() bool { return t.block != nil || t.results > 0 }

func (t *tap) end() {
	t.close()
	t.names, t.results, t.node = nil, 0, false
}
