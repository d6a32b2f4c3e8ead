package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// confinement is what holds a running command from outside: control groups
// where they can be written (version 2 with delegated controllers, or version
// 1), nothing where they cannot. The watch covers memory and processes then.
type confinement struct {
	root   int      // the command's first process
	dirs   []string // one for v2, one per controller for v1
	memory string   // folder whose memory controller counts, "" if none
	pids   bool
}

var groupNumber atomic.Int64

// confine applies resource limits and control groups to the waiting gate.
func confine(pid int, l Limits) *confinement {
	setLimits(pid, l)
	c := &confinement{root: pid}
	name := fmt.Sprintf("culprit-%d-%d", os.Getpid(), groupNumber.Add(1))
	for _, g := range groups() {
		dir := filepath.Join(g.dir, name)
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		memory, pids := g.limit(dir, l)
		if (!memory && !pids) || put(dir, "cgroup.procs", int64(pid)) != nil {
			_ = syscall.Rmdir(dir)
			continue
		}
		c.dirs = append(c.dirs, dir)
		if memory {
			c.memory = dir
		}
		c.pids = c.pids || pids
	}
	return c
}

// group is a folder in which groups of our own can be made.
type group struct {
	dir        string
	controller string // "" for version 2
}

// groups returns the candidates below the process's own groups.
func groups() []group {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	var out []group
	for line := range strings.Lines(string(data)) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) != 3 || strings.Contains(part[2], "..") {
			continue
		}
		switch {
		case part[1] == "memory" || part[1] == "pids":
			out = append(out, group{filepath.Join("/sys/fs/cgroup", part[1], part[2]), part[1]})
		case part[0] == "0" && part[1] == "":
			out = append(out, group{filepath.Join("/sys/fs/cgroup", part[2]), ""})
		}
	}
	// Beside version 1, /sys/fs/cgroup itself is an ordinary folder.
	return slices.DeleteFunc(out, func(g group) bool {
		var fs unix.Statfs_t
		return unix.Statfs(g.dir, &fs) != nil || (int64(fs.Type) != unix.CGROUP_SUPER_MAGIC && int64(fs.Type) != unix.CGROUP2_SUPER_MAGIC) //nolint:unconvert // the field's type differs by architecture
	})
}

// put writes a value to a file that the kernel provides.
func put(dir, name string, value int64) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strconv.FormatInt(value, 10))
	return errors.Join(err, f.Close())
}

// limit writes the limits and says which of them hold.
func (g group) limit(dir string, l Limits) (memory, pids bool) {
	set := func(name string, value int64) bool { return value >= 0 && put(dir, name, value) == nil }
	switch g.controller {
	case "memory":
		return set("memory.limit_in_bytes", l.MemoryBytes), false
	case "pids":
		return false, set("pids.max", l.Processes)
	}
	memory = set("memory.max", l.MemoryBytes)
	set("memory.swap.max", 0)
	return memory, set("pids.max", l.Processes)
}

// outOfMemory reports whether the kernel killed a process for the limit.
func (c *confinement) outOfMemory() bool {
	if c.memory == "" {
		return false
	}
	for _, name := range []string{"memory.events", "memory.oom_control"} {
		data, err := os.ReadFile(filepath.Join(c.memory, name))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			if n, ok := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); ok && n != "0" {
				return true
			}
		}
	}
	return false
}

// members lists the processes in the groups.
func (c *confinement) members() []int {
	var out []int
	for _, dir := range c.dirs {
		data, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil {
			continue
		}
		for _, field := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 1 && pid != c.root {
				out = append(out, pid)
			}
		}
	}
	return out
}

// kill ends whatever is still in the groups.
func (c *confinement) kill() {
	for range 50 {
		pids := c.members()
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			reap(pid)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// close removes the groups; the kernel needs a moment after the last process.
func (c *confinement) close() {
	for _, dir := range c.dirs {
		for range 50 {
			if err := syscall.Rmdir(dir); err != syscall.EBUSY {
				break
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
	c.dirs = nil
}

// reap collects a stray that became a child of this process (as it does when
// this process is the first one of a container), so that no zombie is left.
func reap(pid int) {
	var status syscall.WaitStatus
	_, _ = syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
}

// sweep removes groups that a killed process of ours left behind.
func sweep() {
	for _, g := range groups() {
		old, _ := filepath.Glob(filepath.Join(g.dir, "culprit-*-*"))
		for _, dir := range old {
			owner, err := strconv.Atoi(strings.Split(filepath.Base(dir), "-")[1])
			if err == nil && owner != os.Getpid() && syscall.Kill(owner, 0) == syscall.ESRCH {
				_ = syscall.Rmdir(dir)
			}
		}
	}
}

// controllers reports what control groups can limit here, by making one.
func controllers() (memory, pids bool) {
	for _, g := range groups() {
		dir := filepath.Join(g.dir, fmt.Sprintf("culprit-%d-%d", os.Getpid(), groupNumber.Add(1)))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		m, p := g.limit(dir, Limits{MemoryBytes: 1 << 40, Processes: 1 << 15})
		memory, pids = memory || m, pids || p
		_ = syscall.Rmdir(dir)
	}
	return memory, pids
}
