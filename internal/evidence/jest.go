package evidence

import (
	"strconv"
	"strings"

	"culprit/internal/session"
)

const frameworkJest = "jest"

// jest reads Jest's default reporter: a line by file ("PASS path", "FAIL
// path"), with --verbose the tree of its tests, and a "●" block by failure.
type jest struct {
	out   *collector
	file  string
	tree  bool // the tree may follow
	stack []string
	block *jsBlock
	marks []session.Failure // named as failed in the tree
}

func (j *jest) line(l line) bool {
	s := l.text
	if s == "" {
		if j.block != nil {
			j.block.line("", l.to)
			return true
		}
		j.tree = false
		return false
	}
	switch s[0] {
	case 'F', 'P', ' ':
		if j.header(s) {
			return true
		}
	case 'T':
		if strings.HasPrefix(s, "Test Suites: ") {
			j.close()
			return true
		}
		if rest, ok := strings.CutPrefix(s, "Tests: "); ok && strings.HasSuffix(s, " total") {
			return j.totals(strings.TrimSpace(rest))
		}
	case 'N':
		if strings.HasPrefix(s, "No tests found, exiting with code ") || strings.HasPrefix(s, "No tests found related to files") {
			j.out.use(frameworkJest)
			j.out.none()
			return true
		}
	}
	if j.file == "" {
		return false
	}
	n := indent(s)
	if n <= 2 {
		if title, ok := strings.CutPrefix(s[n:], "● "); ok {
			j.open(title, l)
			return true
		}
	}
	if j.block != nil {
		if n == 0 {
			j.close()
			return false
		}
		j.block.line(s[min(n, 4):], l.to)
		return true
	}
	return j.tree && n >= 2 && j.node(s[n:], n/2-1, l)
}

// header takes "FAIL src/sum.test.js (5.1 s)"; colours leave blanks around
// the word, and a project's name may stand before the path.
func (j *jest) header(s string) bool {
	t := strings.TrimLeft(s, " ")
	word, rest, ok := strings.Cut(t, " ")
	if !ok || word != "FAIL" && word != "PASS" || len(s)-len(t) > 1 {
		return false
	}
	rest, _ = untimed(strings.TrimSpace(rest))
	path := rest[strings.LastIndexByte(rest, ' ')+1:]
	if !scriptFile(path) || strings.Contains(rest, " > ") {
		return false
	}
	j.close()
	j.flush()
	j.out.use(frameworkJest)
	j.file, j.tree, j.stack = strings.Clone(cut(path, maxName)), true, nil
	return true
}

// node takes a line of the tree.
func (j *jest) node(t string, depth int, l line) bool {
	sign, name := mark(t)
	switch sign {
	case 0:
		if depth < 50 {
			j.stack = nest(j.stack, depth, t)
		}
		return true
	case '○':
		j.out.skip(frameworkJest)
		return true
	}
	name, _ = untimed(name)
	id := joinNames(j.stack[:min(depth, len(j.stack))], " › ", name)
	if sign == '✓' {
		j.out.pass(frameworkJest, j.file, id)
	} else if len(j.marks) < maxFailures {
		j.marks = append(j.marks, session.Failure{Framework: frameworkJest, Package: j.file, File: j.file, Test: strings.Clone(id), Kind: session.KindTest, From: l.from, To: l.to})
	}
	return true
}

func (j *jest) open(title string, l line) {
	j.close()
	j.tree = false
	b := &jsBlock{Failure: session.Failure{Framework: frameworkJest, Package: j.file, From: l.from, To: l.to}}
	switch {
	case title == "Test suite failed to run":
	case strings.TrimSpace(title) == "Console", strings.HasSuffix(title, " Warning"), strings.HasPrefix(title, "Validation "), strings.HasPrefix(strings.TrimSpace(title), "Cannot log after tests"):
		b.Framework = "" // not a failure
	default:
		b.Test = strings.Clone(cut(title, maxName))
	}
	j.block = b
}

func (j *jest) close() {
	b := j.block
	j.block = nil
	if b == nil || b.Framework == "" {
		return
	}
	f := b.finish()
	if f.Test == "" && f.Kind != session.KindDependency {
		f.Kind = session.KindBuild
		f.File = f.Package
		if f.Line == 0 && len(f.Stack) > 0 && pathSuffix(f.Stack[0].File, f.Package) {
			f.Line = f.Stack[0].Line
		}
	}
	j.out.fail(f, primary)
}

// flush hands over what the tree named as failed and no block explained.
func (j *jest) flush() {
	for _, f := range j.marks {
		j.out.fail(f, primary)
	}
	j.marks = nil
}

// totals takes "5 failed, 1 skipped, 3 passed, 10 total".
func (j *jest) totals(s string) bool {
	passed, failed, skipped := 0, 0, 0
	for _, part := range strings.Split(s, ", ") {
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
		case "skipped", "todo":
			skipped += n
		}
	}
	j.end()
	j.out.use(frameworkJest)
	j.out.total(frameworkJest, passed, failed, skipped)
	if passed+failed == 0 {
		j.out.none()
	}
	return true
}

func (j *jest) busy() bool { return j.file != "" || j.block != nil }

func (j *jest) end() {
	j.close()
	j.flush()
	j.file, j.tree, j.stack = "", false, nil
}
