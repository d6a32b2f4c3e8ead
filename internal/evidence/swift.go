package evidence

import (
	"slices"
	"strings"

	"culprit/internal/session"
)

const frameworkSwift = "swift test"

// swift reads XCTest and Swift Testing as `swift test` prints them:
//
//	/path/CartTests.swift:12: error: CartTests.testAdds : XCTAssertEqual failed: ("-1") is not equal to ("3")
//	Test Case 'CartTests.testAdds' failed (0.1 seconds)
//
//	✘ Test adds() recorded an issue at CartTests.swift:12:5: Expectation failed: (add(1, 2) → -1) == 3
//	✘ Test adds() failed after 0.001 seconds with 1 issue.
type swift struct {
	out *collector
}

func (w *swift) line(l line) bool {
	s := l.text
	switch {
	case strings.HasPrefix(s, "Test Case '"):
		return w.result(s[len("Test Case '"):], l)
	case strings.Contains(s, ": error: "):
		return w.assertion(s, l)
	case strings.Contains(s, " Test "):
		return w.testing(s, l)
	case strings.HasPrefix(strings.TrimLeft(s, " \t"), "Executed "):
		return strings.Contains(s, " test") && strings.Contains(s, " failure")
	}
	return false
}

// result takes "CartTests.testAdds' failed (0.1 seconds)", on macOS
// "-[Module.CartTests testAdds]' failed (0.1 seconds).".
func (w *swift) result(s string, l line) bool {
	name, rest, ok := strings.Cut(s, "' ")
	if !ok {
		return false
	}
	class, test, ok := swiftName(name)
	if !ok {
		return false
	}
	switch {
	case strings.HasPrefix(rest, "failed ("):
		w.out.use(frameworkSwift)
		w.out.fail(session.Failure{Framework: frameworkSwift, Package: class, Test: test, Kind: session.KindTest, From: l.from, To: l.to}, primary)
	case strings.HasPrefix(rest, "passed ("):
		w.out.use(frameworkSwift)
		w.out.pass(frameworkSwift, class, test)
	case strings.HasPrefix(rest, "skipped ("):
		w.out.skip(frameworkSwift)
	case strings.HasPrefix(rest, "started"):
	default:
		return false
	}
	return true
}

// swiftName reads "CartTests.testAdds" and "-[Module.CartTests testAdds]".
func swiftName(s string) (class, test string, ok bool) {
	if in, isObjC := strings.CutPrefix(s, "-["); isObjC {
		class, test, ok = strings.Cut(strings.TrimSuffix(in, "]"), " ")
		return class[strings.LastIndexByte(class, '.')+1:], test, ok && test != ""
	}
	i := strings.LastIndexByte(s, '.')
	if i <= 0 || strings.ContainsAny(s, " \t") {
		return "", "", false
	}
	return s[:i], s[i+1:], true
}

func (w *swift) assertion(s string, l line) bool {
	place, rest, _ := strings.Cut(s, ": error: ")
	file, n, ok := lineColumn(place)
	name, msg, isTest := strings.Cut(rest, " : ")
	if place == "<EXPR>:0" { // an error that the test let through has no place
		file, n = "", 0
	} else if !strings.HasSuffix(file, ".swift") && !strings.HasSuffix(file, ".m") {
		return false
	}
	if !ok || !isTest {
		return false
	}
	class, test, ok := swiftName(name)
	if !ok {
		return false
	}
	f := session.Failure{Framework: frameworkSwift, Package: class, Test: test, Kind: session.KindTest, File: file, Line: n, Message: msg, From: l.from, To: l.to}
	switch {
	case strings.HasPrefix(msg, "threw error "), strings.HasPrefix(msg, "failed: caught error"):
		f.Kind = session.KindPanic
	case strings.Contains(msg, "Exceeded timeout"):
		f.Kind = session.KindTimeout
	}
	f.Actual, f.Expected = swiftSides(msg)
	w.out.use(frameworkSwift)
	w.out.fail(f, primary)
	return true
}

// swiftSides reads `XCTAssertEqual failed: ("-1") is not equal to ("3")`.
func swiftSides(msg string) (first, second string) {
	a, b, ok := strings.Cut(msg, `") is not equal to ("`)
	i := strings.Index(a, `("`)
	j := strings.Index(b, `")`)
	if !ok || i < 0 || j < 0 {
		return "", ""
	}
	return a[i+2:], b[:j]
}

func (w *swift) testing(s string, l line) bool {
	sign, rest, _ := strings.Cut(s, " Test ")
	if !slices.Contains(swiftSigns, sign) {
		return false
	}
	if strings.HasPrefix(rest, "run with ") {
		return true
	}
	if name, issue, ok := strings.Cut(rest, " recorded an issue"); ok {
		f := session.Failure{Framework: frameworkSwift, Test: swiftTest(name), Kind: session.KindTest, From: l.from, To: l.to}
		f.File, f.Line, f.Message = swiftIssue(issue)
		if strings.HasPrefix(f.Message, "Caught error: ") {
			f.Kind = session.KindPanic
		}
		w.out.use(frameworkSwift)
		w.out.fail(f, primary)
		return true
	}
	for _, word := range [...]string{" failed after ", " passed after ", " skipped"} {
		name, _, ok := strings.Cut(rest, word)
		if !ok {
			continue
		}
		name = swiftTest(name)
		w.out.use(frameworkSwift)
		switch word {
		case " skipped":
			w.out.skip(frameworkSwift)
		case " passed after ":
			w.out.pass(frameworkSwift, "", name)
		default:
			w.out.fail(session.Failure{Framework: frameworkSwift, Test: name, Kind: session.KindTest, From: l.from, To: l.to}, primary)
		}
		return true
	}
	return false
}

// swiftSigns are the signs before a test's result, as Swift Testing prints
// them on Linux and, of Apple's own symbols, on macOS. The words decide: a
// test that passes with a known issue bears the sign of a failure.
var swiftSigns = []string{"✔", "✘", "➜", "\U0010105b", "\U00100884", "\U0010065f"}

// swiftTest reads `adds()`, `"Adds"` and `adds(n:) with 2 test cases`.
func swiftTest(s string) string {
	if i := strings.LastIndex(s, " with "); i > 0 && strings.Contains(s[i:], " test case") {
		s = s[:i]
	}
	return strings.Trim(s, `"`)
}

// swiftIssue reads " at CartTests.swift:12:5: message", ": message", and
// " with 1 argument n → 2 at CartTests.swift:12:5: message".
func swiftIssue(s string) (file string, n int, msg string) {
	if msg, ok := strings.CutPrefix(s, ": "); ok {
		return "", 0, msg
	}
	for rest := s; ; { // an argument may hold " at " too
		_, after, ok := strings.Cut(rest, " at ")
		if !ok {
			return "", 0, strings.TrimSpace(s)
		}
		place, msg, _ := strings.Cut(after, ": ")
		if file, n, ok := lineColumn(place); ok {
			return file, n, msg
		}
		rest = after
	}
}

func (w *swift) busy() bool { return false }

func (w *swift) end() {}
