package evidence

import (
	"strconv"
	"strings"

	"culprit/internal/session"
)

// linters takes what linters print over one line or two, where a compiler's
// "error:" is not the mark. Each shape is a row of lintShapes.
//
//	path.rb:12:5: C: [Correctable] Style/X: message   rubocop
//	a.sh:2:4: note: message [SC2086]                  shellcheck -f gcc
//	path.kt:1:1: message (standard:rule)              ktlint
//	README.md:12:81 error MD013/line-length message   markdownlint
//	e: file:///path/Cart.kt:12:5 message              kotlinc
//	[error] /path/Cart.scala:12:5: message            sbt, Scala 2
//	[error] -- [E006] Not Found Error: /path/Cart.scala:12:5   Scala 3
//	In a.sh line 2:                                   shellcheck, over several lines
//	src/a.ts:12:5 lint/style/useConst ━━━━            biome, over several lines
//	F401 [*] `os` imported but unused                 ruff, the place on the next line
type linters struct {
	out  *collector
	wait *session.Failure // its message, or its place, comes later
	need string           // "shellcheck", "biome" or "ruff"
}

// lintShapes are the endings of file names and what must follow the place.
var lintShapes = []struct {
	tool   string
	suffix string // of the file's name; empty for any
	is     func(msg string) bool
}{
	{"rubocop", "", func(m string) bool {
		return len(m) > 3 && strings.IndexByte("CWEFRI", m[0]) >= 0 && m[1] == ':' && m[2] == ' ' && strings.Contains(m[3:], "/") && strings.Contains(m[3:], ": ")
	}},
	{"pylint", ".py", func(m string) bool {
		code, _, ok := strings.Cut(m, ": ")
		return ok && ruleCode(code) && len(code) == 5 && strings.HasSuffix(m, ")")
	}},
	{"shellcheck", "", func(m string) bool { return strings.HasSuffix(m, "]") && strings.Contains(m, " [SC") }},
	{"ktlint", ".kt", ktlintRule}, {"ktlint", ".kts", ktlintRule},
	{"actionlint", ".yml", bracketed}, {"actionlint", ".yaml", bracketed},
}

// ruffRules are how the codes of ruff's rules begin, and more.
func ruffRules(more ...string) []string {
	return append(more, strings.Fields("A0 ANN ARG B0 B9 BLE C4 C9 COM D1 D2 D3 D4 DTZ E1 E2 E3 E4 E5 E7 E9 ERA EM F4 F5 F6 F7 F8 FBT FURB I0 N8 PD PERF PGH PIE PL PT Q0 RET RSE RUF S1 S2 S3 S4 S5 S6 S7 SIM SLF T1 T2 TC TID TRY UP0 W1 W2 W5 W6 YTT")...)
}

func ktlintRule(m string) bool {
	i := strings.LastIndex(m, " (")
	return i > 0 && strings.HasSuffix(m, ")") && linterName(strings.ReplaceAll(m[i+2:len(m)-1], ":", "-"))
}

func bracketed(m string) bool {
	i := strings.LastIndex(m, " [")
	return i > 0 && strings.HasSuffix(m, "]") && linterName(m[i+2:len(m)-1])
}

func (t *linters) line(l line) bool {
	s := l.text
	if t.wait != nil {
		if t.later(s, l) {
			return true
		}
	}
	switch {
	case strings.HasPrefix(s, "In ") && strings.HasSuffix(s, ":"):
		return t.shellcheck(s, l)
	case strings.HasPrefix(s, "e: "):
		return t.kotlin(s[len("e: "):], l)
	case strings.HasPrefix(s, "[error] "):
		return t.sbt(s[len("[error] "):], l)
	}
	if i := strings.Index(s, " lint/"); i > 0 {
		if file, n, ok := sourcePlace(s[:i]); ok {
			rule, _, _ := strings.Cut(s[i+1:], " ")
			t.begin("biome", session.Failure{File: file, Line: n, Message: rule}, l)
			return true
		}
	}
	if word, rest, ok := strings.Cut(s, " "); ok && (ruleCode(word) || word == "invalid-syntax:") && rest != "" && s[0] != ' ' {
		t.begin("ruff", session.Failure{Message: s}, l)
		return false // it may be prose
	}
	if i := strings.Index(s, " MD0"); i > 0 && len(s) > i+6 && s[i+6] == '/' {
		if file, n, ok := lineColumn(strings.TrimSuffix(s[:i], " error")); ok && strings.HasSuffix(file, ".md") {
			t.fail("markdownlint", session.Failure{File: file, Line: n, Message: s[i+1:]}, l)
			return true
		}
	}
	i := strings.Index(s, ": ")
	if i <= 0 {
		return false
	}
	file, n, ok := lineColumn(s[:i])
	if !ok || strings.ContainsAny(file, " \t\"'<>") {
		return false
	}
	msg := s[i+2:]
	for _, shape := range lintShapes {
		if strings.HasSuffix(file, shape.suffix) && shape.is(msg) {
			t.fail(shape.tool, session.Failure{File: file, Line: n, Message: msg}, l)
			return true
		}
	}
	return false
}

func (t *linters) fail(tool string, f session.Failure, l line) {
	f.Framework, f.From, f.To = tool, l.from, l.to
	if f.Kind == "" {
		f.Kind = session.KindLint
	}
	t.out.fail(f, secondary)
}

func (t *linters) begin(need string, f session.Failure, l line) {
	f.File, f.Message = strings.Clone(f.File), strings.Clone(cut(f.Message, maxMessage))
	f.From, f.To = l.from, l.to
	t.wait, t.need = &f, need
}

// later takes the line that a begun report waits for.
func (t *linters) later(s string, l line) bool {
	f := *t.wait
	r := strings.TrimLeft(s, " ")
	switch t.need {
	case "shellcheck":
		if strings.HasPrefix(r, "^") {
			_, msg, ok := strings.Cut(r, " SC")
			if !ok {
				return false
			}
			f.Message = "SC" + msg
			t.fail("shellcheck", f, line{from: f.From, to: l.to})
			return true
		}
		if s == "" {
			t.wait = nil
		}
		return false
	case "biome":
		for _, m := range [...]string{"× ", "✖ ", "! ", "✘ "} {
			if msg, ok := strings.CutPrefix(r, m); ok {
				f.Message += ": " + msg
				t.wait = nil
				t.fail("biome", f, line{from: f.From, to: l.to})
				return true
			}
		}
		if r != "" {
			t.wait = nil
		}
	case "ruff":
		t.wait = nil
		if place, ok := strings.CutPrefix(r, "--> "); ok {
			if file, n, ok := lineColumn(place); ok {
				f.File, f.Line = file, n
				t.fail("ruff", f, line{from: f.From, to: l.to})
				return true
			}
		}
	}
	return false
}

// shellcheck takes "In a.sh line 2:".
func (t *linters) shellcheck(s string, l line) bool {
	file, num, ok := strings.Cut(strings.TrimSuffix(s[len("In "):], ":"), " line ")
	n, err := strconv.Atoi(num)
	if !ok || err != nil || strings.ContainsAny(file, "\t\"") {
		return false
	}
	t.begin("shellcheck", session.Failure{File: file, Line: n}, l)
	return true
}

// kotlin takes "file:///path/Cart.kt:12:5 message" and, of old versions,
// "/path/Cart.kt: (12, 5): message" and "/path/build.gradle.kts:12:5: message".
func (t *linters) kotlin(s string, l line) bool {
	f := session.Failure{Kind: session.KindBuild}
	if file, rest, ok := strings.Cut(s, ": ("); ok {
		num, msg, _ := strings.Cut(rest, "): ")
		num, _, _ = strings.Cut(num, ",")
		f.File, f.Message = file, msg
		f.Line, _ = strconv.Atoi(num)
	} else {
		place, msg, _ := strings.Cut(s, " ")
		file, n, ok := lineColumn(strings.TrimSuffix(place, ":"))
		if !ok {
			return false
		}
		f.File, f.Line, f.Message = file, n, msg
	}
	if f.Line == 0 || !strings.HasSuffix(f.File, ".kt") && !strings.HasSuffix(f.File, ".kts") && !strings.HasSuffix(f.File, ".java") {
		return false
	}
	t.fail("kotlinc", f, l)
	return true
}

// sbt takes "/path/Cart.scala:12:5: message"; of Scala 3 the message is what
// kind of error it is, and the explanation stands under the quoted code.
func (t *linters) sbt(s string, l line) bool {
	if title, ok := strings.CutPrefix(s, "-- "); ok {
		title = strings.TrimRight(title, " -")
		i := strings.LastIndex(title, ": ")
		if i < 0 {
			return false
		}
		s = title[i+2:] + ": " + title[:i]
	}
	place, msg, ok := strings.Cut(s, ": ")
	file, n, isPlace := lineColumn(place)
	if !ok || !isPlace || !strings.HasSuffix(file, ".scala") && !strings.HasSuffix(file, ".java") {
		return false
	}
	t.fail("scalac", session.Failure{Kind: session.KindBuild, File: file, Line: n, Message: msg}, l)
	return true
}

func (t *linters) busy() bool { return t.wait != nil }

func (t *linters) end() { t.wait = nil }
