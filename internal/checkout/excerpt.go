package checkout

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Excerpt makes a bare repository at dir, in place of what is there, that holds
// a revision and its history and nothing else of the mirror: no later commit,
// no other branch, no tag, and no object that only those have. Commit IDs stay
// the same. Its one branch is main.
//
// It is how a bug whose fix is known is looked at as on the day when it was not
// (feature BX6).
func (m *Mirror) Excerpt(ctx context.Context, rev, dir string) error {
	if m.facts.Shallow || m.facts.Partial {
		return errors.New("make excerpt: the repository's history is cut off: give a full clone")
	}
	commit, err := m.Resolve(ctx, rev)
	if err != nil {
		return fmt.Errorf("make excerpt: %w", err)
	}
	format, err := m.git(ctx, "rev-parse", "--show-object-format")
	if err != nil {
		return fmt.Errorf("make excerpt: %w", err)
	}
	if err := makeBare(ctx, dir, strings.TrimSpace(string(format))); err != nil {
		return fmt.Errorf("make excerpt: %w", err)
	}
	pack := filepath.Join(dir, "objects", "pack", "pack")
	_, err = git(ctx, call{args: []string{"pack-objects", "--revs", "--quiet", "--end-of-options", pack}, gitDir: m.dir, stdin: []byte(commit.SHA + "\n")})
	if err != nil {
		return fmt.Errorf("make excerpt: %w", err)
	}
	return writeRefs(dir, []byte(commit.SHA+" refs/heads/main\n"))
}

// Import makes a bare repository at dir, in place of what is there, from a
// stream as git fast-import reads it. HEAD is its branch main.
func Import(ctx context.Context, dir string, stream []byte) error {
	if err := makeBare(ctx, dir, "sha1"); err != nil {
		return fmt.Errorf("import history: %w", err)
	}
	if _, err := git(ctx, call{args: []string{"fast-import", "--quiet"}, gitDir: dir, stdin: stream}); err != nil {
		return fmt.Errorf("import history: %w", err)
	}
	return nil
}
