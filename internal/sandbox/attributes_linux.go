package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock does not look at changes of permissions and times, so a command could
// change those of any file of its user. The filter hands such calls to the
// supervisor instead, which makes them itself, and only within the folders that
// the command may write.

// notification and response are the kernel's struct seccomp_notif and
// seccomp_notif_resp.
type notification struct {
	id    uint64
	pid   uint32
	flags uint32
	call  int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

type response struct {
	id    uint64
	val   int64
	err   int32
	flags uint32
}

// answerCalls takes the listener from the other end of pair and serves it until
// nobody is left who could call.
func answerCalls(pair int, writable []string) {
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(pair, make([]byte, 1), oob, unix.MSG_CMSG_CLOEXEC)
	unix.Close(pair)
	if err != nil {
		return
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(messages) == 0 {
		return
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) == 0 {
		return
	}
	for {
		var call notification
		if e := control(fds[0], unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&call)); e == unix.EINTR || e == unix.ENOENT {
			continue // it was killed before it was read
		} else if e != 0 {
			return
		}
		answer := response{id: call.id}
		if err := change(call, writable, func() bool {
			id := call.id
			return control(fds[0], unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&id)) == 0
		}); err != nil {
			answer.err = -int32(unix.EPERM)
			var number unix.Errno
			if errors.As(err, &number) {
				answer.err = -int32(number)
			}
		}
		if e := control(fds[0], unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&answer)); e != 0 && e != unix.ENOENT && e != unix.EINTR {
			return
		}
	}
}

func control(fd int, request uintptr, arg unsafe.Pointer) unix.Errno {
	_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg))
	return e
}

// here is what a call without a descriptor starts from.
const here = int64(unix.AT_FDCWD)

// change makes one call in place of the command.
func change(n notification, writable []string, valid func() bool) error {
	for _, c := range attributeCalls {
		if c.number != uint32(n.call) {
			continue
		}
		dir := here
		if c.dir >= 0 {
			dir = int64(int32(n.args[c.dir]))
		}
		path := ""
		if c.path >= 0 && n.args[c.path] != 0 {
			text, err := n.text(n.args[c.path])
			if err != nil {
				return err
			}
			path = text
		}
		target, err := n.resolve(dir, path)
		if err != nil {
			return err
		}
		var atime, mtime time.Time
		if c.times != nil {
			if atime, mtime, err = c.times(n); err != nil {
				return err
			}
		}
		if !valid() { // its number may be somebody else's by now
			return unix.ESRCH
		}
		root, rel, err := writableRoot(target, writable)
		if err != nil {
			return err
		}
		defer root.Close()
		if c.times != nil {
			return root.Chtimes(rel, atime, mtime)
		}
		return root.Chmod(rel, fs.FileMode(n.args[c.mode]&0o777))
	}
	return unix.EPERM
}

// writableRoot opens the writable folder that path lies in; nothing leads out of it.
func writableRoot(path string, writable []string) (*os.Root, string, error) {
	for _, dir := range writable {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			root, err := os.OpenRoot(dir)
			if err != nil {
				return nil, "", err
			}
			rel, err := filepath.Rel(dir, path)
			return root, rel, err
		}
	}
	return nil, "", unix.EPERM
}

// resolve makes an absolute path of what the command gave.
func (n notification) resolve(dir int64, path string) (string, error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	from := fmt.Sprintf("/proc/%d/cwd", n.pid)
	if dir != here {
		from = fmt.Sprintf("/proc/%d/fd/%d", n.pid, dir)
	}
	base, err := os.Readlink(from)
	if err != nil {
		return "", unix.EBADF
	}
	return filepath.Join(base, path), nil
}

// memory reads from the command's memory; what is there may change at any time.
func (n notification) memory(at uint64, size int) ([]byte, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", n.pid))
	if err != nil {
		return nil, unix.EPERM
	}
	defer f.Close()
	buf := make([]byte, size)
	got, err := f.ReadAt(buf, int64(at))
	if got == 0 && err != nil {
		return nil, unix.EFAULT
	}
	return buf[:got], nil
}

func (n notification) text(at uint64) (string, error) {
	buf, err := n.memory(at, unix.PathMax)
	if err != nil {
		return "", err
	}
	end := bytes.IndexByte(buf, 0)
	if end < 0 {
		return "", unix.ENAMETOOLONG
	}
	return string(buf[:end]), nil
}

// timespecs reads the two times of utimensat; no address means now.
func timespecs(argument int) func(n notification) (time.Time, time.Time, error) {
	return func(n notification) (time.Time, time.Time, error) {
		if n.args[argument] == 0 {
			return time.Now(), time.Now(), nil
		}
		var ts [2]unix.Timespec
		buf, err := n.memory(n.args[argument], int(unsafe.Sizeof(ts)))
		if err != nil || len(buf) < int(unsafe.Sizeof(ts)) {
			return time.Time{}, time.Time{}, unix.EFAULT
		}
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&ts)), len(buf)), buf)
		var out [2]time.Time
		for i, t := range ts {
			switch int64(t.Nsec) { //nolint:unconvert // its type differs by architecture
			case unix.UTIME_NOW:
				out[i] = time.Now()
			case unix.UTIME_OMIT: // the zero time leaves it
			default:
				out[i] = time.Unix(t.Unix())
			}
		}
		return out[0], out[1], nil
	}
}

// An attributeCall is where a call has what: numbers of arguments, -1: none.
type attributeCall struct {
	number          uint32
	dir, path, mode int
	times           func(notification) (time.Time, time.Time, error)
}

var attributeCalls = slices.Concat([]attributeCall{
	{number: unix.SYS_FCHMOD, dir: 0, path: -1, mode: 1},
	{number: unix.SYS_FCHMODAT, dir: 0, path: 1, mode: 2},
	{number: 452 /* fchmodat2 */, dir: 0, path: 1, mode: 2},
	{number: unix.SYS_UTIMENSAT, dir: 0, path: 1, mode: -1, times: timespecs(2)},
}, oldAttributeCalls)
