package experiment

import (
	"context"
	"time"

	"culprit/internal/session"
)

// History answers questions about the repository, read-only. Revisions are
// full commit IDs, as Resolve returns them.
type History interface {
	Resolve(ctx context.Context, rev string) (session.Commit, error)
	// FirstParents lists rev and its ancestors along first parents, newest
	// first; limit 0 means all.
	FirstParents(ctx context.Context, rev string, limit int) ([]session.Commit, error)
	// Between lists the commits that are reachable from to and not from from,
	// on any path, newest first, parents after children.
	Between(ctx context.Context, from, to string) ([]session.Commit, error)
	// Touching lists the commits reachable from rev that change one of the
	// paths, newest first; limit 0 means all.
	Touching(ctx context.Context, rev string, paths []string, limit int) ([]session.Commit, error)
	// MergeBase is the best common ancestor, or "" when there is none.
	MergeBase(ctx context.Context, a, b string) (string, error)
	// Changed lists the files that differ between two commits, renames found.
	// from "" stands for the empty tree.
	Changed(ctx context.Context, from, to string) ([]session.FileChange, error)
	// ShowMode reads a file of a commit, with git's mode of it (0o100755 for an
	// executable); a missing one matches fs.ErrNotExist.
	ShowMode(ctx context.Context, rev, path string) ([]byte, uint32, error)
	// List names all files of a commit.
	List(ctx context.Context, rev string) ([]string, error)
	// Diff is git's diff of two commits with -U0 -M --full-index --binary.
	Diff(ctx context.Context, from, to string) ([]byte, error)
}

// Trees makes throwaway worktrees that share one object store.
type Trees interface {
	// Tree returns a new worktree with nothing checked out yet.
	Tree(ctx context.Context) (Tree, error)
}

// Tree is one worktree. The lab uses it from one goroutine at a time.
type Tree interface {
	// Dir is the worktree's folder, an absolute path.
	Dir() string
	// Checkout makes the tracked files exactly those of rev, whatever was
	// there before, and leaves the modification times of files that stay equal.
	Checkout(ctx context.Context, rev string) error
	// Apply lays edits over the checkout. Symbolic links on the way are not
	// followed.
	Apply(ctx context.Context, edits []session.Edit) error
	// Untracked names files and folders that are not part of the commit,
	// ignored ones too; folders end in "/".
	Untracked(ctx context.Context) ([]string, error)
	// Clean removes untracked and ignored files, except those in keep and
	// below them.
	Clean(ctx context.Context, keep []string) error
	// Remove deletes the worktree.
	Remove(ctx context.Context) error
}

// Execution is one command for the sandbox.
type Execution struct {
	Dir     string
	Script  string   // of the reproduction or set-up, run by a shell
	Env     []string // "K=V", added to the scrubbed environment
	Network bool     // set-up only
	Timeout time.Duration
}

// Executed is what became of an execution.
type Executed struct {
	Exit     int
	TimedOut bool
	Limit    string // name of the resource limit that ended it, or empty
	Duration time.Duration
	Output   string // combined, capped
}

// Executor runs a command confined. A command that fails is no error.
type Executor interface {
	Execute(ctx context.Context, e Execution) (Executed, error)
}

// Store keeps the record of runs; *session.Folder is one.
type Store interface {
	Record(e session.Entry) error
	Entries() ([]session.Entry, error)
	Write(name string, data []byte) error
	Read(name string) ([]byte, error)
}

var _ Store = (*session.Folder)(nil)
