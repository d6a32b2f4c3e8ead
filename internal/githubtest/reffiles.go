package githubtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Branches and tags are files below refs/, unless git packed them or a name
// needs git's judgement; then git is asked.

var errNotFiles = errors.New("the refs are not plain files")

// plainRef is a ref whose name is valid without further thought.
var plainRef = regexp.MustCompile(`^refs/(heads|tags|pull)(/[A-Za-z0-9_-]+)+$`)

func (s *Server) validRef(r *repository, ref string) bool {
	if plainRef.MatchString(ref) {
		return true
	}
	_, err := s.git(r, "check-ref-format", ref)
	return err == nil
}

func (r *repository) packedRefs() bool {
	_, err := os.Stat(filepath.Join(r.dir, "packed-refs"))
	return err == nil
}

// listRefs lists refs below the prefixes, or all: full name to SHA.
func (s *Server) listRefs(r *repository, prefixes ...string) (map[string]string, error) {
	if len(prefixes) == 0 {
		prefixes = []string{"refs"}
	}
	if refs, err := r.readRefs(prefixes); !errors.Is(err, errNotFiles) {
		return refs, err
	}
	out, err := s.git(r, append([]string{"for-each-ref", "--format=%(refname) %(objectname)", "--"}, prefixes...)...)
	if err != nil {
		return nil, err
	}
	refs := map[string]string{}
	for line := range strings.Lines(out) {
		if name, sha, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			refs[name] = sha
		}
	}
	return refs, nil
}

func (r *repository) readRefs(prefixes []string) (map[string]string, error) {
	if r.packedRefs() {
		return nil, errNotFiles
	}
	refs := map[string]string{}
	for _, prefix := range prefixes {
		err := filepath.WalkDir(filepath.Join(r.dir, prefix), func(path string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil // nothing below the prefix, or just deleted
			case err != nil:
				return fmt.Errorf("list refs: %w", err)
			case d.IsDir(), strings.HasSuffix(path, ".lock"):
				return nil
			}
			data, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			sha := strings.TrimSpace(string(data))
			name, err2 := filepath.Rel(r.dir, path)
			if err != nil || err2 != nil || !fullSHA(sha) {
				return errNotFiles // a symbolic ref, or broken
			}
			refs[filepath.ToSlash(name)] = sha
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return refs, nil
}

// setRef makes or moves a ref, whatever it was before.
func (s *Server) setRef(r *repository, ref, sha string) error {
	if plainRef.MatchString(ref) && !r.packedRefs() && r.writeRef(ref, sha) == nil {
		return nil
	}
	_, err := s.git(r, "update-ref", "--end-of-options", ref, sha)
	return err
}

// writeRef writes a ref as git does: under its lock, and at one go.
func (r *repository) writeRef(ref, sha string) error {
	path := filepath.Join(r.dir, ref)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = lock.WriteString(sha + "\n")
	if err = errors.Join(err, lock.Close()); err == nil {
		err = os.Rename(path+".lock", path)
	}
	if err != nil {
		_ = os.Remove(path + ".lock")
	}
	return err
}
