package toolchain

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"

	"culprit/internal/session"
)

var goToolchain = toolchain{
	names: []string{"go"}, detect: detectGo, some: goSome, group: goGroup,
	shuffled: goShuffled, race: goRace, cover: goCover, testFiles: goTestFiles, command: goCommand, adapt: adaptGo,
}

// detectGo finds one kit per module, and one for a tree of Go files without
// any, as all were before modules: its set-up makes the module file.
func detectGo(t *tree) []Kit {
	var kits []Kit
	for _, dir := range t.byName["go.mod"] {
		if within("vendor", dir) || strings.Contains(dir, "/vendor/") {
			continue
		}
		mod := parseGoMod(t.read(path.Join(dir, "go.mod")))
		k := Kit{Name: "go", Language: "Go", Framework: "go test", Root: dir, Module: mod.module, ModuleFiles: []string{path.Join(dir, "go.mod")}}
		if p := path.Join(dir, "go.sum"); t.has(p) {
			k.Lockfiles = []string{p}
		}
		if len(mod.requires) > 0 && !t.has(path.Join(dir, "vendor/modules.txt")) {
			k.Setup = k.in("go mod download")
		}
		k.Suite = k.in("go test -count=1 -v ./...")
		kits = append(kits, k)
	}
	if len(kits) == 0 {
		for _, f := range t.files {
			if strings.HasSuffix(f, "_test.go") && !within("vendor", f) {
				k := Kit{Name: "go", Language: "Go", Framework: "go test", Root: ".", Module: guessModule(t)}
				k.Setup = goModInit(t, k)
				k.Suite = k.in("go test -count=1 -v ./...")
				return []Kit{k}
			}
		}
	}
	return kits
}

// goSome runs tests of one package, subtests by the path of their names.
func goSome(k Kit, failures []session.Failure) (string, bool) {
	dir, ok := k.goPackage(failures[0])
	if !ok {
		return "", false
	}
	var names []string
	for _, f := range failures {
		names = append(names, f.Test)
	}
	// A named test is what is looked for: vet has its own command, and what it
	// finds elsewhere must not keep an older commit from being tested.
	flags := "-count=1 -v -vet=off " + k.goFlags()
	if strings.HasPrefix(names[0], "Benchmark") {
		return k.in("go test " + flags + "-run '^$' -bench " + quoted(goPattern(names)) + " " + dir), true
	}
	return k.in("go test " + flags + "-run " + quoted(goPattern(names)) + " " + dir), true
}

func goGroup(k Kit, f session.Failure) (string, bool) {
	dir, ok := k.goPackage(f)
	if !ok {
		return "", false
	}
	return k.in("go test -count=1 -v " + k.goFlags() + dir), true
}

func (k Kit) goFlags() string {
	if len(k.Flags) == 0 {
		return ""
	}
	return quoteAll(k.Flags) + " "
}

// goPattern is the -run pattern for these tests: one anchored expression per
// level of subtests, down to the level that all of them have. The go command
// splits it at slashes as it splits the names.
func goPattern(names []string) string {
	levels := -1
	for _, n := range names {
		if c := strings.Count(n, "/") + 1; levels < 0 || c < levels {
			levels = c
		}
	}
	var out []string
	for i := range levels {
		var alts []string
		seen := map[string]bool{}
		for _, n := range names {
			part := strings.Split(n, "/")[i]
			if !seen[part] {
				seen[part] = true
				alts = append(alts, regexp.QuoteMeta(part))
			}
		}
		if len(alts) == 1 {
			out = append(out, "^"+alts[0]+"$")
		} else {
			out = append(out, "^("+strings.Join(alts, "|")+")$")
		}
	}
	return strings.Join(out, "/")
}

// goPackage is the failure's package as an argument of go test in the kit's
// folder: "./x/y" by the module's path, or by the failing file's folder.
func (k Kit) goPackage(f session.Failure) (string, bool) {
	pkg := strings.TrimSuffix(f.Package, "_test")
	switch {
	case k.Module != "" && pkg == k.Module:
		return ".", true
	case k.Module != "" && strings.HasPrefix(pkg, k.Module+"/"):
		return Quote("./" + pkg[len(k.Module)+1:]), true
	case strings.HasSuffix(f.File, "_test.go") && strings.Contains(f.File, "/"):
		return Quote(dotted(path.Dir(k.rel(f.File)))), true
	case pkg == "." || strings.HasPrefix(pkg, "./"):
		return Quote(pkg), true
	case pkg == "" && f.File != "" && path.Ext(f.File) == ".go":
		return Quote(dotted(path.Dir(k.rel(f.File)))), true
	case pkg == "" && len(k.Patterns) > 0:
		return quoteAll(k.Patterns), true
	case pkg == "":
		return "./...", true
	}
	if strings.HasPrefix(pkg, "-") {
		return "", false
	}
	return Quote(pkg), true
}

func dotted(dir string) string {
	if dir == "." {
		return "."
	}
	return "./" + dir
}

func goShuffled(_ Kit, command string) (string, bool) {
	return goInsert(command, "-shuffle=on")
}

func goRace(_ Kit, command string) (string, bool) {
	if strings.Contains(command, " -race ") {
		return command, true
	}
	return goInsert(command, "-race")
}

func goInsert(command, flag string) (string, bool) {
	i := strings.Index(command, "go test")
	if i < 0 || i > 0 && !strings.ContainsRune(" \t;&(", rune(command[i-1])) {
		return "", false
	}
	at := i + len("go test")
	if at < len(command) && command[at] != ' ' {
		return "", false
	}
	return command[:at] + " " + flag + command[at:], true
}

// goTestFiles are all test files of the failing package, which the compiler
// takes together, and its testdata.
func goTestFiles(k Kit, f session.Failure, files []string) []string {
	dir := ""
	switch {
	case strings.HasSuffix(f.File, "_test.go"):
		dir = path.Dir(f.File)
	case k.Module != "" && (f.Package == k.Module || strings.HasPrefix(f.Package, k.Module+"/")):
		dir = path.Join(k.Root, strings.TrimPrefix(strings.TrimPrefix(f.Package, k.Module), "/"))
	default:
		return nil
	}
	var out []string
	for _, p := range files {
		d := path.Dir(p)
		if d == dir && strings.HasSuffix(p, "_test.go") || d == path.Join(dir, "testdata") || within(path.Join(dir, "testdata"), p) {
			out = append(out, p)
		}
	}
	// The failing test's own file leads.
	sort.SliceStable(out, func(i, j int) bool { return out[i] == f.File && out[j] != f.File })
	return out
}

// goValueFlags are the flags of go test that take the next word as value.
var goValueFlags = map[string]bool{
	"run": true, "skip": true, "bench": true, "benchtime": true, "count": true, "cpu": true, "parallel": true, "timeout": true, "tags": true, "mod": true, "modfile": true,
	"ldflags": true, "gcflags": true, "asmflags": true, "coverprofile": true, "covermode": true, "coverpkg": true, "o": true, "exec": true, "shuffle": true, "fuzz": true,
	"fuzztime": true, "p": true, "vet": true, "overlay": true, "outputdir": true, "cpuprofile": true, "memprofile": true, "C": true, "pkgdir": true, "buildmode": true, "list": true, "trace": true,
}

// goDropped are flags that One sets itself, or that change what is printed.
var goDropped = map[string]bool{
	"run": true, "skip": true, "bench": true, "benchtime": true, "count": true, "v": true, "json": true, "shuffle": true, "failfast": true, "list": true, "fuzz": true, "fuzztime": true, "C": true,
	"coverprofile": true, "covermode": true, "coverpkg": true, "cover": true, "o": true, "c": true, "outputdir": true, "cpuprofile": true, "memprofile": true, "trace": true,
}

// goVerbose are the flags by which go test names every test.
var goVerbose = map[string]bool{"-v": true, "--v": true, "-v=true": true, "-test.v": true, "-json": true, "--json": true}

// goCommand recognises "go test [flags] [packages]".
func goCommand(t *tree, in invocation) (Kit, bool) {
	if len(in.words) < 2 || in.words[0] != "go" || in.words[1] != "test" {
		return Kit{}, false
	}
	k := Kit{Name: "go", Language: "Go", Framework: "go test", Root: in.dir, Env: in.env, Suite: in.command}
	// Without -v the output names the tests that fail and not those that pass.
	if verbose, ok := goInsert(in.command, "-v"); ok && !slices.ContainsFunc(in.words, func(w string) bool { return goVerbose[w] }) {
		k.Suite = verbose
	}
	args := in.words[2:]
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "-args" || a == "--args" {
			break
		}
		if !strings.HasPrefix(a, "-") {
			k.Patterns = append(k.Patterns, a)
			continue
		}
		name, _, hasValue := strings.Cut(strings.TrimPrefix(strings.TrimLeft(a, "-"), "test."), "=")
		kept := []string{a}
		if !hasValue && goValueFlags[name] && i+1 < len(args) {
			i++
			kept = append(kept, args[i])
		}
		if name == "C" && len(kept) == 2 {
			if path.IsAbs(kept[1]) {
				return Kit{}, false
			}
			k.Root = path.Join(k.Root, kept[1])
		}
		if !goDropped[name] {
			k.Flags = append(k.Flags, kept...)
		}
	}
	if !fs.ValidPath(k.Root) {
		return Kit{}, false
	}
	if file, ok := t.up(k.Root, "go.mod"); ok {
		mod := parseGoMod(t.read(file))
		k.Module, k.ModuleFiles = mod.module, []string{file}
		if rel := strings.TrimPrefix(strings.TrimPrefix(k.Root, path.Dir(file)), "/"); path.Dir(file) != k.Root && rel != "." && rel != "" {
			k.Module = path.Join(mod.module, strings.TrimPrefix(k.Root, strings.TrimSuffix(path.Dir(file), ".")))
		}
		dir := path.Dir(file)
		if sum := path.Join(dir, "go.sum"); t.has(sum) {
			k.Lockfiles = []string{sum}
		}
		if len(mod.requires) > 0 && !t.has(path.Join(dir, "vendor/modules.txt")) {
			k.Setup = Kit{Root: k.Root}.in("go mod download")
		}
	} else {
		k.Module = guessModule(t)
		k.Setup = goModInit(t, Kit{Root: k.Root, Module: k.Module})
	}
	return k, true
}
