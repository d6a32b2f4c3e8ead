package sandbox

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// process is one started command with everything that has to be torn down
// after it. The order is: start a gate (a shell that waits for one line),
// apply limits to it from outside, let it exec the real program, drain its
// output, wait, end what is left, and only then let the output end.
type process struct {
	cmd     Command
	argv    []string // what the gate becomes
	env     []string
	dir     string
	files   []*os.File // handed down as descriptors firstFile, …; closed by run
	private []string   // folders of the host that are the command's own
	marker  string     // value in the environment by which strays are found; "" where a process namespace does it
	started func()     // called after files are closed on this side
	// kill ends the command at the timeout; the default is the process group.
	kill func(pid int)
	// gone waits, within a bound, until nothing of the command is left.
	gone func()
}

// firstFile is the descriptor of process.files[0]; 3 is the gate's.
const firstFile = 4

// graceful bounds how long the clean-up may take after everything was killed.
const graceful = 5 * time.Second

// run executes p. The returned error is about the machinery or the context.
func (p *process) run(ctx context.Context) (Result, error) {
	var res Result
	defer closeAll(p.files)
	if err := ctx.Err(); err != nil {
		return res, fmt.Errorf("run command: %w", err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return res, fmt.Errorf("run command: %w", err)
	}
	defer reader.Close()
	defer writer.Close()
	gateOut, gateIn, err := os.Pipe()
	if err != nil {
		return res, fmt.Errorf("run command: %w", err)
	}
	defer gateIn.Close()
	defer gateOut.Close()

	// The gate's own descriptor is closed before exec, so that the program
	// inherits only what it is meant to.
	const gate = `IFS= read -r _ <&3 || exit 125; exec 3<&-; exec "$@"`
	child := exec.Command("/bin/sh", append([]string{"-c", gate, "sh"}, p.argv...)...)
	child.Env = p.env
	child.Dir = p.dir
	child.Stdout, child.Stderr = writer, writer
	child.ExtraFiles = append([]*os.File{gateOut}, p.files...)
	child.SysProcAttr = groupAttr()
	if err := child.Start(); err != nil {
		return res, fmt.Errorf("start command: %w", err)
	}
	pid := child.Process.Pid
	writer.Close()
	gateOut.Close()
	closeAll(p.files)

	limits := confine(pid, p.cmd.Limits)
	defer limits.close()

	out := newCapped(p.cmd.Output, p.cmd.Limits.OutputBytes)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		buf := make([]byte, 64<<10)
		_, _ = io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{reader}, buf)
	}()

	start := time.Now()
	_, _ = gateIn.Write([]byte("\n"))
	gateIn.Close()
	if p.started != nil {
		p.started()
	}

	// The dead leader is not collected before the clean-up is over: until then
	// no other process can get its number, or that of its group.
	exited := make(chan struct{})
	go func() { defer close(exited); awaitExit(child) }()
	timer := time.NewTimer(p.cmd.Timeout)
	defer timer.Stop()
	watch := newWatch(pid, p.marker, p.cmd.Limits, limits)
	defer watch.stop()
	disk := newDisk(append(p.cmd.writable(), p.private...), p.cmd.Limits)
	defer disk.stop()

	kill := p.kill
	if kill == nil {
		kill = killGroup
	}
	select {
	case <-exited:
	case <-timer.C:
		res.TimedOut = true
	case <-ctx.Done():
		err = fmt.Errorf("run command: %w", context.Cause(ctx))
	case res.Limit = <-watch.exceeded:
	case res.Limit = <-disk.exceeded:
	}
	ended := res.TimedOut || err != nil || res.Limit != ""
	if ended {
		kill(pid)
		select {
		case <-exited:
		case <-time.After(graceful):
			killGroup(pid)
			<-exited
		}
	}
	res.Duration = elapsed(start)
	watch.stop()
	res.Killed = watch.killStrays()
	killGroup(pid)
	limits.kill()
	if p.gone != nil {
		p.gone()
	}
	_ = child.Wait() // its state says it all

	// Everything that held the pipe is dead; the deadline is for a stray that
	// no method could find.
	_ = reader.SetReadDeadline(time.Now().Add(graceful))
	<-drained
	out.finish()
	res.OutputTruncated = out.cut > 0
	res.OutputBytes = out.total
	if res.Limit == "" && limits.outOfMemory() {
		res.Limit = "memory"
	}
	res.Exit, res.Signal = exitCode(child.ProcessState)
	if ended {
		res.Exit, res.Signal = 128+int(syscall.SIGKILL), "SIGKILL"
	}
	return res, err
}

// exitCode turns the wait status into the shell's terms.
func exitCode(state *os.ProcessState) (int, string) {
	if state == nil {
		return 125, ""
	}
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok {
		return state.ExitCode(), ""
	}
	if status.Signaled() {
		return 128 + int(status.Signal()), signalName(status.Signal())
	}
	code := status.ExitStatus()
	if code > 128 && code <= 128+31 {
		return code, signalName(syscall.Signal(code - 128))
	}
	return code, ""
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // a second close is an error that says nothing
	}
}

// killGroup kills the process group that the command leads.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
