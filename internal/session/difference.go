package session

// DifferenceKind says in what respect this machine is not the one where CI
// failed.
type DifferenceKind string

// The kinds of difference.
const (
	DiffOS         DifferenceKind = "os"         // operating system or its release
	DiffHardware   DifferenceKind = "hardware"   // processor, GPU, a runner of one's own
	DiffContainer  DifferenceKind = "container"  // the image that the job runs in
	DiffService    DifferenceKind = "service"    // a database or the like beside the job
	DiffTool       DifferenceKind = "tool"       // version of a compiler, interpreter, package manager
	DiffSystem     DifferenceKind = "system"     // packages of the operating system
	DiffSecret     DifferenceKind = "secret"     // a secret of the repository
	DiffAction     DifferenceKind = "action"     // an action of others, which is not run here
	DiffCheckout   DifferenceKind = "checkout"   // submodules, large files, history
	DiffShell      DifferenceKind = "shell"      // the shell of a step
	DiffExpression DifferenceKind = "expression" // a value that only GitHub knows
	DiffCondition  DifferenceKind = "condition"  // whether a step ran is not known
	DiffVariable   DifferenceKind = "variable"   // an environment variable that this machine sets itself
	DiffSetup      DifferenceKind = "setup"      // CI's own set-up does not work here
	DiffWorkflow   DifferenceKind = "workflow"   // the workflow, or the job in it, cannot be read
)

// Difference is one thing that this machine lacks or does otherwise than the
// CI job (BX4).
type Difference struct {
	Kind  DifferenceKind `json:"kind"`
	There string         `json:"there"` // in CI: "Go 1.24"
	Here  string         `json:"here"`  // on this machine: "1.26.8"
	// Blocks is set for what can keep the failure from showing here at all: if
	// it does not show, this is the likely reason.
	Blocks bool `json:"blocks,omitempty"`
}

// String is "Go 1.24 there, 1.26.8 here".
func (d Difference) String() string { return d.There + " there, " + d.Here + " here" }

// CIJob is a red job of CI that a session is about.
type CIJob struct {
	Name     string   `json:"name"`               // as CI shows it: "test (ubuntu-latest, 1.22)"
	Workflow string   `json:"workflow,omitempty"` // path of its file in the repository
	Event    string   `json:"event,omitempty"`    // what started the run: "push"
	Steps    []string `json:"steps,omitempty"`    // names of the red steps
}

// Followed is the CI job whose commands a reproduction uses.
type Followed struct {
	Workflow string `json:"workflow"`
	Job      string `json:"job"`
	Step     string `json:"step"`
	// Guessed is set when nothing said which job failed: it is the one that
	// runs tests.
	Guessed bool `json:"guessed,omitempty"`
}
