package evidence

import "strings"

// expectation finds what was expected and what came instead in a failure's
// message, in the phrases that test libraries and people use.
func expectation(msg string) (expected, actual string) {
	if msg == "" {
		return "", ""
	}
	lines := strings.Split(msg, "\n")
	for _, l := range lines {
		key, value, ok := strings.Cut(strings.TrimSpace(l), ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch strings.ToLower(strings.TrimRight(key, " \t")) {
		case "expected", "want", "wanted", "expect":
			if expected == "" {
				expected = value
			}
		case "actual", "got", "received", "but was":
			if actual == "" {
				actual = value
			}
		}
	}
	if expected != "" && actual != "" {
		return expected, actual
	}
	for _, l := range lines[:min(len(lines), 5)] {
		if e, a, ok := phrase(l); ok {
			return e, a
		}
	}
	return expected, actual
}

// phrases that name both values in one line. first is the word before the
// first value, second the separator; swap when the first is the expected one.
var phrases = [...]struct {
	first, second string
	expectedFirst bool
}{
	{"got ", ", want ", false}, {"got: ", ", want: ", false}, {"got ", "; want ", false}, {"got: ", "; want: ", false}, {"got ", " want ", false}, {"got: ", " want: ", false},
	{" = ", ", want ", false}, {" = ", "; want ", false}, {"want ", ", got ", true}, {"want: ", ", got: ", true}, {"want ", "; got ", true}, {"want ", " got ", true},
	{"got ", ", expected ", false}, {"got ", " expected ", false},
	{"expected: ", ", actual: ", true}, {"expected: ", ", got: ", true}, {"expected: <", "> but was: <", true}, {"expected:<", "> but was:<", true},
	{"expected [", "] but found [", true}, {"expected ", ", got ", true}, {"expected ", ", but got ", true}, {"expected ", " but got ", true}, {"expected ", " to equal ", false},
	{"expected ", " to deeply equal ", false}, {"expected ", " to be ", false}, {"expected ", " got ", true}, {"expected ", " to strictly equal ", false},
}

func phrase(l string) (expected, actual string, ok bool) {
	l = strings.TrimSuffix(l, " // Object.is equality")
	if a, e, ok := strings.Cut(l, " !== "); ok && !strings.Contains(e, " ") { // node:assert
		return strings.TrimSpace(e), strings.TrimSpace(a), true
	}
	if strings.HasSuffix(l, ":") {
		return "", "", false
	}
	// Python: what is computed comes first.
	if rest, isAssert := strings.CutPrefix(l, "assert "); isAssert {
		a, e, ok := strings.Cut(rest, " == ")
		return e, a, ok
	}
	if rest, isAssert := strings.CutPrefix(l, "AssertionError: "); isAssert {
		if a, e, ok := strings.Cut(rest, " != "); ok {
			return e, a, true
		}
	}
	low := l
	for i := 0; i < len(l); i++ {
		if l[i] >= 'A' && l[i] <= 'Z' {
			low = asciiLower(l)
			break
		}
	}
	for _, p := range phrases {
		i := strings.Index(low, p.first)
		if i < 0 || p.first == " = " && i == 0 {
			continue
		}
		from := i + len(p.first)
		j := strings.Index(low[from:], p.second)
		if j < 0 {
			continue
		}
		a, b := strings.TrimSpace(l[from:from+j]), strings.TrimSpace(l[from+j+len(p.second):])
		if strings.HasSuffix(p.second, "<") {
			b = strings.TrimSuffix(b, ">")
		}
		if strings.HasSuffix(p.second, "[") {
			b = strings.TrimSuffix(b, "]")
		}
		if a == "" || b == "" || strings.Count(a, `"`)%2 == 1 {
			continue
		}
		if p.expectedFirst {
			return a, b, true
		}
		return b, a, true
	}
	return "", "", false
}

// asciiLower keeps every byte's place, which strings.ToLower does not.
func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
