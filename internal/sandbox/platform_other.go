//go:build unix && !linux

package sandbox

import (
	"fmt"
	"os/exec"
	"syscall"
)

// Other systems have neither /proc nor control groups nor bubblewrap: "off" is
// the only backend, a command's process group is what is killed, and limits
// other than time and output do not hold. Bot doctor says so.

func groupAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func signalName(s syscall.Signal) string { return fmt.Sprintf("signal %d", int(s)) }

func defaultMemory() int64 { return 4 << 30 }

type confinement struct{}

func confine(int, Limits) *confinement { return &confinement{} }
func (*confinement) outOfMemory() bool { return false }
func (*confinement) kill()             {}
func (*confinement) close()            {}
func sweep()                           {}

func controllers() (memory, pids bool) { return false, false }

type watch struct{ exceeded chan string }

func newWatch(int, string, Limits, *confinement) *watch { return &watch{} }
func (*watch) stop()                                    {}
func (*watch) killStrays() int                          { return 0 }

type disk struct{ exceeded chan string }

func newDisk([]string, Limits) *disk { return &disk{} }
func (*disk) stop()                  {}

// awaitNamespace has nothing to wait for without process namespaces.
func awaitNamespace(int) {}

func awaitExit(child *exec.Cmd) { _ = child.Wait() }

// sealDescriptors cannot list descriptors here.
func sealDescriptors() {}

// sockets says which sockets a seccomp filter lets be made; there is none here.
type sockets int

const socketsUsual sockets = 0

func filterBytes(sockets) []byte { return nil }

const confineWord = ""

// Confine has nothing to do without the landlock backend.
func Confine() {}

func newLandlock(Options) (Sandbox, error) {
	return nil, fmt.Errorf("%w: Landlock is a part of Linux", ErrUnavailable)
}
