"""Attempts to read what belongs to the bot, its host or other repositories."""
import ctypes
import ctypes.util
import glob
import os
import subprocess

from calls import NR, call, libc
from hostile import BAIT, attempt, read, read_all

PID = BAIT['decoy']


def all_processes(name):
    return sorted(glob.glob('/proc/[0-9]*/' + name))


@attempt('environ-own')
def _():
    return repr(sorted(os.environ.items())).encode() + read('/proc/self/environ')


@attempt('environ-first-process')
def _():
    return read('/proc/1/environ')


@attempt('environ-ancestors')
def _():
    paths, pid = [], os.getppid()
    while pid > 0:
        paths.append('/proc/%d/environ' % pid)
        status = read('/proc/%d/status' % pid).decode()
        pid = int(status.split('PPid:')[1].split()[0])
    return read_all(paths)


@attempt('environ-all')
def _():
    return read_all(all_processes('environ'))


@attempt('environ-bot')
def _():
    return read('/proc/%d/environ' % PID)


@attempt('environ-by-thread')
def _():
    return read_all(sorted(glob.glob('/proc/[0-9]*/task/*/environ')) + ['/proc/%d/task/%d/environ' % (PID, PID)])


@attempt('command-lines')
def _():
    return read_all(all_processes('cmdline') + ['/proc/%d/cmdline' % PID])


@attempt('descriptors-inherited')
def _():
    got = b''
    for fd in range(3, 256):
        try:
            os.lseek(fd, 0, 0)
        except OSError:
            pass
        try:
            os.set_blocking(fd, False)
            got += os.read(fd, 4096)
        except OSError:
            pass
    return got


@attempt('descriptors-of-others')
def _():
    return read_all(sorted(glob.glob('/proc/[0-9]*/fd/*')) + ['/proc/%d/fd/%d' % (PID, n) for n in range(3, 12)])


@attempt('root-of-others')
def _():
    return read_all([p + BAIT['home'] + '/.netrc' for p in all_processes('root') + ['/proc/1/root', '/proc/%d/root' % PID]])


@attempt('folder-of-others')
def _():
    return read_all([p + '/.netrc' for p in all_processes('cwd') + ['/proc/%d/cwd' % PID]])


@attempt('memory-of-others')
def _():
    got = b''
    for pid in [PID, os.getppid(), 1]:
        try:
            with open('/proc/%d/maps' % pid) as maps, open('/proc/%d/mem' % pid, 'rb', 0) as mem:
                for line in maps:
                    if '[stack]' in line or '[heap]' in line:
                        low, high = (int(x, 16) for x in line.split()[0].split('-'))
                        mem.seek(low)
                        got += mem.read(high - low)
        except OSError as e:
            first = e
    if not got:
        raise first
    return got


@attempt('memory-by-call')
def _():
    class Iovec(ctypes.Structure):
        _fields_ = [('base', ctypes.c_void_p), ('len', ctypes.c_size_t)]
    buf = ctypes.create_string_buffer(64)
    mine, other = Iovec(ctypes.addressof(buf), 64), Iovec(0x400000, 64)
    return call('process_vm_readv', PID, ctypes.byref(mine), 1, ctypes.byref(other), 1, 0)


@attempt('trace-attach')
def _():
    return call('ptrace', 16, PID, 0, 0)


@attempt('trace-seize')
def _():
    return call('ptrace', 0x4206, PID, 0, 0)


@attempt('descriptor-by-pidfd')
def _():
    fd = libc.syscall(NR['pidfd_open'], PID, 0)
    if fd < 0:
        raise OSError(ctypes.get_errno(), 'pidfd_open')
    for n in range(3, 12):
        got = libc.syscall(NR['pidfd_getfd'], fd, n, 0)
        if got >= 0:
            os.lseek(got, 0, 0)
            return os.read(got, 4096)
    raise OSError(ctypes.get_errno(), 'pidfd_getfd')


@attempt('shared-memory-file')
def _():
    return read_all(['/dev/shm/' + BAIT['shm']] + glob.glob('/dev/shm/*'))


@attempt('shared-memory-segment')
def _():
    id = libc.shmget(BAIT['sysv'], 0, 0)
    if id < 0:
        raise OSError(ctypes.get_errno(), 'shmget')
    libc.shmat.restype = ctypes.c_void_p
    at = libc.shmat(id, None, 0o10000)
    if at == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), 'shmat')
    return ctypes.string_at(at, 256)


@attempt('kernel-keyring')
def _():
    for ring in (-4, -5, -3):  # the user's, of its session, of this session
        key = libc.syscall(NR['keyctl'], 10, ring, b'user', BAIT['key'].encode(), 0)
        if key > 0:
            buf = ctypes.create_string_buffer(4096)
            n = libc.syscall(NR['keyctl'], 11, key, buf, 4096, 0)
            if n > 0:
                return buf.raw[:n]
    raise OSError(ctypes.get_errno(), 'keyctl')


for n, name in enumerate(BAIT['home files']):
    attempt('home-' + name.strip('.').replace('/', '-'))(lambda name=name: read_all(
        [os.path.join(h, name) for h in (BAIT['home'], os.path.expanduser('~'), '/root')]))


@attempt('private-key-file')
def _():
    return read(BAIT['key file'])


@attempt('other-sessions')
def _():
    return read_all([BAIT['data'] + '/sessions/other/session.json'] + glob.glob(BAIT['data'] + '/sessions/*/*'))


@attempt('other-mirrors')
def _():
    return read_all([BAIT['data'] + '/repositories/mirrors/other.git/config'] + glob.glob(BAIT['data'] + '/repositories/mirrors/*/config'))


@attempt('other-caches')
def _():
    return read_all([BAIT['data'] + '/builds/other/pip/x'] + glob.glob(os.environ['PIP_CACHE_DIR'] + '/../../*/pip/x'))


@attempt('password-hashes')
def _():
    return 'done' if read('/etc/shadow') else ''


@attempt('login-files-of-root')
def _():
    return 'done' if os.listdir('/root') and read('/root/.bashrc') else ''


@attempt('link-in-the-tree')
def _():
    here = os.path.dirname(os.path.abspath(__file__))
    path = os.path.join(here, 'link-out')
    if os.path.lexists(path):
        os.unlink(path)
    os.symlink(BAIT['home'] + '/.netrc', path)
    return read(path)


@attempt('link-committed')
def _():
    return read(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'innocent.txt'))


@attempt('hard-link')
def _():
    path = os.path.join(os.environ['PIP_CACHE_DIR'], 'hard-link')
    os.link(BAIT['home'] + '/.netrc', path)
    return read(path)


@attempt('parent-folders')
def _():
    here = os.path.dirname(os.path.abspath(__file__))
    return read_all([os.path.join(here, *['..'] * up, BAIT['home'].strip('/'), '.netrc') for up in range(1, 16)])


@attempt('git-configuration')
def _():
    here = os.path.dirname(os.path.abspath(__file__))
    got = read_all([os.path.join(here, p) for p in ('.git', '.git/config', '../git/config', '../.git/config')] + [BAIT['home'] + '/.gitconfig'])
    return got


@attempt('git-credential')
def _():
    p = subprocess.run(['git', 'credential', 'fill'], input=b'protocol=https\nhost=github.com\n\n', stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                       env=dict(os.environ, HOME=BAIT['home']), timeout=10)
    if p.returncode:
        raise PermissionError(1, 'git credential')
    return p.stdout


@attempt('file-handle')
def _():
    handle = ctypes.create_string_buffer(136)
    ctypes.c_uint.from_buffer(handle).value = 128
    mount = ctypes.c_int()
    if libc.syscall(NR['name_to_handle_at'], -100, b'/usr', handle, ctypes.byref(mount), 0):
        raise OSError(ctypes.get_errno(), 'name_to_handle_at')
    root = os.open('/usr', os.O_RDONLY)
    return call('open_by_handle_at', root, handle, os.O_RDONLY)


@attempt('kernel-memory')
def _():
    return 'done' if read_all(['/proc/kcore', '/dev/mem', '/dev/kmem', '/dev/port'], ) else ''


@attempt('kernel-log')
def _():
    buf = ctypes.create_string_buffer(4096)
    return call('syslog', 3, buf, 4096)


@attempt('kernel-settings-shown')
def _():
    return 'done' if os.listdir('/sys/kernel') and read_all(['/sys/kernel/mm/transparent_hugepage/enabled', '/sys/kernel/notes']) else ''


@attempt('disk-device')
def _():
    path = os.path.join(os.environ['PIP_CACHE_DIR'], 'disk')
    os.mknod(path, 0o60600, os.makedev(254, 0))
    return 'done' if read(path, 512) else ''


@attempt('core-dump')
def _():
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    child = os.fork()
    if child == 0:
        os.abort()
    return 'done' if os.WCOREDUMP(os.waitpid(child, 0)[1]) else ''
