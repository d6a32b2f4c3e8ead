package toolchain

import "testing"

func TestWhatOnlyTestsUseIsTold(t *testing.T) {
	t.Parallel()
	cases := map[string]bool{
		"a/b_test.go":               true,
		"extension/_test/table.txt": true, // the cases that goldmark's tests read
		"testdata/x":                true,
		"test-data/x.json":          true,
		"tests/data/case.json":      true,
		"tests/requirements.txt":    false, // what is installed for the tests
		"__tests__/a.js":            true,
		"src/a.spec.ts":             true,
		"spec/openapi.yaml":         false,
		"spec/a_spec.rb":            false,
		"spec/a.js":                 true,
		"report/out.golden":         true,
		"a/b.go":                    false,
		"testing/clock.go":          false,
		"latest/x.go":               false,
		"contest.py":                false,
		"conftest.py":               true,
		"go.mod":                    false,
	}
	for path, want := range cases {
		if got := IsTestFile(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
