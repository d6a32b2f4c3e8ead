package evidence

import (
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
	case strings.HasPrefix(s, "✘ Test "), strings.HasPrefix(s, "✔ Test "), strings.HasPrefix(s, "➜ Test "):
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
	if !ok || !isTest || !strings.HasSuffix(file, ".swift") && !strings.HasSuffix(file, ".m") {
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
	if strings.HasPrefix(rest, "run with ") {
		return true
	}
	name, issue, recorded := strings.Cut(rest, " recorded an issue at ")
	if recorded {
		place, msg, _ := strings.Cut(issue, ": ")
		f := session.Failure{Framework: frameworkSwift, Test: strings.Trim(name, `"`), Kind: session.KindTest, Message: msg, From: l.from, To: l.to}
		if i := strings.Index(f.Test, " with "); i > 0 && !strings.HasSuffix(f.Test, ")") {
			f.Test = f.Test[:i]
		}
		if file, n, ok := lineColumn(place); ok {
			f.File, f.Line = file, n
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
		name = strings.Trim(name, `"`)
		w.out.use(frameworkSwift)
		switch {
		case word == " skipped":
			w.out.skip(frameworkSwift)
		case sign == "✔":
			w.out.pass(frameworkSwift, "", name)
		default:
			w.out.fail(session.Failure{Framework: frameworkSwift, Test: name, Kind: session.KindTest, From: l.from, To: l.to}, primary)
		}
		return true
	}
	return false
}

func (w *swift) busy() bool { return false }

func (w *swift) end() {}
