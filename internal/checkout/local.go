package checkout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// OpenLocal mirrors the local repository or worktree that path lies in. The
// repository itself is only read: uncommitted changes are counted and left
// alone, its HEAD becomes the mirror's.
func (c *Cache) OpenLocal(ctx context.Context, path string) (*Mirror, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open repository: %w", err)
	}
	if info, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("open repository: %w: %w", ErrNotRepository, err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("open repository %s: %w: it is a file: give the folder", path, ErrNotRepository)
	}
	src, err := findSource(ctx, path)
	if err != nil {
		return nil, err
	}
	dir := c.mirrorPath(src.gitDir)
	l, err := waitLock(ctx, dir+".lock")
	if err != nil {
		return nil, err
	}
	defer l.release()

	// Alone with the mirror it may be tidied; beside another user it may only grow.
	use, err := tryLock(dir+".use", true)
	alone := err == nil
	if errors.Is(err, errBusy) {
		use, err = tryLock(dir+".use", false)
	}
	if err != nil {
		return nil, err
	}
	m := &Mirror{cache: c, dir: dir, use: use, facts: src.facts}
	if err := m.copyFrom(ctx, src, alone); err != nil {
		use.release()
		return nil, fmt.Errorf("open repository %s: %w", path, err)
	}
	if err := use.share(); err != nil {
		use.release()
		return nil, fmt.Errorf("open repository: %w", err)
	}
	return m, nil
}

// source is a user's repository.
type source struct {
	gitDir  string // of this worktree
	objects string
	shallow string // file with the cut-off commits
	format  string // "sha1" or "sha256"
	head    string
	facts   Facts
}

// ask runs a read-only command in the user's repository.
func ask(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := git(ctx, call{args: args, dir: dir})
	return strings.TrimSuffix(string(out), "\n"), err
}

func findSource(ctx context.Context, path string) (source, error) {
	var s source
	out, err := ask(ctx, path, "rev-parse", "--path-format=absolute", "--absolute-git-dir", "--git-path", "objects", "--git-path", "shallow",
		"--is-bare-repository", "--is-shallow-repository", "--show-object-format")
	if err != nil {
		var ge *GitError
		if errors.As(err, &ge) && strings.Contains(ge.Message, "not a git repository") {
			return s, fmt.Errorf("open repository %s: %w: give a folder that git knows, or run `git init` and commit", path, ErrNotRepository)
		}
		return s, fmt.Errorf("open repository %s: %w", path, err)
	}
	line := strings.Split(out, "\n")
	if len(line) != 6 {
		return s, fmt.Errorf("open repository %s: its path holds a line break: move it", path)
	}
	s.gitDir, s.objects, s.shallow, s.format = line[0], line[1], line[2], line[5]
	s.facts = Facts{Source: path, Bare: line[3] == "true", Shallow: line[4] == "true"}
	if s.head, err = ask(ctx, path, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err != nil {
		return s, fmt.Errorf("open repository %s: %w: commit something first, or check out a branch that has commits", path, ErrNoCommits)
	}
	if branch, err := ask(ctx, path, "symbolic-ref", "--quiet", "--short", "HEAD"); err == nil {
		s.facts.Branch = branch
	}
	if promisor, err := ask(ctx, path, "config", "--local", "--get-regexp", `^(remote\..*\.promisor|extensions\.partialclone)$`); err == nil && promisor != "" {
		s.facts.Partial = true
	}
	if !s.facts.Bare {
		s.facts.Dirty = dirty(ctx, path)
	}
	return s, nil
}

// dirty counts files with changes. Filters that the repository configures
// would run programs, so they are switched off by name.
func dirty(ctx context.Context, path string) int {
	var off []string
	filters, _ := ask(ctx, path, "config", "--name-only", "--get-regexp", `^filter\..*\.(clean|smudge|process)$`)
	for name := range strings.Lines(filters) {
		if name = strings.TrimSpace(name); name != "" && !strings.Contains(name, "=") {
			off = append(off, name+"=")
		}
	}
	out, err := git(ctx, call{args: []string{"status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all", "--untracked-files=normal"}, dir: path, config: off})
	if err != nil {
		return 0 // the repository is readable all the same
	}
	return bytes.Count(out, []byte{0})
}

// copyFrom brings the mirror up to date with src.
func (m *Mirror) copyFrom(ctx context.Context, src source, alone bool) error {
	if whole(m.dir) {
		unlock(m.dir)
	} else {
		if !alone {
			return errors.New("its mirror is damaged and in use: end the other session first")
		}
		if err := makeBare(ctx, m.dir, src.format); err != nil {
			return err
		}
	}
	// References first: objects only grow while they are copied.
	refs, err := git(ctx, call{args: []string{"for-each-ref", "--format=%(objectname) %(refname)"}, gitDir: src.gitDir})
	if err != nil {
		return err
	}
	if err := borrow(ctx, src.objects, filepath.Join(m.dir, "objects"), alone); err != nil {
		return err
	}
	if err := copyOrRemove(src.shallow, filepath.Join(m.dir, "shallow"), src.facts.Shallow); err != nil {
		return err
	}
	if err := writeRefs(m.dir, refs); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(m.dir, "HEAD"), []byte(src.head+"\n"), 0o600); err != nil {
		return fmt.Errorf("write the mirror's HEAD: %w", err)
	}
	return m.finish(ctx)
}

var refLine = regexp.MustCompile(`^[0-9a-f]{40,64} refs/[^\x00-\x20\x7f]+$`)

// writeRefs replaces all references at once.
func writeRefs(dir string, refs []byte) error {
	var lines []string
	for line := range strings.Lines(string(refs)) {
		line = strings.TrimSuffix(line, "\n")
		if refLine.MatchString(line) && !strings.Contains(line, " refs/replace/") && !strings.Contains(line, " refs/stash") {
			lines = append(lines, line)
		}
	}
	slices.SortFunc(lines, func(a, b string) int {
		_, a, _ = strings.Cut(a, " ")
		_, b, _ = strings.Cut(b, " ")
		return strings.Compare(a, b)
	})
	text := "# pack-refs with: sorted \n"
	if len(lines) > 0 {
		text += strings.Join(lines, "\n") + "\n"
	}
	tmp := filepath.Join(dir, "packed-refs.new")
	if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the mirror's references: %w", err)
	}
	if err := os.Rename(tmp, filepath.Join(dir, "packed-refs")); err != nil {
		return fmt.Errorf("write the mirror's references: %w", err)
	}
	return nil
}

// borrow makes every object of src available in dst by hard links. Objects are
// never changed in place, so a link stays right whatever the original does. If
// a file vanishes meanwhile (the original is being repacked), it starts over.
func borrow(ctx context.Context, src, dst string, alone bool) error {
	var err error
	for range 4 {
		if err = linkObjects(ctx, src, dst, alone); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("copy objects: %w", err)
	}
	// Objects that the original itself borrows from elsewhere.
	data, err := os.ReadFile(filepath.Join(src, "info", "alternates"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read alternates: %w", err)
	}
	var out strings.Builder
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, `"`) {
			continue
		}
		if !filepath.IsAbs(line) {
			line = filepath.Join(src, line)
		}
		out.WriteString(line + "\n")
	}
	return os.WriteFile(filepath.Join(dst, "info", "alternates"), []byte(out.String()), 0o600)
}

var (
	looseDir = regexp.MustCompile(`^[0-9a-f]{2}$`)
	loose    = regexp.MustCompile(`^[0-9a-f]{38,62}$`)
	packFile = regexp.MustCompile(`^pack-[0-9a-f]{40,64}\.(pack|idx|rev|promisor|mtimes)$`)
)

func linkObjects(ctx context.Context, src, dst string, alone bool) error {
	entries, err := os.ReadDir(src)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		want := loose
		switch {
		case e.Name() == "pack":
			want = packFile
		case !looseDir.MatchString(e.Name()):
			continue
		}
		from, to := filepath.Join(src, e.Name()), filepath.Join(dst, e.Name())
		files, err := os.ReadDir(from)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(to, 0o700); err != nil {
			return err
		}
		have := map[string]bool{}
		// An index must not be seen before its pack: .idx comes last.
		slices.SortStableFunc(files, func(a, b os.DirEntry) int {
			return strings.Compare(suffixRank(a.Name()), suffixRank(b.Name()))
		})
		for _, f := range files {
			if !want.MatchString(f.Name()) || !f.Type().IsRegular() {
				continue
			}
			have[f.Name()] = true
			if err := link(filepath.Join(from, f.Name()), filepath.Join(to, f.Name())); err != nil {
				return err
			}
		}
		if e.Name() == "pack" && alone {
			if err := dropPacks(to, have); err != nil {
				return err
			}
		}
	}
	return nil
}

func suffixRank(name string) string {
	if strings.HasSuffix(name, ".idx") {
		return "1"
	}
	return "0"
}

// dropPacks removes packs that the original no longer has, so that a mirror
// does not grow with each repack of it.
func dropPacks(dir string, have map[string]bool) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if packFile.MatchString(f.Name()) && !have[f.Name()] {
			if err := os.Remove(filepath.Join(dir, f.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// link makes dst the same file as src, or a copy where that cannot be.
func link(src, dst string) error {
	err := os.Link(src, dst)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer in.Close()
	tmp := filepath.Join(filepath.Dir(dst), "tmp_"+filepath.Base(dst))
	out, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o400)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Close()); err != nil {
		os.Remove(tmp)
		return err
	}
	return os.Rename(tmp, dst)
}

// copyOrRemove makes dst a copy of src, or absent.
func copyOrRemove(src, dst string, want bool) error {
	if !want {
		if err := os.Remove(dst); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	data, err := os.ReadFile(src)
	if err != nil {
		return fmt.Errorf("read the shallow boundary: %w", err)
	}
	return os.WriteFile(dst, data, 0o600)
}
