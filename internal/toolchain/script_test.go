package toolchain

import (
	"slices"
	"testing"
	"testing/fstest"
)

func TestAScriptOfCIIsTakenApartAtItsTests(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{
		"go.mod": {Data: []byte("module m\n")}, "a_test.go": {Data: []byte("package m\n")},
		"web/package.json": {Data: []byte(`{"name": "web", "scripts": {"test": "jest --ci"}, "devDependencies": {"jest": "1"}}`)},
	}
	read := Scripts(tree)
	for _, tt := range []struct {
		script, dir string
		env         []string
		before      []string
		suite, kit  string // "" when the script is not taken apart
	}{
		{"go test -tags x ./...", ".", nil, nil, "go test -v -tags x ./...", "go"},
		{"go test ./...", ".", []string{"A=1 2", "B="}, nil, "A='1 2' B='' go test -v ./...", "go"},
		{"set -euo pipefail\ngo mod download\ngo build ./... && go test ./... # all", ".", []string{"A=1"}, []string{"A=1 go mod download", "A=1 go build ./..."}, "A=1 go test -v ./...", "go"},
		{"cd web\nnpm ci\nnpm test", ".", nil, []string{"cd web && npm ci"}, "cd web && npm test", "jest"},
		{"npm ci; npm test", "web", nil, []string{"cd web && npm ci"}, "cd web && npm test", "jest"},
		{"export X=y\ngo test ./...", ".", nil, nil, "X=y go test -v ./...", "go"},
		{"go test ./... 2>&1 | tee log", ".", nil, nil, "go test -v ./...", "go"},
		{"go test \\\n  -race \\\n  ./...", ".", nil, nil, "go test -v -race ./...", "go"},
		{"cp *.txt out\ngo test 'a b' ./...", ".", nil, []string{"cp *.txt out"}, "go test -v 'a b' ./...", "go"},
		{"go vet ./...", ".", nil, nil, "", ""},
		{"cat x | sh\ngo test ./...", ".", nil, nil, "", ""},
		{"for i in 1 2; do\ngo test ./...\ndone", ".", nil, nil, "", ""},
		{"go test $(go list ./...)", ".", nil, nil, "", ""},
		{"cd ../..\ngo test ./...", ".", nil, nil, "", ""},
		{"cd /\ngo test ./...", ".", nil, nil, "", ""},
		{"echo test", ".", nil, nil, "", ""},
		{"", ".", nil, nil, "", ""},
	} {
		s, ok := read(tt.script, tt.dir, tt.env)
		if ok != (tt.kit != "") || ok && (s.Test.Suite != tt.suite || s.Test.Name != tt.kit || !slices.Equal(s.Before, tt.before)) {
			t.Errorf("%q in %s: %v, before %q, suite %q of %s", tt.script, tt.dir, ok, s.Before, s.Test.Suite, s.Test.Name)
		}
	}
}

func TestAKitTakesVariablesBeforeItsOwn(t *testing.T) {
	t.Parallel()
	k, ok := FromCommand("cd web && A=own npm test", fstest.MapFS{"web/package.json": {Data: []byte(`{"scripts": {"test": "jest"}, "devDependencies": {"jest": "1"}}`)}})
	if !ok {
		t.Fatal("npm test is not known")
	}
	if got := k.With([]string{"A=theirs", "B=it's"}); got.Suite != `cd web && B='it'\''s' A=own npm test` || !slices.Equal(got.Env, []string{"B=it's", "A=own"}) {
		t.Errorf("%q with %q", got.Suite, got.Env)
	}
}

func FuzzScripts(f *testing.F) {
	read := Scripts(fstest.MapFS{"go.mod": {Data: []byte("module m\n")}, "package.json": {Data: []byte(`{"scripts": {"test": "jest"}}`)}})
	for _, s := range []string{"go test ./...", "cd a && npm test", "a | b > c 2>&1\n", "x=\"$(y)\"", "'", "\\"} {
		f.Add(s, ".", "A=b")
	}
	f.Fuzz(func(t *testing.T, script, dir, env string) {
		if s, ok := read(script, dir, []string{env}); ok && (s.Test.Name == "" || s.Test.Suite == "") {
			t.Errorf("a test without a command: %+v", s)
		}
	})
}
