package evidence

import (
	"strconv"
	"strings"

	"culprit/internal/session"
)

const frameworkMaven = "maven"

// maven reads Maven's Surefire and Failsafe, versions 2 and 3, and its
// compiler's errors. Tests that pass are counted, not named.
type maven struct {
	out    *collector
	block  *javaBlock
	counts bool // inside "Results:"
	ran    int
	class  string // whose results follow: newer versions name the method alone
}

// javaBlock is a failed test with its exception.
type javaBlock struct {
	session.Failure
	msg    message
	frames []session.Frame
	stack  bool
}

func (m *maven) line(l line) bool {
	s := l.text
	if s == "" {
		m.close()
		return false
	}
	t, level := s, ""
	if s[0] == '[' {
		for _, p := range [...]string{"[ERROR] ", "[INFO] ", "[WARNING] "} {
			if strings.HasPrefix(s, p) {
				t, level = s[len(p):], p
				break
			}
		}
	}
	if i := strings.Index(t, "<<< "); i > 0 && (strings.HasPrefix(t[i:], "<<< FAILURE!") || strings.HasPrefix(t[i:], "<<< ERROR!")) {
		if strings.HasPrefix(t, "Tests run: ") {
			return m.totals(t)
		}
		if m.open(t[:i], l) {
			return true
		}
	}
	switch {
	case strings.HasPrefix(t, "Tests run: "):
		return m.totals(t)
	case level != "" && strings.HasPrefix(t, "Results:"), strings.HasPrefix(s, "Results :"):
		m.close()
		m.counts = true
		return true
	case level == "[INFO] " && strings.HasPrefix(t, "BUILD "):
		m.close()
		if m.counts = false; m.ran == 0 && t == "BUILD SUCCESS" {
			m.out.use(frameworkMaven)
			m.out.none()
		}
		m.ran = 0
		return true
	case level == "[INFO] " && (strings.HasPrefix(t, "No tests to run") || strings.HasPrefix(t, "Tests are skipped")):
		m.out.use(frameworkMaven)
		m.out.none()
		return true
	case level == "[ERROR] ":
		return m.error(t, l)
	case level != "":
		m.close()
		return false
	}
	if m.block != nil {
		m.block.line(s, l.to)
		return true
	}
	return false
}

// open takes "com.ex.CartTest.adds  Time elapsed: 0.01 s " and Surefire 2.19's
// "adds(com.ex.CartTest)  Time elapsed: 0.01 sec ".
func (m *maven) open(t string, l line) bool {
	i := strings.Index(t, "Time elapsed: ")
	if i <= 0 {
		return false
	}
	name := strings.TrimRight(strings.TrimSuffix(strings.TrimRight(t[:i], " "), "--"), " ")
	class, test := "", ""
	if j := strings.LastIndexByte(name, '('); j > 0 && strings.HasSuffix(name, ")") && strings.Contains(name[j:], ".") {
		test, class = name[:j], name[j+1:len(name)-1]
	} else {
		// Arguments of a parameterised test can hold dots.
		end := len(name)
		if j := strings.IndexAny(name, "([{ "); j > 0 {
			end = j
		}
		if j := strings.LastIndexByte(name[:end], '.'); j > 0 {
			class, test = name[:j], name[j+1:]
		} else if m.class != "" && name != m.class {
			class, test = m.class, name
		}
	}
	m.close()
	m.out.use(frameworkMaven)
	m.block = &javaBlock{Failure: session.Failure{Framework: frameworkMaven, Package: strings.Clone(class), Test: strings.Clone(test), From: l.from, To: l.to}}
	if test == "" { // a whole class: its set-up
		m.block.Package = strings.Clone(name)
	}
	return true
}

// line takes the exception and its stack.
func (b *javaBlock) line(s string, to int64) {
	b.To = to
	t := strings.TrimLeft(s, "\t ")
	if at, ok := strings.CutPrefix(t, "at "); ok {
		b.stack = true
		b.frame(at)
		return
	}
	if strings.HasPrefix(t, "Caused by: ") {
		b.msg.add(t)
		b.stack = true
		return
	}
	if !b.stack {
		b.msg.add(s)
	}
}

// frame takes "com.ex.CartTest.adds(CartTest.java:12)".
func (b *javaBlock) frame(at string) {
	fn, place, ok := strings.Cut(strings.TrimSuffix(at, ")"), "(")
	file, n, isPlace := lineColumn(place)
	if !ok || !isPlace || len(b.frames) >= maxStack {
		return
	}
	if i := strings.LastIndexByte(fn, '/'); i >= 0 { // "java.base/"
		fn = fn[i+1:]
	}
	for _, p := range [...]string{"org.junit.", "java.", "jdk.", "sun.", "org.apache.maven.", "junit.", "org.opentest4j.", "org.hamcrest.", "org.assertj.", "org.gradle.", "org.testng."} {
		if strings.HasPrefix(fn, p) {
			return
		}
	}
	// The package's folders, which the stack leaves out.
	class := fn[:max(strings.LastIndexByte(fn, '.'), 0)]
	if i := strings.LastIndexByte(class, '.'); i > 0 {
		file = strings.ReplaceAll(class[:i], ".", "/") + "/" + file
	}
	b.frames = append(b.frames, session.Frame{Function: strings.Clone(fn), File: strings.Clone(file), Line: n})
}

func (b *javaBlock) finish() session.Failure {
	f := b.Failure
	f.Message, f.Stack = b.msg.String(), b.frames
	f.Kind = javaKind(f.Message)
	for _, fr := range f.Stack {
		if f.Package != "" && strings.HasPrefix(fr.Function, f.Package+".") || strings.Contains(fr.File, "/"+f.Package+".") {
			f.File, f.Line = fr.File, fr.Line
			break
		}
	}
	return f
}

func javaKind(msg string) session.Kind {
	first, _, _ := strings.Cut(msg, "\n")
	name, _, _ := strings.Cut(first, ":")
	switch {
	case strings.Contains(first, "TimeoutException"), strings.Contains(first, "timed out after"):
		return session.KindTimeout
	case strings.Contains(name, "Assertion"), strings.Contains(name, "ComparisonFailure"), strings.Contains(name, "MultipleFailuresError"), first == "":
		return session.KindTest
	case strings.HasSuffix(name, "OutOfMemoryError"):
		return session.KindEnvironment
	case strings.HasSuffix(name, "Exception"), strings.HasSuffix(name, "Error"):
		return session.KindPanic
	}
	return session.KindTest
}

// totals takes "Tests run: 3, Failures: 1, Errors: 1, Skipped: 1", by class
// and again at the end; only the last counts.
func (m *maven) totals(t string) bool {
	var n [4]int
	byClass := strings.Contains(t, "Time elapsed")
	for i, key := range [...]string{"Tests run: ", "Failures: ", "Errors: ", "Skipped: "} {
		_, rest, ok := strings.Cut(t, key)
		if !ok {
			return false
		}
		num, _, _ := strings.Cut(rest, ",")
		num, _, _ = strings.Cut(strings.TrimSpace(num), " ")
		v, err := strconv.Atoi(num)
		if err != nil {
			return false
		}
		n[i] = v
	}
	m.close()
	m.out.use(frameworkMaven)
	m.ran += n[0] - n[3]
	if _, class, ok := strings.Cut(t, " in "); ok && byClass {
		m.class = strings.Clone(cut(class, maxName))
	}
	if byClass {
		m.out.ran += n[0] - n[3]
	} else if m.counts {
		m.counts = false
		m.out.total(frameworkMaven, max(n[0]-n[1]-n[2]-n[3], 0), n[1]+n[2], n[3])
	}
	return true
}

// error takes the compiler's "/path/Cart.java:[5,10] cannot find symbol", the
// short list under "Failures:", and what Maven itself complains about.
func (m *maven) error(t string, l line) bool {
	if i := strings.Index(t, ":["); i > 0 && strings.Contains(t[:i], ".") && !strings.Contains(t[:i], " ") {
		place, msg, ok := strings.Cut(t[i+2:], "] ")
		num, _, _ := strings.Cut(place, ",")
		if n, err := strconv.Atoi(num); ok && err == nil {
			m.close()
			m.out.use(frameworkMaven)
			m.out.fail(session.Failure{Framework: frameworkMaven, Kind: session.KindBuild, File: t[:i], Line: n, Message: msg, From: l.from, To: l.to}, primary)
			return true
		}
	}
	f := session.Failure{Framework: frameworkMaven, Kind: session.KindCommand, Message: t, From: l.from, To: l.to}
	switch {
	case strings.Contains(t, "Could not resolve dependencies"), strings.Contains(t, "Could not find artifact"), strings.Contains(t, "could not be resolved"), strings.Contains(t, "Non-resolvable parent POM"), strings.HasPrefix(t, "Plugin ") && strings.Contains(t, "or one of its dependencies"):
		f.Kind = session.KindDependency
		m.out.use(frameworkMaven)
		m.out.fail(f, primary)
	case strings.Contains(t, "No tests were executed"), strings.Contains(t, "No tests matching pattern"):
		m.out.use(frameworkMaven)
		m.out.none()
	case strings.HasPrefix(t, "Failed to execute goal "):
		m.close()
		m.out.use(frameworkMaven)
		m.out.fail(f, tertiary)
	case strings.HasPrefix(t, "there is no POM in this directory"), strings.Contains(t, "there is no POM in this directory"):
		f.Kind = session.KindDependency
		m.out.fail(f, primary)
	case m.block != nil && !strings.HasPrefix(t, "  "):
		m.block.line(t, l.to) // Surefire 3 may mark the exception too
	default:
		return m.counts
	}
	return true
}

func (m *maven) close() {
	if m.block != nil {
		m.out.fail(m.block.finish(), primary)
	}
	m.block = nil
}

func (m *maven) busy() bool { return m.block != nil || m.counts }

func (m *maven) end() {
	m.close()
	m.counts, m.ran, m.class = false, 0, ""
}
