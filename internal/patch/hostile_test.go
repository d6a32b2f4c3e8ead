package patch

import (
	"strings"
	"testing"
)

// Changes that make a test pass without mending anything, in forms that a
// program which wants to be done would find.
func TestAHostileDiffIsRefused(t *testing.T) {
	t.Parallel()
	type diff struct {
		path, old, new string
		want           Rule
	}
	swap := func(s, from, to string) string { return strings.Replace(s, from, to, 1) }
	goTest := "package p\n\nconst tolerance = 1e-9\n\nfunc TestA(t *testing.T) {\n\tfor _, c := range []struct{ in, want int }{\n\t\t{1, 2},\n\t\t{3, 4},\n\t} {\n\t\tif got := f(c.in); got != c.want {\n\t\t\tt.Errorf(\"%d\", got)\n\t\t}\n\t}\n}\n"
	py := "import m\n\ndef test_a():\n    r = m.f()\n    assert r == 1\n    assert abs(m.g() - 2) < 0.001  # tolerance\n"
	js := "it('adds', () => {\n  const delta = 0.01;\n  expect(add(1, 2)).toBe(3);\n  expect(add(2, 2)).toBeCloseTo(4, delta);\n});\n"
	java := "class AddTest {\n  @Test(timeout = 100)\n  void adds() {\n    assertEquals(3, add(1, 2));\n  }\n}\n"
	rust := "#[test]\nfn adds() {\n    let epsilon = 0.01;\n    assert!((add(1.0, 2.0) - 3.0).abs() < epsilon);\n}\n"
	ruby := "it 'adds' do\n  expect(add(1, 2)).to eq(3)\nend\n"
	for name, c := range map[string]diff{
		"go case taken out of the table":  {"p_test.go", goTest, swap(goTest, "\t\t{3, 4},\n", ""), AssertionChanged},
		"go condition that never holds":   {"p_test.go", goTest, swap(goTest, "got != c.want {", "false && got != c.want {"), AssertionChanged},
		"go expected value changed":       {"p_test.go", goTest, swap(goTest, "{3, 4}", "{3, 5}"), AssertionChanged},
		"go tolerance constant":           {"p_test.go", goTest, swap(goTest, "1e-9", "1e-1"), ToleranceWidened},
		"go assertion commented out":      {"p_test.go", goTest, swap(goTest, "\t\t\tt.Errorf", "\t\t\t// t.Errorf"), AssertionRemoved},
		"go recover":                      {"p.go", "func f() {\n\tg()\n}\n", "func f() {\n\tdefer func() { recover() }()\n\tg()\n}\n", ErrorSwallowed},
		"go error ignored in two lines":   {"p.go", "\tg()\n", "\tif err != nil {\n\t}\n\tg()\n", ErrorSwallowed},
		"py assertion made vacuous":       {"test_p.py", py, swap(py, "assert r == 1", "assert True"), AssertionRemoved},
		"py assertion commented out":      {"test_p.py", py, swap(py, "    assert r == 1", "    # assert r == 1"), AssertionRemoved},
		"py tolerance":                    {"test_p.py", py, swap(py, "0.001", "10"), ToleranceWidened},
		"py except and pass on two lines": {"m.py", "f()\n", "try:\n    f()\nexcept ValueError as e:\n    pass\n", ErrorSwallowed},
		"py coverage limit lowered":       {"pyproject.toml", "fail_under = 90\n", "fail_under = 10\n", CheckSilenced},
		"py coverage limit removed":       {"setup.cfg", "[x]\nfail_under = 90\n", "[x]\n", CheckSilenced},
		"js assertion made vacuous":       {"a.test.js", js, swap(js, "expect(add(1, 2)).toBe(3)", "expect(true).toBe(true)"), AssertionRemoved},
		"js tolerance":                    {"a.test.js", js, swap(js, "0.01", "5"), ToleranceWidened},
		"js catch on two lines":           {"a.js", "f();\n", "try {\n  f();\n} catch (e) {\n}\n", ErrorSwallowed},
		"js test script":                  {"package.json", "{\"scripts\": {\n\"test\": \"jest\"\n}}\n", "{\"scripts\": {\n\"test\": \"exit 0\"\n}}\n", CheckSilenced},
		"js coverage threshold":           {"package.json", "{\n\"coverageThreshold\": 90\n}\n", "{\n\"coverageThreshold\": 1\n}\n", CheckSilenced},
		"js lint settings":                {"web/.eslintrc.json", "{}\n", "{\"rules\": {}}\n", ProtectedPath},
		"java timeout":                    {"src/AddTest.java", java, swap(java, "100", "100000"), ToleranceWidened},
		"java catch":                      {"src/Add.java", "f();\n", "try {\nf();\n} catch (Exception e) {\n}\n", ErrorSwallowed},
		"java assertion made vacuous":     {"src/AddTest.java", java, swap(java, "assertEquals(3, add(1, 2))", "assertTrue(true)"), AssertionRemoved},
		"rust epsilon":                    {"tests/a.rs", rust, swap(rust, "0.01", "100.0"), ToleranceWidened},
		"rust assertion made vacuous":     {"tests/a.rs", rust, swap(rust, "assert!((add(1.0, 2.0) - 3.0).abs() < epsilon)", "assert!(true)"), AssertionRemoved},
		"ruby rescue":                     {"a.rb", "f\n", "begin\n  f\nrescue => e\n  nil\nend\n", ErrorSwallowed},
		"ruby assertion commented out":    {"spec/a_spec.rb", ruby, swap(ruby, "  expect", "  # expect"), AssertionRemoved},
		"go lint settings":                {".golangci.yml", "a: 1\n", "a: 2\n", ProtectedPath},
		"private key":                     {"k.pem", "", "-----BEGIN RSA " + "PRIVATE KEY-----\nabc\n", SecretAdded},
		"token of GitHub":                 {"c.go", "x\n", "var t = \"ghp_" + strings.Repeat("a", 36) + "\"\n", SecretAdded},
		"password in an address":          {"c.go", "x\n", "var u = \"postgres://bot:hunter22@db/x\"\n", SecretAdded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := checkFile(File{Path: c.path, Old: []byte(c.old), New: []byte(c.new)}); !hasRule(got, c.want) {
				t.Errorf("violations are %v, want %s", got, c.want)
			}
		})
	}
}

func TestWhatIsNoCredentialIsAllowed(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`u := "postgres://user:${PASSWORD}@db/x"`, `// see https://example.org/a:b@c`, `-----BEGIN CERTIFICATE-----`, `skip-this-long-flag-name-please`,
		`"integrity": "sha512-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"`,
	} {
		if got := checkFile(File{Path: "c.go", Old: []byte("x\n"), New: []byte(line + "\n")}); got != nil {
			t.Errorf("%s: %v", line, got)
		}
	}
}
