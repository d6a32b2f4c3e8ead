package toolchain

import (
	"encoding/json"
	"path"
	"strings"

	"culprit/internal/session"
)

var nodeToolchain = toolchain{
	names: []string{"jest", "vitest", "mocha", "node:test"}, detect: detectNode, some: nodeSome, group: nodeGroup,
	shuffled: nodeShuffled, testFiles: nodeTestFiles, command: nodeCommand, adapt: adaptNode,
}

type packageJSON struct {
	Name            string            `json:"name"`
	Scripts         map[string]string `json:"scripts"`
	Dependencies    map[string]string `json:"dependencies"`
	DevDependencies map[string]string `json:"devDependencies"`
	PackageManager  string            `json:"packageManager"`
}

func (p packageJSON) depends(name string) bool {
	_, dev := p.DevDependencies[name]
	_, dep := p.Dependencies[name]
	return dev || dep
}

func readPackage(t *tree, dir string) packageJSON {
	var p packageJSON
	_ = json.Unmarshal([]byte(t.read(path.Join(dir, "package.json"))), &p) // broken: a package without scripts
	return p
}

// nodeFramework chooses the runner: the one that the test script starts, else
// the one that is depended upon, else Node's own when there are test files.
func nodeFramework(t *tree, dir string, p packageJSON) (name string, flags, env []string) {
	script := p.Scripts["test"]
	for range 3 { // "npm run test:unit" leads to another script
		ws, ok := words(script)
		if !ok {
			break
		}
		for _, cmd := range splitCommands(ws) {
			if name, flags, env = scriptFramework(cmd); name != "" {
				return name, flags, env
			}
		}
		next := ""
		for _, cmd := range splitCommands(ws) {
			if n := scriptName(cmd); n != "" && next == "" && p.Scripts[n] != script {
				next = p.Scripts[n]
			}
		}
		if next == "" {
			break
		}
		script = next
	}
	root, _ := t.up(dir, "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "pnpm-workspace.yaml")
	above := readPackage(t, path.Dir(root))
	for _, n := range [...]string{"vitest", "jest", "mocha"} {
		if p.depends(n) || root != "" && above.depends(n) {
			return n, nil, nil
		}
	}
	for _, f := range t.under(dir) {
		if languageOf(f) == "JavaScript" && IsTestFile(f) && strings.Contains(t.read(f), "node:test") {
			return "node:test", nil, nil
		}
	}
	return "", nil, nil
}

// splitCommands cuts a script at &&, || and ;.
func splitCommands(ws []word) [][]string {
	var out [][]string
	var cur []string
	for _, w := range ws {
		if w.op {
			out = append(out, cur)
			cur = nil
			continue
		}
		cur = append(cur, w.text)
	}
	return append(out, cur)
}

// scriptName is the script that "npm run x", "npm test" or "yarn x" starts.
func scriptName(cmd []string) string {
	if len(cmd) < 2 {
		return ""
	}
	switch cmd[0] {
	case "npm", "pnpm", "yarn", "bun":
	default:
		return ""
	}
	for _, w := range cmd[1:] {
		switch {
		case w == "run" || w == "run-script" || strings.HasPrefix(w, "-"):
		case w == "t" || w == "tst":
			return "test"
		default:
			return w
		}
	}
	return ""
}

// wrappers start another program that follows.
var wrappers = map[string]bool{"npx": true, "cross-env": true, "c8": true, "nyc": true, "exec": true, "dotenv": true, "pnpm": true, "yarn": true, "bunx": true, "npm": true, "dlx": true}

// scriptFramework finds the runner in one command of a script.
func scriptFramework(cmd []string) (name string, flags, env []string) {
	for i, w := range cmd {
		if isAssignment(w) {
			env = append(env, w)
			continue
		}
		base := path.Base(w)
		base = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(base, ".js"), ".mjs"), ".cjs")
		switch base {
		case "jest", "vitest", "mocha", "_mocha":
			return strings.TrimPrefix(base, "_"), keptFlags(strings.TrimPrefix(base, "_"), cmd[i+1:]), env
		case "react-scripts", "npm-run-all", "run-s", "run-p":
			return "", nil, nil
		case "node", "tsx":
			if rest := cmd[i+1:]; contains(rest, "--test") {
				return "node:test", keptFlags("node:test", rest), env
			}
			continue
		}
		if !wrappers[base] && !strings.HasPrefix(w, "-") && i == 0 {
			return "", nil, nil
		}
	}
	return "", nil, nil
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// nodeValueFlags are flags of the runners that change what is tested, and
// take a value: all others are dropped, for they choose tests or reporters.
var nodeKept = map[string]map[string]bool{ // flag → takes a value
	"jest":      {"--config": true, "-c": true, "--env": true, "--testEnvironment": true, "--rootDir": true, "--preset": true, "--runInBand": false, "-i": false, "--setupFilesAfterEnv": true, "--selectProjects": true, "--projects": true, "--forceExit": false, "--experimental-vm-modules": false},
	"vitest":    {"--config": true, "-c": true, "--root": true, "-r": true, "--dir": true, "--environment": true, "--globals": false, "--mode": true, "--pool": true, "--project": true, "--no-isolate": false},
	"mocha":     {"--require": true, "-r": true, "--config": true, "--ui": true, "-u": true, "--timeout": true, "-t": true, "--extension": true, "--loader": true, "--import": true, "--opts": true, "--package": true, "--file": true, "--exit": false, "--check-leaks": false, "--experimental-specifier-resolution": true},
	"node:test": {"--import": true, "--require": true, "-r": true, "--loader": true, "--experimental-loader": true, "--conditions": true, "-C": true, "--env-file": true, "--enable-source-maps": false, "--experimental-strip-types": false, "--experimental-test-module-mocks": false, "--experimental-vm-modules": false},
}

func keptFlags(framework string, args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		name, _, hasValue := strings.Cut(args[i], "=")
		value, known := nodeKept[framework][name]
		if !known {
			continue
		}
		out = append(out, args[i])
		if value && !hasValue && i+1 < len(args) {
			i++
			out = append(out, args[i])
		}
	}
	return out
}

func detectNode(t *tree) []Kit {
	var kits []Kit
	for _, dir := range t.byName["package.json"] {
		if k, ok := nodeKit(t, dir); ok {
			kits = append(kits, k)
		}
	}
	return kits
}

func nodeKit(t *tree, dir string) (Kit, bool) {
	p := readPackage(t, dir)
	name, flags, env := nodeFramework(t, dir, p)
	if name == "" {
		return Kit{}, false
	}
	k := Kit{Name: name, Language: "JavaScript", Framework: name, Root: dir, Module: p.Name, Flags: flags, Env: env, ModuleFiles: []string{path.Join(dir, "package.json")}}
	k.manage(t, p)
	k.Suite = k.in(k.Runner + nodeReporter(name) + flagText(flags))
	return k, true
}

// manage finds the package manager by its lock file, in the kit's folder or
// above it in a workspace, and from it the set-up and how programs of the
// dependencies are started.
func (k *Kit) manage(t *tree, p packageJSON) {
	lock, ok := t.up(k.Root, "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml")
	install, exec, home := "npm install --no-audit --no-fund", "npx --no-install ", k.Root
	if ok {
		k.Lockfiles, home = []string{lock}, path.Dir(lock)
		switch path.Base(lock) {
		case "yarn.lock":
			install, exec = "yarn install --frozen-lockfile", "yarn run "
			if t.has(path.Join(home, ".yarnrc.yml")) {
				install = "yarn install --immutable"
			}
		case "pnpm-lock.yaml":
			install, exec = "pnpm install --frozen-lockfile", "pnpm exec "
		default:
			install = "npm ci --no-audit --no-fund"
		}
	} else {
		switch manager, _, _ := strings.Cut(p.PackageManager, "@"); manager {
		case "yarn":
			install, exec = "yarn install", "yarn run "
		case "pnpm":
			install, exec = "pnpm install", "pnpm exec "
		}
	}
	if len(p.Dependencies)+len(p.DevDependencies) > 0 || ok && home != k.Root {
		k.Setup = Kit{Root: home}.in(install)
	}
	if k.Runner = exec + k.Name; k.Name == "node:test" {
		k.Runner = "node --test"
	}
}

func nodeReporter(name string) string {
	switch name {
	case "jest":
		return " --ci --verbose"
	case "vitest":
		return " run --reporter=verbose"
	case "mocha":
		return " --reporter spec"
	}
	return " --test-reporter=spec"
}

func flagText(flags []string) string {
	if len(flags) == 0 {
		return ""
	}
	return " " + quoteAll(flags)
}

// nodeSome runs tests of one file by their full names.
func nodeSome(k Kit, failures []session.Failure) (string, bool) {
	file := k.nodeFile(failures[0])
	if file == "" && k.Name == "node:test" && len(k.Patterns) == 0 {
		return "", false
	}
	cmd := k.Runner + nodeReporter(k.Name) + flagText(k.Flags)
	var names []string
	for _, f := range failures {
		// A hook runs with the tests of its suite, and has no name of its own.
		if i := hookName(f.Test); i >= 0 && k.Name == "mocha" {
			names = append(names, jsPattern(f.Test[:i])+".*")
			continue
		}
		names = append(names, k.nodePattern(f.Test))
	}
	pattern := names[0]
	if len(names) > 1 {
		pattern = "(" + strings.Join(names, "|") + ")"
	}
	target := ""
	if file != "" {
		target = " " + Quote(dashSafe(file))
	} else if len(k.Patterns) > 0 {
		target = " " + quoteAll(k.Patterns)
	}
	switch k.Name {
	case "jest":
		if file != "" {
			target = " --runTestsByPath" + target
		}
		// The file before -t: --runTestsByPath takes all words that follow it.
		return k.in(cmd + " -t " + quoted("^"+pattern+"$") + target), true
	case "vitest":
		return k.in(cmd + " -t " + quoted("^"+pattern+"$") + target), true
	case "mocha":
		return k.in(cmd + " --grep " + quoted("^"+pattern+"$") + target), true
	}
	// Node matches each level's own name: the innermost is asked for, and
	// those around it, or they would not be entered.
	seen := map[string]bool{}
	for _, f := range failures {
		for _, part := range strings.Split(f.Test, " > ") {
			if !seen[part] {
				seen[part] = true
				cmd += " --test-name-pattern=" + quoted("/^"+jsPattern(part)+"$/")
			}
		}
	}
	return k.in(cmd + target), true
}

// hookName is where Mocha's name of a hook begins in a title; -1 when there is
// none: `suite "before all" hook for "test"`.
func hookName(title string) int {
	for _, h := range [...]string{`"before all" hook`, `"before each" hook`, `"after each" hook`, `"after all" hook`} {
		if i := strings.LastIndex(title, h); i >= 0 {
			return i
		}
	}
	return -1
}

// nodePattern is the pattern of a test's full name, whose parts the runner
// joins with a blank.
func (k Kit) nodePattern(test string) string {
	for _, sep := range [...]string{" › ", " > "} {
		test = strings.ReplaceAll(test, sep, " ")
	}
	return jsPattern(test)
}

// nodeFile is the test's file as seen from the kit's folder.
func (k Kit) nodeFile(f session.Failure) string {
	for _, p := range [...]string{f.Package, f.File} {
		if languageOf(p) == "JavaScript" && IsTestFile(p) {
			return k.rel(p)
		}
	}
	if languageOf(f.Package) == "JavaScript" {
		return k.rel(f.Package)
	}
	if languageOf(f.File) == "JavaScript" && k.Name != "jest" && k.Name != "vitest" {
		return k.rel(f.File)
	}
	return ""
}

func nodeGroup(k Kit, f session.Failure) (string, bool) {
	file := k.nodeFile(f)
	if file == "" {
		return "", false
	}
	cmd := k.Runner + nodeReporter(k.Name) + flagText(k.Flags)
	if k.Name == "jest" {
		cmd += " --runTestsByPath"
	}
	return k.in(cmd + " " + Quote(dashSafe(file))), true
}

func nodeShuffled(k Kit, command string) (string, bool) {
	switch k.Name {
	case "jest":
		return strings.Replace(command, " --ci ", " --ci --randomize ", 1), strings.Contains(command, " --ci ")
	case "vitest":
		return strings.Replace(command, "vitest run", "vitest run --sequence.shuffle", 1), strings.Contains(command, "vitest run")
	}
	return "", false
}

// nodeTestFiles are the test's file, its snapshots, and the fixtures and
// mocks beside it.
func nodeTestFiles(k Kit, f session.Failure, files []string) []string {
	test := ""
	for _, p := range [...]string{f.File, f.Package, path.Join(k.Root, f.Package)} {
		if languageOf(p) == "JavaScript" && contains(files, p) && (IsTestFile(p) || k.Name == "mocha" || k.Name == "node:test") {
			test = p
			break
		}
	}
	if test == "" {
		return nil
	}
	out, dir := []string{test}, path.Dir(test)
	for _, p := range files {
		if p == path.Join(dir, "__snapshots__", path.Base(test)+".snap") || within(path.Join(dir, "__fixtures__"), p) || within(path.Join(dir, "fixtures"), p) ||
			within(path.Join(dir, "__mocks__"), p) {
			out = append(out, p)
		}
	}
	return out
}

// nodeCommand recognises "npm test", "npx vitest run x", "node --test x", and
// their like with the other package managers.
func nodeCommand(t *tree, in invocation) (Kit, bool) {
	base := path.Base(in.words[0])
	switch base {
	case "npm", "pnpm", "yarn", "bun", "npx", "bunx", "node", "tsx", "jest", "vitest", "mocha", "cross-env":
	default:
		return Kit{}, false
	}
	file, ok := t.up(in.dir, "package.json")
	dir := in.dir
	if ok {
		dir = path.Dir(file)
	} else if base != "node" && base != "npx" {
		return Kit{}, false
	}
	var k Kit
	name, flags, env := scriptFramework(in.words)
	if name == "" {
		p := readPackage(t, dir)
		script := scriptName(in.words)
		if script == "" || p.Scripts[script] == "" {
			return Kit{}, false
		}
		p.Scripts["test"] = p.Scripts[script]
		if name, flags, env = nodeFramework(t, dir, p); name == "" {
			return Kit{}, false
		}
	} else {
		dir = in.dir
		k.Patterns = positional(name, in.words)
	}
	k.Name, k.Language, k.Framework, k.Root = name, "JavaScript", name, dir
	k.Flags, k.Env = flags, append(append([]string(nil), in.env...), env...)
	p := readPackage(t, dir)
	k.Module = p.Name
	if ok {
		k.ModuleFiles = []string{file}
	}
	k.manage(t, p)
	k.Suite = in.command
	return k, true
}

// positional are the files and patterns behind the runner's own name.
func positional(framework string, cmd []string) []string {
	start := 0
	for i, w := range cmd {
		if b := path.Base(w); b == framework || b == "_"+framework || framework == "node:test" && w == "--test" {
			start = i + 1
			break
		}
	}
	var out []string
	for i := start; i < len(cmd); i++ {
		switch w := cmd[i]; {
		case w == "--":
		case strings.HasPrefix(w, "-"):
			name, _, hasValue := strings.Cut(w, "=")
			if takes, known := nodeKept[framework][name]; !hasValue && (known && takes || name == "-t" || name == "--grep" || name == "-g" || name == "--testNamePattern" || name == "--reporter") {
				i++
			}
		case framework == "vitest" && (w == "run" || w == "watch"):
		default:
			out = append(out, w)
		}
	}
	return out
}

// adaptNode: a commit without the kit's package.json has nothing that could
// be installed; one with its own lock file is set up from that (Kit.At).
func adaptNode(*tree, *tree, Kit) ([]session.Edit, string, bool) { return nil, "", false }
