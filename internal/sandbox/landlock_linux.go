package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"culprit/internal/egress"
)

// landlock confines where namespaces are not to be had, as in default
// containers: files by Landlock, the network and the kernel's surface by a
// seccomp filter. It has no view of its own: the tree lies at its own path, and
// the system's loopback cannot be given a double, so a command has no network at
// all, not even with itself; a set-up step may connect to one port, that of the
// proxy, but Landlock cannot say on which machine. Number and existence of other processes can be
// told; nothing of them can be read, and no signal reaches them.
//
// This program starts itself again for each command, twice: once to watch over
// the command's processes (supervise), and below it once to give up its rights
// and become the command (apply).
type landlock struct {
	self  string // this program
	host  []string
	tools toolchains
	out   egress.Options // of set-up steps
}

var _ Sandbox = (*landlock)(nil)

// leastLandlock is the version whose rules also cover signals and abstract
// sockets: Linux 6.12.
const leastLandlock = 6

func newLandlock(opts Options) (Sandbox, error) {
	version, err := landlockVersion()
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: the kernel has no Landlock (%w): use Linux 6.12 or newer with landlock among its security modules", ErrUnavailable, err)
	case version < leastLandlock:
		return nil, fmt.Errorf("%w: the kernel's Landlock has version %d, and signals are confined from version %d on: use Linux 6.12 or newer", ErrUnavailable, version, leastLandlock)
	case filter(socketsNone) == nil:
		return nil, fmt.Errorf("%w: there is no seccomp filter for this architecture, and Landlock alone does not keep the network away", ErrUnavailable)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("%w: find this program: %w", ErrUnavailable, err)
	}
	env := opts.environ()
	out, err := outside(env, opts.SetupHosts)
	if err != nil {
		return nil, err
	}
	sweep()
	sweepTemporary()
	l := &landlock{self: self, out: out, host: env, tools: discover(env, opts.Toolchains)}
	if why := works(l); why != "" {
		return nil, fmt.Errorf("%w: a command confined by Landlock does not run here (%s)", ErrUnavailable, why)
	}
	return l, nil
}

func (*landlock) Name() string { return Landlock }

func (*landlock) Confinement() Confinement { return Confinement{Files: true, Network: true} }

// Inside is the identity: nothing is mounted anywhere else.
func (*landlock) Inside(_ Command, hostPath string) string { return hostPath }

func (l *landlock) Run(ctx context.Context, cmd Command) (Result, error) {
	cmd, err := cmd.check()
	if err != nil {
		return Result{}, err
	}
	private, home, tmp, err := newHome()
	if err != nil {
		return Result{}, err
	}
	defer private.remove()
	g := l.grants(cmd, home, tmp)
	if cmd.Network {
		// Landlock's rule is about the port alone, wherever it is.
		listener, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return Result{}, fmt.Errorf("make the way out of a set-up step: %w", err)
		}
		proxy := egress.Serve(listener, l.out)
		defer proxy.Close()
		cmd.proxy = listener.Addr().String()
		g.Sockets, g.Ports = socketsTCP, []uint64{uint64(listener.Addr().(*net.TCPAddr).Port)}
		g.Read = append(g.Read, settingPaths(l.host)...)
	}
	data, err := json.Marshal(g)
	if err != nil {
		return Result{}, fmt.Errorf("run command: %w", err)
	}
	files, err := piped(nil, data)
	if err != nil {
		closeAll(files)
		return Result{}, err
	}
	marker := "CULPRIT_RUN=" + rand.Text()
	p := &process{
		cmd:     cmd,
		argv:    append([]string{l.self, confineWord, "supervise"}, cmd.argv(shell())...),
		env:     append(environ(l.host, cmd, l.tools, home, tmp, cmd.Dir), marker),
		dir:     cmd.Dir,
		files:   files,
		marker:  marker,
		private: []string{private.dir},
		// The supervisor ends everything below itself, and then itself.
		kill: func(pid int) { _ = syscall.Kill(pid, syscall.SIGTERM) },
	}
	return p.run(ctx)
}

// grants are what a command may reach.
type grants struct {
	Read    []string `json:"read"`  // files and folders, also to execute
	Write   []string `json:"write"` // folders
	Devices []string `json:"devices"`
	Sockets sockets  `json:"sockets"`
	Ports   []uint64 `json:"ports"` // of TCP
}

func (l *landlock) grants(cmd Command, home, tmp string) grants {
	g := grants{
		Read: []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}, Write: []string{home, tmp},
		Devices: []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}, Sockets: socketsNone,
	}
	for _, name := range append([]string{"passwd", "group", "nsswitch.conf", "hostname", "hosts"}, system...) {
		g.Read = append(g.Read, filepath.Join("/etc", name))
	}
	// Of /proc only what is about the machine and the command itself: the rest
	// shows other processes.
	for _, name := range []string{"self", "cpuinfo", "meminfo", "stat", "uptime", "loadavg", "version", "filesystems", "sys/kernel/osrelease", "sys/vm/overcommit_memory", "sys/kernel/random/uuid"} {
		g.Read = append(g.Read, filepath.Join("/proc", name))
	}
	g.Read = append(g.Read, l.tools.roots...)
	if cmd.ReadOnlyDir {
		g.Read = append(g.Read, cmd.Dir)
	} else {
		g.Write = append(g.Write, cmd.Dir)
	}
	for _, b := range cmd.Binds {
		if b.Writable {
			g.Write = append(g.Write, b.Host)
		} else {
			g.Read = append(g.Read, b.Host)
		}
	}
	return g
}
