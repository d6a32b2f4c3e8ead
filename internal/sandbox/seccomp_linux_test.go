package sandbox

import (
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"culprit/internal/requiretest"
)

// Neither a send that connects nor an end of a pair that is given another other
// end may get where connect does not: Landlock's rules see neither.
func TestSendsReachNoMoreThanConnectDoes(t *testing.T) {
	t.Parallel()
	requiretest.Program(t, "python3")
	const script = `
import ctypes, errno, os, platform, socket, struct, sys
port, path = int(sys.argv[1]), sys.argv[2]
address = ('127.0.0.1', port)
libc = ctypes.CDLL(None, use_errno=True)
class Part(ctypes.Structure): _fields_ = [('base', ctypes.c_char_p), ('len', ctypes.c_size_t)]
class Message(ctypes.Structure):
    _fields_ = [('name', ctypes.c_char_p), ('namelen', ctypes.c_uint), ('parts', ctypes.POINTER(Part)), ('count', ctypes.c_size_t),
                ('control', ctypes.c_void_p), ('controllen', ctypes.c_size_t), ('flags', ctypes.c_int), ('sent', ctypes.c_uint)]
def many():
    name = struct.pack('=H', socket.AF_INET) + struct.pack('!H4s8x', port, socket.inet_aton('127.0.0.1'))
    part = Part(b'many\n', 5)
    m = Message(name, len(name), ctypes.pointer(part), 1, None, 0, 0, 0)
    s = socket.socket()
    if libc.sendmmsg(s.fileno(), ctypes.byref(m), 1, 0x20000000) < 0:
        raise OSError(ctypes.get_errno(), 'sendmmsg')
def pair(kind):
    a, b = socket.socketpair(socket.AF_UNIX, kind)
    return a
def both(kind):
    a, b = socket.socketpair(socket.AF_UNIX, kind)
    a.send(b'x')
    if b.recv(1) != b'x': raise OSError(5, 'lost')
for name, f in [
    ('connect', lambda: socket.create_connection(address, 2)),
    ('sendto', lambda: socket.socket().sendto(b'to\n', 0x20000000, address)),
    ('sendmsg', lambda: socket.socket().sendmsg([b'message\n'], [], 0x20000000, address)),
    ('sendmmsg', many),
    ('datagrams', lambda: pair(socket.SOCK_DGRAM).sendto(b'datagram', path)),
    ('raw', lambda: pair(socket.SOCK_RAW | socket.SOCK_CLOEXEC).connect(path)),
    ('stream', lambda: both(socket.SOCK_STREAM | socket.SOCK_NONBLOCK)),
    ('packets', lambda: both(socket.SOCK_SEQPACKET)),
]:
    try:
        f()
        print(name, 'done')
    except OSError as e:
        print(name, errno.errorcode[e.errno])
`
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var reached atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			reached.Add(1)
			c.Close()
		}
	}()
	path := filepath.Join("/dev/shm", "culprit-"+strconv.Itoa(l.Addr().(*net.TCPAddr).Port)) // short, and no folder of the command's
	log, err := net.ListenPacket("unixgram", path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	box := open(t, Landlock)
	for _, network := range []bool{true, false} {
		cmd := Command{Network: network, Argv: []string{"python3", "-c", script, strconv.Itoa(l.Addr().(*net.TCPAddr).Port), path}}
		want := "connect EACCES\nsendto EACCES\nsendmsg EACCES\nsendmmsg EACCES\ndatagrams EACCES\nraw EACCES\nstream done\npackets done\n"
		if res, out := run(t, box, cmd); res.Exit != 0 || strings.TrimSpace(out) != strings.TrimSpace(want) {
			t.Errorf("network %v: exit %d:\n%swant:\n%s", network, res.Exit, out, want)
		}
	}
	l.Close()
	if <-ended; reached.Load() > 0 {
		t.Errorf("the listener was reached %d times", reached.Load())
	}
}
