//go:build linux && !amd64

package sandbox

import "golang.org/x/sys/unix"

var (
	oldAttributeCalls []attributeCall
	unsupportedCalls  []uint32
	ownerCalls        = []uint32{unix.SYS_FCHOWN, unix.SYS_FCHOWNAT}
)
