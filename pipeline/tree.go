package pipeline

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// tree is a commit seen as a file system, read through Workspace: nothing is
// checked out to look at a file.
type tree struct {
	ctx   context.Context //nolint:containedctx // fs.FS has no place for one; a tree lives as long as one stage
	w     Workspace
	rev   string
	files []string            // sorted
	dirs  map[string][]string // folder → names in it, sorted
}

func newTree(ctx context.Context, w Workspace, rev string) (*tree, error) {
	files, err := w.List(ctx, rev)
	if err != nil {
		return nil, err
	}
	t := &tree{ctx: ctx, w: w, rev: rev, files: slices.Clone(files), dirs: map[string][]string{".": nil}}
	slices.Sort(t.files)
	for _, f := range t.files {
		if !fs.ValidPath(f) {
			continue
		}
		for name := f; name != "."; name = path.Dir(name) {
			dir := path.Dir(name)
			if known := t.dirs[dir]; len(known) > 0 && known[len(known)-1] == path.Base(name) {
				break
			}
			t.dirs[dir] = append(t.dirs[dir], path.Base(name))
		}
	}
	for dir, names := range t.dirs {
		slices.Sort(names)
		t.dirs[dir] = slices.Compact(names)
	}
	return t, nil
}

// has reports whether the commit holds a file of that path.
func (t *tree) has(file string) bool {
	_, ok := slices.BinarySearch(t.files, file)
	return ok
}

// Open implements fs.FS.
func (t *tree) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if names, ok := t.dirs[name]; ok {
		d := &treeDir{info: treeInfo{name: path.Base(name), dir: true}}
		for _, n := range names {
			_, isDir := t.dirs[path.Join(name, n)]
			d.entries = append(d.entries, fs.FileInfoToDirEntry(treeInfo{name: n, dir: isDir}))
		}
		return d, nil
	}
	data, err := t.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return &treeFile{Reader: bytes.NewReader(data), info: treeInfo{name: path.Base(name), size: int64(len(data))}}, nil
}

// ReadFile implements fs.ReadFileFS.
func (t *tree) ReadFile(name string) ([]byte, error) {
	if !t.has(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return t.w.Show(t.ctx, t.rev, name)
}

type treeInfo struct {
	name string
	size int64
	dir  bool
}

func (i treeInfo) Name() string       { return i.name }
func (i treeInfo) Size() int64        { return i.size }
func (i treeInfo) ModTime() time.Time { return time.Time{} }
func (i treeInfo) IsDir() bool        { return i.dir }
func (i treeInfo) Sys() any           { return nil }
func (i treeInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o755
	}
	return 0o644
}

type treeFile struct {
	*bytes.Reader
	info treeInfo
}

func (f *treeFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *treeFile) Close() error               { return nil }

type treeDir struct {
	info    treeInfo
	entries []fs.DirEntry
	at      int
}

func (d *treeDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *treeDir) Close() error               { return nil }
func (d *treeDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.name, Err: fs.ErrInvalid}
}

// ReadDir implements fs.ReadDirFile.
func (d *treeDir) ReadDir(n int) ([]fs.DirEntry, error) {
	rest := d.entries[d.at:]
	if n <= 0 {
		d.at = len(d.entries)
		return rest, nil
	}
	if len(rest) == 0 {
		return nil, io.EOF
	}
	rest = rest[:min(n, len(rest))]
	d.at += len(rest)
	return rest, nil
}

// under reports whether file lies in folder dir ("" or "." is the root).
func under(dir, file string) bool {
	return dir == "" || dir == "." || file == dir || strings.HasPrefix(file, dir+"/")
}
