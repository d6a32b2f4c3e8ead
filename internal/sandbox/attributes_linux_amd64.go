package sandbox

import "golang.org/x/sys/unix"

// oldAttributeCalls are those that younger architectures have no more. Times in
// microseconds are answered with ENOSYS: libc has used utimensat for long.
var oldAttributeCalls = []attributeCall{{number: unix.SYS_CHMOD, dir: -1, path: 0, mode: 1}}

// unsupportedCalls get ENOSYS where attributes are somebody else's to change.
var unsupportedCalls = []uint32{unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}

// ownerCalls get EPERM there.
var ownerCalls = []uint32{unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT}
