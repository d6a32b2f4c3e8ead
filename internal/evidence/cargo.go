package evidence

import (
	"strconv"
	"strings"

	"culprit/internal/session"
)

const frameworkCargo = "cargo test"

// cargo reads cargo test: results by test under the binary that ran them, the
// captured output of those that failed, and rustc's errors.
type cargo struct {
	out    *collector
	binary string // "shop", "it", "doc"
	active bool
	seen   []session.Failure // failed in this binary
	body   *rustBody
	error  *session.Failure // rustc's, whose "-->" is awaited
}

// rustBody is the captured output of one failed test.
type rustBody struct {
	name     string
	from, to int64
	msg      message
	panicked bool
	skip     bool // backtrace
	file     string
	line     int
	frames   []session.Frame
	fn       string
}

func (c *cargo) line(l line) bool {
	s := l.text
	if c.error != nil && c.arrow(s, l) {
		return true
	}
	if s == "" {
		return c.body != nil
	}
	switch s[0] {
	case ' ':
		if c.running(strings.TrimLeft(s, " ")) {
			return true
		}
	case 't':
		if strings.HasPrefix(s, "test ") && c.result(s, l) {
			return true
		}
	case 'r':
		if strings.HasPrefix(s, "running ") && (strings.HasSuffix(s, " tests") || s == "running 1 test") {
			c.out.use(frameworkCargo)
			c.active = true
			return true
		}
	case 'f':
		if s == "failures:" && c.active {
			c.closeBody()
			return true
		}
	case '-':
		if rest, ok := strings.CutPrefix(s, "---- "); ok && c.active {
			if name, ok := strings.CutSuffix(rest, " ----"); ok {
				name = strings.TrimSuffix(strings.TrimSuffix(name, " stdout"), " stderr")
				c.closeBody()
				c.body = &rustBody{name: strings.Clone(cut(name, maxName)), from: l.from, to: l.to}
				return true
			}
		}
	case 'e':
		if c.compiler(s, l) {
			return true
		}
	case 'w':
		if strings.HasPrefix(s, "warning: ") && c.active {
			return c.body != nil
		}
	}
	if c.body != nil {
		c.body.take(s, l)
		return true
	}
	return false
}

// running takes "Running unittests src/lib.rs (target/debug/deps/shop-5079)"
// and "Doc-tests shop".
func (c *cargo) running(t string) bool {
	if rest, ok := strings.CutPrefix(t, "Running "); ok && strings.HasSuffix(t, ")") {
		if i := strings.LastIndexByte(rest, '('); i >= 0 {
			c.flush()
			name := rest[strings.LastIndexAny(rest, `/\`)+1 : len(rest)-1]
			name = strings.TrimSuffix(name, ".exe")
			if i := strings.LastIndexByte(name, '-'); i > 0 {
				name = name[:i]
			}
			c.binary = strings.Clone(cut(name, maxName))
			return true
		}
	}
	if strings.HasPrefix(t, "Doc-tests ") {
		c.flush()
		c.binary = strings.Clone(cut(t[len("Doc-tests "):], maxName))
		return true
	}
	return false
}

// result takes "test tests::adds ... FAILED" and the closing "test result:".
func (c *cargo) result(s string, l line) bool {
	if rest, ok := strings.CutPrefix(s, "test result: "); ok {
		return c.totals(rest)
	}
	if !c.active {
		return false
	}
	i := strings.LastIndex(s, " ... ")
	if i < len("test ") {
		return false
	}
	name, verdict := s[len("test "):i], s[i+len(" ... "):]
	name = strings.TrimSuffix(name, " - should panic")
	verdict, _, _ = strings.Cut(verdict, " <") // a time
	switch {
	case verdict == "ok":
		c.out.pass(frameworkCargo, c.binary, name)
	case verdict == "FAILED":
		if len(c.seen) < maxFailures {
			c.seen = append(c.seen, session.Failure{Framework: frameworkCargo, Package: c.binary, Test: strings.Clone(cut(name, maxName)), Kind: session.KindTest, From: l.from, To: l.to})
		}
	case strings.HasPrefix(verdict, "ignored"):
		c.out.skip(frameworkCargo)
	default:
		return false
	}
	return true
}

// totals takes "FAILED. 1 passed; 2 failed; 1 ignored; 0 measured; …".
func (c *cargo) totals(s string) bool {
	_, s, ok := strings.Cut(s, ". ")
	if !ok {
		return false
	}
	passed, failed, skipped := 0, 0, 0
	for _, part := range strings.Split(s, "; ") {
		num, word, _ := strings.Cut(part, " ")
		n, err := strconv.Atoi(num)
		if err != nil {
			break
		}
		switch word {
		case "passed":
			passed = n
		case "failed":
			failed = n
		case "ignored":
			skipped = n
		}
	}
	c.out.total(frameworkCargo, passed, failed, skipped)
	if passed+failed == 0 {
		c.out.none()
	}
	c.flush()
	return true
}

// take reads a line of a test's output: what it printed, and its panic.
func (b *rustBody) take(s string, l line) {
	b.to = l.to
	if i := strings.Index(s, " panicked at "); i > 0 && strings.HasPrefix(s, "thread '") {
		at := s[i+len(" panicked at "):]
		if strings.HasPrefix(at, "'") { // before Rust 1.73: 'message', file:line:col
			if j := strings.LastIndex(at, "', "); j > 0 {
				b.msg.add(at[1:j])
				at = at[j+3:]
				b.skip = true
			}
		}
		if file, n, ok := lineColumn(strings.TrimSuffix(at, ":")); ok {
			b.file, b.line = strings.Clone(file), n
		}
		b.panicked = true
		return
	}
	switch {
	case strings.HasPrefix(s, "stack backtrace:"), strings.HasPrefix(s, "note: run with "), strings.HasPrefix(s, "note: Some details"):
		b.skip = true
	case strings.HasPrefix(s, "note: "), strings.HasPrefix(s, "Error: "): // a should_panic's note; a test that returned Err
		b.skip, b.panicked = false, true
		b.msg.add(s)
	case b.skip:
		b.frame(s)
	case b.panicked:
		b.msg.add(s)
	}
}

// frame takes "   4: shop::tests::adds" and "             at ./src/lib.rs:17:9".
func (b *rustBody) frame(s string) {
	t := strings.TrimLeft(s, " ")
	if at, ok := strings.CutPrefix(t, "at "); ok {
		file, n, ok := lineColumn(at)
		if ok && !foreign(file) && len(b.frames) < maxStack {
			b.frames = append(b.frames, session.Frame{Function: b.fn, File: strings.Clone(strings.TrimPrefix(file, "./")), Line: n})
		}
		return
	}
	if _, fn, ok := strings.Cut(t, ": "); ok {
		b.fn = strings.Clone(cut(fn, maxName))
	}
}

func (c *cargo) closeBody() {
	b := c.body
	c.body = nil
	if b == nil {
		return
	}
	for i := range c.seen {
		f := &c.seen[i]
		if f.Test != b.name || f.Message != "" {
			continue
		}
		f.Message, f.File, f.Line, f.Stack = b.msg.String(), b.file, b.line, b.frames
		f.From, f.To = b.from, b.to
		f.Expected, f.Actual = rustSides(f.Message)
		if f.Message != "" && !strings.HasPrefix(f.Message, "assertion ") && !strings.HasPrefix(f.Message, "note: ") {
			f.Kind = session.KindPanic
		}
	}
}

// rustSides reads assert_eq!'s two sides; by custom the left one is computed.
func rustSides(msg string) (expected, actual string) {
	for line := range strings.Lines(msg) {
		line = strings.TrimSpace(line)
		if v, ok := strings.CutPrefix(line, "left: "); ok {
			actual = strings.Trim(v, "`,")
		}
		if v, ok := strings.CutPrefix(line, "right: "); ok {
			expected = strings.Trim(v, "`,")
		}
	}
	return expected, actual
}

// flush ends a binary.
func (c *cargo) flush() {
	c.closeBody()
	for _, f := range c.seen {
		c.out.fail(f, primary)
	}
	c.seen = nil
}

// compiler takes "error[E0425]: message" and "error: message", whose place
// comes with the next line, and cargo's own errors, which have none.
func (c *cargo) compiler(s string, l line) bool {
	rest, ok := strings.CutPrefix(s, "error")
	if !ok || rest == "" || rest[0] != ':' && !strings.HasPrefix(rest, "[E") {
		return false
	}
	_, msg, ok := strings.Cut(rest, ": ")
	if !ok {
		return false
	}
	f := session.Failure{Framework: "cargo", Kind: session.KindBuild, Message: strings.Clone(msg), From: l.from, To: l.to}
	switch {
	case strings.HasPrefix(msg, "test failed, to rerun"), strings.HasPrefix(msg, "doctest failed, to rerun"), strings.HasSuffix(msg, "targets failed:"), strings.HasSuffix(msg, "target failed:"):
		c.flush()
		return true
	case strings.HasPrefix(msg, "could not compile "):
		f.Package, _, _ = strings.Cut(strings.TrimPrefix(msg, "could not compile `"), "`")
		c.out.fail(f, secondary)
		return true
	case strings.HasPrefix(msg, "no matching package"), strings.HasPrefix(msg, "failed to get "), strings.HasPrefix(msg, "failed to download"), strings.HasPrefix(msg, "failed to select a version"),
		strings.HasPrefix(msg, "could not find `Cargo.toml`"), strings.HasPrefix(msg, "failed to parse manifest"), strings.HasPrefix(msg, "the lock file "), strings.HasPrefix(msg, "failed to load "):
		f.Kind = session.KindDependency
		c.out.use(frameworkCargo)
		c.out.fail(f, primary)
		return true
	case strings.HasPrefix(msg, "no test target named "), strings.HasPrefix(msg, "no library targets found"):
		c.out.use(frameworkCargo)
		c.out.none()
		return true
	}
	if strings.HasPrefix(rest, "[E") {
		f.Message = strings.Clone(rest[1:strings.IndexByte(rest, ']')] + ": " + msg)
	}
	c.error = &f
	return c.body == nil
}

// arrow takes " --> src/lib.rs:7:9" after an error.
func (c *cargo) arrow(s string, l line) bool {
	f := c.error
	at, ok := strings.CutPrefix(strings.TrimLeft(s, " "), "--> ")
	if !ok {
		if s != "" && s[0] != ' ' {
			c.error = nil // not rustc's
		}
		return false
	}
	c.error = nil
	if file, n, ok := lineColumn(at); ok {
		f.File, f.Line, f.To = strings.Clone(file), n, l.to
		c.out.use(frameworkCargo)
		c.out.fail(*f, primary)
	}
	return true
}

func (c *cargo) busy() bool { return c.active || c.body != nil || c.error != nil }

func (c *cargo) end() {
	c.flush()
	c.binary, c.active, c.error = "", false, nil
}
