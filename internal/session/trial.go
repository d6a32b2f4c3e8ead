package session

import "time"

// Edit replaces, creates or deletes one file of a checked-out tree before a
// run. An overlay is edits whose content comes from another revision; a
// candidate patch is edits whose content was computed.
type Edit struct {
	Path    string `json:"path"`
	Content []byte `json:"-"`
	Mode    uint32 `json:"mode,omitempty"` // 0 keeps the present mode, or 0644 for a new file
	Delete  bool   `json:"delete,omitempty"`
}

// Target is what a run is looked at for: the same failure, not any failure.
type Target struct {
	Tests     []string `json:"tests,omitempty"`   // Failure.Test values; any of them failing is the failure
	Package   string   `json:"package,omitempty"` // limits Tests to one package when set
	Kind      Kind     `json:"kind,omitempty"`
	Signature string   `json:"signature,omitempty"` // used when no test is named
}

// Trial is one run of one command in one state of the code. Two trials with
// the same Key are repetitions of the same experiment.
type Trial struct {
	Name    string   // why it is run: "culprit search", "necessity of hunk 2"
	Task    string   // row that pays for it: "H1"; empty outside a wave
	Rev     string   // full commit ID
	Edits   []Edit   // laid over the checkout, overlay first, then patch
	Setup   string   // shell command run before (may be allowed network); "" = none
	Command string   // shell command whose result is observed
	Target  Target   // what counts as the failure
	Env     []string // "K=V" added to the scrubbed environment
	// Adapt lets the run try what an older commit needs (a module file made
	// on the fly, its own lock file) before it is called untestable.
	Adapt bool
	// Newer is the commit whose module and package files Adapt may borrow;
	// empty means none.
	Newer string
	// Timeout bounds the command; 0 means the session's own.
	Timeout time.Duration
}

// Outcome is what a trial showed about its target.
type Outcome string

// Outcomes of a trial. Untestable is a result of its own: nothing was learnt
// about the target, and it is never counted as pass or fail.
const (
	Passed     Outcome = "pass"       // the target ran and passed
	FailedSame Outcome = "fail"       // the target failed for the same reason
	FailedElse Outcome = "other"      // the command failed for another reason
	Untestable Outcome = "untestable" // did not build, apply or contain the test
)

// Observation is the result of one trial.
type Observation struct {
	Outcome  Outcome       `json:"outcome"`
	Reason   string        `json:"reason,omitempty"` // why untestable or other, one line
	Exit     int           `json:"exit"`
	TimedOut bool          `json:"timed_out,omitempty"`
	Duration time.Duration `json:"duration_ns"`
	Report   TestReport    `json:"report"`
	Output   string        `json:"-"` // capped combined output
	Log      string        `json:"log,omitempty"`
	Adapted  string        `json:"adapted,omitempty"` // what Adapt did: "go.mod made from the newer commit's"
	Cached   bool          `json:"-"`                 // taken from the session's earlier runs
}

// Count sums repetitions of a trial.
type Count struct {
	Runs     int `json:"runs"`     // decisive runs: pass + fail
	Failures int `json:"failures"` // of these, fail
	Other    int `json:"other,omitempty"`
	Skipped  int `json:"untestable,omitempty"`
}

// Add counts one observation.
func (c *Count) Add(o Outcome) {
	switch o {
	case Passed:
		c.Runs++
	case FailedSame:
		c.Runs++
		c.Failures++
	case FailedElse:
		c.Other++
	case Untestable:
		c.Skipped++
	}
}

// Passes is the number of decisive runs that passed.
func (c Count) Passes() int { return c.Runs - c.Failures }

// Interval is a 95 % confidence interval of a failure rate, in [0, 1].
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}
