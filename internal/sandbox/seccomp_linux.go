package sandbox

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// A seccomp filter takes calls away that no build and no test needs and in
// which most of the kernel's holes have been: namespaces, mounts, BPF, io_uring,
// keyrings, modules. What is left is what the confinement is built for.
//
// It is a list of what is denied, not of what is allowed: a new libc must not
// break a repository's tests. Calls that are newer than the list get ENOSYS, by
// which a libc falls back to older ones.

// sockets says which sockets a filter lets be made. Where it is not the usual
// ones there is no view of its own either, and changes of permissions and times
// are decided by the supervisor (attributes_linux.go).
type sockets int

const (
	socketsUsual sockets = iota // Unix, IPv4, IPv6 and routing; the network itself is somebody else's to confine
	socketsNone                 // none but connected pairs
	socketsTCP                  // only plain TCP
)

// newestCall is the last one that the list was made with (mseal, Linux 6.10).
const newestCall = 462

// denied is answered with EPERM. Numbers that differ by architecture come from
// package unix.
var denied = []uint32{
	unix.SYS_ACCT, unix.SYS_ADD_KEY, unix.SYS_BPF, unix.SYS_CHROOT, unix.SYS_CLOCK_ADJTIME, unix.SYS_CLOCK_SETTIME, unix.SYS_DELETE_MODULE, unix.SYS_FANOTIFY_INIT,
	unix.SYS_FINIT_MODULE, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSOPEN, unix.SYS_FSPICK, unix.SYS_INIT_MODULE, unix.SYS_IO_URING_ENTER,
	unix.SYS_IO_URING_REGISTER, unix.SYS_IO_URING_SETUP, unix.SYS_KCMP, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_KEXEC_LOAD, unix.SYS_KEYCTL, unix.SYS_LOOKUP_DCOOKIE,
	unix.SYS_MIGRATE_PAGES, unix.SYS_MOUNT, unix.SYS_MOUNT_SETATTR, unix.SYS_MOVE_MOUNT, unix.SYS_MOVE_PAGES, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_OPEN_TREE,
	unix.SYS_PERF_EVENT_OPEN, unix.SYS_PIDFD_GETFD, unix.SYS_PIVOT_ROOT, unix.SYS_PROCESS_MADVISE, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_REBOOT,
	unix.SYS_REQUEST_KEY, unix.SYS_SETDOMAINNAME, unix.SYS_SETHOSTNAME, unix.SYS_SETNS, unix.SYS_SETTIMEOFDAY, unix.SYS_SWAPOFF, unix.SYS_SWAPON, unix.SYS_SYSLOG,
	unix.SYS_UMOUNT2, unix.SYS_USERFAULTFD, unix.SYS_VHANGUP,
}

// sharedMemoryCalls are what an IPC namespace would confine, where there is
// none: System V and POSIX queues, segments and semaphores. So are a process's
// priority, limits and CPUs, which a process namespace would.
var sharedMemoryCalls = []uint32{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_SEMGET, unix.SYS_SEMCTL, unix.SYS_SEMOP,
	unix.SYS_SEMTIMEDOP, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK, unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET, unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETSCHEDULER,
	unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR,
}

// A machine is what differs between architectures.
type machine struct {
	audit uint32   // AUDIT_ARCH_…
	more  []uint32 // further calls that are denied
}

var machines = map[string]machine{
	"amd64": {0xc000003e, []uint32{134 /* uselib */, 136 /* ustat */, 154 /* modify_ldt */, 156 /* _sysctl */, 172 /* iopl */, 173 /* ioperm */, 180 /* nfsservctl */}},
	"arm64": {0xc00000b7, nil},
}

// newNamespaces are the flags of clone and unshare that make namespaces.
const newNamespaces = unix.CLONE_NEWCGROUP | unix.CLONE_NEWIPC | unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUSER | unix.CLONE_NEWUTS | unix.CLONE_NEWTIME

// Offsets in struct seccomp_data; arguments are looked at by their low halves.
const (
	dataCall = 0
	dataArch = 4
	dataArgs = 16
)

func arg(n uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: dataArgs + 8*n, Size: 4} }

func refuse(e unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(e)}
}

var allow = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}

// when makes a block that runs for one call only. It must end in an answer, and
// goes on with the next block where it does not answer.
func when(call uint32, block ...bpf.Instruction) []bpf.Instruction {
	return append([]bpf.Instruction{
		bpf.LoadAbsolute{Off: dataCall, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: call, SkipTrue: uint8(len(block))},
	}, block...)
}

// rawInstruction is laid out as the kernel's struct sock_filter.
type rawInstruction = bpf.RawInstruction

// filter makes the program for the running architecture; nil where it is not
// known.
func filter(kind sockets) []rawInstruction {
	m, ok := machines[runtime.GOARCH]
	if !ok {
		return nil
	}
	program := []bpf.Instruction{
		// Calls of another ABI have other numbers: none of them is taken.
		bpf.LoadAbsolute{Off: dataArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: m.audit, SkipTrue: 1},
		refuse(unix.EPERM),
		bpf.LoadAbsolute{Off: dataCall, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: newestCall, SkipTrue: 1},
		refuse(unix.ENOSYS), // the x32 ABI too: its numbers begin at 0x40000000
	}
	for _, call := range append(slices.Clone(denied), m.more...) {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: call, SkipTrue: 1}, refuse(unix.EPERM))
	}
	if kind != socketsUsual {
		for _, c := range attributeCalls {
			program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: c.number, SkipTrue: 1}, bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF})
		}
		for _, call := range sharedMemoryCalls {
			program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: call, SkipTrue: 1}, refuse(unix.EPERM))
		}
		for _, call := range unsupportedCalls {
			program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: call, SkipTrue: 1}, refuse(unix.ENOSYS))
		}
		for _, call := range ownerCalls {
			program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: call, SkipTrue: 1}, refuse(unix.EPERM))
		}
		for _, call := range []uint32{unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR} {
			program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: call, SkipTrue: 1}, refuse(unix.EOPNOTSUPP))
		}
	}
	program = slices.Concat(program,
		// Its flags lie in memory, where a filter cannot look: libc uses clone.
		when(unix.SYS_CLONE3, refuse(unix.ENOSYS)),
		when(unix.SYS_CLONE, arg(0), bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: newNamespaces, SkipTrue: 1}, refuse(unix.EPERM)),
		when(unix.SYS_UNSHARE, arg(0), bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: newNamespaces, SkipTrue: 1}, refuse(unix.EPERM)),
		// Typing into a terminal, for older kernels that still allow it.
		when(unix.SYS_IOCTL, arg(1), bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.TIOCSTI, SkipTrue: 1}, refuse(unix.EPERM),
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0x541c /* TIOCLINUX */, SkipTrue: 1}, refuse(unix.EPERM)),
		// Limits of other processes: a process is its own as number 0.
		when(unix.SYS_PRLIMIT64, arg(0), bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 5},
			arg(2), bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 2},
			bpf.LoadAbsolute{Off: dataArgs + 8*2 + 4, Size: 4}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1}, // the address's other half
			refuse(unix.EPERM)),
		when(unix.SYS_SOCKETPAIR, pairRules(kind)...),
		when(unix.SYS_SOCKET, socketRules(kind)...),
		sendRules(kind),
		[]bpf.Instruction{allow},
	)
	raw, err := bpf.Assemble(program)
	if err != nil {
		panic(fmt.Sprintf("assemble the seccomp filter: %v", err)) // a constant program
	}
	return raw
}

// pairRules answer socketpair(family, type, protocol). A datagram end is not
// bound to its other one: it can send to any socket that has a name in the
// files, which Landlock does not see. (A raw one is a datagram one to the kernel.)
func pairRules(kind sockets) []bpf.Instruction {
	rules := []bpf.Instruction{arg(0), bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_UNIX, SkipTrue: 1}, refuse(unix.EAFNOSUPPORT)}
	if kind == socketsUsual {
		return rules
	}
	return append(rules, arg(1), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xf},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_STREAM, SkipTrue: 2}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_SEQPACKET, SkipTrue: 1}, refuse(unix.EACCES))
}

// sendRules refuse MSG_FASTOPEN, by which a send connects: the kernel asks
// Landlock about connect alone.
func sendRules(kind sockets) (out []bpf.Instruction) {
	if kind == socketsUsual {
		return nil
	}
	for _, c := range []struct{ call, flags uint32 }{{unix.SYS_SENDTO, 3}, {unix.SYS_SENDMSG, 2}, {unix.SYS_SENDMMSG, 3}} {
		out = append(out, when(c.call, arg(c.flags), bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: unix.MSG_FASTOPEN, SkipTrue: 1}, refuse(unix.EACCES))...)
	}
	return out
}

// socketRules answer socket(family, type, protocol).
func socketRules(kind sockets) []bpf.Instruction {
	const raw = 3
	// Multipath TCP, SCTP and datagrams are protocols that Landlock's rules for
	// TCP do not see.
	plainTCP := []bpf.Instruction{
		arg(1), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xf}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_STREAM, SkipTrue: 1}, refuse(unix.EACCES),
		arg(2), bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 2}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_TCP, SkipTrue: 1}, refuse(unix.EPROTONOSUPPORT),
		allow,
	}
	switch kind {
	case socketsNone:
		return []bpf.Instruction{refuse(unix.EACCES)}
	case socketsTCP:
		return append([]bpf.Instruction{
			arg(0), bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET, SkipTrue: 2}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET6, SkipTrue: 1}, refuse(unix.EAFNOSUPPORT),
		}, plainTCP...)
	}
	return []bpf.Instruction{
		arg(0),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_UNIX, SkipTrue: 7},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET, SkipTrue: 6},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET6, SkipTrue: 5},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_NETLINK, SkipTrue: 1},
		refuse(unix.EAFNOSUPPORT),
		arg(2), // which addresses and routes there are may be asked, nothing else
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.NETLINK_ROUTE, SkipTrue: 5},
		refuse(unix.EPROTONOSUPPORT),
		arg(1), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xf},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: raw, SkipTrue: 1}, refuse(unix.EPERM),
		allow,
	}
}

// filterBytes is the program as bwrap reads it.
func filterBytes(kind sockets) []byte {
	var out bytes.Buffer
	for _, i := range filter(kind) {
		_ = binary.Write(&out, binary.NativeEndian, i) // into memory
	}
	return out.Bytes()
}
