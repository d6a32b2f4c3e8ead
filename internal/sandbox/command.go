package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// check validates what only a programming or configuration error can get
// wrong, and fills the defaults in.
func (c Command) check() (Command, error) {
	if (c.Script == "") == (len(c.Argv) == 0) {
		return c, errors.New("run command: set exactly one of Script and Argv")
	}
	for _, arg := range append([]string{c.Script}, c.Argv...) {
		if strings.ContainsRune(arg, 0) {
			return c, errors.New("run command: it contains a NUL byte, which no program can be given: remove it")
		}
	}
	dir, err := folder(c.Dir)
	if err != nil {
		return c, fmt.Errorf("run command: %w", err)
	}
	c.Dir = dir
	for name, value := range c.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return c, fmt.Errorf("run command: %q is no name, or its value none, for an environment variable", name)
		}
	}
	binds := make([]Bind, 0, len(c.Binds))
	for _, b := range c.Binds {
		if !filepath.IsAbs(b.Host) || !filepath.IsAbs(b.Inside) {
			return c, fmt.Errorf("run command: bind %q at %q: give absolute paths", b.Host, b.Inside)
		}
		b.Inside = filepath.Clean(b.Inside)
		if err := bindTarget(b.Inside); err != nil {
			return c, err
		}
		host, err := filepath.EvalSymlinks(b.Host)
		if err != nil {
			return c, fmt.Errorf("run command: bind %q: create it first: %w", b.Host, err)
		}
		b.Host = host
		binds = append(binds, b)
	}
	c.Binds = binds
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	c.Limits = c.Limits.fill()
	return c, nil
}

func folder(dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("folder %q: give an absolute path", dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("folder of the command: %w", err)
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", fmt.Errorf("folder of the command: %w", err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("folder of the command: %s is a file: give a folder", dir)
	}
	return real, nil
}

// bindTarget refuses targets that would hide what the confinement itself
// mounts.
func bindTarget(inside string) error {
	for _, reserved := range []string{"/", "/proc", "/dev", "/sys", "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64"} {
		if inside == reserved || (reserved != "/" && strings.HasPrefix(inside, reserved+"/")) {
			return fmt.Errorf("run command: bind at %q: %s belongs to the system: choose a path such as /cache/name", inside, reserved)
		}
	}
	return nil
}

func (l Limits) fill() Limits {
	d := DefaultLimits()
	for _, f := range []struct{ have, def *int64 }{
		{&l.CPUSeconds, &d.CPUSeconds}, {&l.MemoryBytes, &d.MemoryBytes}, {&l.Processes, &d.Processes},
		{&l.OpenFiles, &d.OpenFiles}, {&l.FileBytes, &d.FileBytes}, {&l.OutputBytes, &d.OutputBytes},
		{&l.DiskBytes, &d.DiskBytes}, {&l.DiskFiles, &d.DiskFiles},
	} {
		if *f.have == 0 {
			*f.have = *f.def
		}
	}
	return l
}

// argv is the program to start. A plain argument list goes through sh as well,
// because sh answers a missing program with exit code 127 in every backend,
// and the words stay positional parameters that sh does not interpret.
func (c Command) argv(shell string) []string {
	if len(c.Argv) > 0 {
		return append([]string{"/bin/sh", "-c", `exec "$@"`, "sh"}, c.Argv...)
	}
	return []string{shell, "-c", c.Script}
}

// writable are the host's folders that a command may fill.
func (c Command) writable() (out []string) {
	if c.Dir != "" && !c.ReadOnlyDir {
		out = append(out, c.Dir)
	}
	for _, b := range c.Binds {
		if info, err := os.Stat(b.Host); err == nil && info.IsDir() && b.Writable {
			out = append(out, b.Host)
		}
	}
	return out
}

// shell is bash if it is where a confined command can see it, else sh.
func shell() string {
	for _, path := range []string{"/bin/bash", "/usr/bin/bash"} {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return "/bin/sh"
}

// translate maps hostPath to the command's view of it.
func (c Command) translate(hostPath string) string {
	best, bestLen := hostPath, -1
	try := func(host, inside string) {
		for _, h := range []string{host, resolved(host)} {
			rel, err := filepath.Rel(h, hostPath)
			if err != nil || rel == ".." || strings.HasPrefix(rel, "../") || len(h) <= bestLen {
				continue
			}
			best, bestLen = filepath.Join(inside, rel), len(h)
		}
	}
	try(c.Dir, Source)
	for _, b := range c.Binds {
		try(b.Host, b.Inside)
	}
	return best
}

func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// elapsed avoids a negative or zero duration where a clock is coarse.
func elapsed(start time.Time) time.Duration { return max(time.Since(start), time.Nanosecond) }
