package agent

import (
	"encoding/json"
	"errors"
	"time"

	"culprit/internal/agent/tools"
	"culprit/internal/session"
)

// Prompt is a file of instructions.
type Prompt struct {
	File string // investigate.v1.md
	Text string
	Hash string // of the text, hexadecimal
}

// Store keeps what the work leaves; *session.Folder is one. It redacts.
type Store interface {
	Write(name string, data []byte) error
	Dispatch(d session.Dispatch) error
}

var _ Store = (*session.Folder)(nil)

// Report is the form in which a worker ends.
type Report struct {
	// Tool is what the model calls; its Run is not used.
	Tool tools.Tool
	// Unsure ends the demand for a report from a worker that may not be done
	// yet: "; say inconclusive where you do not know".
	Unsure string
	// Check looks at a report that fits the schema and says what does not hold:
	// a verdict without evidence, a quote that is not there. The model is told
	// once; a second time the report is taken as it is, with the objection.
	Check func(json.RawMessage) error
}

// defaultContext is how many tokens a model is taken to hold.
const defaultContext = 128_000

// Task is what a model is given to do. Zero limits take the default in
// parentheses.
type Task struct {
	Role   Role
	Prompt Prompt
	First  string // the task itself; what is foreign in it stands in blocks of Marks
	Marks  Marks
	Tools  []tools.Tool
	Report Report

	Budget  Budget        // (none)
	Context int           // tokens that the model can take (128,000)
	Turns   int           // answers of the model (40)
	Timeout time.Duration // of the whole (55 min: the row has an hour)

	Line   session.Dispatch // Step, Task and Mode of the audit's lines
	Store  Store
	Log    string                // name of the transcript, logs/H1-agent.md; empty: none
	Redact func(s string) string // of all that is sent; required
}

func (t Task) filled() (Task, error) {
	switch {
	case t.Redact == nil:
		return t, errors.New("run task: no redactor is given")
	case t.Store == nil:
		return t, errors.New("run task: no store is given")
	case t.Report.Tool.Name == "":
		return t, errors.New("run task: no report is asked for")
	}
	if t.Budget == nil {
		t.Budget = Unlimited{}
	}
	if t.Context == 0 {
		t.Context = defaultContext
	}
	if t.Turns == 0 {
		t.Turns = 40
	}
	if t.Timeout == 0 {
		t.Timeout = 55 * time.Minute
	}
	t.Line.Prompt, t.Line.Hash = t.Prompt.File, t.Prompt.Hash
	return t, nil
}

// End says how a task ended. Every task has exactly one.
type End string

// Ends. All but Reported are without a report, Contradictory too: which of two
// that disagree would hold?
const (
	Reported      End = "reported"
	Missing       End = "missing"       // it stopped without reporting, and again when it was asked to
	Malformed     End = "malformed"     // its report did not fit the schema, nor did the repaired one
	Contradictory End = "contradictory" // it reported twice at once, and not the same
	Refused       End = "refused"       // it would not do the task
	OutOfTime     End = "out of time"
	OutOfBudget   End = "out of budget"
	OutOfTurns    End = "out of turns"
	OutOfContext  End = "out of context"
	Cancelled     End = "cancelled"
	Faulted       End = "faulted" // the server, or the recording of the work, failed
)

// Exhausted reports whether the worker was ended by a limit: what it had is
// inconclusive, not failed (QD8).
func (e End) Exhausted() bool {
	return e == OutOfTime || e == OutOfBudget || e == OutOfTurns || e == OutOfContext || e == Cancelled || e == Contradictory
}

// Done is what became of a task.
type Done struct {
	End    End
	Report json.RawMessage // fits the schema; nil unless Reported
	// Objection is what Report.Check found, and the model did not mend.
	Objection error
	Err       error // what ended it, for people
	// Notes tell what was out of order: a report given twice, tools made up.
	Notes []string
	Text  string // what the model said last
	Turns int
	Usage Usage
	Cost  float64 // in the operator's currency
}
