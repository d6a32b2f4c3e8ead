package toolchain

import (
	"path"
	"strings"

	"culprit/internal/session"
)

var rustToolchain = toolchain{
	names: []string{"cargo"}, detect: detectRust, some: rustSome, group: rustGroup, testFiles: rustTestFiles, command: rustCommand,
}

// detectRust finds one kit per workspace or lone crate: a member's tests are
// run from the workspace.
func detectRust(t *tree) []Kit {
	var kits []Kit
	for _, dir := range t.byName["Cargo.toml"] {
		member := false
		for _, k := range kits {
			member = member || within(k.Root, dir) && strings.Contains(t.read(path.Join(k.Root, "Cargo.toml")), "[workspace]")
		}
		if !member {
			kits = append(kits, rustKit(t, dir))
		}
	}
	return kits
}

func rustKit(t *tree, dir string) Kit {
	manifest := path.Join(dir, "Cargo.toml")
	k := Kit{Name: "cargo", Language: "Rust", Framework: "cargo test", Root: dir, Runner: "cargo test", ModuleFiles: []string{manifest}}
	text := t.read(manifest)
	k.Module = tomlName(text)
	locked := ""
	if p := path.Join(dir, "Cargo.lock"); t.has(p) {
		k.Lockfiles, locked = []string{p}, " --locked"
	}
	if strings.Contains(text, "dependencies") {
		k.Setup = k.in("cargo fetch" + locked)
	}
	if strings.Contains(text, "[workspace]") {
		k.Flags = []string{"--workspace"}
	}
	k.Suite = k.in("cargo test --no-fail-fast" + flagText(k.Flags))
	return k
}

// tomlName is the name in the [package] table.
func tomlName(text string) string {
	table := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			table = line
			continue
		}
		if key, value, ok := strings.Cut(line, "="); ok && table == "[package]" && strings.TrimSpace(key) == "name" {
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return ""
}

// rustSome runs tests by their exact names in all of the crate's binaries:
// those without the test run none.
func rustSome(k Kit, failures []session.Failure) (string, bool) {
	var names []string
	for _, f := range failures {
		if strings.HasPrefix(f.Test, "-") {
			return "", false
		}
		// A documentation test is asked for by its item: its line moves.
		if item, _, isDoc := strings.Cut(f.Test, " (line "); isDoc && strings.Contains(item, " - ") {
			return k.in("cargo test --no-fail-fast" + flagText(k.Flags) + " --doc -- " + quoted(item)), len(failures) == 1
		}
		names = append(names, quoted(f.Test))
	}
	return k.in("cargo test --no-fail-fast" + flagText(k.Flags) + " -- --exact " + strings.Join(names, " ")), true
}

func rustGroup(k Kit, f session.Failure) (string, bool) {
	return k.in("cargo test --no-fail-fast" + flagText(k.Flags)), true
}

// rustTestFiles are integration tests, and what they share; a unit test lies
// in the code itself and cannot travel without it.
func rustTestFiles(k Kit, f session.Failure, files []string) []string {
	if !within(path.Join(k.Root, "tests"), f.File) && !strings.Contains(f.File, "/tests/") {
		return nil
	}
	var out []string
	dir := path.Dir(f.File)
	for _, p := range files {
		if p == f.File || within(path.Join(dir, "common"), p) || within(path.Join(dir, "data"), p) || within(path.Join(dir, "fixtures"), p) {
			out = append(out, p)
		}
	}
	return out
}

// rustKept are cargo test's flags that change what is built.
var rustKept = map[string]bool{"--features": true, "-F": true, "--all-features": false, "--no-default-features": false, "--workspace": false, "--all": false, "-p": true, "--package": true, "--release": false, "-r": false, "--locked": false, "--offline": false, "--profile": true, "--manifest-path": true, "--target": true, "--all-targets": false}

func rustCommand(t *tree, in invocation) (Kit, bool) {
	ws := in.words
	if ws[0] != "cargo" || len(ws) < 2 {
		return Kit{}, false
	}
	args := ws[1:]
	if strings.HasPrefix(args[0], "+") {
		args = args[1:]
	}
	if len(args) == 0 || args[0] != "test" && args[0] != "t" {
		return Kit{}, false
	}
	k := rustKit(t, in.dir)
	k.Flags, k.Env, k.Suite = nil, in.env, in.command
	if !t.has(k.ModuleFiles[0]) {
		k.ModuleFiles, k.Setup = nil, ""
	}
	for i := 1; i < len(args) && args[i] != "--"; i++ {
		name, _, hasValue := strings.Cut(args[i], "=")
		value, kept := rustKept[name]
		switch {
		case kept:
			k.Flags = append(k.Flags, args[i])
			if value && !hasValue && i+1 < len(args) {
				i++
				k.Flags = append(k.Flags, args[i])
			}
		case !strings.HasPrefix(args[i], "-"):
			k.Patterns = append(k.Patterns, args[i])
		}
	}
	return k, true
}
