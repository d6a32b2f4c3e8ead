package experiment

import (
	"context"
	"errors"
	"io/fs"

	"culprit/internal/session"
	"culprit/internal/toolchain"
)

// Language is what the experiments need to know about test runners and build
// tools: pure functions over text and file lists.
type Language struct {
	// Parse reads the output of a test command.
	Parse func(output string) session.TestReport
	// Judge says what a run shows about the target, and why when it is not a
	// plain pass or failure.
	Judge func(target session.Target, exit int, timedOut bool, report session.TestReport, output string) (session.Outcome, string)
	// Adapt proposes what an older commit needs so that today's command can
	// run there: files to add or replace, and a sentence that says what was
	// done. No edits means that nothing helps. The trial says what is looked for
	// and which files carry it.
	Adapt func(t session.Trial, old, newer Snapshot) (edits []session.Edit, note string)
	// Setup is the set-up command for an older commit that has its own lock
	// files or package manager: setup itself, where that is somebody's own
	// command or still right. Nil keeps setup everywhere.
	Setup func(setup string, old Snapshot) string
	// Shuffled and Race rewrite a test command: another random order each time,
	// race detector.
	// ok is false where the test runner cannot do it.
	Shuffled func(command string) (shuffled string, ok bool)
	Race     func(command string) (raced string, ok bool)
	// Some is the command that runs these tests and no others, in their order
	// where the runner keeps one; nil where that cannot be done.
	Some func(tests []session.Failure) (command string, ok bool)
	// Cover is a command that measures the coverage of the failing test and of
	// passing ones beside it, and how its output is read.
	Cover func(f session.Failure) (command string, read func(output string) toolchain.Coverage, ok bool)
	// Concurrent tells by its text whether a source file could run things at
	// the same time; where none near the test does, no race is looked for.
	Concurrent func(path string, content []byte) bool
	// IsTestFile and IsLockFile tell by path. Lock files are all files that
	// say which dependencies are used: manifests and lock files.
	IsTestFile func(path string) bool
	IsLockFile func(path string) bool
}

// Snapshot is a commit's tree as Adapt sees it, edits included.
type Snapshot struct {
	Files []string
	Read  func(path string) ([]byte, error)
}

// fill gives every function that is not set an answer that claims nothing.
func (l Language) fill() Language {
	if l.Adapt == nil {
		l.Adapt = func(session.Trial, Snapshot, Snapshot) ([]session.Edit, string) { return nil, "" }
	}
	if l.Shuffled == nil {
		l.Shuffled = func(string) (string, bool) { return "", false }
	}
	if l.Race == nil {
		l.Race = func(string) (string, bool) { return "", false }
	}
	if l.Concurrent == nil {
		l.Concurrent = func(string, []byte) bool { return true }
	}
	if l.IsTestFile == nil {
		l.IsTestFile = func(string) bool { return false }
	}
	if l.IsLockFile == nil {
		l.IsLockFile = func(string) bool { return false }
	}
	return l
}

// snapshot reads a commit with edits laid over it.
func snapshot(ctx context.Context, h History, rev string, edits []session.Edit) (Snapshot, error) {
	files, err := h.List(ctx, rev)
	if err != nil {
		return Snapshot{}, err
	}
	over := map[string]*session.Edit{}
	for i := range edits {
		over[edits[i].Path] = &edits[i]
	}
	var s Snapshot
	for _, f := range files {
		if over[f] == nil {
			s.Files = append(s.Files, f)
		}
	}
	for _, e := range over {
		if !e.Delete {
			s.Files = append(s.Files, e.Path)
		}
	}
	s.Read = func(path string) ([]byte, error) {
		if e := over[path]; e != nil {
			if e.Delete {
				return nil, fs.ErrNotExist
			}
			return e.Content, nil
		}
		data, _, err := h.ShowMode(ctx, rev, path)
		return data, err
	}
	return s, nil
}

// ErrDoesNotApply is what a Tree's Apply wraps when the commit's own content
// is in the way (a file where a folder is needed): the commit is untestable
// then. Any other error of Apply is a fault of the machine.
var ErrDoesNotApply = errors.New("edits do not apply to this commit")
