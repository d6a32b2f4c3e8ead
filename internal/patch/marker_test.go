package patch

import "testing"

// A fix may edit a line that carries a marker, and may not bring one in.
func TestOnlyMarkersThatAChangeAddsAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path, old, new string
		want           Rule // "": nothing is wrong
	}{
		"edited line with noqa":                {"p.py", "x = f(1)  # noqa: E501\n", "x = f(2)  # noqa: E501\n", ""},
		"noqa that covers more":                {"p.py", "x = f(1)  # noqa: E501\n", "x = f(2)  # noqa: E501, F401\n", CheckSilenced},
		"noqa on a second line":                {"p.py", "x = f(1)  # noqa: E501\n", "x = f(2)  # noqa: E501\ny = g()  # noqa: E501\n", CheckSilenced},
		"noqa that moves to another place":     {"p.py", "a()  # noqa\nb()\nc()\n", "a()\nb()\nd()  # noqa\n", CheckSilenced},
		"edited line with nolint":              {"p.go", "x := f() //nolint:errcheck // closed below\n", "x := g() //nolint:errcheck // closed below\n", ""},
		"nolint for one more linter":           {"p.go", "x := f() //nolint:errcheck\n", "x := g() //nolint:errcheck,gosec\n", CheckSilenced},
		"nolint for all linters":               {"p.go", "x := f() //nolint:errcheck\n", "x := g() //nolint\n", CheckSilenced},
		"edited line with a Java annotation":   {"P.java", "@Suppress(\"a\") int x = 1;\n", "@Suppress(\"a\") int x = 2;\n", ""},
		"annotation for one more warning":      {"P.java", "@SuppressWarnings(\"a\") int x = 1;\n", "@SuppressWarnings({\"a\", \"b\"}) int x = 1;\n", CheckSilenced},
		"edited line with a Rust attribute":    {"p.rs", "#[allow(dead_code)] fn f() { 1 }\n", "#[allow(dead_code)] fn f() { 2 }\n", ""},
		"edited line with a block comment":     {"p.js", "/* istanbul ignore next */ f(1);\n", "/* istanbul ignore next */ f(2);\n", ""},
		"edited line with or true":             {"clean.sh", "rm a || true\n", "rm -f a || true\n", ""},
		"or true on one line more":             {"clean.sh", "rm a || true\n", "rm -f a || true\nmake test || true\n", ErrorSwallowed},
		"edited line with an example password": {"c.go", "u := \"postgres://app:example@db/a\"\n", "u := \"postgres://app:example@db/b\"\n", ""},
		"another password":                     {"c.go", "u := \"postgres://app:example@db/a\"\n", "u := \"postgres://app:hunter22@db/a\"\n", SecretAdded},
		"one more password on the line":        {"c.go", "u := \"postgres://app:example@db/a\"\n", "u := \"postgres://app:example@db/a http://bot:hunter22@ci\"\n", SecretAdded},
		"edited line with a coverage limit":    {"package.json", "\"check\": \"nyc --fail-under=90 a.js\"\n", "\"check\": \"nyc --fail-under=90 b.js\"\n", ""},
		"coverage limit lowered on the way":    {"package.json", "\"check\": \"nyc --fail-under=90 a.js\"\n", "\"check\": \"nyc --fail-under=9 b.js\"\n", CheckSilenced},
		"edited line with recover":             {"p.go", "go f(1); defer func() { recover() }()\n", "go f(2); defer func() { recover() }()\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := checkFile(File{Path: c.path, Old: []byte(c.old), New: []byte(c.new)})
			if c.want == "" && got != nil || c.want != "" && (len(got) == 0 || !hasRule(got, c.want)) {
				t.Errorf("violations are %v, want %q", got, c.want)
			}
		})
	}
}

func TestATestScriptThatTestsNothingIsRefused(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]Rule{
		`jest`:                                "",
		`npm run lint && jest`:                "",
		`echo \"running\" && jest`:            "",
		`sleep 1; jest`:                       "",
		`echo a | node test.js`:               "",
		`true && jest && true`:                "",
		`echo \"no test\" && exit 1`:          "",
		``:                                    CheckSilenced,
		`true`:                                CheckSilenced,
		`exit 0`:                              CheckSilenced,
		`exit 0 && jest`:                      CheckSilenced,
		`exit 0; jest`:                        CheckSilenced,
		`echo ok`:                             CheckSilenced,
		`true && echo \"all good\" && exit 0`: CheckSilenced,
		`echo skipped || jest`:                CheckSilenced,
		`jest; true`:                          CheckSilenced,
		`jest; exit 0`:                        CheckSilenced,
		`jest || true`:                        ErrorSwallowed,
		`jest || exit 0`:                      ErrorSwallowed,
	} {
		for _, name := range []string{"test", "test:unit", "test:e2e-slow"} {
			line := `"` + name + `": "` + script + `",` + "\n"
			got := checkFile(File{Path: "package.json", Old: []byte("\"" + name + "\": \"mocha\",\n"), New: []byte(line)})
			if want == "" && got != nil || want != "" && !hasRule(got, want) {
				t.Errorf("%q: violations are %v, want %q", script, got, want)
			}
			if got := checkFile(File{Path: "package.json", Old: []byte("{" + line + "}"), New: []byte("{ \"x\": 1, " + line + "}")}); got != nil {
				t.Errorf("%q was there before: violations are %v", script, got)
			}
		}
	}
}
