package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A wall is what stops a kind of attempt: for each sandbox the file and a piece
// of the line in it. A test looks the line up, so that the table cannot name a
// line that is gone.
type wall map[string]string

// line turns "file: text" into "file:number text".
func (w wall) line(t *testing.T, backend string) string {
	t.Helper()
	where, ok := w[backend]
	if !ok {
		where = w["any"]
	}
	file, text, _ := strings.Cut(where, ": ")
	data, err := os.ReadFile(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		if strings.Contains(line, text) {
			return file + ":" + itoa(n) + " " + text
		}
	}
	t.Errorf("the table of attempts names a line that is not there: %s", where)
	return where
}

const bwrapArgs = "internal/sandbox/bubblewrap_args.go: "

var (
	wallEnvironment = wall{"any": "internal/sandbox/environ.go: The environment of a command is built from nothing"}
	wallProcesses   = wall{"bwrap": bwrapArgs + `"--unshare-all"`, "landlock": "internal/sandbox/landlock_linux.go: for _, name := range []string{\"self\""}
	wallSignals     = wall{"bwrap": bwrapArgs + `"--unshare-all"`, "landlock": "internal/sandbox/landlock_rules_linux.go: LANDLOCK_SCOPE_SIGNAL"}
	wallTrace       = wall{"bwrap": bwrapArgs + `"--unshare-all"`, "landlock": "internal/sandbox/landlock_rules_linux.go: SYS_LANDLOCK_RESTRICT_SELF"}
	wallAttributes  = wall{"bwrap": bwrapArgs + `args = append(args, "--ro-bind", "/usr", "/usr")`, "landlock": "internal/sandbox/attributes_linux.go: func writableRoot"}
	wallOwner       = wall{"bwrap": bwrapArgs + `args = append(args, "--ro-bind", "/usr", "/usr")`, "landlock": "internal/sandbox/seccomp_linux.go: range ownerCalls"}
	wallDescriptors = wall{"any": "internal/sandbox/process_linux.go: var sealDescriptors"}
	wallFiles       = wall{"bwrap": bwrapArgs + `args = append(args, "--ro-bind", "/usr", "/usr")`, "landlock": "internal/sandbox/landlock_linux.go: g := grants{"}
	wallReadOnly    = wall{"bwrap": bwrapArgs + `"--remount-ro", "/"`, "landlock": "internal/sandbox/landlock_linux.go: g := grants{"}
	wallNetwork     = wall{"bwrap": bwrapArgs + `"--unshare-all"`, "landlock": "internal/sandbox/seccomp_linux.go: case socketsNone"}
	wallSockets     = wall{"bwrap": bwrapArgs + `args = append(args, "--ro-bind", "/usr", "/usr")`, "landlock": "internal/sandbox/seccomp_linux.go: case socketsNone"}
	wallFastOpen    = wall{"bwrap": bwrapArgs + `"--unshare-all"`, "landlock": "internal/sandbox/seccomp_linux.go: range []struct{ call, flags uint32 }"}
	wallPairs       = wall{"bwrap": bwrapArgs + `args = append(args, "--ro-bind", "/usr", "/usr")`, "landlock": "internal/sandbox/seccomp_linux.go: when(unix.SYS_SOCKETPAIR"}
	wallMemory      = wall{"bwrap": bwrapArgs + `"--unshare-all"`, "landlock": "internal/sandbox/seccomp_linux.go: range sharedMemoryCalls"}
	wallRights      = wall{"bwrap": bwrapArgs + `"--cap-drop", "ALL"`, "landlock": "internal/sandbox/landlock_rules_linux.go: unix.Capset"}
	wallNamespaces  = wall{"any": "internal/sandbox/seccomp_linux.go: when(unix.SYS_UNSHARE"}
	wallClone       = wall{"any": "internal/sandbox/seccomp_linux.go: when(unix.SYS_CLONE,"}
	wallCalls       = wall{"any": "internal/sandbox/seccomp_linux.go: var denied"}
	wallFamilies    = wall{"any": "internal/sandbox/seccomp_linux.go: when(unix.SYS_SOCKET,"}
	wallKernel      = wall{"bwrap": bwrapArgs + `"--remount-ro", "/proc"`, "landlock": "internal/sandbox/landlock_linux.go: g := grants{"}
	wallCore        = wall{"any": "internal/sandbox/process_linux.go: set(unix.RLIMIT_CORE, 0)"}
	wallDevices     = wall{"bwrap": bwrapArgs + `"--dev", "/dev"`, "landlock": "internal/sandbox/landlock_linux.go: Devices: []string"}
	wallLifetime    = wall{"bwrap": "internal/sandbox/bubblewrap.go: awaitNamespace(inner)", "landlock": "internal/sandbox/confine_linux.go: func endBelow"}
	wallGit         = wall{"any": "internal/checkout/executor.go: core.hooksPath=/dev/null"}
	wallTerminal    = wall{"bwrap": bwrapArgs + `"--new-session"`, "landlock": "internal/sandbox/seccomp_linux.go: unix.TIOCSTI"}
)

// An attempt is one row: what a hostile test tries from inside a session.
type attempt struct {
	name  string
	what  string
	wall  wall
	place string // that is written if it succeeds; TOKEN, HOME, DATA and BAIT stand for the bait's
	// refusals are the errors that count as stopped, for calls of the kernel
	// that leave nothing to see from outside. Any other has come too far.
	refusals []string
	control  bool // succeeds without a sandbox, which shows that success would be seen
}

// attempts is the table; the names are those in testdata/attack.
func attempts() []attempt {
	rows := []attempt{
		{name: "environ-own", what: "read its own environment", wall: wallEnvironment},
		{name: "environ-first-process", what: "read the environment of process 1", wall: wallProcesses},
		{name: "environ-ancestors", what: "read the environments of its parents up to the bot", wall: wallProcesses, control: true},
		{name: "environ-all", what: "read the environment of every process in /proc", wall: wallProcesses, control: true},
		{name: "environ-bot", what: "read the environment of the bot by its number", wall: wallProcesses, control: true},
		{name: "environ-by-thread", what: "read environments by /proc/PID/task", wall: wallProcesses, control: true},
		{name: "command-lines", what: "read the arguments of every process", wall: wallProcesses, control: true},
		{name: "descriptors-inherited", what: "read from descriptors that it inherited", wall: wallDescriptors},
		{name: "descriptors-of-others", what: "open the descriptors of other processes", wall: wallProcesses, control: true},
		{name: "root-of-others", what: "read files by /proc/PID/root", wall: wallProcesses, control: true},
		{name: "folder-of-others", what: "read files by /proc/PID/cwd", wall: wallProcesses},
		{name: "memory-of-others", what: "read /proc/PID/mem of the bot and its parents", wall: wallProcesses, control: true},
		{name: "memory-by-call", what: "read the bot's memory by process_vm_readv", wall: wallTrace, refusals: []string{"ESRCH"}},
		{name: "trace-attach", what: "attach to the bot by ptrace", wall: wallTrace, refusals: []string{"ESRCH"}},
		{name: "trace-seize", what: "seize the bot by ptrace", wall: wallTrace, refusals: []string{"ESRCH"}},
		{name: "descriptor-by-pidfd", what: "take a descriptor of the bot by pidfd_getfd", wall: wallTrace, control: true},
		{name: "shared-memory-file", what: "read /dev/shm of the host", wall: wallDevices, control: true},
		{name: "shared-memory-segment", what: "read a System V segment of the host", wall: wallMemory, control: true},
		{name: "kernel-keyring", what: "read a key of the user's kernel keyring", wall: wallCalls},
		{name: "private-key-file", what: "read the App's private key", wall: wallFiles, control: true},
		{name: "other-sessions", what: "read the session of another repository", wall: wallFiles, control: true},
		{name: "other-mirrors", what: "read the mirror of another repository", wall: wallFiles, control: true},
		{name: "other-caches", what: "read the cache of another repository", wall: wallFiles, control: true},
		{name: "password-hashes", what: "read /etc/shadow", wall: wallFiles},
		{name: "login-files-of-root", what: "read root's home", wall: wallFiles},
		{name: "link-in-the-tree", what: "read a key by a link that the test makes", wall: wallFiles, control: true},
		{name: "link-committed", what: "read a key by a link in the repository", wall: wallFiles, control: true},
		{name: "hard-link", what: "make a hard link to a key", wall: wallFiles},
		{name: "parent-folders", what: "read a key by ../../..", wall: wallFiles, control: true},
		{name: "git-configuration", what: "find a token in a .git/config", wall: wallFiles},
		{name: "git-credential", what: "ask git's credential helpers", wall: wallFiles},
		{name: "file-handle", what: "open a file by its handle", wall: wallRights},
		{name: "kernel-memory", what: "read /proc/kcore and /dev/mem", wall: wallDevices},
		{name: "kernel-log", what: "read the kernel's log", wall: wallCalls, refusals: []string{}},
		{name: "kernel-settings-shown", what: "look around in /sys", wall: wallFiles},
		{name: "disk-device", what: "make a device of a disk and read it", wall: wallRights},
		{name: "core-dump", what: "dump core", wall: wallCore},

		{name: "loopback", what: "connect to the host's loopback", wall: wallNetwork, control: true},
		{name: "loopback-other-address", what: "connect to 127.8.8.8", wall: wallNetwork},
		{name: "loopback-zero", what: "connect to 0.0.0.0", wall: wallNetwork, control: true},
		{name: "loopback-six", what: "connect to ::1", wall: wallNetwork},
		{name: "loopback-mapped", what: "connect to ::ffff:127.0.0.1", wall: wallNetwork, control: true},
		{name: "loopback-multipath", what: "connect by multipath TCP", wall: wallNetwork},
		{name: "loopback-fast-open", what: "connect by sending (sendto, MSG_FASTOPEN)", wall: wallFastOpen, control: true},
		{name: "loopback-fast-open-message", what: "connect by sending (sendmsg, MSG_FASTOPEN)", wall: wallFastOpen, control: true},
		{name: "loopback-fast-open-messages", what: "connect by sending (sendmmsg, MSG_FASTOPEN)", wall: wallFastOpen, control: true},
		{name: "loopback-datagram", what: "send a datagram to the host's loopback", wall: wallNetwork, control: true},
		{name: "loopback-shell", what: "connect by bash's /dev/tcp", wall: wallNetwork, control: true},
		{name: "host-address", what: "connect to the host's own address", wall: wallNetwork, control: true},
		{name: "redis", what: "read from a Redis on loopback", wall: wallNetwork, control: true},
		{name: "redis-written", what: "write to a Redis on loopback", wall: wallNetwork, control: true},
		{name: "redis-socket", what: "talk to the bot's Redis by its socket", wall: wallSockets, control: true},
		{name: "socket-file", what: "connect to a socket in the host's files", wall: wallSockets, control: true},
		{name: "socket-abstract", what: "connect to an abstract socket", wall: wallNetwork, control: true},
		{name: "socket-abstract-datagram", what: "send to an abstract socket", wall: wallNetwork, control: true},
		{name: "socket-file-datagram", what: "send from a pair of sockets to one in the host's files", wall: wallPairs, control: true},
		{name: "socket-file-again", what: "connect one of a pair to a socket in the host's files", wall: wallPairs, control: true},
		{name: "engine-socket", what: "talk to a container engine, D-Bus or systemd", wall: wallSockets},
		{name: "agent-socket", what: "talk to the bot's SSH agent", wall: wallSockets, control: true},
		{name: "metadata", what: "ask the cloud's metadata service", wall: wallNetwork},
		{name: "metadata-six", what: "ask it over IPv6", wall: wallNetwork},
		{name: "internet", what: "connect to the internet", wall: wallNetwork},
		{name: "name-lookup", what: "look a name up", wall: wallNetwork},
		{name: "name-query", what: "smuggle data out in a DNS query", wall: wallNetwork, control: true},
		{name: "door-for-others", what: "open a port of the host for somebody outside", wall: wallNetwork},
		{name: "agent-of-the-host", what: "find an agent or engine in the environment", wall: wallEnvironment},

		{name: "write-by-link", what: "write by a link out of the cache", wall: wallFiles, place: "HOME/TOKEN-by-link", control: true},
		{name: "remove-session", what: "remove a file of another session", wall: wallFiles},
		{name: "rename-session", what: "rename it", wall: wallFiles},
		{name: "truncate-session", what: "empty it", wall: wallFiles},
		{name: "permissions-of-others", what: "change its permissions", wall: wallAttributes, control: true},
		{name: "owner-of-others", what: "change its owner", wall: wallOwner},
		{name: "times-of-others", what: "change its times", wall: wallAttributes},
		{name: "attributes-of-others", what: "change its attributes", wall: wallOwner},
		{name: "git-hook-for-the-bot", what: "plant hooks and configuration for the bot's git", wall: wallGit},
		{name: "kernel-setting", what: "write core_pattern", wall: wallKernel},
		{name: "kernel-request", what: "write sysrq-trigger", wall: wallKernel},
		{name: "kernel-oom-score", what: "make the kernel prefer to kill the bot", wall: wallProcesses, control: true},
		{name: "control-group", what: "make a control group", wall: wallReadOnly},
		{name: "kill-the-bot", what: "kill the bot", wall: wallSignals},
		{name: "kill-everything", what: "kill it with SIGKILL", wall: wallSignals},
		{name: "stop-the-bot", what: "stop the bot", wall: wallSignals},
		{name: "priority-of-the-bot", what: "lower the bot's priority", wall: wallTrace},
		{name: "limit-of-the-bot", what: "limit the bot's descriptors", wall: wallTrace},
		{name: "cpus-of-the-bot", what: "bind the bot to one CPU", wall: wallTrace},

		{name: "stay-background", what: "stay as a background job", wall: wallLifetime},
		{name: "stay-nohup", what: "stay by nohup", wall: wallLifetime},
		{name: "stay-new-session", what: "stay by setsid", wall: wallLifetime},
		{name: "stay-double-fork", what: "stay by a double fork", wall: wallLifetime},
		{name: "stay-without-environment", what: "stay with an empty environment", wall: wallLifetime},
		{name: "stay-deaf", what: "stay by ignoring signals", wall: wallLifetime},

		{name: "call-setns", what: "enter another namespace", wall: wallCalls, refusals: []string{"ENOENT"}},
		{name: "clone-into-namespace", what: "clone into a user namespace", wall: wallClone, refusals: []string{"ENOSPC"}},
		{name: "clone3-into-namespace", what: "the same by clone3", wall: wallClone, refusals: []string{"ENOSPC"}},
		{name: "call-mount", what: "mount", wall: wallCalls, refusals: []string{}},
		{name: "mount-again-writable", what: "remount /usr writable", wall: wallCalls, refusals: []string{}},
		{name: "call-io-uring", what: "io_uring", wall: wallCalls, refusals: []string{}},
		{name: "capabilities-back", what: "take capabilities back", wall: wallRights, refusals: []string{}},
		{name: "set-user-program", what: "become root by a set-user-ID program", wall: wallRights},
		{name: "terminal-input", what: "type into the bot's terminal", wall: wallTerminal},
	}
	for _, name := range secretFiles {
		slug := strings.ReplaceAll(strings.Trim(name, "."), "/", "-")
		rows = append(rows, attempt{name: "home-" + slug, what: "read ~/" + name, wall: wallFiles, control: true})
	}
	for name, place := range map[string]string{
		"etc": "/etc/", "usr": "/usr/", "bin": "/usr/local/bin/", "root": "/", "home": "HOME/", "ssh": "HOME/.ssh/", "data": "DATA/", "sessions": "DATA/sessions/other/",
		"mirror": "DATA/repositories/mirrors/other.git/", "builds": "DATA/builds/other/pip/", "var": "/var/", "run": "/run/", "shared-memory": "/dev/shm/",
		"temporary": "BAIT/", "cron": "/etc/cron.d/", "above-the-cache": "DATA/builds/other/pip/",
	} {
		ours := strings.Contains(place, "HOME") || strings.Contains(place, "DATA") || strings.Contains(place, "BAIT")
		rows = append(rows, attempt{name: "write-" + name, what: "write to " + place, wall: wallReadOnly, place: place + "TOKEN", control: ours && name != "above-the-cache"})
	}
	for _, call := range []string{
		"umount2", "pivot-root", "chroot", "bpf", "perf-event-open", "userfaultfd", "kexec-load", "kexec-file-load", "init-module", "finit-module", "delete-module", "reboot",
		"swapon", "swapoff", "acct", "clock-settime", "settimeofday", "quotactl", "fsopen", "fsmount", "fspick", "open-tree", "move-mount", "mount-setattr", "fanotify-init",
		"vhangup", "add-key", "request-key",
	} {
		rows = append(rows, attempt{name: "call-" + call, what: strings.ReplaceAll(call, "-", "_"), wall: wallCalls, refusals: []string{}})
	}
	for _, call := range []string{"setuid", "setgid"} {
		rows = append(rows, attempt{name: "call-" + call, what: call + " to somebody else", wall: wallRights, refusals: []string{"EINVAL"}}) // not mapped in the namespace
	}
	for _, kind := range []string{"user", "mount", "net", "pid", "cgroup"} {
		rows = append(rows, attempt{name: "namespace-" + kind, what: "unshare a " + kind + " namespace", wall: wallNamespaces, refusals: []string{"ENOSPC"}})
	}
	for _, family := range []string{"packet", "raw", "vsock", "netlink", "crypto", "bluetooth", "tipc", "xdp"} {
		rows = append(rows, attempt{name: "socket-" + family, what: "a socket of the family " + family, wall: wallFamilies, refusals: []string{"EAFNOSUPPORT", "EPROTONOSUPPORT"}})
	}
	slices.SortStableFunc(rows, func(a, b attempt) int { return strings.Compare(a.name, b.name) })
	return rows
}

// refused reports whether a call's answer says that it was stopped.
func (a attempt) refused(said string) bool {
	return slices.Contains(append([]string{"EPERM", "EACCES", "ENOSYS"}, a.refusals...), said)
}

// at is the place that would be written.
func (a attempt) at(b *bait) string {
	if a.place == "" {
		return ""
	}
	r := strings.NewReplacer("TOKEN", b.token, "HOME", b.places["home"].(string), "DATA", b.places["data"].(string), "BAIT", b.places["temporary"].(string))
	return r.Replace(a.place)
}

func controls() (names []string) {
	for _, a := range attempts() {
		if a.control {
			names = append(names, a.name)
		}
	}
	return names
}

func TestAttemptsOfTheTableAreThoseOfTheHostileRepository(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, a := range attempts() {
		if seen[a.name] {
			t.Errorf("%s stands twice in the table", a.name)
		}
		seen[a.name] = true
		for _, backend := range slices.Sorted(maps.Keys(a.wall)) {
			a.wall.line(t, backend)
		}
	}
}
