package patch

import (
	"fmt"
	"strings"
	"testing"

	"culprit/internal/session"
)

func TestAWeakenedTestIsFound(t *testing.T) {
	t.Parallel()
	goTest := "package p\n\nfunc TestA(t *testing.T) {\n\tif f() != 1 {\n\t\tt.Errorf(\"f\")\n\t}\n}\n\nfunc TestB(t *testing.T) {\n\tassert.Equal(t, 2, g())\n}\n"
	py := "def test_a():\n    assert f() == 1\n\ndef test_b():\n    assert g() == 2\n"
	js := "describe('x', () => {\n  it('adds', () => {\n    expect(add(1, 2)).toBe(3);\n  });\n});\n"
	rust := "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n"
	java := "class AddTest {\n  @Test\n  void adds() {\n    assertEquals(3, add(1, 2));\n  }\n}\n"
	for name, c := range map[string]struct {
		path, old, new string
		want           Rule
	}{
		"go test removed":        {"p_test.go", goTest, cutFrom(goTest, "func TestB"), TestDeleted},
		"go test renamed away":   {"p_test.go", goTest, strings.Replace(goTest, "TestB", "testB", 1), TestDeleted},
		"go skip":                {"p_test.go", goTest, strings.Replace(goTest, "\tif f()", "\tt.Skip(\"flaky\")\n\tif f()", 1), TestSkipped},
		"go assertion removed":   {"p_test.go", goTest, strings.Replace(goTest, "\tassert.Equal(t, 2, g())\n", "", 1), AssertionRemoved},
		"go expectation changed": {"p_test.go", goTest, strings.Replace(goTest, "2, g()", "3, g()", 1), AssertionChanged},
		"go error loosened":      {"p_test.go", goTest, strings.Replace(goTest, "t.Errorf", "t.Logf", 1), AssertionRemoved},
		"go build tag":           {"p_test.go", goTest, "//go:build ignore\n" + goTest, TestSkipped},
		"py test removed":        {"tests/test_p.py", py, cutFrom(py, "def test_b"), TestDeleted},
		"py skip mark":           {"tests/test_p.py", py, strings.Replace(py, "def test_b", "@pytest.mark.skip\ndef test_b", 1), TestSkipped},
		"py xfail":               {"tests/test_p.py", py, strings.Replace(py, "def test_b", "@pytest.mark.xfail\ndef test_b", 1), TestSkipped},
		"py assertion":           {"tests/test_p.py", py, strings.Replace(py, "assert g() == 2", "g()", 1), AssertionRemoved},
		"js skip":                {"a.test.ts", js, strings.Replace(js, "it(", "it.skip(", 1), TestSkipped},
		"js only":                {"a.test.ts", js, strings.Replace(js, "it(", "it.only(", 1), TestSkipped},
		"js xit":                 {"a.test.ts", js, strings.Replace(js, "it(", "xit(", 1), TestSkipped},
		"js assertion":           {"a.test.ts", js, strings.Replace(js, "expect(add(1, 2)).toBe(3);", "add(1, 2);", 1), AssertionRemoved},
		"rust ignore":            {"tests/a.rs", rust, strings.Replace(rust, "#[test]\n", "#[test]\n#[ignore]\n", 1), TestSkipped},
		"rust test removed":      {"tests/a.rs", rust, strings.Replace(rust, "#[test]\n", "", 1), TestDeleted},
		"java disabled":          {"src/AddTest.java", java, strings.Replace(java, "@Test", "@Disabled @Test", 1), TestSkipped},
		"java test removed":      {"src/AddTest.java", java, strings.Replace(java, "  @Test\n", "", 1), TestDeleted},
		"nolint in code":         {"p.go", "x := f()\n", "x := f() //nolint:errcheck\n", CheckSilenced},
		"ts-ignore":              {"p.ts", "f()\n", "// @ts-ignore\nf()\n", CheckSilenced},
		"error swallowed":        {"p.py", "f()\n", "try:\n    f()\nexcept Exception: pass\n", ErrorSwallowed},
		"or true":                {"build.sh", "make test\n", "make test || true\n", ErrorSwallowed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := checkFile(File{Path: c.path, Old: []byte(c.old), New: []byte(c.new)})
			if !hasRule(got, c.want) {
				t.Errorf("violations are %v, want %s", got, c.want)
			}
			for _, v := range got {
				if v.Path != c.path || v.Line <= 0 {
					t.Errorf("violation %+v names no line of %s", v, c.path)
				}
			}
		})
	}
	if got := checkFile(File{Path: "p_test.go", Old: []byte(goTest)}); !hasRule(got, TestDeleted) {
		t.Errorf("a deleted file of tests gives %v", got)
	}
	if got := checkFile(File{Path: "p.txt", OldPath: "p_test.go", Old: []byte(goTest), New: []byte(goTest)}); !hasRule(got, TestDeleted) {
		t.Errorf("a file of tests renamed away gives %v", got)
	}
}

// checkFile judges the change of one file, given with both sides.
func checkFile(f File) []Violation { return Check(Hunks(f), Policy{}) }

func cutFrom(s, at string) string { return s[:strings.Index(s, at)] }

func hasRule(vs []Violation, r Rule) bool {
	for _, v := range vs {
		if v.Rule == r {
			return true
		}
	}
	return false
}

func TestAnHonestFixIsAllowed(t *testing.T) {
	t.Parallel()
	test := "package p\n\nfunc TestA(t *testing.T) {\n\tif f() != 1 {\n\t\tt.Errorf(\"f\")\n\t}\n}\n"
	for name, f := range map[string]File{
		"code":           {Path: "p.go", Old: []byte("a\nb\n"), New: []byte("a\nc\n")},
		"a test added":   {Path: "p_test.go", Old: []byte(test), New: []byte(test + strings.Replace(test[len("package p\n"):], "TestA", "TestB", 1))},
		"a test moved":   {Path: "p_test.go", Old: []byte(test + "\nvar x = 1\n"), New: []byte("package p\n\nvar x = 1\n" + test[len("package p\n"):])},
		"a new file":     {Path: "q_test.go", New: []byte(test)},
		"assert in code": {Path: "p.py", Old: []byte("assert x\n"), New: []byte("if not x:\n    raise E\n")},
	} {
		if got := checkFile(f); got != nil {
			t.Errorf("%s: violations are %v, want none", name, got)
		}
	}
}

func TestPathsThatAFixNeverTouches(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]Rule{
		".github/workflows/ci.yml": ProtectedPath, ".github/workflows/a/b.yml": ProtectedPath, ".GitHub/Workflows/ci.yml": ProtectedPath,
		"CODEOWNERS": ProtectedPath, "docs/CODEOWNERS": ProtectedPath, ".github/culprit.yml": ProtectedPath, ".gitmodules": ProtectedPath,
		"deploy/prod.yaml": ProtectedPath, "/etc/passwd": UnsafePath, "../x": UnsafePath, "a/../../x": UnsafePath, "a//b": UnsafePath, "": UnsafePath,
		".git/hooks/pre-commit": UnsafePath, "sub/.GIT/config": UnsafePath, "a/.git./x": UnsafePath, "a\nb": UnsafePath, "C:/x": UnsafePath, `a\b`: UnsafePath,
		"main.go": "", ".github/ISSUE_TEMPLATE.md": "", "src/CODEOWNERS.go": "", ".gitignore": "",
	} {
		got := CheckPath(path, Policy{Protected: []string{"deploy/*.yaml"}})
		if (want == "" && got != nil) || (want != "" && !hasRule(got, want)) {
			t.Errorf("%q gives %v, want %q", path, got, want)
		}
	}
}

func TestSpecialFilesAndSizeAreRefused(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]File{"symbolic link": {Path: "l", New: []byte("/etc"), Mode: ModeSymlink}, "submodule": {Path: "s", New: []byte("x"), Mode: ModeSubmodule}} {
		if got := checkFile(f); !hasRule(got, SpecialFile) {
			t.Errorf("%s gives %v", name, got)
		}
	}
	var hunks []session.Hunk
	for i := range 30 {
		hunks = append(hunks, session.Hunk{ID: "x", File: fmt.Sprintf("f%d", i), NewLines: 1, NewStart: 1, Text: "+x\n"})
	}
	if got := Check(hunks, Policy{}); !hasRule(got, TooLarge) {
		t.Errorf("30 files give %v", got)
	}
	long := session.Hunk{ID: "web/yarn.lock#1", File: "web/yarn.lock", NewLines: 5000, NewStart: 1, Text: strings.Repeat("+x\n", 5000)}
	if got := Check([]session.Hunk{long}, Policy{}); got != nil {
		t.Errorf("a long lock file gives %v", got)
	}
	if got := Check(hunks[:1], Policy{MaxLines: 1}); got != nil {
		t.Errorf("one line gives %v", got)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte("diff --git a/p_test.go b/p_test.go\n--- a/p_test.go\n+++ b/p_test.go\n@@ -1 +1 @@\n-func TestA(t *testing.T) {\n+func testA(t *testing.T) {\n"))
	f.Fuzz(func(t *testing.T, diff []byte) {
		if hunks, err := Split(diff); err == nil {
			Check(hunks, Policy{})
		}
	})
}
