// Package evidence turns what programs print into what went wrong: logs of CI
// runs and output of test commands into failures, and a run's failures into a
// verdict about the one failure that a session is about.
//
// Parse reads a stream once, line by line, in constant memory. Every line is
// first freed of its envelope (GitHub Actions' timestamps and markers, ANSI
// and OSC sequences, NUL, invalid UTF-8, over-long tails) and then offered to
// the formats, one file each, which recognise their runner by its own fixed
// phrases. Nothing is guessed from the name of a file or a step.
//
// Judge decides whether a run failed for the same reason (BX1). It is the
// foundation of every experiment, so it errs to one side: where the output
// does not show that the target ran, nothing was learnt, and the answer is
// untestable; it never says pass for a run in which no test ran, and never
// fail for somebody else's failure.
//
// What cannot be told from text. A program under test writes to the same
// stream as its runner and can print anything the runner prints. Result lines
// are taken only where the runner could have printed them (column, nesting,
// a test that was announced before), and a forged line can never turn a
// failing command into a pass unless another test is named as failing too. A
// test that prints its own result line exactly, at the right column, and then
// lets another test fail, does deceive; machine-readable reports (go test
// -json) are harder to deceive. All input is hostile (BX5): bad input ends in
// fewer failures found, never in a panic.
package evidence

import (
	"fmt"
	"io"

	"culprit/internal/session"
)

// Limits of what is kept, whatever the size of the input.
const (
	maxLine     = 64 << 10 // bytes of a line that are looked at
	maxMessage  = 2000     // bytes of Failure.Message
	maxValue    = 500      // bytes of Failure.Expected and Actual
	maxFailures = 1000     // failures kept; more are counted only
	maxStack    = 30       // frames of a stack
	maxPassed   = 50_000   // names of passed tests kept
	maxName     = 1000     // bytes of a test's name
	maxRunning  = 10_000   // tests under way that are tracked at once
)

// Options say where the text comes from.
type Options struct {
	Step    string // CI job and step, copied into each failure
	Command string // the command that printed it, copied into each failure
	// Files maps a path as printed to one in the repository; ok is false for
	// a path outside of it. Go's file names come with their package's import
	// path before them. Nil keeps paths as they are printed.
	// toolchain.Files makes one from a tree.
	Files func(path string) (repoPath string, ok bool)
}

// Parse reads a log or a command's output to its end. The error is the
// reader's; what was found before it is returned with it.
func Parse(r io.Reader, opts Options) (session.TestReport, error) {
	p := newParser(opts)
	err := p.read(r)
	rep := p.report()
	if err != nil {
		return rep, fmt.Errorf("read log: %w", err)
	}
	return rep, nil
}
