package toolchain

import (
	"io/fs"
	"path"
	"strings"
)

// Files maps paths as tools print them to paths of the repository: relative
// ones, absolute ones of the machine where the tool ran, and Go's, which come
// as import path and file name. A path whose end fits several files is mapped
// only if it says which. It is made for evidence.Options.Files.
func Files(fsys fs.FS) func(name string) (repoPath string, ok bool) {
	t := survey(fsys)
	known := make(map[string]bool, len(t.files))
	byBase := map[string][]string{}
	for _, f := range t.files {
		known[f] = true
		base := path.Base(f)
		byBase[base] = append(byBase[base], f)
	}
	modules := map[string]string{} // Go module path → folder
	for _, dir := range t.byName["go.mod"] {
		if m := parseGoMod(t.read(path.Join(dir, "go.mod"))).module; m != "" {
			if _, ok := modules[m]; !ok {
				modules[m] = dir
			}
		}
	}
	return func(name string) (string, bool) {
		name = strings.ReplaceAll(name, `\`, "/")
		if name == "" || strings.ContainsAny(name, "\x00\n") {
			return "", false
		}
		clean := path.Clean(name)
		if known[clean] {
			return clean, true
		}
		// Nearest module first: the longest path that fits.
		best, dir := "", ""
		for m, d := range modules {
			if (strings.HasPrefix(clean, m+"/")) && len(m) > len(best) {
				best, dir = m, d
			}
		}
		if best != "" {
			if p := path.Join(dir, clean[len(best)+1:]); known[p] {
				return p, true
			}
		}
		if outside(clean) {
			return "", false
		}
		return bySuffix(clean, byBase[path.Base(clean)])
	}
}

// outside reports paths of standard libraries and installed dependencies,
// whose ends may look like files of the repository.
func outside(name string) bool {
	for _, part := range [...]string{"/node_modules/", "/site-packages/", "/dist-packages/", "/usr/lib/", "/usr/local/go/", "/go/pkg/mod/", "/rustc/", "/.cargo/registry/", "/lib/python"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return strings.HasPrefix(name, "node_modules/") || strings.HasPrefix(name, "node:")
}

// bySuffix picks the file that shares the most trailing elements with name,
// when only one does. A relative name must be a whole suffix of the file.
func bySuffix(name string, files []string) (string, bool) {
	want := strings.Split(strings.Trim(name, "/"), "/")
	absolute := path.IsAbs(name) || len(name) > 1 && name[1] == ':' // a drive's letter
	best, found, unique := 0, "", false
	for _, f := range files {
		have := strings.Split(f, "/")
		n := 0
		for n < len(want) && n < len(have) && want[len(want)-1-n] == have[len(have)-1-n] {
			n++
		}
		// Absolute: the repository's folder is before it, so all of the file
		// must be there. Relative: it may be seen from a folder of the repository.
		if n < len(have) && (absolute || n < len(want)) {
			continue
		}
		switch {
		case n > best:
			best, found, unique = n, f, true
		case n == best:
			unique = false
		}
	}
	if !unique {
		return "", false
	}
	return found, true
}
