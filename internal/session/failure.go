package session

import "strconv"

// Kind says what sort of failure a log or a run shows.
type Kind string

// The kinds of failure. The first group is the code's doing, the second the
// world's.
const (
	KindTest       Kind = "test"       // an assertion or test case failed
	KindPanic      Kind = "panic"      // a crash: panic, unhandled exception, signal
	KindRace       Kind = "race"       // a data race was detected
	KindTimeout    Kind = "timeout"    // a test or the whole run ran out of time
	KindBuild      Kind = "build"      // code does not compile or type-check
	KindLint       Kind = "lint"       // vet, linter, formatter
	KindDependency Kind = "dependency" // a dependency cannot be resolved or fetched
	KindCommand    Kind = "command"    // a command failed and nothing more is known

	KindEnvironment Kind = "environment" // out of memory or disk, network, runner lost, expired secret
	KindCancelled   Kind = "cancelled"   // somebody or something cancelled the run
)

// Frame is one line of a stack trace that lies in the repository.
type Frame struct {
	Function string `json:"function,omitempty"`
	File     string `json:"file"`
	Line     int    `json:"line,omitempty"`
}

// Failure is one thing that went wrong, as a log or a run names it (QD3).
type Failure struct {
	Framework string  `json:"framework,omitempty"` // "go test", "pytest", "jest", …
	Test      string  `json:"test,omitempty"`      // test ID in the framework's own notation, "TestParse/negative"
	Package   string  `json:"package,omitempty"`   // package, module, class or file as the runner names it
	File      string  `json:"file,omitempty"`      // relative to the repository root where that is known
	Line      int     `json:"line,omitempty"`
	Kind      Kind    `json:"kind"`
	Message   string  `json:"message,omitempty"` // first lines of the message, at most 2,000 bytes
	Expected  string  `json:"expected,omitempty"`
	Actual    string  `json:"actual,omitempty"`
	Stack     []Frame `json:"stack,omitempty"`
	Step      string  `json:"step,omitempty"`    // CI job and step
	Command   string  `json:"command,omitempty"` // the step's command
	// Signature is the message with numbers, addresses, times and paths
	// normalised: equal for the same fault in two runs.
	Signature string `json:"signature,omitempty"`
	// Consequence is set where another failure of the list explains this one:
	// the command that failed because its test did, a test that failed
	// because its subtest did.
	Consequence bool `json:"consequence,omitempty"`
	// From and To are the byte range in the log that this was read from.
	From int64 `json:"from,omitempty"`
	To   int64 `json:"to,omitempty"`
}

// ID names the failing thing: package and test, or file, or kind.
func (f Failure) ID() string {
	switch {
	case f.Test != "" && f.Package != "":
		return f.Package + "." + f.Test
	case f.Test != "":
		return f.Test
	case f.File != "":
		return string(f.Kind) + ":" + f.File
	case f.Package != "":
		return string(f.Kind) + ":" + f.Package
	}
	return string(f.Kind)
}

// Location is "path:line", "path", or empty.
func (f Failure) Location() string { return Location(f.File, f.Line) }

// Location writes a place in a file as "path:line"; line 0 means unknown.
func Location(file string, line int) string {
	if file == "" || line <= 0 {
		return file
	}
	return file + ":" + strconv.Itoa(line)
}

// TestReport is what the output of a test command says about the run.
type TestReport struct {
	Framework string    `json:"framework,omitempty"`
	Failures  []Failure `json:"failures,omitempty"` // the leading one first, consequences after it
	// Passed holds the IDs (Failure.ID notation) of tests seen to pass, when
	// the output names them.
	Passed  []string `json:"passed,omitempty"`
	NPassed int      `json:"n_passed"` // counts as the runner prints them, or as counted
	NFailed int      `json:"n_failed"`
	NSkip   int      `json:"n_skipped"`
	// NoTests is set when the runner says that nothing matched or ran.
	NoTests bool `json:"no_tests,omitempty"`
}

// Symptom is what is wrong, in the words of whoever reported it (QD3, DB2).
type Symptom struct {
	Title        string    `json:"title"`
	Text         string    `json:"text,omitempty"` // issue text or --symptom, hostile, size-capped
	Expected     string    `json:"expected,omitempty"`
	Actual       string    `json:"actual,omitempty"`
	Errors       []string  `json:"errors,omitempty"`
	Timeline     string    `json:"timeline,omitempty"`
	Reproduction string    `json:"reproduction,omitempty"`
	Failures     []Failure `json:"failures,omitempty"` // parsed from text and CI logs
	Environment  []string  `json:"environment,omitempty"`
	Jobs         []CIJob   `json:"jobs,omitempty"` // red jobs of CI, the one that started the session first
}
