package toolchain

import (
	"path"
	"strings"
)

// IsTestFile reports whether a path holds tests or what only tests use, by
// the conventions of the languages. The cases and expectations that a test
// reads are part of it: a fix that took some away would weaken the test.
func IsTestFile(p string) bool {
	base, ext := path.Base(p), path.Ext(p)
	stem := strings.TrimSuffix(base, ext)
	for _, dir := range strings.Split(path.Dir(p), "/") {
		switch strings.ToLower(strings.ReplaceAll(dir, "-", "_")) {
		case "testdata", "test_data", "testcases", "test_cases", "_test", "_tests", "__tests__", "__mocks__", "__snapshots__", "__fixtures__", "fixtures", "testfixtures", "test_fixtures", "goldens", "golden":
			return true
		case "test", "tests":
			if !IsModuleFile(p) && !IsLockFile(p) {
				return true
			}
		case "spec":
			if languageOf(p) != "" {
				return true
			}
		}
	}
	switch languageOf(p) {
	case "Go":
		return strings.HasSuffix(stem, "_test")
	case "JavaScript":
		return strings.HasSuffix(stem, ".test") || strings.HasSuffix(stem, ".spec") || strings.HasSuffix(stem, "-test") || strings.HasSuffix(stem, "_test") || stem == "test" || strings.HasSuffix(stem, ".cy")
	case "Python":
		return strings.HasPrefix(stem, "test_") || strings.HasSuffix(stem, "_test") || stem == "conftest" || stem == "tests"
	case "Rust":
		return strings.HasSuffix(stem, "_test") || stem == "tests"
	case "Java":
		return strings.HasSuffix(stem, "Test") || strings.HasSuffix(stem, "Tests") || strings.HasSuffix(stem, "IT") || strings.HasSuffix(stem, "Spec") || strings.HasPrefix(stem, "Test")
	}
	return ext == ".snap" || ext == ".golden"
}

// lockfiles of the package managers, by file name.
var lockfiles = map[string]bool{
	"go.sum": true, "go.work.sum": true, "package-lock.json": true, "npm-shrinkwrap.json": true, "yarn.lock": true, "pnpm-lock.yaml": true,
	"bun.lock": true, "bun.lockb": true, "poetry.lock": true, "uv.lock": true, "Pipfile.lock": true, "pdm.lock": true, "Cargo.lock": true,
	"gradle.lockfile": true, "Gemfile.lock": true, "composer.lock": true, "mix.lock": true, "packages.lock.json": true, "Gopkg.lock": true, "glide.lock": true,
}

// IsLockFile reports whether a path pins versions of dependencies.
func IsLockFile(p string) bool { return lockfiles[path.Base(p)] }

// modulefiles declare dependencies or how a project is built.
var modulefiles = map[string]bool{
	"go.mod": true, "go.work": true, "package.json": true, "pyproject.toml": true, "setup.py": true, "setup.cfg": true, "Pipfile": true, "tox.ini": true,
	"Cargo.toml": true, "pom.xml": true, "build.gradle": true, "build.gradle.kts": true, "settings.gradle": true, "settings.gradle.kts": true, "Gemfile": true, "composer.json": true,
}

// IsModuleFile reports whether a path declares dependencies or the build.
func IsModuleFile(p string) bool {
	base := path.Base(p)
	return modulefiles[base] || strings.HasPrefix(base, "requirements") && strings.HasSuffix(base, ".txt")
}

// IsGenerated reports whether a path is, by its name, made by a program and
// not by a person: it is no place for a cause or a fix.
func IsGenerated(p string) bool {
	base := path.Base(p)
	for _, dir := range strings.Split(path.Dir(p), "/") {
		switch dir {
		case "node_modules", "vendor", "dist", "__snapshots__", "third_party", "generated", "__generated__":
			return true
		}
	}
	for _, suffix := range [...]string{
		".pb.go", ".pb.gw.go", "_gen.go", ".gen.go", "_generated.go", "_string.go", "zz_generated.deepcopy.go", ".min.js", ".min.css", ".bundle.js",
		".map", "_pb2.py", "_pb2_grpc.py", ".g.dart", ".snap", ".pb.cc", ".pb.h",
	} {
		if strings.HasSuffix(base, suffix) {
			return true
		}
	}
	return IsLockFile(p)
}

// MarkedGenerated reports whether a file's beginning says that it is generated
// ("Code generated … DO NOT EDIT.", "@generated").
func MarkedGenerated(head []byte) bool {
	s := string(head[:min(len(head), 4096)])
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "// Code generated ") && strings.HasSuffix(line, " DO NOT EDIT.") || strings.Contains(line, "@generated") {
			return true
		}
	}
	return false
}
