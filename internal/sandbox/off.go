package sandbox

import (
	"context"
	"crypto/rand"
	"io/fs"
	"os"
	"path/filepath"
)

// off runs the command in place, with the user's own rights. It keeps the
// environment clean, bounds time and output, and ends what the command leaves
// behind; it protects nothing else.
type off struct {
	host  []string
	tools toolchains
}

var _ Sandbox = (*off)(nil)

func newOff(opts Options) *off {
	sweep()
	sweepTemporary()
	env := opts.environ()
	return &off{host: env, tools: discover(env, opts.Toolchains)}
}

func (*off) Name() string { return Off }

func (*off) Confinement() Confinement { return Confinement{} }

// Inside is the identity: nothing is mounted anywhere else.
func (*off) Inside(_ Command, hostPath string) string { return hostPath }

func (o *off) Run(ctx context.Context, cmd Command) (Result, error) {
	cmd, err := cmd.check()
	if err != nil {
		return Result{}, err
	}
	private, home, tmp, err := newHome()
	if err != nil {
		return Result{}, err
	}
	defer private.remove()
	marker := "CULPRIT_RUN=" + rand.Text()
	p := &process{
		cmd:     cmd,
		argv:    cmd.argv(shell()),
		env:     append(environ(o.host, cmd, o.tools, home, tmp, cmd.Dir), marker),
		dir:     cmd.Dir,
		marker:  marker,
		private: []string{private.dir},
	}
	return p.run(ctx)
}

// removeAll removes a folder in which a command may have left folders without
// write permission (a Go module cache is one).
func removeAll(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}
