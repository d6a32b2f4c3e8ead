package sandbox

import (
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// groupAttr makes the command lead a process group of its own and die when
// this process dies.
func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func signalName(s syscall.Signal) string { return unix.SignalName(s) }

// setLimits applies the resource limits to a process from outside, before it
// becomes the command. A limit that is stricter already stays.
func setLimits(pid int, l Limits) {
	set := func(resource int, value int64) {
		if value < 0 {
			return
		}
		var old unix.Rlimit
		if unix.Prlimit(pid, resource, nil, &old) != nil {
			return
		}
		limit := min(uint64(value), old.Max)
		_ = unix.Prlimit(pid, resource, &unix.Rlimit{Cur: limit, Max: limit}, nil)
	}
	set(unix.RLIMIT_CORE, 0)
	set(unix.RLIMIT_CPU, l.CPUSeconds)
	set(unix.RLIMIT_NOFILE, l.OpenFiles)
	set(unix.RLIMIT_FSIZE, l.FileBytes)
}

func defaultMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 4 << 30
	}
	total := int64(info.Totalram) * int64(info.Unit) // the field's type differs by architecture
	return max(total/2, 1<<30)
}

// awaitExit returns when the child is dead, and leaves it to be collected.
func awaitExit(child *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, child.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

// awaitNamespace waits until the first process of a process namespace is gone.
// The kernel lets it go only after every other process in it has ended.
func awaitNamespace(pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // it is gone, or the kernel is older than 5.3
	}
	defer unix.Close(fd)
	deadline := time.Now().Add(graceful)
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		if err == nil && n > 0 {
			reap(pid)
			return
		}
		if err != nil && err != unix.EINTR {
			return
		}
	}
}

// sealDescriptors makes sure that no descriptor which this process itself
// inherited (from a shell, a supervisor, a container runtime) reaches a
// command. Go opens its own so that they close on exec.
var sealDescriptors = sync.OnceFunc(func() {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, name := range names {
		if fd, err := strconv.Atoi(name.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
})
