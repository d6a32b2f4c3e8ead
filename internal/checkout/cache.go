package checkout

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"culprit/internal/session"
)

// Cache is a folder with mirrors of repositories and the worktrees in use.
// Several processes may use the same one.
type Cache struct {
	dir   string
	trees string // this process's folder of worktrees
	hold  *lock  // held while this cache is open
	next  atomic.Int64
}

// OpenCache opens or makes the cache at dir (absolute) and removes the
// worktrees and half-made mirrors that killed processes left in it. Close it at
// the end.
func OpenCache(dir string) (*Cache, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("open cache %q: give an absolute path", dir)
	}
	for _, d := range []string{dir, filepath.Join(dir, "mirrors"), filepath.Join(dir, "trees")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("open cache: make its folder writable or choose another: %w", err)
		}
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("open cache: %w", err)
	}
	c := &Cache{dir: dir}
	c.prune()
	name := filepath.Join(dir, "trees", strings.ToLower(rand.Text()[:10]))
	if c.hold, err = tryLock(name+".lock", true); err != nil {
		return nil, fmt.Errorf("open cache: %w", err)
	}
	c.trees = name
	if err := os.Mkdir(name, 0o700); err != nil {
		c.Close()
		return nil, fmt.Errorf("open cache: %w", err)
	}
	return c, nil
}

// prune removes worktrees whose process is dead: its lock can be had.
func (c *Cache) prune() {
	locks, _ := filepath.Glob(filepath.Join(c.dir, "trees", "*.lock"))
	for _, path := range locks {
		l, err := tryLock(path, true)
		if err != nil {
			continue
		}
		if removeTree(strings.TrimSuffix(path, ".lock")) == nil {
			os.Remove(path)
		}
		l.release()
	}
	locks, _ = filepath.Glob(filepath.Join(c.dir, "mirrors", "*.lock"))
	for _, path := range locks {
		mirror := strings.TrimSuffix(path, ".lock")
		l, err := tryLock(path, true)
		if err != nil {
			continue // somebody makes or updates it
		}
		if removeTree(mirror+halfMade) == nil && !whole(mirror) {
			os.Remove(mirror + ".use")
			os.Remove(path)
		}
		l.release()
	}
}

// halfMade ends the name of a mirror that is being made.
const halfMade = ".new"

// Close removes this process's worktrees. Mirrors stay for the next time.
func (c *Cache) Close() error {
	if c.hold == nil {
		return nil
	}
	err := removeTree(c.trees)
	if err == nil {
		os.Remove(c.trees + ".lock")
	}
	c.hold.release()
	c.hold = nil
	return err
}

// Mirror is the private copy of one repository. Its methods are safe for
// concurrent use.
type Mirror struct {
	cache *Cache
	dir   string // bare repository
	use   *lock  // shared, so that nobody tidies it up meanwhile
	facts Facts

	once   sync.Once
	remote *remote
	token  TokenFunc
}

// Facts are what a session should know about the repository it was given.
type Facts struct {
	Source     string   `json:"source"` // path or address
	Bare       bool     `json:"bare,omitempty"`
	Dirty      int      `json:"dirty,omitempty"`      // files with uncommitted changes, which are not looked at
	Shallow    bool     `json:"shallow,omitempty"`    // history is cut
	Partial    bool     `json:"partial,omitempty"`    // contents are missing
	Submodules []string `json:"submodules,omitempty"` // not fetched
	Branch     string   `json:"branch,omitempty"`     // that HEAD is on
}

// Warnings are the facts that a person should see, with what to do.
func (f Facts) Warnings() []string {
	var out []string
	if f.Dirty > 0 {
		out = append(out, fmt.Sprintf("%d file(s) with uncommitted changes are left alone and not looked at: commit them to include them", f.Dirty))
	}
	if f.Shallow {
		out = append(out, "the clone is shallow, so older history cannot be searched: run `git fetch --unshallow` in it")
	}
	if f.Partial {
		out = append(out, "the clone is partial, so contents may be missing: run `git fetch --refetch --no-filter` in it")
	}
	if len(f.Submodules) > 0 {
		out = append(out, fmt.Sprintf("%d submodule(s) are not fetched and stay empty", len(f.Submodules)))
	}
	return out
}

// Facts returns what was found when the mirror was opened.
func (m *Mirror) Facts() Facts { return m.facts }

// Dir is the mirror's bare repository.
func (m *Mirror) Dir() string { return m.dir }

// Close lets go of the mirror. Its trees must be removed before.
func (m *Mirror) Close() error {
	m.once.Do(m.use.release)
	return nil
}

// git runs a command in the mirror.
func (m *Mirror) git(ctx context.Context, args ...string) ([]byte, error) {
	return git(ctx, call{args: args, gitDir: m.dir})
}

// mirrorPath is the folder of a repository's mirror: readable and unique.
func (c *Cache) mirrorPath(key string) string {
	sum := sha256.Sum256([]byte(key))
	base := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, strings.TrimSuffix(filepath.Base(key), ".git"))
	if len(base) > 40 {
		base = base[:40]
	}
	return filepath.Join(c.dir, "mirrors", base+"-"+hex.EncodeToString(sum[:8])+".git")
}

// complete marks a mirror whose making was not interrupted.
const complete = "culprit-complete"

// whole reports whether the mirror was made to the end.
func whole(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, complete))
	return err == nil
}

// unlock removes lock files that a killed git left in a mirror. Only for the
// holder of the mirror's lock.
func unlock(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipDir
		}
		if d.IsDir() && d.Name() == "objects" {
			return fs.SkipDir
		}
		if !d.IsDir() && strings.HasSuffix(path, ".lock") {
			os.Remove(path)
		}
		return nil
	})
	torn, _ := filepath.Glob(filepath.Join(dir, "objects", "pack", "tmp_*"))
	for _, path := range torn {
		os.Remove(path)
	}
}

// makeBare makes an empty bare repository of our own configuration.
func makeBare(ctx context.Context, dir, format string) error {
	if err := removeTree(dir); err != nil {
		return err
	}
	_, err := git(ctx, call{args: []string{"init", "--quiet", "--bare", "--template=", "--initial-branch=main", "--object-format=" + format, "--", dir}})
	return err
}

// finish marks a new mirror complete and looks at its content.
func (m *Mirror) finish(ctx context.Context) error {
	head, err := m.Resolve(ctx, "HEAD")
	if err != nil {
		return err
	}
	if m.facts.Submodules, err = m.submodules(ctx, head); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(m.dir, complete), nil, 0o600)
}

// submodules lists the gitlinks of a commit that has a .gitmodules file.
func (m *Mirror) submodules(ctx context.Context, c session.Commit) ([]string, error) {
	if ok, err := m.Exists(ctx, c.SHA, ".gitmodules"); err != nil || !ok {
		return nil, err
	}
	return m.gitlinks(ctx, c.SHA)
}

// removeTree removes a folder in which there may be folders without write
// permission.
func removeTree(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove %s: %w", filepath.Base(dir), err)
	}
	return nil
}
