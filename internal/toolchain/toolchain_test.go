package toolchain

import (
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"culprit/internal/session"
)

// repo makes a tree of "path": "content" pairs.
func repo(files ...string) fs.FS {
	t := fstest.MapFS{}
	for i := 0; i+1 < len(files); i += 2 {
		t[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return t
}

var goRepo = repo("go.mod", "module example.com/shop\n\ngo 1.21\n", "shop.go", "package shop", "cart/cart.go", "package cart", "cart/cart_test.go", "package cart",
	"cart/testdata/a.txt", "x", "tools/go.mod", "module example.com/shop/tools\n\nrequire example.com/x v1.0.0\n", "tools/gen/gen_test.go", "package gen")

func TestDetectAndOne(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		tree    fs.FS
		failure session.Failure
		kit     string // name and root
		setup   string
		one     string // "" when it cannot be run alone
	}{
		{
			"go, subtest by import path", goRepo,
			session.Failure{Framework: "go test", Package: "example.com/shop/cart", Test: "TestAdd/one_two"},
			"go .", "", "go test -count=1 -v -vet=off -run '^TestAdd$/^one_two$' ./cart",
		},
		{
			"go, the module's own package", goRepo, session.Failure{Package: "example.com/shop", Test: "TestX"},
			"go .", "", "go test -count=1 -v -vet=off -run '^TestX$' .",
		},
		{
			"go, hostile subtest name", goRepo, session.Failure{Package: "example.com/shop/cart", Test: "TestX/it's_$(id)_[a|b]*"},
			"go .", "", `go test -count=1 -v -vet=off -run '^TestX$/^it'\''s_\$\(id\)_\[a\|b\]\*$' ./cart`,
		},
		{
			"go, the nearest module", goRepo, session.Failure{Package: "example.com/shop/tools/gen", Test: "TestGen"},
			"go tools", "cd tools && go mod download", "cd tools && go test -count=1 -v -vet=off -run '^TestGen$' ./gen",
		},
		{
			"go, package by file", goRepo, session.Failure{File: "cart/cart_test.go", Test: "TestX"},
			"go .", "", "go test -count=1 -v -vet=off -run '^TestX$' ./cart",
		},
		{
			"go, no test named", goRepo, session.Failure{Package: "example.com/shop/cart", Kind: session.KindBuild},
			"go .", "", "",
		},
		{
			"go before modules", repo("a.go", "package a\nimport \"github.com/o/r/sub\"\n", "a_test.go", "package a", "sub/s.go", "package sub"),
			session.Failure{Package: "github.com/o/r/sub", Test: "TestX"},
			"go .", "go mod init github.com/o/r && go mod edit -go=1.21 && go mod tidy -e", "go test -count=1 -v -vet=off -run '^TestX$' ./sub",
		},
		{
			"go before modules, vendored and of no known path", repo("a_test.go", "package a", "vendor/github.com/x/y/y.go", "package y"), session.Failure{Test: "TestX"},
			"go .", "go mod init example.invalid/module && go mod edit -go=1.13 && go mod tidy -e", "go test -count=1 -v -vet=off -run '^TestX$' ./...",
		},
		{
			"jest by its script", repo("package.json", `{"scripts":{"test":"cross-env NODE_OPTIONS=--experimental-vm-modules jest --config jest.ci.js --coverage"},"devDependencies":{"jest":"29"}}`,
				"package-lock.json", "{}", "src/sum.test.js", ""),
			session.Failure{Framework: "jest", Package: "src/sum.test.js", Test: "sum › adds 1 + (2)"},
			"jest .", "npm ci --no-audit --no-fund",
			`NODE_OPTIONS=--experimental-vm-modules npx --no-install jest --ci --verbose --config jest.ci.js -t '^sum adds 1 \+ \(2\)$' --runTestsByPath src/sum.test.js`,
		},
		{
			"vitest in a pnpm workspace", repo("pnpm-lock.yaml", "", "package.json", `{"scripts":{"test":"pnpm -r test"}}`, "packages/a/package.json", `{"scripts":{"test":"vitest"},"devDependencies":{"vitest":"1"}}`,
				"packages/a/src/x.test.ts", ""),
			session.Failure{Framework: "vitest", File: "packages/a/src/x.test.ts", Package: "packages/a/src/x.test.ts", Test: "s > n"},
			"vitest packages/a", "pnpm install --frozen-lockfile", `cd packages/a && pnpm exec vitest run --reporter=verbose -t '^s n$' src/x.test.ts`,
		},
		{
			"mocha", repo("package.json", `{"scripts":{"test":"mocha -r ts-node/register 'test/**/*.ts'"},"devDependencies":{"mocha":"10"}}`, "yarn.lock", "", "test/a.spec.ts", ""),
			session.Failure{Framework: "mocha", File: "test/a.spec.ts", Test: "suite name"},
			"mocha .", "yarn install --frozen-lockfile", `yarn run mocha --reporter spec -r ts-node/register --grep '^suite name$' test/a.spec.ts`,
		},
		{
			"node:test", repo("package.json", `{"scripts":{"test":"node --test"}}`, "test/a.test.js", ""),
			session.Failure{Framework: "node:test", File: "test/a.test.js", Test: "suite > name"},
			"node:test .", "", `node --test --test-reporter=spec --test-name-pattern='/^suite$/' --test-name-pattern='/^name$/' test/a.test.js`,
		},
		{
			"pytest, parameters with blanks", repo("pyproject.toml", "[tool.pytest.ini_options]\n", "tests/test_a.py", "def test_x(): pass"),
			session.Failure{Framework: "pytest", File: "tests/test_a.py", Test: "tests/test_a.py::test_x[a b-'q']"},
			"pytest .", "", `python3 -m pytest -v --color=no -p no:cacheprovider 'tests/test_a.py::test_x[a b-'\''q'\'']'`,
		},
		{
			"pytest with requirements and src", repo("requirements.txt", "requests\npytest\n", "src/p/__init__.py", "", "tests/test_a.py", ""),
			session.Failure{Framework: "pytest", Test: "tests/test_a.py::test_x"},
			"pytest .", "python3 -m venv --system-site-packages .venv && .venv/bin/python -m pip install -q -r requirements.txt",
			`PYTHONPATH=src .venv/bin/python -m pytest -v --color=no -p no:cacheprovider tests/test_a.py::test_x`,
		},
		{
			"unittest in a package", repo("tests/__init__.py", "", "tests/test_a.py", "import unittest"),
			session.Failure{Framework: "unittest", Package: "tests.test_a", File: "tests/test_a.py", Test: "TestA.test_x"},
			"unittest .", "", "python3 -m unittest -v tests.test_a.TestA.test_x",
		},
		{
			"unittest in a folder that is no package", repo("tests/test_a.py", "import unittest"),
			session.Failure{Framework: "unittest", Package: "test_a", File: "tests/test_a.py", Test: "TestA.test_x"},
			"unittest .", "", "python3 -m unittest discover -v -s tests -p test_a.py -k '*TestA.test_x'",
		},
		{
			"cargo", repo("Cargo.toml", "[package]\nname = \"shop\"\n\n[dependencies]\nserde = \"1\"\n", "Cargo.lock", "", "src/lib.rs", ""),
			session.Failure{Framework: "cargo test", Test: "cart::tests::adds"},
			"cargo .", "cargo fetch --locked", "cargo test --no-fail-fast -- --exact 'cart::tests::adds'",
		},
		{
			"maven", repo("pom.xml", "<project/>", "mvnw", "", "src/test/java/com/ex/CartTest.java", ""),
			session.Failure{Framework: "maven", Package: "com.ex.CartTest", Test: "adds(int)[1]"},
			"maven .", "sh ./mvnw -B -ntp -q test-compile surefire:help",
			"sh ./mvnw -B -ntp test -Dsurefire.failIfNoSpecifiedTests=false -DfailIfNoTests=false -Dtest='com.ex.CartTest#adds'",
		},
		{
			"gradle", repo("settings.gradle", "", "app/build.gradle", "", "gradlew", ""),
			session.Failure{Framework: "gradle", Package: "com.ex.CartTest", Test: "adds()"},
			"gradle .", "sh ./gradlew --console=plain testClasses", "sh ./gradlew --console=plain test --tests 'com.ex.CartTest.adds'",
		},
		{
			"maven refuses a class that is a pattern", repo("pom.xml", ""),
			session.Failure{Framework: "maven", Package: "*", Test: "adds"},
			"maven .", "mvn -B -ntp -q test-compile surefire:help", "",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			kits := Detect(c.tree, []session.Failure{c.failure})
			if len(kits) == 0 {
				t.Fatal("no kit detected")
			}
			k := kits[0]
			if got := k.Name + " " + k.Root; got != c.kit {
				t.Errorf("kit %q, want %q", got, c.kit)
			}
			if k.Setup != c.setup {
				t.Errorf("set-up %q, want %q", k.Setup, c.setup)
			}
			one, ok := k.One(c.failure)
			if one != c.one || ok != (c.one != "") {
				t.Errorf("one\n %s (%v), want\n %s", one, ok, c.one)
			}
		})
	}
}

func TestSomeRunsTestsOfOnePackageTogether(t *testing.T) {
	t.Parallel()
	k := Detect(goRepo, nil)[0]
	fs := []session.Failure{{Package: "example.com/shop/cart", Test: "TestW/169"}, {Package: "example.com/shop/cart", Test: "TestW/169-nl"}}
	got, ok := k.Some(fs)
	if want := "go test -count=1 -v -vet=off -run '^TestW$/^(169|169-nl)$' ./cart"; got != want || !ok {
		t.Errorf("got %q, want %q", got, want)
	}
	fs[1].Package = "example.com/shop"
	if got, ok := k.Some(fs); ok {
		t.Errorf("tests of two packages: got %q, want none", got)
	}
}

func TestFromCommand(t *testing.T) {
	t.Parallel()
	node := repo("package.json", `{"scripts":{"test":"npm run unit","unit":"vitest --config v.ts"}}`, "a.test.ts", "")
	cases := []struct {
		cmd     string
		tree    fs.FS
		kit     string
		failure session.Failure
		one     string
	}{
		{"go test ./...", goRepo, "go .", session.Failure{Package: "example.com/shop/cart", Test: "TestX"}, "go test -count=1 -v -vet=off -run '^TestX$' ./cart"},
		{"cd cart && CGO_ENABLED=0 go test -tags integration -race -run TestY -v .", goRepo, "go cart", session.Failure{Package: "example.com/shop/cart", Test: "TestX"},
			"cd cart && CGO_ENABLED=0 go test -count=1 -v -vet=off -tags integration -race -run '^TestX$' ."},
		{"go test ./cart", goRepo, "go .", session.Failure{Test: "TestX"}, "go test -count=1 -v -vet=off -run '^TestX$' ./cart"},
		{"npm test", node, "vitest .", session.Failure{Package: "a.test.ts", Test: "s > n"}, "npx --no-install vitest run --reporter=verbose --config v.ts -t '^s n$' a.test.ts"},
		{"npx vitest run a.test.ts", node, "vitest .", session.Failure{Test: "s > n"}, "npx --no-install vitest run --reporter=verbose -t '^s n$' a.test.ts"},
		{"python3 -m pytest -x tests", repo("tests/test_a.py", ""), "pytest .", session.Failure{Test: "tests/test_a.py::test_b"}, "python3 -m pytest -v --color=no -p no:cacheprovider tests/test_a.py::test_b"},
		{"cargo test --features full parse", repo("Cargo.toml", ""), "cargo .", session.Failure{Test: "parse::t"}, "cargo test --no-fail-fast --features full -- --exact 'parse::t'"},
		{"mvn -B verify -Pci", repo("pom.xml", ""), "maven .", session.Failure{Package: "a.BTest", Test: "c"}, "mvn -B -ntp -Pci test -Dsurefire.failIfNoSpecifiedTests=false -DfailIfNoTests=false -Dtest='a.BTest#c'"},
		{"make test", goRepo, "", session.Failure{}, ""},
		{"go test ./... | tee log", goRepo, "", session.Failure{}, ""},
		{"go test $(go list ./...)", goRepo, "", session.Failure{}, ""},
		{"cd ../other && go test", goRepo, "", session.Failure{}, ""},
		{"go vet ./...", goRepo, "", session.Failure{}, ""},
		{"'", goRepo, "", session.Failure{}, ""},
		{"", goRepo, "", session.Failure{}, ""},
	}
	for _, c := range cases {
		t.Run(c.cmd, func(t *testing.T) {
			t.Parallel()
			k, ok := FromCommand(c.cmd, c.tree)
			if ok != (c.kit != "") {
				t.Fatalf("recognised: %v (%+v)", ok, k)
			}
			if !ok {
				return
			}
			if got := k.Name + " " + k.Root; got != c.kit {
				t.Errorf("kit %q, want %q", got, c.kit)
			}
			suite := c.cmd
			if c.kit == "go ." {
				suite = strings.Replace(c.cmd, "go test ", "go test -v ", 1)
			}
			if k.Suite != suite {
				t.Errorf("suite %q, want %q: the command itself, naming each test", k.Suite, suite)
			}
			if one, _ := k.One(c.failure); one != c.one {
				t.Errorf("one\n %s, want\n %s", one, c.one)
			}
		})
	}
}

func TestAdaptMakesAModuleFileForOldGoCode(t *testing.T) {
	t.Parallel()
	newer := repo("go.mod", "module github.com/o/r/v2\n\ngo 1.22\n\nrequire (\n\tgithub.com/x/y v1.2.3 // indirect\n)\nreplace github.com/z => ./z\n", "go.sum", "sums", "a_test.go", "package r")
	k := Detect(newer, nil)[0]
	old := repo("a.go", "package r\n\nimport (\n\t\"github.com/o/r/sub\"\n\t\"fmt\"\n)\n", "sub/s.go", "package sub", "vendor/github.com/x/y/y.go", "package y")
	edits, note, ok := Adapt(old, newer, k)
	if !ok || !strings.Contains(note, "module github.com/o/r") {
		t.Fatalf("note %q, ok %v", note, ok)
	}
	want := []session.Edit{{Path: "go.mod", Content: []byte("module github.com/o/r\n\ngo 1.22\n")}, {Path: "vendor/github.com/x/y/y.go", Delete: true}}
	if !reflect.DeepEqual(edits, want) {
		t.Errorf("edits %+v, want %+v", edits, want)
	}
	needs := repo("a.go", "package r\n\nimport \"github.com/x/y\"\n")
	edits, _, _ = Adapt(needs, newer, k)
	if len(edits) != 2 || edits[1].Path != "go.sum" || !strings.Contains(string(edits[0].Content), "github.com/x/y v1.2.3") || strings.Contains(string(edits[0].Content), "./z") {
		t.Errorf("edits %+v", edits)
	}
	if edits, note, ok := Adapt(needs, old, k); ok {
		t.Errorf("where no commit has a module file, the set-up makes it: %v %q", edits, note)
	}
	if edits, note, ok := Adapt(newer, newer, k); ok {
		t.Errorf("a tree with a module file: %v %q", edits, note)
	}
}

func TestSetUpOfCodeFromBeforeModules(t *testing.T) {
	t.Parallel()
	before := repo("a.go", "package a\nimport \"github.com/o/r/sub\"\n", "a_test.go", "package a", "sub/s.go", "package sub")
	after := repo("go.mod", "module github.com/o/r/v2\n\nrequire github.com/x/y v1.2.3\n", "a_test.go", "package a")
	makes := "go mod init github.com/o/r && go mod edit -go=1.21 && go mod tidy -e"
	if k, ok := FromCommand("go test ./sub", before); !ok || k.Setup != makes {
		t.Errorf("for a command of the user: %q", k.Setup)
	}
	modern := Detect(after, nil)[0]
	if at, ok := modern.At(before); !ok || at.Setup != "" {
		t.Errorf("where the newer commit has a module file to adapt: %q", at.Setup)
	}
	old := Detect(before, nil)[0]
	if at, ok := old.At(before); !ok || at.Setup != makes {
		t.Errorf("where no commit has a module file: %q", at.Setup)
	}
	if at, ok := old.At(after); !ok || at.Setup != "go mod download" {
		t.Errorf("where the other commit has its own: %q", at.Setup)
	}
}

func TestFilesMapsWhatToolsPrint(t *testing.T) {
	t.Parallel()
	files := Files(repo("go.mod", "module example.com/shop", "cart/cart_test.go", "", "src/a/index.js", "", "src/b/index.js", "", "x_test.go", ""))
	cases := map[string]string{
		"cart/cart_test.go":                              "cart/cart_test.go",
		"./cart/cart_test.go":                            "cart/cart_test.go",
		"example.com/shop/cart/cart_test.go":             "cart/cart_test.go",
		"example.com/shop/x_test.go":                     "x_test.go",
		"/home/runner/work/shop/shop/cart/cart_test.go":  "cart/cart_test.go",
		`D:\a\shop\src\a\index.js`:                       "src/a/index.js",
		"/build/src/b/index.js":                          "src/b/index.js",
		"index.js":                                       "",
		"cart_test.go":                                   "cart/cart_test.go",
		"/usr/local/go/src/testing/x_test.go":            "",
		"/w/node_modules/dep/src/a/index.js":             "",
		"../../etc/passwd":                               "",
		"/home/runner/work/shop/shop/other/cart_test.go": "",
		"": "",
	}
	for in, want := range cases {
		if got, ok := files(in); got != want || ok != (want != "") {
			t.Errorf("%q → %q (%v), want %q", in, got, ok, want)
		}
	}
}

func TestTestFilesCarryTheReproduction(t *testing.T) {
	t.Parallel()
	all := []string{"cart/cart.go", "cart/a_test.go", "cart/cart_test.go", "cart/testdata/a.txt", "cart/sub/x_test.go", "x_test.go",
		"tests/conftest.py", "tests/test_a.py", "tests/test_b.py", "src/x.test.ts", "src/__snapshots__/x.test.ts.snap"}
	k := Kit{Name: "go", Root: ".", Module: "example.com/shop"}
	got := k.TestFiles(session.Failure{Package: "example.com/shop/cart", Test: "TestX"}, all)
	if want := []string{"cart/a_test.go", "cart/cart_test.go", "cart/testdata/a.txt"}; !reflect.DeepEqual(got, want) {
		t.Errorf("go: %v, want %v", got, want)
	}
	got = Kit{Name: "pytest", Root: "."}.TestFiles(session.Failure{Test: "tests/test_a.py::test_x"}, all)
	if want := []string{"tests/test_a.py", "tests/conftest.py"}; !reflect.DeepEqual(got, want) {
		t.Errorf("pytest: %v, want %v", got, want)
	}
	got = Kit{Name: "vitest", Root: "."}.TestFiles(session.Failure{Package: "src/x.test.ts"}, all)
	if want := []string{"src/x.test.ts", "src/__snapshots__/x.test.ts.snap"}; !reflect.DeepEqual(got, want) {
		t.Errorf("vitest: %v, want %v", got, want)
	}
}

func TestShuffledAndRace(t *testing.T) {
	t.Parallel()
	k := Kit{Name: "go", Root: "."}
	if got, ok := k.Shuffled("cd x && go test -v ./..."); got != "cd x && go test -shuffle=on -v ./..." || !ok {
		t.Errorf("shuffled %q %v", got, ok)
	}
	if got, ok := k.Race("go test -v ./..."); got != "go test -race -v ./..." || !ok {
		t.Errorf("race %q %v", got, ok)
	}
	if got, ok := k.Race("make test"); ok {
		t.Errorf("race of an unknown command: %q", got)
	}
	if _, ok := (Kit{Name: "pytest"}).Race("pytest"); ok {
		t.Error("pytest has no race detector")
	}
}
