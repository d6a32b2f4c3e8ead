package evidence

import (
	"strings"

	"culprit/internal/session"
)

const frameworkJUnit = "junit xml"

// junitXML reads JUnit's XML where a step prints it: the elements as every
// writer lays them out, one element to a line or more, no entity but the five
// of XML. It is no XML parser: a log holds reports cut off, mixed with other
// text, and hostile ones.
type junitXML struct {
	out   *collector
	suite bool // inside <testsuite>
	block *block
	body  message // the text inside of <failure>, before the stack
	said  message // of that, what pytest marks as the exception's
	kind  string  // "failure" or "error": its text follows
}

func (x *junitXML) line(l line) bool {
	s := l.text
	took := false
	for rest := s; rest != ""; {
		i := strings.IndexByte(rest, '<')
		if i < 0 {
			x.text(rest, l)
			break
		}
		x.text(rest[:i], l)
		rest = rest[i:]
		if data, ok := strings.CutPrefix(rest, "<![CDATA["); ok {
			data, after, _ := strings.Cut(data, "]]>")
			x.text(data, l)
			rest = after
			continue
		}
		end := xmlEnd(rest)
		if x.element(rest[1:end], l) {
			took = true
		}
		rest = strings.TrimPrefix(rest[end:], ">")
	}
	return took || x.suite
}

// xmlEnd is the place of the ">" that ends the element at the start of s.
func xmlEnd(s string) int {
	quote := byte(0)
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return i
		}
	}
	return len(s)
}

func (x *junitXML) text(s string, l line) {
	if x.block == nil || x.kind == "" {
		return
	}
	x.block.To = l.to
	t := unescapeXML(strings.TrimSpace(s))
	if file, n, ok := pyPlace(t); ok { // pytest's traceback, outermost first
		x.block.frame("", file, n)
		if k := len(x.block.frames) - 1; k > 0 && k < maxStack-1 {
			copy(x.block.frames[1:], x.block.frames[:k])
			x.block.frames[0] = session.Frame{File: strings.Clone(file), Line: n}
		}
		return
	}
	if text, ok := strings.CutPrefix(t, "E  "); ok && x.body.lines > 0 {
		x.said.add(strings.TrimPrefix(strings.TrimPrefix(text, " "), "    "))
		return
	}
	if at, ok := strings.CutPrefix(t, "at "); ok {
		b := javaBlock{}
		b.frame(at)
		if len(b.frames) > 0 && len(x.block.frames) < maxStack {
			x.block.frames = append(x.block.frames, b.frames...)
			return
		}
	}
	if t != "" && len(x.block.frames) == 0 {
		x.body.add(t)
	}
}

// element takes one element without its angle brackets.
func (x *junitXML) element(s string, l line) bool {
	name, attrs, _ := strings.Cut(s, " ")
	closed := strings.HasSuffix(s, "/")
	switch strings.TrimSuffix(name, "/") {
	case "testsuite", "testsuites":
		x.suite = true
	case "/testsuites":
		x.close()
		x.suite = false
	case "/testsuite":
		x.close()
	case "testcase":
		if !x.suite && !strings.Contains(attrs, "name=") {
			return false
		}
		x.close()
		x.out.use(frameworkJUnit)
		x.block = newBlock(frameworkJUnit, attribute(attrs, "classname"), attribute(attrs, "name"), l)
		if file := attribute(attrs, "file"); file != "" {
			n, _ := named("l: " + attribute(attrs, "line"))
			x.block.place(file, n["l"])
		}
		if closed {
			x.close()
		}
	case "/testcase":
		x.close()
	case "failure", "error":
		if x.block == nil {
			return false
		}
		x.block.Kind = session.KindTest
		if msg := attribute(attrs, "message"); msg != "" {
			x.block.msg.add(msg)
		}
		if kind := attribute(attrs, "type"); strings.HasSuffix(kind, "SkipException") { // TestNG's
			x.block.Kind = "skipped"
		} else if kind != "" && javaKind(kind) != session.KindTest {
			x.block.Kind = session.KindPanic
		}
		if !closed {
			x.kind = strings.Clone(name)
		}
	case "/failure", "/error":
		x.kind = ""
	case "skipped":
		if x.block != nil {
			x.block.Kind = "skipped"
		}
	default:
		return false
	}
	return true
}

// attribute is the value of an attribute, unescaped.
func attribute(s, name string) string {
	for from := 0; ; {
		i := strings.Index(s[from:], name+"=")
		if i < 0 {
			return ""
		}
		at := from + i + len(name) + 1
		if (from+i == 0 || s[from+i-1] == ' ') && at < len(s) && (s[at] == '"' || s[at] == '\'') {
			value, _, _ := strings.Cut(s[at+1:], s[at:at+1])
			return unescapeXML(value)
		}
		from = at
	}
}

var xmlEntities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&apos;", "'", "&#10;", "\n", "&#xA;", "\n", "&#xa;", "\n", "&#39;", "'", "&#34;", `"`, "&amp;", "&")

func unescapeXML(s string) string {
	if strings.IndexByte(s, '&') < 0 {
		return s
	}
	return xmlEntities.Replace(s)
}

func (x *junitXML) close() {
	b := x.block
	body, said := x.body.String(), x.said.String()
	x.block, x.kind, x.body, x.said = nil, "", message{}, message{}
	if b == nil || b.Test == "" {
		return
	}
	switch b.Kind {
	case "":
		x.out.pass(frameworkJUnit, b.Package, b.Test)
	case "skipped":
		x.out.skip(frameworkJUnit)
	default:
		f := b.failure()
		switch {
		case said != "":
			f.Message, f.Kind = said, pyKind(said)
		case !strings.Contains(body, firstLine(f.Message)): // "Failed", of go-junit-report
			b.msg.add(body)
			f.Message = b.msg.String()
		case f.Message == "":
			f.Message = body
		}
		x.out.fail(f, primary)
	}
}

func (x *junitXML) busy() bool { return x.suite || x.block != nil }

func (x *junitXML) end() {
	x.close()
	x.suite = false
}
