package pipeline

import (
	"context"
	"time"

	"culprit/internal/session"
)

// Workspace answers questions about the repository's history. It never
// changes the repository that was given.
type Workspace interface {
	Resolve(ctx context.Context, rev string) (session.Commit, error)
	// Log lists commits reachable from rev, newest first; paths limits it to
	// commits that touch them, limit 0 means all.
	Log(ctx context.Context, rev string, opts LogOptions) ([]session.Commit, error)
	// Changed lists the files that differ between two commits, renames found.
	Changed(ctx context.Context, from, to string) ([]session.FileChange, error)
	// Show reads a file of a commit; a missing one matches fs.ErrNotExist.
	Show(ctx context.Context, rev, path string) ([]byte, error)
	// List names all files of a commit.
	List(ctx context.Context, rev string) ([]string, error)
	// Blame says for the lines from..to of a file which commit wrote them.
	Blame(ctx context.Context, rev, path string, from, to int) ([]session.Commit, error)
}

// LogOptions narrow Workspace.Log.
type LogOptions struct {
	FirstParent bool
	Paths       []string
	Limit       int
}

// Runner executes trials, each in a worktree of its own. Equal trials that the
// session has paid for already are answered from its record when the caller
// allows it (Repeat counts from there too).
type Runner interface {
	// Reproduction is the session's reproduction as a trial at the bad commit,
	// with the files that carry it laid over.
	Reproduction(ctx context.Context, s *session.Session) (session.Trial, error)
	// Run executes a trial once. The error is about the machinery (context
	// over, budget spent, disk full), never about what the trial showed.
	Run(ctx context.Context, t session.Trial) (session.Observation, error)
	// Used says how many runs the session has executed.
	Used() (runs int, elapsed time.Duration)
	// Repeat executes a trial n times in parallel.
	Repeat(ctx context.Context, t session.Trial, n int) (session.Count, []session.Observation, error)
}

// Investigator tests one hypothesis (wave 1). It cannot write to the
// repository.
type Investigator interface {
	Investigate(ctx context.Context, s *session.Session, t session.Task) session.Finding
}

// Refuter tries to break one confirmed cause, without the words of whoever
// confirmed it (QD14). It cannot write to the repository.
type Refuter interface {
	Refute(ctx context.Context, s *session.Session, t session.Task) session.Challenge
}

// Synthesizer makes one text of all findings of wave 1 (CR9).
type Synthesizer interface {
	Synthesize(ctx context.Context, s *session.Session) session.Synthesis
}

// Fixer attempts one fix (wave 2) for a confirmed hypothesis.
type Fixer interface {
	Fix(ctx context.Context, s *session.Session, t session.Task) session.FixReport
	// Compose is the fix that edits of a commit make, with task, strategy and
	// summary as in words.
	Compose(ctx context.Context, base string, edits []session.Edit, words session.Fix) (session.Fix, error)
	// Necessity leaves each hunk of the fix out in turn and runs the trial:
	// the failure must be back. n passes in a row call a hunk idle.
	Necessity(ctx context.Context, fix session.Fix, without session.Trial, n int) ([]session.Necessity, error)
}

// Rewriter writes another fix of the same cause beside those that hold. It
// reports fix_failed where it has none.
type Rewriter interface {
	Another(ctx context.Context, s *session.Session, t session.Task, have []*session.Fix) session.FixReport
}

// Publisher shows the session to people. Every method is idempotent.
type Publisher interface {
	// Progress shows the state while the session runs.
	Progress(ctx context.Context, s *session.Session) error
	// Propose publishes the verified fix (a branch and a pull request) and
	// notes what it published in s.Published.
	Propose(ctx context.Context, s *session.Session) error
	// Final shows the end result, or the question that the session waits with.
	Final(ctx context.Context, s *session.Session) error
}

// Store keeps the session durable; *session.Folder is one, a checkpoint to
// Redis wraps it.
type Store interface {
	Save(s *session.Session) error
	Record(e session.Entry) error
	Entries() ([]session.Entry, error)
	Discover(d session.Discovery) (bool, error)
	Write(name string, data []byte) error
	Read(name string) ([]byte, error)
	Remove(name string) error
}

// People are those who may answer a session's question.
type People interface {
	// Answer returns an answer that is not in s.Answers yet; ok is false when
	// there is none.
	Answer(ctx context.Context, s *session.Session) (a session.Answer, ok bool, err error)
}

// Memory is what sessions know of one another's tests (QD4). It is context: a
// memory that is out of reach keeps no session from its work.
type Memory interface {
	// Recall returns what other sessions found of the failing tests of s in the
	// same repository, the newest first.
	Recall(ctx context.Context, s *session.Session) ([]session.Past, error)
	// Learn adds what s found. Doing it again changes nothing.
	Learn(ctx context.Context, s *session.Session) error
}

// Clock tells the time; tests inject one.
type Clock interface{ Now() time.Time }

// GoodFinder looks for the last known good commit and verifies a given one.
type GoodFinder interface {
	FindGood(ctx context.Context, s *session.Session) (session.Archaeology, error)
}

// LogSource fetches the logs of the failed CI jobs that started the session.
type LogSource interface {
	Logs(ctx context.Context, s *session.Session) ([]CILog, error)
}

// CILog is the log of one failed job, size-capped.
type CILog struct {
	Name    string // job name
	Content []byte
	Note    string // "the log has expired", when there is no content
	// Job says where in the workflow files the job is; its Name is empty for a
	// job of another CI service.
	Job session.CIJob
}
