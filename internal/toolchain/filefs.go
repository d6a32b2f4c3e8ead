package toolchain

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"
)

// FS shows a list of files as a file system, as Detect and the others read
// it: a commit that is not checked out, for example. Folders follow from the
// paths; paths that fs.ValidPath refuses are left out. read is asked for the
// files of the list only.
func FS(files []string, read func(name string) ([]byte, error)) fs.FS {
	t := &listing{read: read, dirs: map[string][]string{".": nil}}
	for _, f := range files {
		if fs.ValidPath(f) && f != "." {
			t.files = append(t.files, f)
		}
	}
	slices.Sort(t.files)
	for _, f := range t.files {
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
	return t
}

// listing is a file system made of a list.
type listing struct {
	read  func(name string) ([]byte, error)
	files []string            // sorted
	dirs  map[string][]string // folder → names in it, sorted
}

// Open implements fs.FS.
func (t *listing) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if names, ok := t.dirs[name]; ok {
		d := &listedDir{info: listedInfo{name: path.Base(name), dir: true}}
		for _, n := range names {
			_, isDir := t.dirs[path.Join(name, n)]
			d.entries = append(d.entries, fs.FileInfoToDirEntry(listedInfo{name: n, dir: isDir}))
		}
		return d, nil
	}
	data, err := t.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return &listedFile{Reader: bytes.NewReader(data), info: listedInfo{name: path.Base(name), size: int64(len(data))}}, nil
}

// ReadFile implements fs.ReadFileFS.
func (t *listing) ReadFile(name string) ([]byte, error) {
	if _, ok := slices.BinarySearch(t.files, name); !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return t.read(name)
}

type listedInfo struct {
	name string
	size int64
	dir  bool
}

func (i listedInfo) Name() string       { return i.name }
func (i listedInfo) Size() int64        { return i.size }
func (i listedInfo) ModTime() time.Time { return time.Time{} }
func (i listedInfo) IsDir() bool        { return i.dir }
func (i listedInfo) Sys() any           { return nil }
func (i listedInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o755
	}
	return 0o644
}

type listedFile struct {
	*bytes.Reader
	info listedInfo
}

func (f *listedFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *listedFile) Close() error               { return nil }

type listedDir struct {
	info    listedInfo
	entries []fs.DirEntry
	at      int
}

func (d *listedDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *listedDir) Close() error               { return nil }
func (d *listedDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.name, Err: fs.ErrInvalid}
}

// ReadDir implements fs.ReadDirFile.
func (d *listedDir) ReadDir(n int) ([]fs.DirEntry, error) {
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
