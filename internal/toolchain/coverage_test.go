package toolchain_test

import (
	"testing"

	"culprit/internal/session"
	"culprit/internal/toolchain"
)

func TestCoverageIsReadBackByFileOfTheRepository(t *testing.T) {
	t.Parallel()
	k := toolchain.Kit{Name: "go", Root: "sub", Module: "example.com/m"}
	got := k.ReadCoverage(`go: downloading x
culprit-coverage: exit 1
culprit-coverage: passing 2
culprit-coverage: 1 example.com/m/p/a.go:3.20,5.2
culprit-coverage: 1 example.com/other/a.go:3.20,5.2
culprit-coverage: 1 example.com/m/../../x.go:3.20,5.2
culprit-coverage: 1 nonsense
culprit-coverage: + 9 example.com/m/p/a.go:3.20,5.2
culprit-coverage: + 1 example.com/m/unknown.go:3.20,5.2
culprit-coverage:
`)
	if !got.Failed || got.Passing != 2 || len(got.Blocks) != 1 || got.Blocks[0] != (toolchain.Covered{File: "sub/p/a.go", From: 3, To: 5, Passing: 2}) {
		t.Errorf("%+v", got)
	}
	if empty := k.ReadCoverage(""); empty.Failed || empty.Blocks != nil {
		t.Errorf("%+v", empty)
	}
}

func TestCoverageIsMeasuredWhereTheToolchainCan(t *testing.T) {
	t.Parallel()
	k := toolchain.Kit{Name: "go", Root: ".", Module: "example.com/m"}
	for name, c := range map[string]struct {
		kit toolchain.Kit
		f   session.Failure
		ok  bool
	}{
		"a test of a package": {k, session.Failure{Package: "example.com/m/p", Test: "TestX"}, true},
		"no test named":       {k, session.Failure{Package: "example.com/m/p"}, false},
		"no package known":    {k, session.Failure{Test: "TestX"}, false},
		"a benchmark":         {k, session.Failure{Package: "example.com/m/p", Test: "BenchmarkX"}, false},
		"another toolchain":   {toolchain.Kit{Name: "jest"}, session.Failure{Package: "x", Test: "x"}, false},
	} {
		if _, ok := c.kit.Cover(c.f); ok != c.ok {
			t.Errorf("%s: %v", name, ok)
		}
	}
}
