package checkout

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"culprit/internal/session"
)

// maxFile is the largest file that Show returns, bytes.
const maxFile = 64 << 20

// Git's modes of tree entries.
const (
	modeFile       = 0o100644
	modeExecutable = 0o100755
	modeSymlink    = 0o120000
	modeGitlink    = 0o160000
	modeFolder     = 0o040000
)

// entry is one line of a tree.
type entry struct {
	mode uint32
	id   string
	path string
}

// entries lists tree entries of a commit; with paths only those, without
// descending into them.
func (m *Mirror) entries(ctx context.Context, sha string, recurse bool, paths ...string) ([]entry, error) {
	args := []string{"ls-tree", "-z", "--full-tree"}
	if recurse {
		args = append(args, "-r")
	}
	out, err := m.git(ctx, append(append(args, sha, "--"), paths...)...)
	if err != nil {
		return nil, fmt.Errorf("list files of %.8s: %w", sha, err)
	}
	return parseTree(out)
}

// parseTree reads "MODE TYPE ID\tPATH\0".
func parseTree(out []byte) ([]entry, error) {
	var list []entry
	for rec := range bytes.SplitSeq(out, []byte{0}) {
		if len(rec) == 0 {
			continue
		}
		head, path, ok := strings.Cut(string(rec), "\t")
		f := strings.Fields(head)
		if !ok || len(f) != 3 {
			return nil, fmt.Errorf("read git ls-tree: %q is no entry", clean(string(rec)))
		}
		mode, err := strconv.ParseUint(f[0], 8, 32)
		if err != nil {
			return nil, fmt.Errorf("read git ls-tree: %q is no mode", clean(f[0]))
		}
		list = append(list, entry{mode: uint32(mode), id: f[2], path: path})
	}
	return list, nil
}

// pathOK refuses what cannot be the path of a file in a commit.
func pathOK(path string) error {
	if path == "" || strings.ContainsRune(path, 0) || strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/") {
		return fmt.Errorf("path %q: give the path of a file, relative to the repository", clean(path))
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." || strings.EqualFold(part, ".git") {
			return fmt.Errorf("path %q: it holds %q, which no path in a repository does", clean(path), part)
		}
	}
	return nil
}

// lookup finds one path of a commit; ok is false if it is not there.
func (m *Mirror) lookup(ctx context.Context, sha, path string) (entry, bool, error) {
	if err := pathOK(path); err != nil {
		return entry{}, false, err
	}
	list, err := m.entries(ctx, sha, false, path)
	if err != nil {
		return entry{}, false, err
	}
	for _, e := range list {
		if e.path == path {
			return e, true, nil
		}
	}
	return entry{}, false, nil
}

// Show reads a file of a commit; one that is not there, is a folder or a
// submodule matches fs.ErrNotExist. A symbolic link yields its target.
func (m *Mirror) Show(ctx context.Context, rev, path string) ([]byte, error) {
	data, _, err := m.ShowMode(ctx, rev, path)
	return data, err
}

// ShowMode is Show with git's mode of the file, 0o100755 for an executable.
func (m *Mirror) ShowMode(ctx context.Context, rev, path string) ([]byte, uint32, error) {
	sha, err := m.id(ctx, rev, false)
	if err != nil {
		return nil, 0, err
	}
	e, ok, err := m.lookup(ctx, sha, path)
	if err != nil {
		return nil, 0, err
	}
	if !ok || e.mode == modeFolder || e.mode == modeGitlink {
		return nil, 0, fmt.Errorf("read %s at %.8s: %w", clean(path), sha, fs.ErrNotExist)
	}
	out, err := git(ctx, call{args: []string{"cat-file", "blob", e.id}, gitDir: m.dir, max: maxFile})
	if err != nil {
		return nil, 0, fmt.Errorf("read %s at %.8s: %w", clean(path), sha, err)
	}
	return out, e.mode, nil
}

// Exists reports whether the commit has a file or folder at path.
func (m *Mirror) Exists(ctx context.Context, rev, path string) (bool, error) {
	sha, err := m.id(ctx, rev, false)
	if err != nil {
		return false, err
	}
	_, ok, err := m.lookup(ctx, sha, path)
	return ok, err
}

// List names all files of a commit, submodules not among them.
func (m *Mirror) List(ctx context.Context, rev string) ([]string, error) {
	sha, err := m.id(ctx, rev, false)
	if err != nil {
		return nil, err
	}
	list, err := m.entries(ctx, sha, true)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(list))
	for _, e := range list {
		if e.mode != modeGitlink {
			names = append(names, e.path)
		}
	}
	return names, nil
}

// gitlinks lists the submodules' folders of a commit.
func (m *Mirror) gitlinks(ctx context.Context, sha string) ([]string, error) {
	list, err := m.entries(ctx, sha, true)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range list {
		if e.mode == modeGitlink {
			names = append(names, e.path)
		}
	}
	return names, nil
}

// treeish is a commit ID, or the empty tree for "".
func (m *Mirror) treeish(ctx context.Context, rev, other string) (string, error) {
	if rev != "" {
		return m.id(ctx, rev, false)
	}
	if len(other) == 64 {
		return "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321", nil
	}
	return "4b825dc642cb6eb9a060e54bf8d69288fbee4904", nil
}

// Changed lists the files that differ between two commits, renames found. from
// "" stands for the empty tree.
func (m *Mirror) Changed(ctx context.Context, from, to string) ([]session.FileChange, error) {
	b, err := m.id(ctx, to, false)
	if err != nil {
		return nil, err
	}
	a, err := m.treeish(ctx, from, b)
	if err != nil {
		return nil, err
	}
	out, err := m.git(ctx, "diff-tree", "-r", "-z", "-M", "--name-status", "--no-ext-diff", a, b, "--")
	if err != nil {
		return nil, fmt.Errorf("list changes from %.8s to %.8s: %w", a, b, err)
	}
	return parseNameStatus(out)
}

// parseNameStatus reads "S\0path\0" and, for renames and copies,
// "R100\0old\0new\0".
func parseNameStatus(out []byte) ([]session.FileChange, error) {
	field := strings.Split(string(out), "\x00")
	var list []session.FileChange
	for i := 0; i+1 < len(field); {
		status := field[i]
		if status == "" {
			return nil, fmt.Errorf("read git diff: a status is empty")
		}
		c := session.FileChange{Status: status[:1]}
		if c.Status == "R" || c.Status == "C" {
			if i+2 >= len(field) {
				return nil, fmt.Errorf("read git diff: it ends within a rename")
			}
			c.OldPath, c.Path = field[i+1], field[i+2]
			i += 3
		} else {
			c.Path = field[i+1]
			i += 2
		}
		list = append(list, c)
	}
	return list, nil
}

// DiffOptions shape Diff.
type DiffOptions struct {
	Unified   int      // lines of context; 0 means none
	NoRenames bool     // a rename is a deletion and a creation
	Paths     []string // only these files or folders
}

// Diff is the patch from one commit to another, in git's format with full IDs
// and binary content, so that it can be applied. from "" stands for the empty
// tree.
func (m *Mirror) Diff(ctx context.Context, from, to string, opts DiffOptions) ([]byte, error) {
	b, err := m.id(ctx, to, false)
	if err != nil {
		return nil, err
	}
	a, err := m.treeish(ctx, from, b)
	if err != nil {
		return nil, err
	}
	args := append([]string{"diff-tree", "-r", "-p"}, diffFlags(opts)...)
	out, err := m.git(ctx, append(append(args, a, b, "--"), opts.Paths...)...)
	if err != nil {
		return nil, fmt.Errorf("diff %.8s to %.8s: %w", a, b, err)
	}
	return out, nil
}

func diffFlags(opts DiffOptions) []string {
	flags := []string{
		"--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/",
		"--unified=" + strconv.Itoa(max(opts.Unified, 0)), "--inter-hunk-context=0", "--diff-algorithm=histogram", "--submodule=short",
	}
	if opts.NoRenames {
		return append(flags, "--no-renames")
	}
	return append(flags, "-M")
}
