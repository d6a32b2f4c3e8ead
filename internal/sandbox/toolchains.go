package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// toolchains are the programs of the host that a confined command may use:
// folders to show read-only at their own path, and the PATH to find them by.
type toolchains struct {
	path   string
	roots  []string // folders outside /usr, no one inside another
	rustup string   // RUSTUP_HOME
	pyenv  string   // PYENV_ROOT
}

// programs are looked at one by one, because a link in /usr/local/bin may lead
// to a toolchain that no folder of PATH names.
var programs = []string{
	"go", "node", "npm", "npx", "yarn", "pnpm", "bun", "deno", "python3", "python", "pip3", "uv", "java", "javac", "mvn", "gradle",
	"cargo", "rustc", "ruby", "bundle", "php", "dotnet", "gcc", "cc", "clang", "make", "cmake",
}

// managers are folders in a home that hold nothing but toolchains, so that
// they can be shown whole. Any other folder of a home is never shown whole:
// it may hold keys.
var managers = []string{
	".pyenv", ".rbenv", ".nodenv", ".goenv", ".jenv", ".gvm", ".volta", ".bun", ".deno", ".rustup", ".juliaup", ".sdkman",
}

// discover finds the toolchains that PATH and the usual variables name.
func discover(env, extra []string) toolchains {
	var t toolchains
	home := lookup(env, "HOME")
	roots := slices.Clone(extra)
	var path []string
	for _, dir := range filepath.SplitList(lookup(env, "PATH")) {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || !filepath.IsAbs(dir) || !isDir(real) {
			continue
		}
		path = append(path, dir)
		for _, d := range []string{dir, real} {
			roots = append(roots, root(d, home))
		}
		for _, name := range programs {
			file := filepath.Join(real, name)
			if target, err := filepath.EvalSymlinks(file); err == nil && target != file {
				roots = append(roots, root(filepath.Dir(target), home))
			}
		}
	}
	for _, name := range []string{"JAVA_HOME", "GOROOT"} {
		if dir := lookup(env, name); filepath.IsAbs(dir) && isDir(dir) {
			roots = append(roots, root(filepath.Join(dir, "bin"), home))
		}
	}
	t.rustup = existing(lookup(env, "RUSTUP_HOME"), filepath.Join(home, ".rustup"))
	t.pyenv = existing(lookup(env, "PYENV_ROOT"), filepath.Join(home, ".pyenv"))
	roots = append(roots, t.rustup, t.pyenv)
	path = append(path, "/usr/local/bin", "/usr/bin", "/bin")
	t.path = strings.Join(cleanList(path), string(filepath.ListSeparator))
	t.roots = outermost(roots)
	return t
}

// root is the folder to show for a folder with programs: the toolchain around
// it (GOROOT for GOROOT/bin) where that is surely nothing but a toolchain,
// else the folder alone.
func root(bin, home string) string {
	if within(bin, "/usr") || slices.Contains([]string{"/bin", "/sbin"}, bin) {
		return ""
	}
	if rel, ok := below(bin, home); ok && home != "/" {
		parts := strings.Split(rel, "/")
		if slices.Contains(managers, parts[0]) {
			return filepath.Join(home, parts[0])
		}
		// ~/.nvm/versions/node/v22/bin and ~/sdk/go1.26/bin: at least two
		// levels below a folder of the home, with the layout of a prefix.
		if parent := filepath.Dir(bin); len(parts) >= 3 && isPrefix(parent) && parts[0] != ".local" && parts[0] != ".config" {
			return parent
		}
		return bin
	}
	if parent := filepath.Dir(bin); isPrefix(parent) && strings.Count(parent, "/") >= 2 && !isHome(parent) {
		return parent
	}
	return bin
}

// isPrefix reports whether dir looks like an installed toolchain.
func isPrefix(dir string) bool {
	if !isDir(filepath.Join(dir, "bin")) {
		return false
	}
	for _, secret := range []string{".ssh", ".aws", ".gnupg", ".netrc", ".npmrc", ".docker", ".git-credentials", ".config", ".kube"} {
		if _, err := os.Lstat(filepath.Join(dir, secret)); err == nil {
			return false
		}
	}
	return isDir(filepath.Join(dir, "lib")) || isDir(filepath.Join(dir, "pkg", "tool"))
}

func isHome(dir string) bool {
	return dir == "/root" || filepath.Dir(dir) == "/home" || filepath.Dir(dir) == "/Users"
}

// outermost drops doubles, what lies in /usr, and folders inside others.
func outermost(dirs []string) []string {
	var out []string
	for _, d := range cleanList(dirs) {
		if filepath.IsAbs(d) && d != "/" && !isHome(d) && !within(d, "/usr") && isDir(d) {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return len(a) - len(b) })
	var top []string
	for _, d := range out {
		if !slices.ContainsFunc(top, func(t string) bool { return within(d, t) }) {
			top = append(top, d)
		}
	}
	slices.Sort(top)
	return top
}

func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

func below(path, dir string) (string, bool) {
	if dir == "" {
		return "", false
	}
	return strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func existing(dirs ...string) string {
	for _, d := range dirs {
		if filepath.IsAbs(d) && isDir(d) {
			return d
		}
	}
	return ""
}
