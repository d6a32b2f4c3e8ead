package evidence

import (
	"strings"
)

const frameworkTestNG = "testng"

// testNG reads TestNG's own text reporter, which Ant and command lines show;
// under Maven and Gradle those formats know more.
//
//	FAILED: testAdds
//	java.lang.AssertionError: expected [3] but found [-1]
//		at com.example.CartTest.testAdds(CartTest.java:12)
//
//	Total tests run: 3, Passes: 1, Failures: 1, Skips: 1
type testNG struct {
	out    *collector
	block  *javaBlock
	found  []*javaBlock
	passed []string
}

func (t *testNG) line(l line) bool {
	s := l.text
	switch {
	case strings.HasPrefix(s, "FAILED: "), strings.HasPrefix(s, "FAILED CONFIGURATION: "):
		t.close()
		_, name, _ := strings.Cut(s, ": ")
		if strings.ContainsAny(name, " \t:") && !strings.HasSuffix(name, ")") && !strings.HasPrefix(name, "@") {
			return false // ninja's "FAILED: path/x.o" has no stack either; see end
		}
		if len(t.found) < maxFailures {
			t.block = &javaBlock{}
			t.block.Framework, t.block.From, t.block.To = frameworkTestNG, l.from, l.to
			t.block.Test = strings.Clone(cut(name, maxName))
		}
		return true
	case strings.HasPrefix(s, "PASSED: ") || strings.HasPrefix(s, "SKIPPED: "):
		t.close()
		if name, ok := strings.CutPrefix(s, "PASSED: "); ok && len(t.passed) < maxRunning {
			t.passed = append(t.passed, strings.Clone(cut(name, maxName)))
		}
		return false
	case strings.HasPrefix(s, "Total tests run: "):
		return t.totals(s)
	case t.block == nil:
		return false
	case s == "", strings.HasPrefix(s, "===="):
		t.close()
		return false
	}
	t.block.line(s, l.to)
	return true
}

// totals closes a suite; only then is it TestNG that spoke.
func (t *testNG) totals(s string) bool {
	t.close()
	n, ok := named(s)
	if !ok {
		return false
	}
	t.out.use(frameworkTestNG)
	for _, b := range t.found {
		if len(b.frames) > 0 {
			if i := strings.LastIndexByte(b.frames[len(b.frames)-1].Function, '.'); i > 0 {
				b.Package = b.frames[len(b.frames)-1].Function[:i]
			}
		}
		t.out.fail(b.finish(), primary)
	}
	for _, name := range t.passed {
		t.out.pass(frameworkTestNG, "", name)
	}
	t.found, t.passed = nil, nil
	total, failed, skipped := n["Total tests run"], n["Failures"], n["Skips"]
	t.out.total(frameworkTestNG, max(total-failed-skipped, 0), failed, skipped)
	return true
}

func (t *testNG) close() {
	if t.block != nil {
		t.found = append(t.found, t.block)
	}
	t.block = nil
}

func (t *testNG) busy() bool { return t.block != nil }

func (t *testNG) end() { t.block, t.found, t.passed = nil, nil, nil }
