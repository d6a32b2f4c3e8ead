package toolchain

import (
	"path"
	"strings"

	"culprit/internal/session"
)

var mavenToolchain = toolchain{
	names: []string{"maven"}, detect: detectMaven, some: mavenSome, group: mavenGroup, testFiles: javaTestFiles, command: javaCommand("maven"),
}

var gradleToolchain = toolchain{
	names: []string{"gradle"}, detect: detectGradle, some: gradleSome, group: gradleGroup, testFiles: javaTestFiles, command: javaCommand("gradle"),
}

// detectMaven finds the outermost POMs: modules are built from there.
func detectMaven(t *tree) []Kit { return detectJava(t, "maven", "pom.xml") }

func detectGradle(t *tree) []Kit {
	return detectJava(t, "gradle", "settings.gradle", "settings.gradle.kts", "build.gradle", "build.gradle.kts")
}

func detectJava(t *tree, name string, manifests ...string) []Kit {
	var kits []Kit
	for _, m := range manifests {
		for _, dir := range t.byName[m] {
			inner := false
			for _, k := range kits {
				inner = inner || within(k.Root, dir) || k.Root == dir
			}
			if !inner {
				kits = append(kits, javaKit(t, name, dir))
			}
		}
	}
	return kits
}

func javaKit(t *tree, name, dir string) Kit {
	k := Kit{Name: name, Language: "Java", Framework: name, Root: dir}
	for _, m := range [...]string{"pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradle.properties"} {
		if p := path.Join(dir, m); t.has(p) && (m == "pom.xml") == (name == "maven") {
			k.ModuleFiles = append(k.ModuleFiles, p)
		}
	}
	if name == "maven" {
		k.Runner = "mvn"
		if t.has(path.Join(dir, "mvnw")) {
			k.Runner = "sh ./mvnw"
		}
		k.Runner += " -B -ntp"
		// test-compile resolves what dependency:go-offline overlooks, the
		// test framework's own provider among it.
		k.Setup = k.in(k.Runner + " -q test-compile surefire:help")
		k.Suite = k.in(k.Runner + " test")
		return k
	}
	k.Runner = "gradle"
	if t.has(path.Join(dir, "gradlew")) {
		k.Runner = "sh ./gradlew"
	}
	k.Runner += " --console=plain"
	if p := path.Join(dir, "gradle.lockfile"); t.has(p) {
		k.Lockfiles = []string{p}
	}
	k.Setup = k.in(k.Runner + " testClasses")
	k.Suite = k.in(k.Runner + " test --continue")
	return k
}

// javaMethod is the method of a test's name, without a parameterised case's
// number or arguments: "adds(int)[2]" is "adds".
func javaMethod(test string) string {
	if i := strings.IndexAny(test, "([ {"); i > 0 {
		test = test[:i]
	}
	return test
}

// javaNames are the class and methods that the failures name.
func javaNames(failures []session.Failure) (class string, methods []string, ok bool) {
	class = failures[0].Package
	for _, f := range failures {
		m := javaMethod(f.Test)
		if class == "" || m == "" || !javaName(class) || !javaName(m) {
			return "", nil, false
		}
		methods = append(methods, m)
	}
	return class, methods, true
}

// javaName keeps out what Surefire's and Gradle's patterns give a meaning.
func javaName(s string) bool {
	return s != "" && s[0] != '-' && s[0] != '!' && !strings.ContainsAny(s, "*?#,+%[]/\\ \t'\"")
}

func mavenSome(k Kit, failures []session.Failure) (string, bool) {
	class, methods, ok := javaNames(failures)
	if !ok {
		return "", false
	}
	return k.in(k.Runner + flagText(k.Flags) + " test -Dsurefire.failIfNoSpecifiedTests=false -DfailIfNoTests=false -Dtest=" + quoted(class+"#"+strings.Join(methods, "+"))), true
}

func mavenGroup(k Kit, f session.Failure) (string, bool) {
	if !javaName(f.Package) {
		return "", false
	}
	return k.in(k.Runner + flagText(k.Flags) + " test -Dsurefire.failIfNoSpecifiedTests=false -DfailIfNoTests=false -Dtest=" + quoted(f.Package)), true
}

func gradleSome(k Kit, failures []session.Failure) (string, bool) {
	class, methods, ok := javaNames(failures)
	if !ok {
		return "", false
	}
	cmd := k.Runner + " test" + flagText(k.Flags)
	for _, m := range methods {
		cmd += " --tests " + quoted(class+"."+m)
	}
	return k.in(cmd), true
}

func gradleGroup(k Kit, f session.Failure) (string, bool) {
	if !javaName(f.Package) {
		return "", false
	}
	return k.in(k.Runner + " test" + flagText(k.Flags) + " --tests " + quoted(f.Package)), true
}

// javaTestFiles are the failing class's file and the resources of the tests.
func javaTestFiles(_ Kit, f session.Failure, files []string) []string {
	class := f.Package
	if i := strings.IndexByte(class, '$'); i > 0 {
		class = class[:i]
	}
	want := "/" + strings.ReplaceAll(class, ".", "/") + "."
	var out []string
	for _, p := range files {
		if p == f.File && IsTestFile(p) || class != "" && strings.Contains("/"+p, want) && languageOf(p) == "Java" && IsTestFile(p) {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return nil
	}
	if i := strings.Index(out[0], "src/test/"); i >= 0 {
		resources := out[0][:i] + "src/test/resources"
		for _, p := range files {
			if within(resources, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// javaCommand recognises Maven and Gradle, by wrapper or by name.
func javaCommand(name string) func(*tree, invocation) (Kit, bool) {
	return func(t *tree, in invocation) (Kit, bool) {
		ws := in.words
		if ws[0] == "sh" && len(ws) > 1 {
			ws = ws[1:]
		}
		switch base := path.Base(ws[0]); {
		case name == "maven" && (base == "mvn" || base == "mvnw" || base == "mvnd"):
		case name == "gradle" && (base == "gradle" || base == "gradlew"):
		default:
			return Kit{}, false
		}
		tested := false
		k := javaKit(t, name, in.dir)
		for _, w := range ws[1:] {
			switch {
			case w == "test" || w == "verify" || w == "check" || w == "build" || w == "install" || w == "package":
				tested = true
			case strings.HasPrefix(w, "-P") || strings.HasPrefix(w, "-D") && !strings.HasPrefix(w, "-Dtest="):
				k.Flags = append(k.Flags, w)
			}
		}
		k.Env, k.Suite = in.env, in.command
		return k, tested
	}
}
