package evidence

import (
	"strconv"
	"strings"

	"culprit/internal/session"
)

const frameworkGoogleTest = "googletest"

// unannounced is a test that fails without "[ RUN      ]" (--gtest_brief).
const unannounced = "?"

// googleTest reads GoogleTest, and other runners that print as it does:
//
//	[ RUN      ] Cart.Adds
//	cart_test.cc:12: Failure
//	Expected equality of these values:
//	[  FAILED  ] Cart.Adds (0 ms)
type googleTest struct {
	out     *collector
	current string // announced, without a result yet
	from    int64
	block   *block
	active  bool
	listing bool // the list at the end
}

func (g *googleTest) line(l line) bool {
	s := l.text
	if s != "" && s[0] == '[' {
		if len(s) > 13 && s[11] == ']' && s[12] == ' ' || len(s) == 12 && s[11] == ']' {
			if g.tag(strings.TrimSpace(s[1:11]), strings.TrimSpace(s[12:]), l) {
				return true
			}
		}
	}
	if at, ok := strings.CutSuffix(s, ": Failure"); ok {
		file, n, isPlace := sourcePlace(at)
		if isPlace || at == "unknown file" {
			if g.current == "" {
				g.current, g.from = unannounced, l.from
			}
			b := g.failure(l)
			if isPlace {
				b.place(file, n)
				b.frame("", file, n)
			} else {
				b.Kind = session.KindPanic
			}
			return true
		}
	}
	if g.current == "" {
		// Output without a line end before the result.
		if i := strings.Index(s, "[  FAILED  ] "); i > 0 && g.active {
			return g.tag("FAILED", s[i+len("[  FAILED  ] "):], l)
		}
		return false
	}
	if i := strings.Index(s, "): error: "); i > 0 { // MSVC
		if file, n, ok := sourcePlace(s[:i+1]); ok {
			g.failure(l).place(file, n)
			g.block.msg.add(s[i+len("): error: "):])
			return true
		}
	}
	if i := strings.Index(s, "[  FAILED  ] "+g.current); i > 0 {
		return g.tag("FAILED", s[i+len("[  FAILED  ] "):], l)
	}
	if i := strings.Index(s, "[       OK ] "+g.current); i > 0 {
		return g.tag("OK", s[i+len("[       OK ] "):], l)
	}
	if g.block != nil {
		g.block.To = l.to
		g.block.msg.add(s)
	}
	return false // its output may hold what others know
}

func (g *googleTest) failure(l line) *block {
	if g.block == nil {
		g.block = newBlock(frameworkGoogleTest, "", g.current, line{from: g.from, to: l.to})
	}
	g.block.To = l.to
	return g.block
}

func (g *googleTest) tag(tag, rest string, l line) bool {
	switch tag {
	case "RUN":
		g.crashed()
		g.active, g.listing = true, false
		g.out.use(frameworkGoogleTest)
		if strings.ContainsAny(rest, " \t") { // Busted puts the result on the same line
			if name, ok := strings.CutSuffix(rest, " OK"); ok {
				if i := strings.LastIndex(name, ": "); i > 0 {
					g.out.pass(frameworkGoogleTest, "", name[:i])
				}
			}
			g.current, g.block = "", nil
			return true
		}
		g.current, g.from, g.block = strings.Clone(cut(rest, maxName)), l.from, nil
	case "OK":
		if g.current == "" {
			return g.active
		}
		g.out.pass(frameworkGoogleTest, "", gtestName(rest))
		g.current, g.block = "", nil
	case "SKIPPED":
		if !g.listing && g.current != "" {
			g.out.skip(frameworkGoogleTest)
		}
		g.current, g.block = "", nil
		return g.active
	case "PASSED":
		if !countsTests(rest) {
			return false
		}
		g.out.use(frameworkGoogleTest)
		g.active, g.listing = true, true
		if rest == "0 tests." {
			g.out.none()
		}
	case "FAILED":
		if countsTests(rest) && strings.Contains(rest, "listed below") {
			g.out.use(frameworkGoogleTest)
			g.active, g.listing = true, true
			return true
		}
		return g.fail(rest, l)
	case "==========", "----------":
		return g.active
	default:
		return false
	}
	return true
}

// countsTests reports whether s is "3 tests…".
func countsTests(s string) bool {
	num, rest, _ := strings.Cut(s, " ")
	_, err := strconv.Atoi(num)
	return err == nil && strings.HasPrefix(rest, "test")
}

// gtestName drops ", where GetParam() = 4" and " (12 ms)".
func gtestName(s string) string {
	if i := strings.Index(s, ", where "); i > 0 {
		s = s[:i]
	}
	s, _ = untimed(s)
	return s
}

// fail takes a failed test's result, or its line in the list at the end.
func (g *googleTest) fail(rest string, l line) bool {
	if _, timed := untimed(rest); !g.active && !timed {
		return false
	}
	g.active = true
	// Busted: "test/unit/helpers.lua @ 760: name".
	if place, name, ok := strings.Cut(rest, ": "); ok {
		if file, num, isPlace := strings.Cut(place, " @ "); isPlace {
			n, _ := strconv.Atoi(num)
			name, _ = untimed(name)
			b := newBlock(frameworkGoogleTest, file, name, l)
			b.place(file, n)
			g.out.fail(b.failure(), primary)
			g.current, g.block = "", nil
			return true
		}
	}
	name := gtestName(rest)
	if name == "" || !strings.Contains(name, ".") || strings.ContainsAny(name, " \t") {
		return false
	}
	b := g.block
	if b != nil && g.current == unannounced {
		b.Test, g.current = strings.Clone(name), name
	}
	if b == nil || g.current != name {
		b = newBlock(frameworkGoogleTest, "", name, l)
	}
	b.To = l.to
	g.out.use(frameworkGoogleTest)
	g.out.fail(b.failure(), primary)
	g.current, g.block = "", nil
	return true
}

// crashed reports a test that was announced and never ended: its program died.
func (g *googleTest) crashed() {
	if g.current == unannounced {
		g.current, g.block = "", nil
	}
	if g.current == "" {
		return
	}
	b := g.block
	if b == nil {
		b = newBlock(frameworkGoogleTest, "", g.current, line{from: g.from, to: g.from + 1})
	}
	b.Kind = session.KindPanic
	b.msg.add("the test program ended while it ran")
	g.out.fail(b.failure(), primary)
	g.current, g.block = "", nil
}

func (g *googleTest) busy() bool { return g.current != "" }

func (g *googleTest) end() {
	g.crashed()
	g.active, g.listing = false, false
}
