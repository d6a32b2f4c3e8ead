package evidence

import (
	"strconv"
	"strings"

	"culprit/internal/session"
)

// pyTrace gathers one Python traceback, chained exceptions included: the last
// exception's message and frames are what is kept.
type pyTrace struct {
	msg    []string
	bytes  int
	frames []session.Frame // outermost first
	inner  bool            // inside "Traceback (most recent call last):"
	done   bool            // the exception's own line has come
}

func (t *pyTrace) line(s string) {
	if strings.HasPrefix(s, "Traceback (most recent call last):") {
		t.inner, t.done = true, false
		t.frames = t.frames[:0]
		return
	}
	if file, n, fn, ok := pyFrame(s); ok {
		if len(t.frames) < maxStack {
			t.frames = append(t.frames, session.Frame{Function: strings.Clone(fn), File: strings.Clone(file), Line: n})
		}
		return
	}
	if t.inner && !t.done && (s == "" || s[0] == ' ' || s[0] == '\t') {
		return // source lines
	}
	t.done = t.done || pyException(s)
	switch {
	case strings.HasPrefix(s, "During handling of the above exception"), strings.HasPrefix(s, "The above exception was the direct cause"):
		t.msg, t.bytes = nil, 0
		return
	case strings.HasPrefix(s, "Stdout:"), strings.HasPrefix(s, "Stderr:"):
		t.bytes = maxMessage
	}
	if t.bytes < maxMessage {
		s = cut(s, maxMessage-t.bytes)
		t.bytes += len(s) + 1
		t.msg = append(t.msg, strings.Clone(s))
	}
}

// sawMessage reports that the exception's own line has come.
func (t *pyTrace) sawMessage() bool { return t.done && len(t.frames) > 0 }

func (t *pyTrace) message() string { return strings.TrimSpace(strings.Join(t.msg, "\n")) }

// stack is innermost first.
func (t *pyTrace) stack() []session.Frame {
	var out []session.Frame
	for i := len(t.frames) - 1; i >= 0; i-- {
		out = append(out, t.frames[i])
	}
	return out
}

// pyFrame reads `  File "x.py", line 10, in test_x`.
func pyFrame(s string) (file string, n int, fn string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimLeft(s, " "), `File "`)
	if !ok || s[0] != ' ' {
		return "", 0, "", false
	}
	file, rest, ok = strings.Cut(rest, `", line `)
	if !ok {
		return "", 0, "", false
	}
	num, fn, _ := strings.Cut(rest, ", in ")
	n, err := strconv.Atoi(num)
	return file, n, fn, err == nil
}

// pyException reports "pkg.SomeError: message".
func pyException(s string) bool {
	i := 0
	for i < len(s) && (isAlnum(s[i]) || s[i] == '.') {
		i++
	}
	if i < 4 || i < len(s) && s[i] != ':' {
		return false
	}
	name := s[strings.LastIndexByte(s[:i], '.')+1 : i]
	for _, suffix := range [...]string{"Error", "Exception", "Exit", "Interrupt", "Warning", "Failed", "Skipped", "StopIteration", "DoesNotExist", "ImproperlyConfigured"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

// pythonTrace takes a traceback that no test runner took: a program that died
// of it, or one that logged it and went on, which is why it comes second.
type pythonTrace struct {
	out   *collector
	trace *pyTrace
	from  int64
	to    int64
}

func (p *pythonTrace) line(l line) bool {
	s := l.text
	if p.trace == nil {
		if s != "Traceback (most recent call last):" {
			return false
		}
		p.trace, p.from, p.to = &pyTrace{}, l.from, l.to
		p.trace.line(s)
		return true
	}
	if s == "" {
		return true
	}
	if p.trace.sawMessage() && s[0] != ' ' && !strings.HasPrefix(s, "During handling") && !strings.HasPrefix(s, "The above exception") && s != "Traceback (most recent call last):" {
		p.end()
		return false
	}
	if s[0] != ' ' && !pyException(s) && !strings.HasPrefix(s, "During handling") && !strings.HasPrefix(s, "The above exception") && s != "Traceback (most recent call last):" {
		p.trace = nil
		return false
	}
	p.trace.line(s)
	p.to = l.to
	return true
}

func (p *pythonTrace) busy() bool { return p.trace != nil }

func (p *pythonTrace) end() {
	t := p.trace
	p.trace = nil
	if t == nil || !t.sawMessage() {
		return
	}
	f := session.Failure{Framework: "python", Kind: pyKind(t.message()), Message: t.message(), Stack: t.stack(), From: p.from, To: p.to}
	if f.Kind == session.KindTest {
		f.Kind = session.KindPanic
	}
	p.out.fail(f, secondary)
}
