package evidence

import (
	"fmt"
	"strings"

	"culprit/internal/session"
)

// sameTest compares a target's test with a failure's. The same test is named
// differently by different versions of a runner, and by the folder that it was
// started in: pytest's IDs begin with a path, unittest's with a module.
func sameTest(name string, f session.Failure) bool {
	return sameName(name, f.Test)
}

func sameName(a, b string) bool {
	if a == b {
		return true
	}
	// "tests/test_x.py::test_a" and "test_x.py::test_a"
	if i, j := strings.Index(a, "::"), strings.Index(b, "::"); i > 0 && j > 0 && strings.HasSuffix(a[:i], ".py") {
		return a[i:] == b[j:] && pathSuffix(a[:i], b[:j])
	}
	return false
}

// pathSuffix reports whether one path ends with the other, element by element.
func pathSuffix(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	return a == b || b != "" && strings.HasSuffix(a, "/"+b)
}

// isBelow reports whether child is a subtest of parent.
func isBelow(child, parent string) bool {
	if parent == "" || len(child) <= len(parent) || !strings.HasPrefix(child, parent) {
		return false
	}
	rest := child[len(parent):]
	return rest[0] == '/' || strings.HasPrefix(rest, " > ") || strings.HasPrefix(rest, " › ") ||
		strings.HasPrefix(rest, "::") || rest[0] == '['
}

// samePackage compares the target's package with a report's; an empty one
// matches any. A Go module's major version in the path does not count, for it
// changes while the test stays; nor does the "_test" of an external test
// package, nor the folder that a JavaScript file or Python module is named
// from.
func samePackage(want, have string) bool {
	if want == "" || have == "" || want == have {
		return true
	}
	w, h := unversioned(want), unversioned(have)
	if w == h {
		return true
	}
	if scriptFile(w) && scriptFile(h) {
		return pathSuffix(w, h)
	}
	if !strings.Contains(w, "/") && !strings.Contains(h, "/") { // dotted: a module or class
		return strings.HasSuffix(w, "."+h) || strings.HasSuffix(h, "."+w)
	}
	return false
}

func scriptFile(p string) bool {
	i := strings.LastIndexByte(p, '.')
	if i < 0 {
		return false
	}
	switch p[i:] {
	case ".js", ".ts", ".jsx", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".py":
		return true
	}
	return false
}

// unversioned drops "/v2" elements and "_test".
func unversioned(pkg string) string {
	pkg = strings.TrimSuffix(pkg, "_test")
	if !strings.Contains(pkg, "/v") {
		return pkg
	}
	parts := strings.Split(pkg, "/")
	kept := parts[:0]
	for i, p := range parts {
		if i > 0 && len(p) > 1 && p[0] == 'v' && strings.Trim(p[1:], "0123456789") == "" {
			continue
		}
		kept = append(kept, p)
	}
	return strings.Join(kept, "/")
}

// passedID reports whether an entry of TestReport.Passed is that test. A
// subtest that passed does not speak for its parent.
func passedID(id, pkg, name string) bool {
	if id == name || sameName(name, id) {
		return true
	}
	have, ok := strings.CutSuffix(id, "."+name)
	return ok && samePackage(pkg, have)
}

// CommandFailure is what is known about a failed command whose output names no
// failure: its exit code and the line that sounds most like an error.
func CommandFailure(exit int, timedOut bool, output string) session.Failure {
	f := session.Failure{Kind: session.KindCommand}
	if timedOut {
		f.Kind = session.KindTimeout
	}
	f.Message = telling(output)
	if f.Message == "" {
		f.Message = fmt.Sprintf("exit code %d", exit)
	}
	f.Signature = Signature(f)
	return f
}

// telling is the first line of the output's tail that names an error, or the
// last line that is not blank.
func telling(output string) string {
	if len(output) > maxLine {
		output = output[len(output)-maxLine:]
	}
	last := ""
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(clean(strings.TrimSuffix(line, "\n")))
		if line == "" {
			continue
		}
		low := asciiLower(line)
		for _, word := range [...]string{"error", "fatal", "assert", "exception", "traceback", "panic", "fail", "not ok", "mismatch"} {
			if strings.Contains(low, word) {
				return cut(line, maxMessage)
			}
		}
		last = line
	}
	return cut(last, maxMessage)
}

// noTests finds the phrases of runners that ran nothing, in output that Parse
// may not have seen.
func noTests(output string) bool {
	for _, p := range [...]string{
		"testing: warning: no tests to run", "collected 0 items", "no tests ran in ", "No tests found", "Ran 0 tests", "NO TESTS RAN", "No test files found",
		"no packages to test", "No tests were executed", "No tests to run", "Tests run: 0, Failures: 0", "0 passing (",
	} {
		if i := strings.Index(output, p); i >= 0 && !ranElse(output, p) {
			return true
		}
	}
	return false
}

// ranElse reports that tests ran in another part of the same command.
func ranElse(output, phrase string) bool {
	for line := range strings.Lines(output) {
		switch {
		case strings.HasPrefix(line, "--- PASS: "), strings.HasPrefix(line, "--- FAIL: "):
			return true
		case strings.HasPrefix(line, "ok  \t") && !strings.Contains(line, "[no test"):
			return true
		case strings.HasPrefix(phrase, "Tests run: 0") && strings.Contains(line, "Tests run: ") && !strings.Contains(line, "Tests run: 0"):
			return true
		case strings.HasPrefix(phrase, "Ran 0") && strings.HasPrefix(line, "Ran ") && !strings.HasPrefix(line, "Ran 0"):
			return true
		}
	}
	return false
}

// setupError finds, in output that names no test, why none could run.
func setupError(output string) string {
	for _, p := range [...]string{
		": command not found", ": not found\n", "No such file or directory", "No module named ", "ModuleNotFoundError: ", "Cannot find module ",
		"ERR_MODULE_NOT_FOUND", "cannot find main module", "go.mod file not found", "could not find `Cargo.toml`", "Missing script: ", "ERR! missing script: ",
		"no required module provides package", "directory not found", "could not determine executable to run", "ImportError: ", "there is no POM in this directory",
	} {
		i := strings.Index(output, p)
		if i < 0 {
			continue
		}
		from := strings.LastIndexByte(output[:i], '\n') + 1
		return "cannot run here: " + cut(firstLine(strings.TrimSpace(clean(firstLine(output[from:])))), 200)
	}
	return ""
}

func place(f session.Failure) string {
	if l := f.Location(); l != "" {
		return l + ": "
	}
	return ""
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return cut(s, 300)
}

func lastLineOf(output string) string {
	return cut(firstLine(output[strings.LastIndexByte(strings.TrimRight(output, "\n"), '\n')+1:]), 200)
}
