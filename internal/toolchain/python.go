package toolchain

import (
	"path"
	"strings"

	"culprit/internal/session"
)

var pythonToolchain = toolchain{
	names: []string{"pytest", "unittest"}, detect: detectPython, some: pythonSome, group: pythonGroup,
	shuffled: pythonShuffled, testFiles: pythonTestFiles, command: pythonCommand,
}

// pythonRoots are the files that make a folder a Python project.
var pythonRoots = [...]string{"pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "pytest.ini", "requirements.txt", "Pipfile"}

func detectPython(t *tree) []Kit {
	var kits []Kit
	seen := map[string]bool{}
	for _, name := range pythonRoots {
		for _, dir := range t.byName[name] {
			if seen[dir] {
				continue
			}
			seen[dir] = true
			if k, ok := pythonKit(t, dir); ok {
				kits = append(kits, k)
			}
		}
	}
	if len(kits) == 0 {
		if k, ok := pythonKit(t, "."); ok {
			kits = append(kits, k)
		}
	}
	return kits
}

// pythonKit chooses pytest when the project speaks of it, and unittest, which
// every Python has, when only that is used.
func pythonKit(t *tree, dir string) (Kit, bool) {
	k := Kit{Language: "Python", Root: dir}
	tests := 0
	pytest := t.has(path.Join(dir, "pytest.ini")) || t.has(path.Join(dir, "conftest.py"))
	for _, name := range pythonRoots {
		if p := path.Join(dir, name); t.has(p) {
			k.ModuleFiles = append(k.ModuleFiles, p)
			pytest = pytest || strings.Contains(t.read(p), "pytest")
		}
	}
	for _, f := range t.under(dir) {
		base := path.Base(f)
		if strings.HasPrefix(base, "requirements") && strings.HasSuffix(base, ".txt") && strings.Contains(t.read(f), "pytest") {
			pytest = true
		}
		if languageOf(f) != "Python" || !IsTestFile(f) {
			continue
		}
		if tests++; tests <= 200 && !pytest {
			src := t.read(f)
			pytest = base == "conftest.py" || strings.Contains(src, "import pytest") || strings.Contains(src, "\ndef test_")
		}
	}
	if tests == 0 {
		return k, false
	}
	k.Name = "unittest"
	if pytest {
		k.Name = "pytest"
	}
	k.equip(t)
	return k, true
}

// equip fills in the set-up and the commands.
func (k *Kit) equip(t *tree) {
	k.Framework = k.Name
	for _, name := range [...]string{"poetry.lock", "uv.lock", "Pipfile.lock", "pdm.lock"} {
		if p := path.Join(k.Root, name); t.has(p) {
			k.Lockfiles = append(k.Lockfiles, p)
		}
	}
	python := "python3"
	if install := pythonInstall(t, k.Root); len(install) > 0 {
		// A virtual environment of its own: the system's is not to be written
		// to (PEP 668), but what it has is used.
		k.Setup = Kit{Root: k.Root}.in("python3 -m venv --system-site-packages .venv && .venv/bin/python -m pip install -q " + strings.Join(install, " "))
		python = ".venv/bin/python"
	}
	if t.has(path.Join(k.Root, "src")) || len(t.under(path.Join(k.Root, "src"))) > 0 {
		k.Env = []string{"PYTHONPATH=src"}
	}
	k.Runner = python + " -m " + k.Name
	if k.Name == "pytest" {
		k.Suite = k.in(k.Runner + pytestFlags)
	} else {
		k.Suite = k.in(k.Runner + " discover -v" + startFolder(t, k.Root))
	}
}

// pytestFlags name each test and keep the report plain.
const pytestFlags = " -v --color=no -p no:cacheprovider"

// startFolder is where discovery must start when tests lie in a folder that
// is no package.
func startFolder(t *tree, root string) string {
	for _, dir := range [...]string{"tests", "test"} {
		p := path.Join(root, dir)
		if len(t.dirs[p]) > 0 && !t.has(path.Join(p, "__init__.py")) {
			return " -s " + dir
		}
	}
	return ""
}

// pythonInstall is what pip must install: requirement files, and the project
// itself when it declares dependencies.
func pythonInstall(t *tree, dir string) []string {
	var out []string
	for _, name := range t.dirs[dir] {
		if strings.HasPrefix(name, "requirements") && strings.HasSuffix(name, ".txt") && hasRequirement(t.read(path.Join(dir, name))) {
			out = append(out, "-r "+Quote(dashSafe(name)))
		}
	}
	project := t.read(path.Join(dir, "pyproject.toml")) + t.read(path.Join(dir, "setup.cfg")) + t.read(path.Join(dir, "setup.py"))
	if strings.Contains(project, "install_requires") || strings.Contains(project, "\ndependencies = [\n") || strings.Contains(project, "\ndependencies = [\"") || strings.Contains(project, "[tool.poetry.dependencies]") {
		out = append(out, "-e .")
	}
	return out
}

func hasRequirement(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return true
		}
	}
	return false
}

func pythonSome(k Kit, failures []session.Failure) (string, bool) {
	if k.Name == "pytest" {
		var ids []string
		for _, f := range failures {
			ids = append(ids, Quote(dashSafe(k.nodeID(f))))
		}
		return k.in(k.Runner + pytestFlags + flagText(k.Flags) + " " + strings.Join(ids, " ")), true
	}
	// Discovery finds a module the way it was found before; a dotted name
	// works only when the folders around it are packages.
	f := failures[0]
	dir, file := k.unittestFile(f)
	var names []string
	for _, f := range failures {
		name := f.Test
		for _, hook := range [...]string{".setUpClass", ".tearDownClass", ".setUpModule", ".tearDownModule"} {
			name = strings.TrimSuffix(name, hook) // run by running what it prepares
		}
		if f.Package != "" {
			name = f.Package + "." + f.Test
		}
		if strings.HasPrefix(name, "-") || strings.ContainsAny(name, " \t") {
			return "", false
		}
		names = append(names, name)
	}
	if dir == "" {
		return k.in(k.Runner + " -v " + quoteAll(names)), true
	}
	cmd := k.Runner + " discover -v -s " + Quote(dashSafe(dir)) + " -p " + Quote(dashSafe(file))
	for _, n := range names {
		parts := strings.Split(n, ".")
		cmd += " -k " + quoted("*"+strings.Join(parts[max(0, len(parts)-2):], "."))
	}
	return k.in(cmd), true
}

// nodeID is pytest's ID of the test, its file seen from the kit's folder.
func (k Kit) nodeID(f session.Failure) string {
	file, rest, ok := strings.Cut(f.Test, "::")
	if !ok {
		if f.File != "" {
			return k.rel(f.File) + "::" + f.Test
		}
		return f.Test
	}
	if f.File != "" && strings.HasSuffix(f.File, "/"+path.Base(file)) || f.File == file {
		file = f.File
	}
	return k.rel(file) + "::" + rest
}

// unittestFile finds where discovery must start, when the module's dotted name
// does not lead to its file from the kit's folder.
func (k Kit) unittestFile(f session.Failure) (dir, file string) {
	if f.File == "" || !strings.HasSuffix(f.File, ".py") || !IsTestFile(f.File) {
		return "", ""
	}
	p := k.rel(f.File)
	module, _, _ := strings.Cut(f.Package, ".")
	if dotted := strings.ReplaceAll(strings.TrimSuffix(p, ".py"), "/", "."); f.Package != "" && (f.Package == dotted || strings.HasPrefix(f.Package, dotted+".")) {
		return "", "" // importable as it is named
	}
	if module == strings.TrimSuffix(path.Base(p), ".py") || f.Package == "" {
		return path.Dir(p), path.Base(p)
	}
	return "", ""
}

func pythonGroup(k Kit, f session.Failure) (string, bool) {
	file := k.pythonFile(f)
	if file == "" {
		return "", false
	}
	if k.Name == "pytest" {
		return k.in(k.Runner + pytestFlags + flagText(k.Flags) + " " + Quote(dashSafe(file))), true
	}
	return k.in(k.Runner + " discover -v -s " + Quote(dashSafe(path.Dir(file))) + " -p " + Quote(dashSafe(path.Base(file)))), true
}

// pythonFile is the test's file as seen from the kit's folder.
func (k Kit) pythonFile(f session.Failure) string {
	if file, _, ok := strings.Cut(f.Test, "::"); ok {
		if f.File != "" && strings.HasSuffix(f.File, "/"+path.Base(file)) {
			return k.rel(f.File)
		}
		return k.rel(file)
	}
	if strings.HasSuffix(f.File, ".py") && IsTestFile(f.File) {
		return k.rel(f.File)
	}
	return ""
}

// pythonShuffled needs a plugin that a project seldom has, so only a command
// that turns it off can be turned on.
func pythonShuffled(_ Kit, command string) (string, bool) {
	if strings.Contains(command, " -p no:randomly") {
		return strings.Replace(command, " -p no:randomly", "", 1), true
	}
	return "", false
}

// pythonTestFiles are the test's module, the conftest.py files above it, what
// makes its folder a package, and the data beside it.
func pythonTestFiles(k Kit, f session.Failure, files []string) []string {
	test := k.pythonFile(f)
	if test == "" {
		return nil
	}
	test = path.Join(k.Root, test)
	out, dir := []string{test}, path.Dir(test)
	if !contains(files, test) {
		return nil
	}
	for _, p := range files {
		d := path.Dir(p)
		switch {
		case p == test:
		case path.Base(p) == "conftest.py" && (d == dir || within(d, test)),
			d == dir && path.Base(p) == "__init__.py" && IsTestFile(path.Join(dir, "x.py")),
			within(path.Join(dir, "data"), p), within(path.Join(dir, "fixtures"), p), within(path.Join(dir, "testdata"), p):
			out = append(out, p)
		}
	}
	return out
}

// pythonValueFlags of pytest that are kept, with whether they take a value.
var pytestKept = map[string]bool{"-c": true, "-p": true, "-o": true, "--rootdir": true, "--import-mode": true, "-W": true, "-n": true, "--confcutdir": true, "--strict-markers": false, "--ds": true}

// pythonCommand recognises "pytest x", "python -m pytest x" and "python -m
// unittest x".
func pythonCommand(t *tree, in invocation) (Kit, bool) {
	ws := in.words
	base := path.Base(ws[0])
	k := Kit{Language: "Python", Root: in.dir, Env: in.env}
	var args []string
	switch {
	case base == "pytest" || base == "py.test":
		k.Name, k.Runner, args = "pytest", ws[0], ws[1:]
	case strings.HasPrefix(base, "python") && len(ws) > 2 && ws[1] == "-m" && (ws[2] == "pytest" || ws[2] == "unittest"):
		k.Name, k.Runner, args = ws[2], Quote(ws[0])+" -m "+ws[2], ws[3:]
	case (base == "poetry" || base == "uv" || base == "pipenv" || base == "hatch") && len(ws) > 2 && ws[1] == "run":
		inner := in
		inner.words = ws[2:]
		k, ok := pythonCommand(t, inner)
		k.Runner = base + " run " + k.Runner
		return k, ok
	default:
		return Kit{}, false
	}
	for i := 0; i < len(args); i++ {
		name, _, hasValue := strings.Cut(args[i], "=")
		switch value, kept := pytestKept[name]; {
		case !strings.HasPrefix(args[i], "-"):
			if k.Name != "unittest" || args[i] != "discover" {
				k.Patterns = append(k.Patterns, args[i])
			}
		case kept && k.Name == "pytest":
			k.Flags = append(k.Flags, args[i])
			if value && !hasValue && i+1 < len(args) {
				i++
				k.Flags = append(k.Flags, args[i])
			}
		case (name == "-k" || name == "-m" || name == "-s" || name == "-t" || name == "--tb" || name == "--maxfail") && !hasValue && (k.Name == "unittest" || name != "-s"):
			i++
		}
	}
	k.Framework, k.Suite = k.Name, in.command
	for _, name := range pythonRoots {
		if p := path.Join(k.Root, name); t.has(p) {
			k.ModuleFiles = append(k.ModuleFiles, p)
		}
	}
	return k, true
}
