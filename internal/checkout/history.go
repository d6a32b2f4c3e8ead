package checkout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"time"

	"culprit/internal/session"
)

var (
	hexID    = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	onlyLine = regexp.MustCompile(`has only (\d+) lines?`)
)

func fullID(rev string) bool { return hexID.MatchString(rev) }

// Resolve turns any way of naming a commit into the commit. An error that
// matches ErrUnknownRevision says what to do.
func (m *Mirror) Resolve(ctx context.Context, rev string) (session.Commit, error) {
	sha, err := m.id(ctx, rev, true)
	if err != nil {
		return session.Commit{}, err
	}
	commits, err := m.log(ctx, []string{"--no-walk", "--end-of-options", sha, "--"})
	if err != nil {
		return session.Commit{}, fmt.Errorf("read commit %s: %w", clean(rev), err)
	}
	if len(commits) != 1 {
		return session.Commit{}, fmt.Errorf("read commit %s: git returned %d commits", clean(rev), len(commits))
	}
	return commits[0], nil
}

// id is the full commit ID of rev. One that is full already is taken as it is
// unless it must be verified.
func (m *Mirror) id(ctx context.Context, rev string, verify bool) (string, error) {
	if fullID(rev) && !verify {
		return rev, nil
	}
	unknown := func() error {
		what := "check its spelling, or fetch it first"
		if m.facts.Shallow {
			what = "the clone is shallow: run `git fetch --unshallow` in it, or check the spelling"
		}
		return fmt.Errorf("revision %q: %w: %s", clean(rev), ErrUnknownRevision, what)
	}
	// A revision can be many things; what can only be meant badly is not passed on.
	if rev == "" || len(rev) > 1000 || strings.ContainsAny(rev, "\x00\n\r") || strings.HasPrefix(rev, "-") || strings.Contains(rev, "..") {
		return "", unknown()
	}
	out, err := m.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	sha := strings.TrimSpace(string(out))
	if err == nil && fullID(sha) {
		return sha, nil
	}
	var ge *GitError
	if err != nil && !errors.As(err, &ge) {
		return "", err
	}
	if ge != nil && strings.Contains(ge.Message, "ambiguous") {
		return "", fmt.Errorf("revision %q: %w: it is ambiguous: give more digits", clean(rev), ErrUnknownRevision)
	}
	return "", unknown()
}

// LogOptions narrow Log.
type LogOptions struct {
	FirstParent bool     // follow the first parent of merges only
	Paths       []string // only commits that touch these files or folders
	Limit       int      // at most so many; 0 means all
	Not         string   // without what is reachable from here
}

// Log lists the commits reachable from rev, newest first, children before
// their parents.
func (m *Mirror) Log(ctx context.Context, rev string, opts LogOptions) ([]session.Commit, error) {
	sha, err := m.id(ctx, rev, false)
	if err != nil {
		return nil, err
	}
	args := []string{"--topo-order"}
	if opts.FirstParent {
		args = append(args, "--first-parent")
	}
	if opts.Limit > 0 {
		args = append(args, "--max-count="+strconv.Itoa(opts.Limit))
	}
	args = append(args, "--end-of-options", sha)
	if opts.Not != "" {
		not, err := m.id(ctx, opts.Not, false)
		if err != nil {
			return nil, err
		}
		args = append(args, "^"+not)
	}
	commits, err := m.log(ctx, append(append(args, "--"), opts.Paths...))
	if err != nil {
		return nil, fmt.Errorf("read history of %s: %w", clean(rev), err)
	}
	return commits, nil
}

// FirstParents lists rev and its ancestors along first parents, newest first.
func (m *Mirror) FirstParents(ctx context.Context, rev string, limit int) ([]session.Commit, error) {
	return m.Log(ctx, rev, LogOptions{FirstParent: true, Limit: limit})
}

// Between lists the commits that are reachable from to and not from from, on
// any path, newest first, parents after children.
func (m *Mirror) Between(ctx context.Context, from, to string) ([]session.Commit, error) {
	return m.Log(ctx, to, LogOptions{Not: from})
}

// Count is how many commits Between would list.
func (m *Mirror) Count(ctx context.Context, from, to string) (int, error) {
	a, err := m.id(ctx, from, false)
	if err != nil {
		return 0, err
	}
	b, err := m.id(ctx, to, false)
	if err != nil {
		return 0, err
	}
	out, err := m.git(ctx, "rev-list", "--count", "--end-of-options", b, "^"+a, "--")
	if err != nil {
		return 0, fmt.Errorf("count commits: %w", err)
	}
	return strconv.Atoi(strings.TrimSpace(string(out)))
}

// MergeBase is the best common ancestor of two commits, or "" when there is
// none.
func (m *Mirror) MergeBase(ctx context.Context, a, b string) (string, error) {
	x, err := m.id(ctx, a, false)
	if err != nil {
		return "", err
	}
	y, err := m.id(ctx, b, false)
	if err != nil {
		return "", err
	}
	out, _, err := gitExit(ctx, call{args: []string{"merge-base", "--end-of-options", x, y}, gitDir: m.dir, ok: []int{1}})
	if err != nil {
		return "", fmt.Errorf("find the merge base: %w", err)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return first, nil
}

// IsAncestor reports whether a is reachable from b.
func (m *Mirror) IsAncestor(ctx context.Context, a, b string) (bool, error) {
	x, err := m.id(ctx, a, false)
	if err != nil {
		return false, err
	}
	y, err := m.id(ctx, b, false)
	if err != nil {
		return false, err
	}
	_, code, err := gitExit(ctx, call{args: []string{"merge-base", "--is-ancestor", "--end-of-options", x, y}, gitDir: m.dir, ok: []int{1}})
	if err != nil {
		return false, fmt.Errorf("compare commits: %w", err)
	}
	return code == 0, nil
}

// commitFormat has one NUL after each field. A field itself cannot hold one.
const commitFormat = "--format=tformat:%H%x00%P%x00%an%x00%cI%x00%s%x00"

func (m *Mirror) log(ctx context.Context, args []string) ([]session.Commit, error) {
	out, err := m.git(ctx, append([]string{"log", "--no-color", "--no-notes", "--no-patch", "--encoding=UTF-8", commitFormat}, args...)...)
	if err != nil {
		return nil, err
	}
	return parseLog(out)
}

// parseLog reads what commitFormat prints: five fields and a line break each.
func parseLog(out []byte) ([]session.Commit, error) {
	const fields = 5
	var commits []session.Commit
	for len(out) > 0 {
		var f [fields]string
		for i := range f {
			end := bytes.IndexByte(out, 0)
			if end < 0 {
				return nil, errors.New("read git log: it ends within a commit")
			}
			f[i] = string(out[:end])
			out = out[end+1:]
		}
		out = bytes.TrimPrefix(out, []byte("\n"))
		if !fullID(f[0]) {
			return nil, errors.New("read git log: it holds no commit ID where one must be")
		}
		c := session.Commit{SHA: f[0], Parents: strings.Fields(f[1]), Author: strings.ToValidUTF8(f[2], "\uFFFD"), Subject: strings.ToValidUTF8(f[4], "\uFFFD")}
		if len(c.Parents) == 0 {
			c.Parents = nil
		}
		if date, err := time.Parse(time.RFC3339, f[3]); err == nil {
			c.Date = date.UTC() // a commit with a date beyond reason has none
		}
		commits = append(commits, c)
	}
	return commits, nil
}

// Message is the whole commit message, hostile text.
func (m *Mirror) Message(ctx context.Context, rev string) (string, error) {
	sha, err := m.id(ctx, rev, false)
	if err != nil {
		return "", err
	}
	out, err := m.git(ctx, "log", "--no-walk", "--no-color", "--no-notes", "--no-patch", "--encoding=UTF-8", "--format=tformat:%B", "--end-of-options", sha, "--")
	if err != nil {
		return "", fmt.Errorf("read message of %s: %w", clean(rev), err)
	}
	return strings.ToValidUTF8(strings.TrimRight(string(out), "\n"), "\uFFFD"), nil
}

// Blame says which commit wrote each of the lines from..to (from 1, both
// included) of a file, one commit per line in order. Lines that the file does
// not have are left out; a file that is not there matches fs.ErrNotExist.
func (m *Mirror) Blame(ctx context.Context, rev, path string, from, to int) ([]session.Commit, error) {
	sha, err := m.id(ctx, rev, false)
	if err != nil {
		return nil, err
	}
	if from < 1 || to < from {
		return nil, fmt.Errorf("blame %s: lines %d to %d are no range", clean(path), from, to)
	}
	if ok, err := m.Exists(ctx, sha, path); err != nil {
		return nil, err
	} else if !ok {
		return nil, fmt.Errorf("blame %s at %.8s: %w", clean(path), sha, fs.ErrNotExist)
	}
	blame := func(to int) ([]byte, error) {
		return m.git(ctx, "blame", "--porcelain", "-M", "-L", fmt.Sprintf("%d,%d", from, to), sha, "--", path)
	}
	out, err := blame(to)
	var ge *GitError
	if errors.As(err, &ge) {
		if found := onlyLine.FindStringSubmatch(ge.Message); found != nil {
			have, _ := strconv.Atoi(found[1])
			if have < from {
				return nil, nil
			}
			out, err = blame(have)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("blame %s: %w", clean(path), err)
	}
	ids := parseBlame(out)
	if len(ids) == 0 {
		return nil, nil
	}
	return m.commits(ctx, ids)
}

var blameHead = regexp.MustCompile(`^([0-9a-f]{40,64}) \d+ \d+( \d+)?$`)

// parseBlame returns the commit of each line: content lines start with a tab,
// so no content can look like a header.
func parseBlame(out []byte) []string {
	var ids []string
	for line := range bytes.Lines(out) {
		if found := blameHead.FindSubmatch(bytes.TrimSuffix(line, []byte("\n"))); found != nil && line[0] != '\t' {
			ids = append(ids, string(found[1]))
		}
	}
	return ids
}

// commits reads the commits of ids, in their order, each once from git.
func (m *Mirror) commits(ctx context.Context, ids []string) ([]session.Commit, error) {
	known := map[string]session.Commit{}
	args := []string{"--no-walk=unsorted", "--stdin"}
	var in strings.Builder
	for _, id := range ids {
		if _, ok := known[id]; !ok {
			known[id] = session.Commit{}
			in.WriteString(id + "\n")
		}
	}
	out, err := git(ctx, call{args: append([]string{"log", "--no-color", "--no-notes", "--no-patch", "--encoding=UTF-8", commitFormat}, args...), gitDir: m.dir, stdin: []byte(in.String())})
	if err != nil {
		return nil, fmt.Errorf("read commits: %w", err)
	}
	list, err := parseLog(out)
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		known[c.SHA] = c
	}
	all := make([]session.Commit, len(ids))
	for i, id := range ids {
		all[i] = known[id]
	}
	return all, nil
}
