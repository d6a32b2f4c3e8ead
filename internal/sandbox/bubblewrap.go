package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"culprit/internal/egress"
)

// bubblewrap confines by Linux namespaces, through the bwrap program.
type bubblewrap struct {
	path  string
	self  string // this program, which passes connections of set-up steps on
	host  []string
	tools toolchains
	out   egress.Options // of set-up steps
	// noUserns is set where bwrap can forbid further user namespaces inside,
	// which closes a large part of the kernel to the command.
	noUserns bool
}

var _ Sandbox = (*bubblewrap)(nil)

// home of the command inside the namespace.
const home = "/home/culprit"

// newBubblewrap finds bwrap and proves that it confines.
func newBubblewrap(opts Options) (*bubblewrap, error) {
	env := opts.environ()
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, fmt.Errorf("%w: bwrap is not installed: install the package bubblewrap, or use --sandbox off for a repository that you trust", ErrUnavailable)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("%w: find bwrap: %w", ErrUnavailable, err)
	}
	out, err := outside(env, opts.SetupHosts)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("%w: find this program: %w", ErrUnavailable, err)
	}
	sweep()
	sweepTemporary()
	b := &bubblewrap{path: path, self: self, out: out, host: env, tools: discover(env, opts.Toolchains), noUserns: true}
	why := works(b)
	if why != "" {
		b.noUserns = false // bwrap before 0.8, or one that is set-uid
		why = works(b)
	}
	if why != "" {
		return nil, fmt.Errorf("%w: bwrap cannot make its namespaces here (%s): allow user namespaces (in a container: an unconfined seccomp profile or a privileged worker; "+
			"on Ubuntu: an AppArmor profile for bwrap), or use --sandbox off for a repository that you trust", ErrUnavailable, why)
	}
	return b, nil
}

// works runs a trivial command; the answer is empty or why it failed.
func works(box Sandbox) string {
	private, err := newTemporary()
	if err != nil {
		return err.Error()
	}
	defer private.remove()
	var out strings.Builder
	res, err := box.Run(context.Background(), Command{Argv: []string{"true"}, Dir: private.dir, Output: &out, Timeout: selfTestTimeout})
	switch {
	case err != nil:
		return err.Error()
	case res.TimedOut:
		return "it did not end"
	case res.Exit != 0:
		return firstLine(out.String(), fmt.Sprintf("exit code %d", res.Exit))
	}
	return ""
}

func (*bubblewrap) Name() string { return Bwrap }

func (*bubblewrap) Confinement() Confinement {
	return Confinement{Files: true, Network: true, Processes: true, Loopback: true}
}

func (*bubblewrap) Inside(cmd Command, hostPath string) string { return cmd.translate(hostPath) }

func (b *bubblewrap) Run(ctx context.Context, cmd Command) (Result, error) {
	cmd, err := cmd.check()
	if err != nil {
		return Result{}, err
	}
	argv, socket := cmd.argv(shell()), ""
	if cmd.Network {
		private, err := newTemporary()
		if err != nil {
			return Result{}, err
		}
		defer private.remove()
		socket = filepath.Join(private.dir, "out")
		if err := os.Mkdir(socket, 0o700); err != nil {
			return Result{}, fmt.Errorf("make the way out of a set-up step: %w", err)
		}
		l, err := net.Listen("unix", filepath.Join(socket, egressSocket))
		if err != nil {
			return Result{}, fmt.Errorf("make the way out of a set-up step: %w", err)
		}
		proxy := egress.Serve(l, b.out)
		defer proxy.Close()
		cmd.proxy = egressAddress
		argv = append([]string{egressProgram, confineWord, "forward"}, argv...)
	}
	infoOut, infoIn, err := os.Pipe()
	if err != nil {
		return Result{}, fmt.Errorf("run command: %w", err)
	}
	defer infoOut.Close()
	files := []*os.File{infoIn}
	args, files, err := b.arguments(cmd, socket, files)
	if err != nil {
		closeAll(files)
		return Result{}, err
	}
	args = append(args, "--")
	args = append(args, argv...)

	// bwrap tells the number of the namespace's first process as soon as it
	// exists. Killing that one process ends everything in the namespace.
	var first struct {
		sync.Mutex
		pid int
	}
	known := make(chan struct{})
	initPID := func() int {
		first.Lock()
		defer first.Unlock()
		return first.pid
	}
	p := &process{
		cmd:   cmd,
		argv:  append([]string{b.path}, args...),
		env:   environ(b.host, cmd, b.tools, home, "/tmp", Source),
		dir:   "/",
		files: files,
		started: func() {
			go func() {
				defer close(known)
				var info struct {
					Child int `json:"child-pid"`
				}
				if json.NewDecoder(io.LimitReader(infoOut, 64<<10)).Decode(&info) == nil {
					first.Lock()
					first.pid = info.Child
					first.Unlock()
				}
			}()
		},
		kill: func(pid int) {
			if inner := initPID(); inner > 1 {
				_ = syscall.Kill(inner, syscall.SIGKILL)
				return
			}
			killGroup(pid) // still setting up: dies with its parent
		},
		gone: func() {
			<-known // bwrap is dead, so its end of the pipe is closed
			if inner := initPID(); inner > 1 {
				awaitNamespace(inner)
			}
		},
	}
	return p.run(ctx)
}

func firstLine(text, fallback string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if line == "" {
		return fallback
	}
	return line
}
