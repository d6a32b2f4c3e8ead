// Package toolchain knows how projects are built and tested: which languages
// a tree has, which commands set it up and run its tests, how one test is run
// alone, which files carry a test, and what a commit of another age needs
// before it can be tested at all.
//
// It is pure: it reads a tree through fs.FS and answers with command lines for
// a POSIX shell, started in the repository's root. Names of tests, files and
// folders are hostile; each is quoted for the shell and, where a runner takes
// a pattern, escaped for that too. Only a Setup command may need the network.
//
// Each toolchain is one file and one row of the table in toolchains.go. A
// runner is asked to print results by test (-v and the like) so that
// evidence.Judge sees the test by its name.
package toolchain

import (
	"io/fs"
	"path"
	"sort"
	"strings"

	"culprit/internal/session"
)

// Kit is one way to build and test a folder of a repository. All paths are
// relative to the repository's root; all commands are to be run there.
type Kit struct {
	Name      string   `json:"name"`             // "go", "jest", "pytest", "cargo", "maven", …
	Language  string   `json:"language"`         // "Go", "JavaScript", "Python", "Rust", "Java"
	Framework string   `json:"framework"`        // as in session.Failure.Framework
	Root      string   `json:"root"`             // folder, "." for the repository's own
	Setup     string   `json:"setup,omitempty"`  // fetches dependencies; may need the network; "" when there are none
	Suite     string   `json:"suite"`            // runs all tests of Root, naming each
	Module    string   `json:"module,omitempty"` // Go module path, npm or Cargo package name
	Runner    string   `json:"runner,omitempty"` // command that starts the framework: "npx --no-install jest"
	Flags     []string `json:"flags,omitempty"`  // kept from the project's or the user's command
	Env       []string `json:"env,omitempty"`    // "K=V" that the user's command sets
	// Patterns are the packages or files that the user's command names.
	Patterns    []string `json:"patterns,omitempty"`
	Lockfiles   []string `json:"lockfiles,omitempty"`    // go.sum, package-lock.json, …
	ModuleFiles []string `json:"module_files,omitempty"` // go.mod, package.json, …
}

// Detect lists the kits of a tree, best first: those whose folder is nearest
// to the failures in hint, then the outermost, then those with tests. It looks
// at no more than maxEntries entries and passes over dependencies, build
// output and fixtures.
func Detect(tree fs.FS, hint []session.Failure) []Kit {
	s := survey(tree)
	var kits []Kit
	for _, t := range toolchains {
		kits = append(kits, t.detect(s)...)
	}
	near := make(map[string]int, len(kits))
	for _, k := range kits {
		for _, f := range hint {
			near[k.Root+"\x00"+k.Name] = max(near[k.Root+"\x00"+k.Name], k.nearness(f))
		}
	}
	sort.SliceStable(kits, func(i, j int) bool {
		a, b := kits[i], kits[j]
		if na, nb := near[a.Root+"\x00"+a.Name], near[b.Root+"\x00"+b.Name]; na != nb {
			return na > nb
		}
		return depth(a.Root) < depth(b.Root)
	})
	return kits
}

// nearness of the kit to a failure: 0 is unrelated.
func (k Kit) nearness(f session.Failure) int {
	n := 0
	if f.Framework != "" && f.Framework == k.Framework {
		n += 1000
	}
	if f.File != "" && within(k.Root, f.File) {
		n += 10 * (1 + depth(k.Root))
		if languageOf(f.File) == k.Language {
			n += 500
		}
	}
	if k.Module != "" && (f.Package == k.Module || strings.HasPrefix(f.Package, k.Module+"/")) {
		n += 500 + len(k.Module)
	}
	return n
}

// One is the command that runs the failing test alone. ok is false when the
// failure names no test or the framework cannot do it.
func (k Kit) One(f session.Failure) (command string, ok bool) {
	return k.Some([]session.Failure{f})
}

// Some is the command that runs these tests and as few others as possible.
// ok is false when they name no tests, or lie in several packages.
func (k Kit) Some(failures []session.Failure) (command string, ok bool) {
	t := find(k.Name)
	if t == nil || t.some == nil || len(failures) == 0 {
		return "", false
	}
	for _, f := range failures {
		if f.Test == "" || strings.ContainsAny(f.Test, "\x00\n") || f.Package != failures[0].Package {
			return "", false
		}
	}
	return t.some(k, failures)
}

// Group is the command that runs all tests which share a process with the
// failing one: its package or its file. It is what order dependence is looked
// for in.
func (k Kit) Group(f session.Failure) (command string, ok bool) {
	t := find(k.Name)
	if t == nil || t.group == nil {
		return "", false
	}
	return t.group(k, f)
}

// Shuffled is the command with its tests in random order, when the runner can.
func (k Kit) Shuffled(command string) (string, bool) {
	t := find(k.Name)
	if t == nil || t.shuffled == nil {
		return "", false
	}
	return t.shuffled(k, command)
}

// Race is the command with the race detector on, when the runner has one.
func (k Kit) Race(command string) (string, bool) {
	t := find(k.Name)
	if t == nil || t.race == nil {
		return "", false
	}
	return t.race(k, command)
}

// TestFiles picks from the repository's files those that carry the
// reproduction: the failing test's file, what the test framework loads beside
// it, its fixtures. It is empty when the test's file is not known.
func (k Kit) TestFiles(f session.Failure, files []string) []string {
	t := find(k.Name)
	if t == nil || t.testFiles == nil {
		return nil
	}
	return t.testFiles(k, f, files)
}

// At is the kit as another tree of the repository has it: the same folder and
// framework with that tree's own lock files and set-up. A tree without the
// module files that k has gets no set-up: Adapt makes those files from k's,
// which is nearer to k than what a set-up would make from nothing. ok is
// false, and the kit is k itself, when the tree has no such kit.
func (k Kit) At(tree fs.FS) (at Kit, ok bool) {
	for _, other := range Detect(tree, nil) {
		if other.Name == k.Name && other.Root == k.Root {
			other.Flags, other.Env, other.Patterns = k.Flags, k.Env, k.Patterns
			if len(k.Flags)+len(k.Env)+len(k.Patterns) > 0 {
				other.Suite, other.Runner = k.Suite, k.Runner
			}
			if len(other.ModuleFiles) == 0 && len(k.ModuleFiles) > 0 {
				other.Setup = ""
			}
			return other, true
		}
	}
	return k, false
}

// in puts the kit's folder and environment before a command of its runner.
func (k Kit) in(command string) string {
	var b strings.Builder
	if k.Root != "." && k.Root != "" {
		b.WriteString("cd " + Quote(dashSafe(k.Root)) + " && ")
	}
	for _, e := range k.Env {
		name, value, _ := strings.Cut(e, "=")
		b.WriteString(name + "=" + Quote(value) + " ")
	}
	b.WriteString(command)
	return b.String()
}

// rel is a repository path as seen from the kit's folder.
func (k Kit) rel(p string) string {
	if k.Root == "." || k.Root == "" {
		return p
	}
	if r, ok := strings.CutPrefix(p, k.Root+"/"); ok {
		return r
	}
	if p == k.Root {
		return "."
	}
	return p
}

// within reports whether file lies in dir.
func within(dir, file string) bool {
	return dir == "." || dir == "" || strings.HasPrefix(file, dir+"/")
}

func depth(dir string) int {
	if dir == "." || dir == "" {
		return 0
	}
	return 1 + strings.Count(dir, "/")
}

func languageOf(file string) string {
	switch path.Ext(file) {
	case ".go":
		return "Go"
	case ".js", ".ts", ".jsx", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte":
		return "JavaScript"
	case ".py":
		return "Python"
	case ".rs":
		return "Rust"
	case ".java", ".kt", ".kts", ".groovy", ".scala":
		return "Java"
	}
	return ""
}
