package evidence

import (
	"strconv"
	"strings"

	"culprit/internal/session"
)

// goCrash is a panic or fatal error of a Go program: its message, then the
// stacks of its goroutines, of which the first is the one that died.
type goCrash struct {
	from, to int64
	msg      message
	running  []string // "running tests:" of a time-out, outermost first
	inList   bool
	stacks   int // "goroutine N [" lines seen
	fn       string
	frames   []session.Frame
	tests    []string // test functions on the first stack, innermost first
}

func (g *goTest) startCrash(l line) {
	if g.crash != nil {
		g.crash.line(l)
		return
	}
	g.crash = &goCrash{from: l.from, to: l.to}
	g.crash.msg.add(crashMessage(l.text))
}

// crashMessage drops what the runtime appends to the value.
func crashMessage(s string) string {
	for _, suffix := range [...]string{" [recovered, repanicked]", " [recovered]"} {
		s = strings.TrimSuffix(s, suffix)
	}
	return s
}

// line takes the crash's own lines and refuses those that end it.
func (c *goCrash) line(l line) bool {
	s := l.text
	switch {
	case strings.HasPrefix(s, "exit status "), strings.HasPrefix(s, "FAIL\t"), s == "FAIL", strings.HasPrefix(s, "ok  \t"),
		strings.HasPrefix(s, "=== "), strings.HasPrefix(s, "--- "), strings.HasPrefix(s, "##["):
		return false
	case strings.HasPrefix(s, "goroutine ") && strings.Contains(s, " ["), strings.HasPrefix(s, "runtime stack:"):
		c.stacks++
		c.inList = false
	case c.stacks == 0:
		switch {
		case strings.TrimSpace(s) == "running tests:":
			c.inList = true
		case c.inList:
			name, _, _ := strings.Cut(strings.TrimSpace(s), " ")
			if name != "" && len(c.running) < 100 {
				c.running = append(c.running, strings.Clone(cut(name, maxName)))
			}
		case strings.HasPrefix(s, "\tpanic: "): // the same value once more
		case c.msg.lines < 20:
			c.msg.add(s)
		}
	case c.stacks > 1 && len(c.frames) > 0: // other goroutines: seen, not kept
	case strings.HasPrefix(s, "\t"), strings.HasPrefix(s, "      "):
		c.frame(strings.TrimSpace(s))
	default:
		c.fn = strings.TrimPrefix(s, "created by ")
	}
	c.to = l.to
	return true
}

func (c *goCrash) frame(s string) {
	fn := c.fn
	c.fn = ""
	if i := strings.LastIndexByte(fn, '('); i > 0 {
		fn = fn[:i]
	}
	fn, _, _ = strings.Cut(fn, " in goroutine ")
	file, n, ok := framePlace(s)
	if !ok || goRuntime(fn) || len(c.frames) >= maxStack {
		return
	}
	c.frames = append(c.frames, session.Frame{Function: strings.Clone(fn), File: strings.Clone(file), Line: n})
	if name := goTestFunc(fn); name != "" && len(c.tests) < 10 {
		c.tests = append(c.tests, strings.Clone(name))
	}
}

// framePlace reads "/path/x.go:7 +0x1d".
func framePlace(s string) (file string, n int, ok bool) {
	s, _, _ = strings.Cut(s, " +0x")
	i := strings.LastIndexByte(s, ':')
	if i <= 0 {
		return "", 0, false
	}
	n, err := strconv.Atoi(s[i+1:])
	return s[:i], n, err == nil
}

// goRuntime reports functions of the runtime and of package testing.
func goRuntime(fn string) bool {
	for _, p := range [...]string{"testing.", "runtime.", "runtime/", "panic", "internal/", "reflect.", "sync.", "syscall.", "os/signal."} {
		if strings.HasPrefix(fn, p) {
			return true
		}
	}
	return false
}

// goTestFunc is "TestX" in "example.com/p.TestX.func1".
func goTestFunc(fn string) string {
	fn = fn[strings.LastIndexByte(fn, '/')+1:]
	_, fn, _ = strings.Cut(fn, ".")
	name, _, _ := strings.Cut(fn, ".")
	for _, p := range [...]string{"Test", "Fuzz", "Example", "Benchmark"} {
		if strings.HasPrefix(name, p) && !strings.HasPrefix(name, "TestMain") {
			return name
		}
	}
	return ""
}

// endCrash gives the crash to the test that died of it: the one whose result
// line came just before, the one on the stack, the one under way.
func (g *goTest) endCrash() {
	c := g.crash
	g.crash = nil
	if c == nil || c.stacks == 0 && !strings.HasPrefix(c.msg.String(), "fatal error: ") {
		return
	}
	g.use()
	msg := c.msg.String()
	kind := session.KindPanic
	if strings.HasPrefix(msg, "panic: test timed out after ") {
		kind = session.KindTimeout
	}
	if strings.Contains(msg, "out of memory") {
		kind = session.KindEnvironment
	}
	r := &goRun{from: c.from, to: c.to, kind: kind, message: msg, stack: c.frames}
	switch last := len(g.failed) - 1; {
	case kind == session.KindTimeout && len(c.running) > 0:
		for _, name := range c.running {
			if r.name == "" || strings.HasPrefix(name, r.name+"/") {
				r.name = name
			}
		}
	case g.block != nil && last >= 0 && g.failed[last] == g.block && len(g.block.log) == 0 &&
		(len(c.tests) == 0 || g.block.name == c.tests[0] || isBelow(g.block.name, c.tests[0])):
		r.name = g.block.name
	case g.strict && g.cur != nil:
		r.name = g.cur.name
	case len(c.tests) > 0:
		r.name = g.innermost(c.tests[0])
		for _, old := range g.failed {
			if g.strict && len(old.log) == 0 && isBelow(old.name, r.name) {
				r.name = old.name // its parent reports a subtest's panic
			}
		}
	case g.cur != nil:
		r.name = g.cur.name
	case len(g.runs) == 1:
		for r.name = range g.runs {
		}
	}
	for _, old := range g.failed {
		if old.name == r.name && r.name != "" {
			old.kind, old.message, old.stack, old.to = r.kind, r.message, r.stack, r.to
			return
		}
	}
	g.failed = append(g.failed, r)
}

// innermost is the subtest of name that is under way, or name itself: a stack
// names the function, which a subtest shares with its parent.
func (g *goTest) innermost(name string) string {
	if g.cur != nil && strings.HasPrefix(g.cur.name, name+"/") {
		return g.cur.name
	}
	return name
}

// goRace is one report of the race detector.
type goRace struct {
	from, to int64
	msg      message
	fn       string
	frames   []session.Frame
	tests    []string
	first    bool // the first access's stack is over
	done     bool
}

func (r *goRace) line(l line) bool {
	s := l.text
	r.to = l.to
	switch {
	case s == "==================":
		r.done = true
	case s == "":
		r.first = len(r.frames) > 0
	case strings.HasPrefix(s, "      "):
		file, n, ok := framePlace(strings.TrimSpace(s))
		fn := r.fn
		r.fn = ""
		if !ok || goRuntime(fn) {
			return true
		}
		if name := goTestFunc(fn); name != "" && len(r.tests) < 10 {
			r.tests = append(r.tests, strings.Clone(name))
		}
		if !r.first && len(r.frames) < maxStack {
			r.frames = append(r.frames, session.Frame{Function: strings.Clone(fn), File: strings.Clone(file), Line: n})
		}
	case strings.HasPrefix(s, "  "):
		r.fn, _, _ = strings.Cut(strings.TrimSpace(s), "(")
	case strings.HasPrefix(s, "--- "), strings.HasPrefix(s, "FAIL"):
		r.done = true
		return false
	default:
		if r.msg.lines < 2 && strings.Contains(s, " by ") {
			r.msg.add(strings.TrimSuffix(s, ":"))
		}
	}
	return true
}

func (r *goRace) String() string { return "DATA RACE\n" + r.msg.String() }

// failure is the race's own, when no test took it.
func (r *goRace) failure() session.Failure {
	f := session.Failure{Framework: frameworkGo, Kind: session.KindRace, Message: r.String(), Stack: r.frames, From: r.from, To: r.to}
	if len(r.tests) > 0 {
		f.Test = r.tests[len(r.tests)-1]
	}
	return f
}
