// Package sandbox runs one command confined. It is the only way in which code
// of a repository is ever executed (feature BX5).
//
// The contract, in the order in which it matters:
//
//   - The command sees no secret: its environment is built from nothing (see
//     environ.go), its home is empty, and with a confining backend the host's
//     files, processes and sockets do not exist for it.
//   - Nothing outlives Run. The whole tree of processes is killed when the
//     command ends, when the time is over, or when the context is cancelled;
//     daemons that left the process group or the session are found and killed.
//   - Whatever the command does (prints gigabytes, forks, eats memory, never
//     ends), Run returns within its timeout and a bounded clean-up, and the
//     caller's memory stays bounded by Limits.OutputBytes.
//
// A command that fails is not an error of Run: its exit code is the result.
// Run returns an error only if the command could not be started or if the
// context was cancelled.
//
// Backends differ in what they can promise; Confinement says it, and one
// conformance suite checks that each backend keeps exactly what it declares.
// "bwrap" (bubblewrap) confines files, network and processes by namespaces.
// "landlock" is for where namespaces are not to be had (see landlock_linux.go).
// "off" confines nothing but the environment and the lifetime, and is meant for
// a person's own repository on the person's own machine.
//
// The reasons for the design stand in docs/adr/0003-sandbox.md.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Source is where a confining backend mounts Command.Dir. It is the same for
// every worktree, so that build caches that key on absolute paths hit.
const Source = "/src"

// Kinds that Open understands.
const (
	Auto     = "auto"
	Bwrap    = "bwrap"
	Landlock = "landlock"
	Off      = "off"
)

// ErrUnavailable is returned by Open (wrapped, with what to do) when the
// requested backend cannot run on this machine.
var ErrUnavailable = errors.New("sandbox is not available")

// Command is one confined execution. Exactly one of Script and Argv is set.
type Command struct {
	// Script is run by bash, or by sh where there is no bash. It is meant for
	// the repository's own commands; never build it from foreign text.
	Script string
	// Argv is run without a shell interpreting it.
	Argv []string
	// Dir is the worktree's folder on the host (absolute). The command starts
	// in it; see Sandbox.Inside for its name there.
	Dir string
	// ReadOnlyDir mounts Dir read-only.
	ReadOnlyDir bool
	// Binds are further host folders, mostly caches.
	Binds []Bind
	// Env is added to the scrubbed environment and wins over it. Values that
	// are paths must come from Sandbox.Inside.
	Env map[string]string
	// Network lets the command reach the registries of packages, and what the
	// operator added to them, by a proxy (package egress), and passes the
	// registry settings of the host, without their passwords. With "off" it has
	// the whole network, and the host's own proxy settings. For setup only.
	Network bool
	// Timeout is the wall time after which everything is killed; 0 means
	// DefaultTimeout.
	Timeout time.Duration
	// Limits bound the command's resources; zero fields take DefaultLimits.
	Limits Limits
	// Output receives standard output and standard error, combined, at most
	// Limits.OutputBytes: the head as it comes, then, at the end, a marker with
	// the number of bytes cut and the tail. It is written to by one goroutine
	// that has ended when Run returns. nil discards.
	Output io.Writer

	proxy string // HOST:PORT by which it reaches the network; empty: directly
}

// Bind makes the host folder or file Host visible at Inside (both absolute).
type Bind struct {
	Host     string
	Inside   string
	Writable bool
}

// DefaultTimeout applies when Command.Timeout is 0.
const DefaultTimeout = 10 * time.Minute

// Limits bound one command. A zero field takes its default, a negative one
// lifts the limit.
type Limits struct {
	CPUSeconds  int64 // CPU time of each process, seconds
	MemoryBytes int64 // resident memory of all processes together
	Processes   int64 // processes and threads at one time
	OpenFiles   int64 // descriptors of each process
	FileBytes   int64 // size of each written file
	DiskBytes   int64 // what it writes to the worktree and to writable binds, together
	DiskFiles   int64 // number of files and folders that it makes or changes there
	OutputBytes int64 // combined output handed to Command.Output
}

// DefaultLimits returns the limits for a field that is zero: generous enough
// for large builds, small enough that a runaway does not take the machine.
func DefaultLimits() Limits {
	return Limits{
		CPUSeconds:  60 * 60,
		MemoryBytes: defaultMemory(),
		Processes:   4096,
		OpenFiles:   16384,
		FileBytes:   8 << 30,
		DiskBytes:   16 << 30,
		DiskFiles:   2_000_000,
		OutputBytes: 4 << 20,
	}
}

// Result is what became of a command that ran.
type Result struct {
	// Exit is the exit code; 128 + n after signal n, as shells say it; 127 if
	// the program does not exist.
	Exit int
	// Signal is the name of the signal that ended the command ("SIGKILL"), or
	// empty. A shell that reports a child's signal counts.
	Signal string
	// TimedOut says that Timeout passed and everything was killed.
	TimedOut bool
	// Limit names the limit that ended the command: "memory", "processes",
	// "disk", or empty.
	Limit string
	// OutputTruncated says that Output did not get everything.
	OutputTruncated bool
	// OutputBytes is how much the command printed, the cut part included.
	OutputBytes int64
	// Duration is the wall time of the command, in the monotonic clock.
	Duration time.Duration
	// Killed counts processes that the command left behind and that were
	// killed. Backends with a process namespace end them uncounted.
	Killed int
}

// Sandbox runs commands. Implementations are safe for concurrent use.
type Sandbox interface {
	// Run executes cmd and waits until nothing of it is left.
	Run(ctx context.Context, cmd Command) (Result, error)
	// Name is "bwrap", "landlock" or "off".
	Name() string
	// Inside is the path by which the command sees hostPath, a path at or
	// below cmd.Dir or one of cmd.Binds. Any other path comes back unchanged.
	Inside(cmd Command, hostPath string) string
	// Confinement says what this backend promises.
	Confinement() Confinement
}

// Confinement is what a backend promises beyond a scrubbed environment,
// bounded output, the timeout, and that nothing outlives Run.
type Confinement struct {
	Files     bool // host files are invisible or read-only, ReadOnlyDir holds
	Network   bool // no network unless Command.Network
	Processes bool // own process namespace: the host's processes are invisible
	Loopback  bool // a loopback network of the command's own, without Command.Network
}

// Options of Open. The zero value is right for production.
type Options struct {
	// AllowOff lets kind "auto" fall back to "off" where nothing better runs.
	// Only for a person's own repository.
	AllowOff bool
	// Environ is the environment from which toolchains and the allow-list of
	// settings are taken; nil means os.Environ.
	Environ []string
	// SetupHosts are what Command.Network reaches besides egress.Registries, each
	// as egress.ParseRule takes it.
	SetupHosts []string
	// Toolchains are further host folders to show read-only at their own path.
	Toolchains []string
}

// Open returns the backend of that kind after it has passed a self-test.
// "auto" (or "") takes the strongest that runs here; it is an error if only
// "off" would, unless opts.AllowOff.
func Open(kind string, opts Options) (Sandbox, error) {
	sealDescriptors()
	switch kind {
	case Off:
		return newOff(opts), nil
	case Bwrap:
		return newBubblewrap(opts)
	case Landlock:
		return newLandlock(opts)
	case Auto, "":
		box, err := newBubblewrap(opts)
		if err == nil {
			return box, nil
		}
		second, why := newLandlock(opts)
		if why == nil {
			return second, nil
		}
		if opts.AllowOff {
			return newOff(opts), nil
		}
		return nil, fmt.Errorf("%w; and landlock: %w", err, why)
	}
	return nil, fmt.Errorf("open sandbox: unknown kind %q: use auto, bwrap, landlock or off", kind)
}
