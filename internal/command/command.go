// Package command reads the commands that people write in comments:
// "/debug …" and "/autotest …" (QD2, OD1, AT2; docs/commands.md).
//
// A command is one line of a comment, as GitHub shows the comment: a line of a
// plain paragraph that begins with the command's name. What stands in a quote,
// a list, code or an HTML comment is talk about a command, not a command, so the
// comment is read by a Markdown parser and not by patterns. A comment has one
// command; two of them are a mistake that is answered and not guessed at.
//
// The contract: Find never fails. What is wrong with a command is in its
// Problem, in words for the person who wrote it, and such a command does
// nothing. Every flag of the product is known here; those that cannot be given
// in a comment are answered with the reason. The package is pure, and does not
// know who may do what.
package command

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Verb says what a command asks for.
type Verb string

// The verbs. Run is what "/debug" alone means.
const (
	Run      Verb = "run"
	Retry    Verb = "retry"
	Stop     Verb = "stop"
	Explain  Verb = "explain"
	Answer   Verb = "answer"
	Help     Verb = "help"
	Autotest Verb = "autotest" // "/autotest", whatever follows
)

// A Command is what one comment asks for.
type Command struct {
	Verb Verb

	Mode        string // quick, full, deep; empty: not given
	Test        string // --test: a shell command
	Good        string // --good: a revision
	Concurrency int    // -c; 0: not given
	Yes         bool   // -y
	SkipFix     bool   // --skip-fix

	Hypothesis string // of explain: "H2"
	// Text is what follows run and retry (a remark that is read as part of the
	// symptom) and answer (the answer).
	Text string

	// Problem says in one sentence what is wrong; a command with a problem is
	// not obeyed. It may quote the comment, so it is as foreign as that.
	Problem string
}

// Sum tells whether two commands ask for the same. It is short and holds
// nothing of the text, so that it can stand in a job.
func (c Command) Sum() string {
	b, err := json.Marshal(c)
	if err != nil {
		panic("encode command: " + err.Error()) // strings and numbers always encode
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// Starts reports whether the command asks for a session to be started.
func (c Command) Starts() bool { return c.Verb == Run || c.Verb == Retry }
