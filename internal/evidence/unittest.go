package evidence

import (
	"strconv"
	"strings"

	"culprit/internal/session"
)

const frameworkUnittest = "unittest"

// unittest reads the text runner of Python's unittest, which Django's runner
// prints too.
type unittest struct {
	out   *collector
	rule  bool   // the last line was "====…"
	test  string // with -v: whose result is awaited
	pkg   string
	block *unitBlock
	ran   int
}

type unitBlock struct {
	session.Failure
	body  bool // the rule under the title was seen
	trace pyTrace
	note  string // "(i=1)"
}

const (
	ruleDouble = "======================================================================"
	ruleSingle = "----------------------------------------------------------------------"
)

func (u *unittest) line(l line) bool {
	s := l.text
	if s == "" {
		return u.block != nil
	}
	if s == ruleDouble {
		u.close()
		u.rule = true
		return true
	}
	if u.rule {
		u.rule = false
		if rest, ok := strings.CutPrefix(s, "ERROR: "); ok && u.open(rest, l) {
			return true
		}
		if rest, ok := strings.CutPrefix(s, "FAIL: "); ok && u.open(rest, l) {
			return true
		}
	}
	if b := u.block; b != nil {
		if s == ruleSingle {
			if b.body {
				u.close()
			} else {
				b.body = true
			}
			return true
		}
		b.To = l.to
		if b.body {
			b.trace.line(s)
		}
		return true
	}
	if u.test != "" && u.awaited(s) {
		return true
	}
	switch s[0] {
	case 'R':
		if rest, ok := strings.CutPrefix(s, "Ran "); ok {
			num, after, _ := strings.Cut(rest, " ")
			n, err := strconv.Atoi(num)
			if err == nil && strings.HasPrefix(after, "test") {
				u.out.use(frameworkUnittest)
				if u.ran = n; n == 0 {
					u.out.none()
				}
				return true
			}
		}
	case 'O', 'F', 'N':
		if u.verdict(s) {
			return true
		}
	}
	return u.result(s)
}

// verdict takes "FAILED (failures=2, errors=2, skipped=1)" and "OK".
func (u *unittest) verdict(s string) bool {
	if u.ran == 0 || s != "OK" && !strings.HasPrefix(s, "OK (") && !strings.HasPrefix(s, "FAILED (") {
		return false
	}
	failed, skipped := 0, 0
	_, inner, _ := strings.Cut(strings.TrimSuffix(s, ")"), "(")
	for _, part := range strings.Split(inner, ", ") {
		key, num, _ := strings.Cut(part, "=")
		n, _ := strconv.Atoi(num)
		switch key {
		case "failures", "errors", "unexpected successes":
			failed += n
		case "skipped", "expected failures":
			skipped += n
		}
	}
	u.out.total(frameworkUnittest, max(u.ran-failed-skipped, 0), failed, skipped)
	u.ran = 0
	return true
}

// result takes "test_x (mod.Class.test_x) ... ok", whose verdict may come on a
// later line when the test prints, or when its docstring stands between.
func (u *unittest) result(s string) bool {
	i := strings.Index(s, " (")
	if i <= 0 || strings.ContainsAny(s[:i], " \t") {
		return false
	}
	j := strings.IndexByte(s[i:], ')')
	if j < 0 {
		return false
	}
	rest := s[i+j+1:]
	if rest != "" && !strings.HasPrefix(rest, " ... ") && rest != " ..." {
		return false
	}
	pkg, test, ok := unitID(s[:i+j+1])
	if !ok || !strings.Contains(pkg, ".") && rest == "" && !strings.HasPrefix(test, "Test") {
		return false
	}
	u.pkg, u.test = strings.Clone(cut(pkg, maxName)), strings.Clone(cut(test, maxName))
	if rest != "" {
		u.awaited(rest)
	}
	return true
}

// awaited looks for the verdict of the test whose name was printed.
func (u *unittest) awaited(s string) bool {
	if i := strings.LastIndex(s, " ... "); i >= 0 {
		s = s[i+len(" ... "):]
	}
	switch {
	case s == "ok":
		u.out.use(frameworkUnittest)
		u.out.pass(frameworkUnittest, u.pkg, u.test)
	case s == "FAIL", s == "ERROR":
		u.out.use(frameworkUnittest)
	case strings.HasPrefix(s, "skipped "), s == "expected failure":
		u.out.skip(frameworkUnittest)
	default:
		return false
	}
	u.test = ""
	return true
}

// unitID reads "test_x (mod.Class.test_x)", before Python 3.11
// "test_x (mod.Class)".
func unitID(s string) (pkg, test string, ok bool) {
	name, rest, ok := strings.Cut(s, " (")
	rest, _, closed := strings.Cut(rest, ")")
	if !ok || !closed || name == "" || rest == "" || strings.ContainsAny(rest, " \t,=") {
		return "", "", false
	}
	class := strings.TrimSuffix(rest, "."+name)
	if i := strings.LastIndexByte(class, '.'); i > 0 {
		return class[:i], class[i+1:] + "." + name, true
	}
	return "", class + "." + name, true
}

func (u *unittest) open(title string, l line) bool {
	pkg, test, ok := unitID(title)
	if !ok {
		return false
	}
	u.out.use(frameworkUnittest)
	u.test = ""
	b := &unitBlock{}
	b.Failure = session.Failure{Framework: frameworkUnittest, Package: strings.Clone(pkg), Test: strings.Clone(test), From: l.from, To: l.to}
	if i := strings.IndexByte(title, ')'); i > 0 {
		b.note = strings.Clone(strings.TrimSpace(title[i+1:]))
	}
	u.block = b
	return true
}

func (u *unittest) close() {
	b := u.block
	u.block = nil
	if b == nil {
		return
	}
	f := b.Failure
	f.Message, f.Stack = b.trace.message(), b.trace.stack()
	f.Kind = pyKind(f.Message)
	if name, ok := strings.CutPrefix(f.Test, "_FailedTest."); ok {
		// The module could not be imported: no test of it ran.
		f.Package, f.Test = name, ""
		last := f.Message[strings.LastIndexByte(f.Message, '\n')+1:]
		missing, _ := strings.CutPrefix(last, "ModuleNotFoundError: No module named ")
		missing = strings.Trim(missing, "'")
		switch {
		case missing == name || strings.HasSuffix(missing, "."+name) || strings.HasPrefix(last, "AttributeError: "):
			u.out.none() // it is the test that is not there
			f.Kind = session.KindBuild
		case missing != last:
			f.Kind = session.KindDependency
		default:
			f.Kind = session.KindBuild
		}
		u.out.fail(f, primary)
		return
	}
	if b.note != "" {
		f.Message = cut(b.note+" "+f.Message, maxMessage)
		f.Expected, f.Actual = expectation(b.trace.message())
	}
	if len(f.Stack) > 0 {
		f.File, f.Line = f.Stack[len(f.Stack)-1].File, f.Stack[len(f.Stack)-1].Line
		method := f.Test[strings.LastIndexByte(f.Test, '.')+1:]
		for _, fr := range f.Stack {
			if fr.Function == method {
				f.File, f.Line = fr.File, fr.Line
			}
		}
	}
	u.out.fail(f, primary)
}

func (u *unittest) busy() bool { return u.block != nil || u.rule || u.test != "" || u.ran > 0 }

func (u *unittest) end() {
	u.close()
	u.rule, u.test, u.ran = false, "", 0
}
