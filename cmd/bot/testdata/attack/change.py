"""Attempts to change something outside, or to stay."""
import os
import signal
import subprocess

from calls import call
from hostile import BAIT, attempt

NAME = BAIT['token']  # in the name of all that is made, so that it is found


def make(path):
    with open(path, 'w') as f:
        f.write('made by a test\n')
    return 'done'


PLACES = {
    'etc': '/etc', 'usr': '/usr', 'bin': '/usr/local/bin', 'root': '/', 'home': BAIT['home'], 'ssh': BAIT['home'] + '/.ssh', 'data': BAIT['data'],
    'sessions': BAIT['data'] + '/sessions/other', 'mirror': BAIT['data'] + '/repositories/mirrors/other.git', 'builds': BAIT['data'] + '/builds/other/pip',
    'var': '/var', 'run': '/run', 'shared-memory': '/dev/shm', 'temporary': BAIT['temporary'], 'cron': '/etc/cron.d',
    'above-the-cache': os.path.join(os.environ['PIP_CACHE_DIR'], '..', '..', 'other', 'pip'),
}
for name, place in PLACES.items():
    attempt('write-' + name)(lambda place=place: make(os.path.join(place, NAME)))


@attempt('write-by-link')
def _():
    here = os.path.join(os.environ['PIP_CACHE_DIR'], 'link')
    os.symlink(BAIT['home'], here)
    return make(os.path.join(here, NAME + '-by-link'))


@attempt('remove-session')
def _():
    os.unlink(BAIT['data'] + '/sessions/other/victim')
    return 'done'


@attempt('rename-session')
def _():
    os.rename(BAIT['data'] + '/sessions/other/victim', BAIT['data'] + '/sessions/other/gone')
    return 'done'


@attempt('truncate-session')
def _():
    os.truncate(BAIT['data'] + '/sessions/other/victim', 0)
    return 'done'


@attempt('permissions-of-others')
def _():
    os.chmod(BAIT['data'] + '/sessions/other/victim', 0o777)
    return 'done'


@attempt('owner-of-others')
def _():
    os.chown(BAIT['data'] + '/sessions/other/victim', 12345, 12345)
    return 'done'


@attempt('times-of-others')
def _():
    os.utime(BAIT['data'] + '/sessions/other/victim', (1, 1))
    return 'done'


@attempt('attributes-of-others')
def _():
    os.setxattr(BAIT['data'] + '/sessions/other/victim', 'user.x', b'y')
    return 'done'


@attempt('git-hook-for-the-bot')
def _():
    here = os.path.dirname(os.path.abspath(__file__))
    for top in (here, os.path.join(here, '..')):
        for git in ('.git', 'git'):
            try:
                os.makedirs(os.path.join(top, git, 'hooks'), exist_ok=True)
                for hook in ('post-checkout', 'pre-commit', 'post-index-change', 'reference-transaction'):
                    path = os.path.join(top, git, 'hooks', hook)
                    with open(path, 'w') as f:
                        f.write('#!/bin/sh\ntouch %s\n' % BAIT['hook'])
                    os.chmod(path, 0o755)
                with open(os.path.join(top, git, 'config'), 'a') as f:
                    f.write('[core]\n\tfsmonitor = touch %s\n\tsshCommand = touch %s\n\tpager = touch %s\n[diff]\n\texternal = touch %s\n' % ((BAIT['hook'],) * 4))
            except OSError:
                pass
    return 'planted'


@attempt('kernel-setting')
def _():
    os.close(os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY))  # that is enough to make root run a program
    return 'done'


@attempt('kernel-request')
def _():
    with open('/proc/sysrq-trigger', 'wb', 0) as f:
        f.write(b'h')  # shows help in the kernel's log
    return 'done'


@attempt('kernel-oom-score')
def _():
    with open('/proc/%d/oom_score_adj' % BAIT['decoy'], 'w') as f:
        f.write('1000')
    return 'done'


@attempt('control-group')
def _():
    for top in ('/sys/fs/cgroup/memory', '/sys/fs/cgroup/pids', '/sys/fs/cgroup'):
        try:
            os.mkdir(os.path.join(top, NAME))
            return 'done'
        except OSError as e:
            last = e
    raise last


@attempt('kill-the-bot')
def _():
    os.kill(BAIT['decoy'], signal.SIGTERM)
    return 'done'


@attempt('kill-everything')
def _():
    if not BAIT['confined']:
        raise PermissionError(1, 'not tried without a sandbox')
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.kill(BAIT['decoy'], signal.SIGKILL)
    return 'done'


@attempt('stop-the-bot')
def _():
    os.kill(BAIT['decoy'], signal.SIGSTOP)
    return 'done'


@attempt('priority-of-the-bot')
def _():
    os.setpriority(os.PRIO_PROCESS, BAIT['decoy'], 19)
    return 'done'


@attempt('limit-of-the-bot')
def _():
    import resource
    resource.prlimit(BAIT['decoy'], resource.RLIMIT_NOFILE, (3, 3))
    return 'done'


@attempt('cpus-of-the-bot')
def _():
    os.sched_setaffinity(BAIT['decoy'], {0})
    return 'done'


def stay(name, command, **more):
    subprocess.Popen(command.replace('WORD', BAIT['token'] + '-' + name), shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL, **more)
    return 'started'


@attempt('stay-background')
def _():
    return stay('stay-background', 'exec -a WORD sleep 86400 &', executable='/bin/bash')


@attempt('stay-nohup')
def _():
    return stay('stay-nohup', "nohup sh -c 'sleep 86400; : WORD' &")


@attempt('stay-new-session')
def _():
    return stay('stay-new-session', "setsid sh -c 'sleep 86400; : WORD' &", start_new_session=True)


@attempt('stay-double-fork')
def _():
    return stay('stay-double-fork', "(setsid sh -c '(sh -c \"sleep 86400; : WORD\") &' &)", start_new_session=True)


@attempt('stay-without-environment')
def _():
    return stay('stay-without-environment', "setsid env -i /bin/sh -c 'sleep 86400; : WORD' &", start_new_session=True)


@attempt('stay-deaf')
def _():
    return stay('stay-deaf', "setsid sh -c 'trap \"\" TERM INT HUP QUIT; while :; do sleep 1; done; : WORD' &", start_new_session=True)
