package toolchain

import (
	"io"
	"io/fs"
	"path"
	"sort"
	"strings"
)

const (
	maxEntries = 200_000 // of a tree that are looked at
	maxFile    = 1 << 20 // bytes of a module file that are read
)

// tree is a repository's files, listed once.
type tree struct {
	fsys   fs.FS
	files  []string            // all paths, sorted
	byName map[string][]string // file name → folders, outermost first
	dirs   map[string][]string // folder → names of its files
}

// skipped folders hold no project of their own.
var skipped = map[string]bool{
	".git": true, "node_modules": true, "testdata": true, "__pycache__": true, "target": true, "dist": true,
	".venv": true, "venv": true, ".tox": true, ".nox": true, ".gradle": true, ".cargo": true, "bower_components": true, ".yarn": true, ".next": true,
}

func survey(fsys fs.FS) *tree {
	t := &tree{fsys: fsys, byName: map[string][]string{}, dirs: map[string][]string{}}
	n := 0
	_ = fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil { // an unreadable folder hides its own files only
			if d != nil && d.IsDir() && p != "." {
				return fs.SkipDir
			}
			return nil
		}
		if n++; n > maxEntries {
			return fs.SkipAll
		}
		if d.IsDir() {
			if p != "." && (skipped[d.Name()] || strings.Count(p, "/") > 20) {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		dir := path.Dir(p)
		t.files = append(t.files, p)
		t.byName[d.Name()] = append(t.byName[d.Name()], dir)
		t.dirs[dir] = append(t.dirs[dir], d.Name())
		return nil
	})
	for _, dirs := range t.byName {
		sort.SliceStable(dirs, func(i, j int) bool { return depth(dirs[i]) < depth(dirs[j]) })
	}
	return t
}

// has reports a file.
func (t *tree) has(p string) bool {
	for _, name := range t.dirs[path.Dir(p)] {
		if name == path.Base(p) {
			return true
		}
	}
	return false
}

// read returns the beginning of a file; "" when it cannot be read.
func (t *tree) read(p string) string {
	f, err := t.fsys.Open(p)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return ""
	}
	return string(data)
}

// under lists the files of a folder and all below it.
func (t *tree) under(dir string) []string {
	if dir == "." || dir == "" {
		return t.files
	}
	var out []string
	for _, f := range t.files {
		if within(dir, f) {
			out = append(out, f)
		}
	}
	return out
}

// up finds the nearest of these names in dir or above it.
func (t *tree) up(dir string, names ...string) (string, bool) {
	for {
		for _, name := range names {
			if p := path.Join(dir, name); t.has(p) {
				return p, true
			}
		}
		if dir == "." || dir == "/" || dir == "" {
			return "", false
		}
		dir = path.Dir(dir)
	}
}
