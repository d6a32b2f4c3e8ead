"""Attempts to make the kernel do what no test needs."""
import ctypes
import errno
import os
import platform
import socket

from hostile import BAIT, attempt

libc = ctypes.CDLL(None, use_errno=True)

# Numbers of system calls: x86-64, arm64.
NUMBERS = {
    'process_vm_readv': (310, 270), 'process_vm_writev': (311, 271), 'ptrace': (101, 117), 'pidfd_open': (434, 434), 'pidfd_getfd': (438, 438),
    'keyctl': (250, 219), 'add_key': (248, 217), 'request_key': (249, 218), 'name_to_handle_at': (303, 264), 'open_by_handle_at': (304, 265),
    'syslog': (103, 116), 'mount': (165, 40), 'umount2': (166, 39), 'pivot_root': (155, 41), 'chroot': (161, 51), 'unshare': (272, 97), 'setns': (308, 268),
    'clone': (56, 220), 'clone3': (435, 435), 'bpf': (321, 280), 'perf_event_open': (298, 241), 'userfaultfd': (323, 282), 'io_uring_setup': (425, 425),
    'kexec_load': (246, 104), 'kexec_file_load': (320, 294), 'init_module': (175, 105), 'finit_module': (313, 273), 'delete_module': (176, 106),
    'reboot': (169, 142), 'swapon': (167, 224), 'swapoff': (168, 225), 'acct': (163, 89), 'clock_settime': (227, 112), 'settimeofday': (164, 170),
    'clock_adjtime': (305, 266), 'sethostname': (170, 161), 'setdomainname': (171, 162), 'quotactl': (179, 60), 'fsopen': (430, 430), 'fsmount': (432, 432),
    'fspick': (433, 433), 'open_tree': (428, 428), 'move_mount': (429, 429), 'mount_setattr': (442, 442), 'kcmp': (312, 272), 'setuid': (105, 146),
    'setgid': (106, 144), 'capset': (126, 91), 'fanotify_init': (300, 262), 'vhangup': (153, 58), 'move_pages': (279, 239), 'migrate_pages': (256, 238),
    'process_madvise': (440, 440), 'lookup_dcookie': (212, 18),
}
NR = {name: n[platform.machine() != 'x86_64'] for name, n in NUMBERS.items()}


def call(name, *args):
    """Makes the call; anything but a refusal has reached the kernel's code."""
    args = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]  # whole registers
    if libc.syscall(NR[name], *args) < 0:
        e = ctypes.get_errno()
        raise OSError(e, os.strerror(e))
    return 'done'


NULL = None
FLAGS_NEW = {'user': 0x10000000, 'mount': 0x00020000, 'net': 0x40000000, 'pid': 0x20000000, 'cgroup': 0x02000000}
PLAIN = {  # with arguments that do no harm where they are taken
    'umount2': (b'/nonexistent', 0), 'pivot_root': (b'.', b'.'), 'chroot': (b'/tmp',), 'bpf': (0, NULL, 0), 'perf_event_open': (NULL, 0, -1, -1, 0),
    'userfaultfd': (0,), 'kexec_load': (0, 0, NULL, 0xffff), 'kexec_file_load': (-1, -1, 0, NULL, 0), 'init_module': (NULL, 0, NULL),
    'finit_module': (-1, NULL, 0), 'delete_module': (b'no_such_module', 0o4000), 'reboot': (1, 2, 3, NULL), 'swapon': (b'/nonexistent', 0),
    'swapoff': (b'/nonexistent',), 'acct': (b'/nonexistent',), 'clock_settime': (0, NULL), 'settimeofday': (ctypes.create_string_buffer(b'\xff' * 16), NULL),
    'quotactl': (0x80000200, NULL, 0, NULL), 'fsopen': (b'tmpfs', 0), 'fsmount': (-1, 0, 0), 'fspick': (-100, b'/', 0), 'open_tree': (-100, b'/', 1),
    'move_mount': (-1, b'', -1, b'', 0), 'mount_setattr': (-1, b'', 0, NULL, 0), 'setuid': (12345,), 'setgid': (12345,), 'fanotify_init': (0, 0),
    'vhangup': (), 'add_key': (b'user', b'x', b'y', 1, -3), 'request_key': (b'user', b'x', NULL, 0),
}
for name, args in PLAIN.items():
    attempt('call-' + name.replace('_', '-'))(lambda name=name, args=args: call(name, *args))
for what, flag in FLAGS_NEW.items():
    attempt('namespace-' + what)(lambda flag=flag: call('unshare', flag))


@attempt('call-mount')
def _():
    return call('mount', b'none', b'/nonexistent', b'tmpfs', 0, NULL)


@attempt('mount-again-writable')
def _():
    return call('mount', b'none', b'/usr', NULL, 32 | 4096, NULL)  # remount, bind


@attempt('call-setns')
def _():
    return call('setns', os.open('/proc/1/ns/net', os.O_RDONLY) if os.path.exists('/proc/1/ns/net') else 0, 0)


@attempt('clone-into-namespace')
def _():
    pid = libc.syscall(NR['clone'], FLAGS_NEW['user'] | 17, NULL, NULL, NULL, NULL)
    if pid == 0:
        os._exit(0)
    if pid < 0:
        raise OSError(ctypes.get_errno(), 'clone')
    os.waitpid(pid, 0)
    return 'done'


@attempt('clone3-into-namespace')
def _():
    args = (ctypes.c_uint64 * 8)(FLAGS_NEW['user'], 0, 0, 0, 17, 0, 0, 0)
    pid = libc.syscall(NR['clone3'], args, 64)
    if pid == 0:
        os._exit(0)
    if pid < 0:
        raise OSError(ctypes.get_errno(), 'clone3')
    os.waitpid(pid, 0)
    return 'done'


@attempt('call-io-uring')
def _():
    return call('io_uring_setup', 1, ctypes.create_string_buffer(120))


@attempt('capabilities-back')
def _():
    header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(0xffffffff, 0xffffffff, 0, 0xffffffff, 0xffffffff, 0)
    return call('capset', header, data)


@attempt('set-user-program')
def _():
    path = os.path.join(os.environ['PIP_CACHE_DIR'], 'rooted')
    with open('/bin/cat', 'rb') as f, open(path, 'wb') as g:
        g.write(f.read())
    os.chown(path, 0, 0)
    os.chmod(path, 0o4755)
    with open('/proc/self/status') as f:
        before = [line for line in f if line.startswith('CapEff')]
    with os.popen(path + ' /proc/self/status') as f:
        after = [line for line in f if line.startswith('CapEff')]
    if after == before or not after:
        raise PermissionError(errno.EPERM, 'no more rights than before')
    return 'done'


FAMILIES = {'packet': (17, 3, 0x300), 'raw': (2, 3, 1), 'vsock': (40, 1, 0), 'netlink': (16, 3, 6), 'crypto': (38, 5, 0), 'bluetooth': (31, 3, 1), 'tipc': (30, 5, 0), 'xdp': (44, 3, 0)}
for name, args in FAMILIES.items():
    def family(args=args):
        socket.socket(*args).close()
        return 'done'
    attempt('socket-' + name)(family)


@attempt('terminal-input')
def _():
    import fcntl
    for fd in (0, 1, 2):
        try:
            fcntl.ioctl(fd, 0x5412, b'x')  # TIOCSTI
            return 'done'
        except OSError as e:
            last = e
    try:
        fcntl.ioctl(os.open('/dev/tty', os.O_RDWR), 0x5412, b'x')
        return 'done'
    except OSError:
        raise last
