package checkout

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// GrepOptions shape Grep.
type GrepOptions struct {
	Fixed bool     // the pattern is a text, not an extended regular expression
	Paths []string // only these files or folders
}

// maxGrep is how much of what is found is returned, in bytes.
const maxGrep = 1 << 20

// Grep searches the text files of a commit and answers "path:line:text" for each
// match. What is found beyond a megabyte is left out; cut reports that.
func (m *Mirror) Grep(ctx context.Context, rev, pattern string, o GrepOptions) (found string, cut bool, err error) {
	sha, err := m.id(ctx, rev, false)
	if err != nil {
		return "", false, err
	}
	args := []string{"grep", "--no-color", "--no-ext-grep", "--no-textconv", "-I", "-n", "--full-name", "--threads=1"}
	if o.Fixed {
		args = append(args, "-F")
	} else {
		args = append(args, "-E")
	}
	args = append(args, "-e", pattern, sha, "--")
	args = append(args, o.Paths...)
	var out strings.Builder
	// Exit 1 means that nothing was found.
	_, err = git(ctx, call{args: args, gitDir: m.dir, ok: []int{1}, out: &out, max: maxGrep})
	if cut = errors.Is(err, ErrTooLarge); err != nil && !cut {
		return "", false, fmt.Errorf("search %.8s: %w", sha, err)
	}
	var b strings.Builder
	for line := range strings.Lines(strings.ToValidUTF8(out.String(), "\uFFFD")) {
		b.WriteString(strings.TrimPrefix(line, sha+":"))
	}
	return b.String(), cut, nil
}
