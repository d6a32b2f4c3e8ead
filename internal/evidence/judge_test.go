package evidence

import (
	"os"
	"strings"
	"testing"

	"culprit/internal/session"
)

// sample is the text of a recorded run.
func sample(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".log")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func report(t *testing.T, output string) session.TestReport {
	t.Helper()
	rep, err := Parse(strings.NewReader(output), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

const (
	runX    = "=== RUN   TestX\n"
	passX   = runX + "--- PASS: TestX (0.00s)\n"
	failX   = runX + "    x_test.go:5: got 1, want 2\n--- FAIL: TestX (0.00s)\n"
	passEnd = "PASS\nok  \texample.com/p\t0.01s\n"
	failEnd = "FAIL\nFAIL\texample.com/p\t0.01s\nFAIL\n"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	x := session.Target{Tests: []string{"TestX"}, Package: "example.com/p", Kind: session.KindTest}
	sub := session.Target{Tests: []string{"TestX/sub"}, Package: "example.com/p"}
	many := session.Target{Tests: []string{"TestX", "TestY"}}
	cases := []struct {
		name     string
		target   session.Target
		exit     int
		timedOut bool
		output   string // "@name" is a recorded run
		want     session.Outcome
		reason   string // must be in it
	}{
		// go test, one test named
		{"the test passes", x, 0, false, passX + passEnd, session.Passed, ""},
		{"the test fails", x, 1, false, failX + failEnd, session.FailedSame, ""},
		{"the test fails, without -v", x, 1, false, "--- FAIL: TestX (0.00s)\n    x_test.go:5: no\n" + failEnd, session.FailedSame, ""},
		{"success without -v names no tests", x, 0, false, "ok  \texample.com/p\t0.1s\n", session.Passed, "names no tests"},
		{"no tests to run is never a pass", x, 0, false, "testing: warning: no tests to run\nPASS\nok  \texample.com/p\t0.1s [no tests to run]\n", session.Untestable, "no test ran"},
		{"no test files", x, 0, false, "?   \texample.com/p\t[no test files]\n", session.Untestable, "no test ran"},
		{"another test ran and passed, the target did not", x, 0, false, "=== RUN   TestY\n--- PASS: TestY (0.00s)\n" + passEnd, session.Untestable, "did not run"},
		{"the target was skipped", x, 0, false, runX + "--- SKIP: TestX (0.00s)\n" + passEnd, session.Untestable, "skipped"},
		{"another test fails, the target passes", x, 1, false, passX + "=== RUN   TestY\n--- FAIL: TestY (0.00s)\n" + failEnd, session.Passed, "TestY"},
		{"another test fails, the target is not seen", x, 1, false, "=== RUN   TestY\n--- FAIL: TestY (0.00s)\n" + failEnd, session.FailedElse, "TestY"},
		{"the same name fails in another package", x, 1, false, passX + passEnd + failX + "FAIL\nFAIL\texample.com/q\t0.1s\n", session.Passed, "example.com/q.TestX"},
		{"the same name fails in another package, the target is not seen", x, 1, false, failX + "FAIL\nFAIL\texample.com/q\t0.1s\n", session.FailedElse, ""},
		{"the module's major version changed", session.Target{Tests: []string{"TestX"}, Package: "example.com/p/v2"}, 1, false, failX + failEnd, session.FailedSame, ""},
		{"a subtest fails, its parent is the target", x, 1, false, runX + "=== RUN   TestX/a\n--- FAIL: TestX (0.00s)\n    --- FAIL: TestX/a (0.00s)\n" + failEnd, session.FailedSame, ""},
		{"the target's subtest fails", sub, 1, false, runX + "=== RUN   TestX/sub\n--- FAIL: TestX (0.00s)\n    --- FAIL: TestX/sub (0.00s)\n" + failEnd, session.FailedSame, ""},
		{"a sibling subtest fails, the target passes", sub, 1, false, runX + "=== RUN   TestX/sub\n=== RUN   TestX/b\n--- FAIL: TestX (0.00s)\n    --- PASS: TestX/sub (0.00s)\n    --- FAIL: TestX/b (0.00s)\n" + failEnd, session.Passed, "TestX/b"},
		{"the parent fails before the subtest", sub, 1, false, failX + failEnd, session.FailedElse, "before TestX/sub ran"},
		{"the parent passes without the subtest", sub, 0, false, passX + passEnd, session.Untestable, "did not run"},
		{"subtest with a longer name is not the target", sub, 1, false, runX + "=== RUN   TestX/sub2\n--- FAIL: TestX (0.00s)\n    --- FAIL: TestX/sub2 (0.00s)\n" + failEnd, session.FailedElse, ""},
		{"any of several tests", many, 1, false, passX + "=== RUN   TestY\n--- FAIL: TestY (0.00s)\n" + failEnd, session.FailedSame, ""},
		{"one of several passes, the others are not there", many, 0, false, passX + passEnd, session.Passed, ""},
		{"the tree does not build", x, 1, false, "# example.com/p [example.com/p.test]\n./x.go:3:5: undefined: y\nFAIL\texample.com/p [build failed]\nFAIL\n", session.Untestable, "does not build: x.go:3"},
		{"another package does not build, the target fails", x, 1, false, "# example.com/q\nq/x.go:3:5: undefined: y\nFAIL\texample.com/q [build failed]\n" + failX + failEnd, session.FailedSame, ""},
		{"another package does not build, the target passes", x, 1, false, "# example.com/q\nq/x.go:3:5: undefined: y\nFAIL\texample.com/q [build failed]\n" + passX + passEnd, session.FailedElse, ""},
		{"go vet refuses it", x, 1, false, "@go/vet", session.Untestable, ""},
		{"no module file", x, 1, false, "go: go.mod file not found in current directory or any parent directory; see 'go help modules'\n", session.Untestable, "go.mod file not found"},
		{"a module is missing", x, 1, false, "x_test.go:4:2: no required module provides package github.com/a/b; to add it:\n\tgo get github.com/a/b\n", session.Untestable, "dependency"},
		{"the package is not there", x, 1, false, "# ./p\nstat /w/p: directory not found\nFAIL\t./p [setup failed]\nFAIL\n", session.Untestable, ""},
		{"command not found", x, 127, false, "bash: line 1: go: command not found\n", session.Untestable, "command not found"},
		{"another test panics before the target ran", x, 1, false, "=== RUN   TestA\n--- FAIL: TestA (0.00s)\npanic: boom\n\ngoroutine 7 [running]:\nexample.com/p.TestA(0x1)\n\t/w/a_test.go:3 +0x1\nFAIL\texample.com/p\t0.1s\nFAIL\n", session.FailedElse, "TestA"},
		{"the target panics", x, 2, false, "=== RUN   TestX\n--- FAIL: TestX (0.00s)\npanic: boom\n\ngoroutine 7 [running]:\nexample.com/p.TestX(0x1)\n\t/w/a_test.go:3 +0x1\nFAIL\texample.com/p\t0.1s\nFAIL\n", session.FailedSame, ""},
		{"a goroutine of the target panics", session.Target{Tests: []string{"TestGo"}}, 1, false, "@go/goroutine", session.FailedSame, ""},
		{"the target calls os.Exit", session.Target{Tests: []string{"TestExit"}}, 1, false, "@go/exit", session.FailedSame, ""},
		{"another test runs into go test's time limit", session.Target{Tests: []string{"TestZ"}}, 1, false, "@go/timeout_verbose", session.FailedElse, "TestSlow"},
		{"the target runs into go test's time limit", session.Target{Tests: []string{"TestSlow/inner"}, Kind: session.KindTimeout}, 1, false, "@go/timeout", session.FailedSame, ""},
		{"data race in the target", session.Target{Tests: []string{"TestRace"}}, 1, false, "@go/race", session.FailedSame, ""},
		{"a json report", session.Target{Tests: []string{"TestAdd/one_two"}, Package: "example.com/shop/p"}, 1, false, "@go/json", session.FailedSame, ""},
		{"a json report, passed", session.Target{Tests: []string{"TestAdd/zero"}, Package: "example.com/shop/p"}, 1, false, "@go/json", session.Passed, ""},
		// lies
		{"a forged pass cannot hide the target's failure", x, 1, false, runX + "--- PASS: TestX (0.00s)\n    x_test.go:5: no\n--- FAIL: TestX (0.00s)\n" + failEnd, session.FailedSame, ""},
		{"a forged pass and a dead binary are no pass", x, 1, false, passX + "exit status 1\nFAIL\texample.com/p\t0.1s\n", session.FailedElse, ""},
		{"a pass printed for a test that was not announced", x, 1, false, "=== RUN   TestY\n--- PASS: TestX (0.00s)\n--- FAIL: TestY (0.00s)\n" + failEnd, session.FailedElse, ""},
		{"a pass printed by a logged line", x, 1, false, "--- FAIL: TestY (0.00s)\n    y_test.go:3: \n        --- PASS: TestX (0.00s)\n" + failEnd, session.FailedElse, ""},
		{"a failure printed by a passing run", x, 0, false, runX + "--- FAIL: TestW (0.00s)\n--- PASS: TestX (0.00s)\n" + passEnd, session.Passed, ""},
		{"a pipeline hides the exit code", x, 0, false, failX + failEnd, session.FailedSame, ""},
		{"output without a line end before the result", x, 0, false, runX + "progress...--- PASS: TestX (0.00s)\n" + passEnd, session.Passed, ""},
		// our own time limit
		{"timed out before the target", x, -1, true, runX, session.FailedElse, "timed out"},
		{"timed out, and that is the target", session.Target{Tests: []string{"TestX"}, Kind: session.KindTimeout}, -1, true, runX, session.FailedSame, "timed out"},
		{"timed out after the target failed", x, -1, true, "--- FAIL: TestX (0.00s)\n    x_test.go:1: no\n", session.FailedSame, ""},
		// Python
		{"pytest, parameters with blanks", session.Target{Tests: []string{"tests/test_calc.py::test_add[one two [x]]"}}, 1, false, "@pytest/verbose_short", session.FailedSame, ""},
		{"pytest, passed beside failures", session.Target{Tests: []string{"tests/test_calc.py::test_add[zero]"}}, 1, false, "@pytest/verbose_short", session.Passed, ""},
		{"pytest, any parameters of the target", session.Target{Tests: []string{"tests/test_calc.py::test_add"}}, 1, false, "@pytest/quiet", session.FailedSame, ""},
		{"pytest, from another folder", session.Target{Tests: []string{"test_calc.py::TestDiv::test_zero"}}, 1, false, "@pytest/plain", session.FailedSame, ""},
		{"pytest, module cannot be imported", session.Target{Tests: []string{"tests/test_broken.py::test_never"}}, 2, false, "@pytest/collection_error", session.Untestable, "nosuchmodule"},
		{"pytest, test not there", session.Target{Tests: []string{"tests/test_calc.py::test_nosuch"}}, 4, false, "@pytest/absent", session.Untestable, "no test ran"},
		{"pytest, all deselected", session.Target{Tests: []string{"tests/test_calc.py::test_ok"}}, 5, false, "@pytest/deselected", session.Untestable, "no test ran"},
		{"pytest is not installed", session.Target{Tests: []string{"t.py::a"}}, 1, false, "/usr/bin/python3: No module named pytest\n", session.Untestable, "No module named pytest"},
		{"unittest fails", session.Target{Tests: []string{"TestUnit.test_equal"}, Package: "tests.test_unit"}, 1, false, "@unittest/verbose", session.FailedSame, ""},
		{"unittest, module named from another folder", session.Target{Tests: []string{"TestUnit.test_equal"}, Package: "test_unit"}, 1, false, "@unittest/plain", session.FailedSame, ""},
		{"unittest passes beside failures", session.Target{Tests: []string{"TestUnit.test_ok"}, Package: "tests.test_unit"}, 1, false, "@unittest/verbose", session.Passed, ""},
		{"unittest, module not there", session.Target{Tests: []string{"TestA.test_x"}, Package: "tests.test_nosuch"}, 1, false, "@unittest/absent", session.Untestable, ""},
		{"unittest ran nothing", session.Target{Tests: []string{"TestA.test_x"}}, 0, false, "\n----\nRan 0 tests in 0.000s\n\nOK\n", session.Untestable, "no test ran"},
		// JavaScript
		{"jest fails", session.Target{Tests: []string{"sum › nested (group) › adds 1 + 2"}, Package: "src/sum.test.js"}, 1, false, "@jest/verbose", session.FailedSame, ""},
		{"jest passes beside failures", session.Target{Tests: []string{"sum › nested (group) › adds zero"}, Package: "src/sum.test.js"}, 1, false, "@jest/colour", session.Passed, ""},
		{"jest, file not there", session.Target{Tests: []string{"a"}}, 1, false, "@jest/absent", session.Untestable, ""},
		{"jest, pattern matched nothing", session.Target{Tests: []string{"a"}}, 0, false, "@jest/unmatched", session.Untestable, ""},
		{"jest is not installed", session.Target{Tests: []string{"a"}}, 127, false, "@world/npm_missing", session.Untestable, ""},
		{"vitest fails", session.Target{Tests: []string{"sum > nested (group) > adds 1 + 2"}, Package: "vt/sum.test.mjs"}, 1, false, "@vitest/plain", session.FailedSame, ""},
		{"vitest passes beside failures", session.Target{Tests: []string{"sum > nested (group) > adds zero"}, Package: "vt/sum.test.mjs"}, 1, false, "@vitest/verbose", session.Passed, ""},
		{"vitest, pattern matched nothing", session.Target{Tests: []string{"a"}}, 0, false, "@vitest/unmatched", session.Untestable, ""},
		{"mocha fails", session.Target{Tests: []string{"sum nested (group) adds 1 + 2"}}, 6, false, "@mocha/spec", session.FailedSame, ""},
		{"mocha passes beside failures", session.Target{Tests: []string{"sum nested (group) adds zero"}}, 6, false, "@mocha/spec", session.Passed, ""},
		{"mocha, pattern matched nothing", session.Target{Tests: []string{"a"}}, 0, false, "@mocha/unmatched", session.Untestable, ""},
		{"node:test fails", session.Target{Tests: []string{"sum > nested (group) > adds 1 + 2"}}, 1, false, "@node/named", session.FailedSame, ""},
		{"node:test by TAP", session.Target{Tests: []string{"top > sub one"}}, 1, false, "@node/tap", session.FailedSame, ""},
		{"node:test passes beside failures", session.Target{Tests: []string{"top > sub two"}}, 1, false, "@node/spec", session.Passed, ""},
		{"node:test, pattern matched nothing", session.Target{Tests: []string{"sum > a"}}, 0, false, "@node/unmatched", session.Untestable, ""},
		{"node:test, file not there", session.Target{Tests: []string{"a"}}, 1, false, "@node/absent", session.Untestable, ""},
		// Rust, Java
		{"cargo fails", session.Target{Tests: []string{"tests::adds"}, Package: "shop"}, 101, false, "@cargo/all", session.FailedSame, ""},
		{"cargo passes beside failures", session.Target{Tests: []string{"tests::zero"}}, 101, false, "@cargo/all", session.Passed, ""},
		{"cargo, name matched nothing", session.Target{Tests: []string{"tests::nosuch"}}, 0, false, "@cargo/unmatched", session.Untestable, ""},
		{"cargo does not build", session.Target{Tests: []string{"tests::adds"}}, 101, false, "@cargo/build", session.Untestable, "does not build: src/lib.rs:7"},
		{"cargo lacks a crate", session.Target{Tests: []string{"tests::adds"}}, 101, false, "@cargo/dependency", session.Untestable, "dependency"},
		{"maven fails", session.Target{Tests: []string{"adds"}, Package: "com.example.shop.CartTest"}, 1, false, "@maven/surefire2", session.FailedSame, ""},
		{"maven does not compile", session.Target{Tests: []string{"adds"}, Package: "com.example.shop.CartTest"}, 1, false, "@maven/compile", session.Untestable, "does not build"},
		{"maven ran nothing", session.Target{Tests: []string{"adds"}}, 0, false, "@maven/notests", session.Untestable, ""},
		{"gradle fails, class named in short", session.Target{Tests: []string{"boom()"}, Package: "com.example.shop.CartTest"}, 1, false, "@gradle/test", session.FailedSame, ""},
		// without a test
		{"a build failure is the target", session.Target{Kind: session.KindBuild, Package: "example.com/shop/b", Signature: "build: undefined: undefinedName"}, 1, false, "@go/build", session.FailedSame, ""},
		{"another build failure", session.Target{Kind: session.KindBuild, Signature: "build: undefined: other"}, 1, false, "@cargo/build", session.FailedElse, "bb"},
		{"a build failure was the target, and it builds", session.Target{Kind: session.KindBuild, Signature: "build: undefined: other"}, 0, false, "", session.Passed, ""},
		{"lint failure is the target", session.Target{Kind: session.KindLint}, 1, false, "@compiler/lint", session.FailedSame, ""},
		{"unknown command, same message", session.Target{Kind: session.KindCommand, Signature: "command: check failed: N errors"}, 3, false, "starting\ncheck failed: 12 errors\ndone\n", session.FailedSame, ""},
		{"unknown command, another message", session.Target{Kind: session.KindCommand, Signature: "command: check failed: N errors"}, 3, false, "cannot open config: fatal\n", session.FailedElse, ""},
		{"unknown command succeeds", session.Target{Kind: session.KindCommand, Signature: "command: x"}, 0, false, "fine\n", session.Passed, ""},
		{"nothing is known of the target", session.Target{}, 1, false, "who knows\n", session.FailedSame, ""},
		{"nothing is known of the target, the program is missing", session.Target{}, 127, false, "sh: 1: frob: not found\n", session.Untestable, ""},
		{"the disk is full", x, 1, false, "@world/disk", session.Untestable, "machine"},
		{"killed for its memory", x, 137, false, "@world/oom", session.Untestable, "machine"},
		{"a program that fails without a word", x, 1, false, "", session.FailedElse, "names no failure"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			output := c.output
			if name, ok := strings.CutPrefix(output, "@"); ok {
				output = sample(t, name)
			}
			rep := report(t, output)
			got, reason := Judge(c.target, c.exit, c.timedOut, rep, output)
			if got != c.want || !strings.Contains(reason, c.reason) {
				t.Errorf("got %s (%s), want %s (…%s…)\nreport: %+v", got, reason, c.want, c.reason, rep)
			}
			if strings.Contains(reason, "\n") {
				t.Errorf("the reason is not one line: %q", reason)
			}
		})
	}
}
