package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"culprit/internal/session"
)

// Repo reads the repository at any commit, from git's objects. There is no
// folder that a path could lead out of, and nothing that could be written to.
type Repo interface {
	Resolve(ctx context.Context, rev string) (session.Commit, error)
	List(ctx context.Context, rev string) ([]string, error)
	// ShowMode reads a file with git's mode of it; a missing one matches
	// fs.ErrNotExist. A symbolic link yields its target.
	ShowMode(ctx context.Context, rev, path string) ([]byte, uint32, error)
	Touching(ctx context.Context, rev string, paths []string, limit int) ([]session.Commit, error)
	Blame(ctx context.Context, rev, path string, from, to int) ([]session.Commit, error)
	Message(ctx context.Context, rev string) (string, error)
	// Patch is the change between two commits with a few lines of context.
	Patch(ctx context.Context, from, to string, paths []string) ([]byte, error)
	// Search finds lines, "path:line:text"; cut: there were more.
	Search(ctx context.Context, rev, pattern string, fixed bool, paths []string) (found string, cut bool, err error)
}

// Runner executes trials in the sandbox, each in a throwaway worktree.
type Runner interface {
	Run(ctx context.Context, t session.Trial) (session.Observation, error)
	Repeat(ctx context.Context, t session.Trial, n int) (session.Count, []session.Observation, error)
}

// Board is what all workers of a session share (QD12).
type Board interface {
	Discoveries() ([]session.Discovery, error)
	Discover(d session.Discovery) (bool, error)
}

// Desk is what one worker's tools work on: a commit with the reproduction's
// files over it, and, for a fixer, the edits that it has made so far. The edits
// exist in memory only and reach a disk in the throwaway worktree of a run.
type Desk struct {
	Repo   Repo
	Runner Runner
	Board  Board
	Base   session.Trial // the reproduction: commit, overlay, command, target
	Task   string        // row that pays for runs
	Source string        // name of the worker on the board
	Now    func() time.Time
	// Redact takes secrets out of a whole text, before a part of it is shown: a
	// part of a secret has not its form any more. nil: nothing is taken out.
	Redact func(string) string
	// MayEdit says why a path must not be changed, or made; nil: everything may be.
	MayEdit func(path string, isNew bool) error

	mu    sync.Mutex
	edits []session.Edit
	past  [][]session.Edit
}

// Edits are the changes made so far, in the order of their paths.
func (d *Desk) Edits() []session.Edit {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := slices.Clone(d.edits)
	slices.SortFunc(out, func(a, b session.Edit) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// safe is a text without secrets.
func (d *Desk) safe(text string) string {
	if d.Redact == nil {
		return text
	}
	return d.Redact(text)
}

// symlink is git's mode of a symbolic link.
const symlink = 0o120000

// maxLinks that are followed one after another.
const maxLinks = 8

// clean makes a path of the repository out of what a model wrote.
func clean(p string) (string, error) {
	p = strings.TrimPrefix(strings.TrimSpace(p), "./")
	if p == "" || path.IsAbs(p) || strings.ContainsRune(p, 0) {
		return "", fmt.Errorf("%q is no path of the repository: give one relative to its root, such as internal/cart/cart.go", p)
	}
	p = path.Clean(p)
	for part := range strings.SplitSeq(p, "/") {
		if part == ".." || strings.EqualFold(part, ".git") {
			return "", fmt.Errorf("%q leads out of the repository's files: there is nothing else that can be read", p)
		}
	}
	return p, nil
}

// read is a file as the worker sees it: its own edits over the reproduction's
// files over the commit. Links are followed within the repository.
func (d *Desk) read(ctx context.Context, name string) (data []byte, at string, err error) {
	at, err = clean(name)
	for range maxLinks {
		if err != nil {
			return nil, at, err
		}
		if e, ok := d.edited(at); ok {
			if e.Delete {
				return nil, at, fmt.Errorf("%s was deleted by an edit", at)
			}
			return e.Content, at, nil
		}
		var mode uint32
		data, mode, err = d.Repo.ShowMode(ctx, d.Base.Rev, at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, at, fmt.Errorf("there is no file %s at this commit: list shows what is there", at)
		case err != nil:
			return nil, at, err
		case mode != symlink:
			return data, at, nil
		}
		target := string(data)
		if path.IsAbs(target) {
			return nil, at, fmt.Errorf("%s is a link that leads out of the repository", at)
		}
		at, err = clean(path.Join(path.Dir(at), target))
	}
	return nil, at, fmt.Errorf("%s: more than %d links one after another", name, maxLinks)
}

// Read is a file as the worker sees it.
func (d *Desk) Read(ctx context.Context, name string) ([]byte, error) {
	data, _, err := d.read(ctx, name)
	return data, err
}

// edited is the newest edit of a path, the reproduction's own included.
func (d *Desk) edited(p string) (session.Edit, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, list := range [][]session.Edit{d.edits, d.Base.Edits} {
		for i := len(list) - 1; i >= 0; i-- {
			if list[i].Path == p {
				return list[i], true
			}
		}
	}
	return session.Edit{}, false
}

// overlaid are the paths that differ from the commit.
func (d *Desk) overlaid() map[string]session.Edit {
	out := map[string]session.Edit{}
	for _, list := range [][]session.Edit{d.Base.Edits, d.Edits()} {
		for _, e := range list {
			out[e.Path] = e
		}
	}
	return out
}

// trial is the reproduction with the worker's edits.
func (d *Desk) trial(name string) session.Trial {
	t := d.Base
	t.Name, t.Task = name, d.Task
	t.Edits = append(slices.Clone(t.Edits), d.Edits()...)
	return t
}

// Investigator has tools none of which changes anything but the board.
func (d *Desk) Investigator() []Tool {
	return []Tool{
		d.list(), d.readTool(), d.search(), d.symbols(), d.log(), d.blame(), d.show(), d.diff(),
		d.runTest(), d.runCommand(), d.repeat(), d.runAt(), d.boardRead(), d.boardAdd(),
	}
}

// Refuter has those of an investigator without the board, on which stands what
// those think whose claim is tried.
func (d *Desk) Refuter() []Tool {
	return []Tool{
		d.list(), d.readTool(), d.search(), d.symbols(), d.log(), d.blame(), d.show(), d.diff(),
		d.runTest(), d.runCommand(), d.repeat(), d.runAt(),
	}
}

// Reader looks lines up, and does nothing else.
func (d *Desk) Reader() []Tool { return []Tool{d.readTool(), d.search()} }

// Fixer has those of an investigator, and edits.
func (d *Desk) Fixer() []Tool {
	return append(d.Investigator(), d.edit(), d.create(), d.undo(), d.changes())
}
