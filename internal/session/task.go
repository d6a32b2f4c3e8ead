package session

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Status of a row of tasks.csv.
type Status string

// The life of a row (QD6).
const (
	Pending   Status = "pending"
	Completed Status = "completed"
	Failed    Status = "failed"
	Skipped   Status = "skipped"
)

// Verdict on a hypothesis (QD8).
type Verdict string

// Verdicts. Running out of time is inconclusive, never a guess.
const (
	Confirmed    Verdict = "confirmed"
	Refuted      Verdict = "refuted"
	Inconclusive Verdict = "inconclusive"
)

// FixResult of a wave-2 row (QD11).
type FixResult string

// Results of a fix attempt.
const (
	Fixed     FixResult = "fixed"
	FixFailed FixResult = "fix_failed"
)

// MaxFindings is the longest that Task.Findings may be, in characters.
const MaxFindings = 500

// Task is one row of tasks.csv: a hypothesis (wave 1) or a fix (wave 2).
type Task struct {
	ID, Title, Description string
	Hypothesis             string // empty in wave 2
	Deps, ContextFrom      []string
	Wave                   int

	Status          Status
	Verdict         Verdict
	FixResult       FixResult
	Findings        string
	EvidenceFor     string
	EvidenceAgainst string
	FixApplied      string
	Verified        string // "true", "false" or empty
	Error           string

	// PrevContext exists in wave inputs only; it is built from the master.
	PrevContext string
}

// HypothesisKind names the experiment that tests a hypothesis (BX1).
type HypothesisKind string

// Kinds of hypothesis that rules can raise without a model.
const (
	Regression     HypothesisKind = "regression"     // a commit introduced it
	TestFault      HypothesisKind = "test-fault"     // the test is wrong, not the code
	Nondeterminism HypothesisKind = "nondeterminism" // order, time, race, randomness
	DependencyMove HypothesisKind = "dependency"     // a dependency or the toolchain changed
	Environment    HypothesisKind = "environment"    // this environment differs from where it passes
)

// Reading is the kind of hypothesis that a model tests by reading the code and
// by the experiments that it asks for.
const Reading HypothesisKind = "reading"

// Role is the side from which a reader looks at a failure (CR7).
type Role string

// Roles of readers.
const (
	ErrorAnalysis        Role = "error"        // from what failed backwards
	ChangeAnalysis       Role = "change"       // from what was changed
	EvidenceGathering    Role = "evidence"     // at the boundaries of components
	ReproductionAnalysis Role = "reproduction" // by the conditions under which it fails
	DeepDive             Role = "deep"         // in one part of the code
	DependencyAnalysis   Role = "dependency"   // at dependencies and settings
)

// Hypothesis is the typed side of a wave-1 row: what its experiment needs.
type Hypothesis struct {
	ID         string         `json:"id"`
	Kind       HypothesisKind `json:"kind"`
	Role       Role           `json:"role,omitempty"` // of its reader
	Rank       int            `json:"rank"`
	Prediction string         `json:"prediction"`        // what must be seen if it is true
	Suspect    string         `json:"suspect,omitempty"` // commit ID named first by archaeology
	Files      []string       `json:"files,omitempty"`   // test files, lock files, …
}

// Finding is what an investigator reports about one wave-1 row, exactly once.
type Finding struct {
	ID              string
	Status          Status // completed or failed
	Verdict         Verdict
	Findings        string
	EvidenceFor     []string // "path:line — what it shows" or "commit abc1234 — …"
	EvidenceAgainst []string
	Error           string
	Cause           *RootCause // set when confirmed
	Flake           *Flake     // set by the nondeterminism experiment
	Spent           Spent      // by a model
}

// Spent is what a model used for one row.
type Spent struct {
	Tokens int
	Cost   float64 // in the operator's currency
}

// FixReport is what a fixer reports about one wave-2 row, exactly once.
type FixReport struct {
	ID         string
	Status     Status
	Result     FixResult
	Findings   string
	FixApplied []string // "path:line — description"
	Verified   bool
	Error      string
	Fix        *Fix
	Spent      Spent // by a model
}

// RootCause is a confirmed explanation with the evidence that carries it.
type RootCause struct {
	Task    string         `json:"task"`
	Kind    HypothesisKind `json:"kind"`
	Summary string         `json:"summary"` // one sentence, present tense
	// Location of the decisive line, at Culprit's tree when there is one.
	Location string  `json:"location,omitempty"`
	Culprit  *Commit `json:"culprit,omitempty"`
	Parent   *Commit `json:"parent,omitempty"` // newest good ancestor next to Culprit
	// Merge is set when Culprit lies inside this merge commit.
	Merge *Commit `json:"merge,omitempty"`
	// AtCulprit and AtParent are the verification runs.
	AtCulprit   Count   `json:"at_culprit"`
	AtParent    Count   `json:"at_parent"`
	Probability float64 `json:"probability,omitempty"` // posterior that Culprit introduced it
	// Alternatives that the search could not tell from Culprit, because the
	// commits between are untestable.
	Alternatives []Commit `json:"alternatives,omitempty"`
	// Minimal is the smallest set of Culprit's hunks that makes the test fail
	// on top of Parent; Hunks is how many there were.
	Minimal     []Hunk `json:"minimal,omitempty"`
	Hunks       int    `json:"hunks,omitempty"`
	MinimalNote string `json:"minimal_note,omitempty"` // why there is none, or what it does not show
	// Lines are the fewest changed lines of Minimal that make the test fail
	// on top of Parent and without each of which it passes there; Conditions
	// are those that had to go with them, because the rest does not build
	// without. ChangedLines is how many Minimal has. All are empty where Minimal
	// was not taken apart further, and LinesNote says why.
	Lines        []Hunk `json:"lines,omitempty"`
	Conditions   []Hunk `json:"conditions,omitempty"`
	ChangedLines int    `json:"changed_lines,omitempty"`
	LinesNote    string `json:"lines_note,omitempty"`
	// Moved are the dependencies whose moves bring the failure, of MovedOf that
	// moved at once; MovedNote says what that does not show, or why it is not known.
	Moved         []Moved `json:"moved,omitempty"`
	MovedOf       int     `json:"moved_of,omitempty"`
	MovedNote     string  `json:"moved_note,omitempty"`
	NoCodeChange  bool    `json:"no_code_change,omitempty"` // the test or environment is at fault: the code stays
	SearchSummary *Search `json:"search,omitempty"`
	// Struck counts quotes and runs that were claimed as evidence and are not
	// there.
	Struck int `json:"struck,omitempty"`
}

// Moved is a dependency whose move from one version to another brings a failure.
type Moved struct {
	Name string `json:"name"`
	File string `json:"file"` // that says which version is used
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`
	// Passes and Fails are its releases next to one another (Untestable apart)
	// of which the first passes and the second fails, by runs; empty when they
	// were not looked for, and Note says why.
	Passes     string   `json:"passes,omitempty"`
	Fails      string   `json:"fails,omitempty"`
	Releases   int      `json:"releases,omitempty"` // after Old up to New
	Untestable []string `json:"untestable,omitempty"`
	Note       string   `json:"note,omitempty"`
}

// String says which dependency it is and between which releases it breaks.
func (m Moved) String() string {
	s := m.Name
	switch {
	case m.Passes != "":
		s += fmt.Sprintf(" between %s (passes) and %s (fails)", m.Passes, m.Fails)
	case m.Old != "" && m.New != "":
		s += fmt.Sprintf(", which moved from %s to %s", m.Old, m.New)
	case m.New != "":
		s += ", which came in at " + m.New
	case m.Old != "":
		s += ", which was taken out at " + m.Old
	}
	if m.Note != "" {
		s += "; " + m.Note
	}
	return s
}

// Search is the record of a culprit search, for the picture in the report.
type Search struct {
	Range  int     `json:"range"` // commits in question at the start
	Runs   int     `json:"runs"`
	Rounds int     `json:"rounds"`
	Tried  []Probe `json:"tried,omitempty"` // in the order they were run
}

// Probe is one commit tried by the culprit search.
type Probe struct {
	Commit  Commit  `json:"commit"`
	Index   int     `json:"index"` // position in the range, 0 = oldest candidate
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason,omitempty"`
}

// Flake describes a test that fails only sometimes.
type Flake struct {
	Count     Count    `json:"count"`
	Interval  Interval `json:"interval"`
	Suspected string   `json:"suspected,omitempty"` // order, time, race, randomness, concurrency, state, resources, network, unknown
	Evidence  []string `json:"evidence,omitempty"`
	Since     *Commit  `json:"since,omitempty"`
	Advice    string   `json:"advice,omitempty"`
}

// Fix is a proposed change with its proof (GH6, DB6).
type Fix struct {
	Task     string   `json:"task"`
	Strategy string   `json:"strategy"` // "minimal revert of 3f2a91c (1 of 6 hunks)"
	Summary  string   `json:"summary"`  // what was wrong, for the title
	Base     string   `json:"base"`     // commit the patch applies to
	Patch    string   `json:"-"`        // git format-patch text; kept in patches/
	Files    []string `json:"files"`
	Hunks    []Hunk   `json:"hunks"`
	Added    int      `json:"added"`
	Removed  int      `json:"removed"`
	// Conflicts says why no revert applies; the fix is then not proposed.
	Conflicts []string `json:"conflicts,omitempty"`
	// Edits is the content of the touched files after the fix. It is not
	// stored: a resumed session derives it again from the recorded runs.
	Edits []Edit `json:"-"`
}

// Digest identifies what a fix changes, to tell a rejected candidate from a new
// one, in whatever words it is described.
func (f Fix) Digest() string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n", f.Base)
	for _, h := range f.Hunks {
		fmt.Fprintf(sum, "%q %q %d %d %t %q %q\n", h.File, h.OldFile, h.OldStart, h.OldLines, h.Whole, h.Text, h.Raw)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// Same reports whether another fix, made again from the recorded runs, is this
// one, which was stored. Content in which a secret was taken out cannot be
// compared; its place and size are.
func (f Fix) Same(other Fix) bool {
	return f.Base == other.Base && slices.EqualFunc(f.Hunks, other.Hunks, func(a, b Hunk) bool {
		stored := a.Text
		if strings.Contains(stored, redacted) {
			a.Text, b.Text = "", ""
		}
		return a.File == b.File && a.OldFile == b.OldFile && a.OldStart == b.OldStart && a.OldLines == b.OldLines &&
			a.NewStart == b.NewStart && a.NewLines == b.NewLines && a.Whole == b.Whole && a.Text == b.Text
	})
}

// redacted begins what stands in the place of a secret (package redact).
const redacted = "[REDACTED:"

// Confirmation is the executed proof of a fix (CR13, OD7, DB6).
type Confirmation struct {
	Before Count `json:"before"` // failing test without the patch
	After  Count `json:"after"`  // with it
	// Suite compares the wider suite with the run before.
	Suite *SuiteComparison `json:"suite,omitempty"`
	// VerifyBefore and VerifyAfter are exit codes of verify.sh on both sides.
	VerifyBefore int  `json:"verify_before"`
	VerifyAfter  int  `json:"verify_after"`
	VerifyRun    bool `json:"verify_run"`
	// Necessity tells for each hunk of the patch whether the failure is back
	// without it.
	Necessity  []Necessity `json:"necessity,omitempty"`
	TestResult string      `json:"test_result"` // passed or failed
	Review     string      `json:"review,omitempty"`
	Overall    string      `json:"overall"` // confirmed or needs_rework
	Why        string      `json:"why,omitempty"`
	Timestamp  string      `json:"timestamp"`
}

// Necessity is the outcome of leaving one hunk out of the patch.
type Necessity struct {
	Hunk     string  `json:"hunk"`
	Outcome  Outcome `json:"outcome"`
	Required bool    `json:"required"`
}

// SuiteComparison sets a whole test run with the patch against the same run
// without it.
type SuiteComparison struct {
	Command     string   `json:"command"`
	Passed      int      `json:"passed"` // with the patch
	Failed      int      `json:"failed"`
	Baseline    int      `json:"baseline_failed"`
	NewFailures []string `json:"new_failures,omitempty"`
	Fixed       []string `json:"fixed,omitempty"`
	Note        string   `json:"note,omitempty"` // "the suite could not be run: …"
}

// Reproduction is the executed proof that the failure happens here (DB3).
type Reproduction struct {
	Command   string    `json:"command"`
	Alone     bool      `json:"alone"` // the failing test is run alone
	Setup     string    `json:"setup,omitempty"`
	Suite     string    `json:"suite,omitempty"` // command of the wider suite
	Group     string    `json:"group,omitempty"` // runs the tests that share a process with the failing one
	Target    Target    `json:"target"`
	Failure   *Failure  `json:"failure,omitempty"`
	Count     Count     `json:"count"`
	Interval  Interval  `json:"interval"`
	Flaky     bool      `json:"flaky"`
	Toolchain string    `json:"toolchain,omitempty"`
	Overlay   []Overlay `json:"overlay,omitempty"`
	// CI is the job that command, environment and set-up are taken from.
	CI *Followed `json:"ci,omitempty"`
	// Differences from where it failed first (CI).
	Differences []Difference `json:"differences,omitempty"`
	Reproduced  bool         `json:"reproduced"`
	Why         string       `json:"why,omitempty"` // why not reproduced
}

// Overlay names a file of one revision that is laid over older ones.
type Overlay struct {
	Rev  string `json:"rev"`
	Path string `json:"path"`
}
