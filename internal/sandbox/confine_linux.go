package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// confineWord is the first argument of this program where it was started as a
// part of a sandbox.
const confineWord = "culprit-confine"

// Confine does what this process was started for as a part of a sandbox, and does
// not return then. A program that opens a sandbox calls it first of all.
func Confine() {
	if len(os.Args) < 4 || os.Args[1] != confineWord {
		return
	}
	runtime.LockOSThread() // rights, and the bond of parent and child, are a thread's
	code, err := 125, error(nil)
	switch argv := os.Args[3:]; os.Args[2] {
	case "supervise":
		code, err = supervise(argv)
	case "forward":
		code, err = forward(argv)
	case "apply":
		err = apply(argv)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "confine command: %v\n", err)
	}
	os.Exit(code)
}

// supervise runs the command below itself. Whatever the command leaves behind
// becomes its child, however it was started, and is ended before it exits.
func supervise(argv []string) (int, error) {
	const failed = 125
	rules := os.NewFile(firstFile, "grants")
	data, err := io.ReadAll(rules)
	rules.Close()
	if err != nil {
		return failed, err
	}
	var g grants
	if err := json.Unmarshal(data, &g); err != nil {
		return failed, err
	}
	if err := errors.Join(unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0)); err != nil {
		return failed, err
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return failed, err
	}
	files, err := piped(nil, data)
	if err != nil {
		return failed, err
	}
	self, err := os.Executable()
	if err != nil {
		return failed, err
	}
	theirs := os.NewFile(uintptr(pair[1]), "pair")
	child, err := os.StartProcess(self, append([]string{self, confineWord, "apply"}, argv...), &os.ProcAttr{
		Env: os.Environ(), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr, files[0], theirs},
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	theirs.Close()
	closeAll(files)
	if err != nil {
		return failed, err
	}
	go func() {
		<-ended
		endBelow()
	}()
	go answerCalls(pair[0], g.Write)
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if err == syscall.EINTR || err == nil && pid != child.Pid {
			continue
		}
		endBelow()
		switch {
		case err != nil:
			return failed, fmt.Errorf("wait for the command: %w", err)
		case status.Signaled():
			return 128 + int(status.Signal()), nil
		}
		return status.ExitStatus(), nil
	}
}

// endBelow kills all descendants until there is none. They cannot leave: an
// orphan becomes a child of this process.
func endBelow() {
	self := os.Getpid()
	for range 1000 {
		all := processes()
		mine := map[int]bool{self: true}
		for grown := true; grown; {
			grown = false
			for pid, s := range all {
				if !mine[pid] && mine[s.parent] {
					mine[pid], grown = true, true
				}
			}
		}
		alive := 0
		for pid := range mine {
			if pid != self && all[pid].state != 'Z' {
				alive++
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if alive == 0 {
			return
		}
	}
}

// apply gives the rights up and becomes the command.
func apply(argv []string) error {
	rules, pair := os.NewFile(3, "grants"), 4
	data, err := io.ReadAll(rules)
	rules.Close()
	if err != nil {
		return err
	}
	var g grants
	if err := json.Unmarshal(data, &g); err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := restrict(g); err != nil {
		return err
	}
	listener, err := install(filter(g.Sockets))
	if err != nil {
		return err
	}
	if err := unix.Sendmsg(pair, []byte{0}, unix.UnixRights(listener), nil, 0); err != nil {
		return fmt.Errorf("hand over the listener: %w", err)
	}
	unix.Close(listener)
	unix.Close(pair)
	return fmt.Errorf("start %s: %w", strconv.Quote(argv[0]), syscall.Exec(argv[0], argv, os.Environ()))
}

// install sets the filter for the calling thread and returns the descriptor on
// which the calls arrive that somebody else decides.
func install(program []rawInstruction) (int, error) {
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: (*unix.SockFilter)(unsafe.Pointer(&program[0]))}
	fd, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(program)
	if e != 0 {
		return -1, fmt.Errorf("set the seccomp filter: %w", e)
	}
	return int(fd), nil
}
