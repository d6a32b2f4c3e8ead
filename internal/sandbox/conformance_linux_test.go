package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"culprit/internal/requiretest"

	"go.uber.org/goleak"
)

const secretName, secretValue = "CULPRIT_TEST_SECRET", "s3cr3t-canary-value"

func TestMain(m *testing.M) {
	Confine()
	os.Setenv(secretName, secretValue)
	goleak.VerifyTestMain(m)
}

// open returns the backend or skips.
func open(t *testing.T, kind string) Sandbox {
	t.Helper()
	if kind == Bwrap {
		requiretest.Program(t, "bwrap")
	}
	box, err := Open(kind, Options{})
	if errors.Is(err, ErrUnavailable) {
		requiretest.Missing(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	return box
}

// run executes cmd in a fresh folder unless it names one.
func run(t *testing.T, box Sandbox, cmd Command) (Result, string) {
	t.Helper()
	if cmd.Dir == "" {
		cmd.Dir = t.TempDir()
	}
	if cmd.Timeout == 0 {
		cmd.Timeout = time.Minute
	}
	var out strings.Builder
	cmd.Output = &out
	res, err := box.Run(t.Context(), cmd)
	if err != nil {
		t.Fatalf("run: %v\n%s", err, out.String())
	}
	return res, out.String()
}

// TestConformance holds every backend to the contract, and to what it declares
// beyond it.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{Bwrap, Landlock, Off} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			box := open(t, kind)
			if box.Name() != kind {
				t.Fatalf("name is %q", box.Name())
			}
			for name, test := range conformance {
				t.Run(name, func(t *testing.T) { t.Parallel(); test(t, box) })
			}
		})
	}
}

func needs(t *testing.T, promised bool, what string) {
	t.Helper()
	if !promised {
		t.Skip("skipped: this backend does not promise to confine " + what)
	}
}

var conformance = map[string]func(*testing.T, Sandbox){
	"exit codes and signals come back as a shell says them": func(t *testing.T, box Sandbox) {
		for _, tc := range []struct {
			cmd    Command
			exit   int
			signal string
		}{
			{Command{Script: "true"}, 0, ""},
			{Command{Script: "exit 3"}, 3, ""},
			{Command{Argv: []string{"sh", "-c", "exit 4"}}, 4, ""},
			{Command{Script: "kill -TERM $$"}, 143, "SIGTERM"},
			{Command{Script: "kill -KILL $$"}, 137, "SIGKILL"},
		} {
			res, _ := run(t, box, tc.cmd)
			if res.Exit != tc.exit || res.Signal != tc.signal || res.TimedOut {
				t.Errorf("%+v: exit %d signal %q, want %d %q", tc.cmd, res.Exit, res.Signal, tc.exit, tc.signal)
			}
		}
	},
	"a program that does not exist exits 127 and says so": func(t *testing.T, box Sandbox) {
		for _, cmd := range []Command{{Script: "no-such-program --x"}, {Argv: []string{"no-such-program", "--x"}}} {
			res, out := run(t, box, cmd)
			if res.Exit != 127 || !strings.Contains(out, "no-such-program") || !strings.Contains(out, "not found") {
				t.Errorf("exit %d: %q", res.Exit, out)
			}
		}
	},
	"arguments are not interpreted": func(t *testing.T, box Sandbox) {
		_, out := run(t, box, Command{Argv: []string{"printf", "%s|", "$HOME", "a b", "'", "`id`", "-n"}})
		if out != "$HOME|a b|'|`id`|-n|" {
			t.Errorf("got %q", out)
		}
	},
	"the command starts in the folder and Inside names it": func(t *testing.T, box Sandbox) {
		dir, cache := t.TempDir(), t.TempDir()
		write(t, filepath.Join(dir, "sub/a.txt"), "tree\n")
		write(t, filepath.Join(cache, "b.txt"), "cache\n")
		cmd := Command{Dir: dir, Binds: []Bind{{Host: cache, Inside: "/cache/x", Writable: true}}}
		cmd.Script = fmt.Sprintf("pwd; cat sub/a.txt %s %s && echo new >%s",
			box.Inside(cmd, filepath.Join(dir, "sub", "a.txt")), box.Inside(cmd, filepath.Join(cache, "b.txt")), box.Inside(cmd, filepath.Join(cache, "c.txt")))
		res, out := run(t, box, cmd)
		if want := box.Inside(cmd, dir) + "\ntree\ntree\ncache\n"; res.Exit != 0 || out != want {
			t.Errorf("exit %d, got %q, want %q", res.Exit, out, want)
		}
		if got, _ := os.ReadFile(filepath.Join(cache, "c.txt")); string(got) != "new\n" {
			t.Errorf("writable bind: %q", got)
		}
		if got := box.Inside(cmd, "/elsewhere/x"); got != "/elsewhere/x" {
			t.Errorf("a path outside became %q", got)
		}
	},
	"writes to the tree stay": func(t *testing.T, box Sandbox) {
		dir := t.TempDir()
		run(t, box, Command{Dir: dir, Script: "echo made >made.txt"})
		if got, _ := os.ReadFile(filepath.Join(dir, "made.txt")); string(got) != "made\n" {
			t.Errorf("got %q", got)
		}
	},
	"the environment is scrubbed": func(t *testing.T, box Sandbox) {
		res, out := run(t, box, Command{Script: "env; tr '\\0' '\\n' </proc/$$/environ || true", Env: map[string]string{"GIVEN": "yes"}})
		if res.Exit != 0 || strings.Contains(out, secretName) || strings.Contains(out, secretValue) {
			t.Errorf("the secret shows (exit %d):\n%s", res.Exit, out)
		}
		for _, want := range []string{"GIVEN=yes", "TERM=dumb", "CI=true", "LANG=C.UTF-8", "TZ=UTC", "GOPROXY=off"} {
			if !strings.Contains(out, want+"\n") {
				t.Errorf("misses %s", want)
			}
		}
	},
	"no process visible inside carries the secret": func(t *testing.T, box Sandbox) {
		needs(t, box.Confinement().Processes, "processes")
		_, out := run(t, box, Command{Script: "for p in /proc/[0-9]*; do tr '\\0' '\\n' <$p/environ; tr '\\0' ' ' <$p/cmdline; done 2>/dev/null"})
		if strings.Contains(out, secretValue) {
			t.Errorf("the secret shows:\n%s", out)
		}
	},
	"no descriptor of the host is inherited": func(t *testing.T, box Sandbox) {
		_, out := run(t, box, Command{Argv: []string{"ls", "/proc/self/fd"}})
		if got := strings.Fields(out); !slices.Equal(got, []string{"0", "1", "2", "3"}) { // 3 is ls reading the folder
			t.Errorf("descriptors %v", got)
		}
	},
	"home and temporary folder are private, empty and gone afterwards": func(t *testing.T, box Sandbox) {
		res, out := run(t, box, Command{Script: `ls -A "$HOME" "$TMPDIR" | grep -v : ; touch "$HOME/h" "$TMPDIR/t" && mkdir -m 0 "$TMPDIR/d" && mkdir "$TMPDIR/r" && touch "$TMPDIR/r/f" && chmod 500 "$TMPDIR/r" && echo "at=$TMPDIR"`})
		where := strings.TrimSpace(out[strings.Index(out, "at=")+3:])
		if res.Exit != 0 || strings.TrimSpace(strings.Split(out, "at=")[0]) != "" {
			t.Errorf("exit %d: %q", res.Exit, out)
		}
		if _, err := os.Lstat(filepath.Join(where, "t")); err == nil {
			t.Errorf("%s is still there", where)
		}
	},
	"writes outside are refused": func(t *testing.T, box Sandbox) {
		needs(t, box.Confinement().Files, "files")
		outside := t.TempDir()
		for _, target := range []string{"/etc/x", "/usr/x", "/usr/local/go/x", "/bin/x", "/x", "/root/x", filepath.Join(outside, "x"), Source + "/../x"} {
			res, out := run(t, box, Command{Argv: []string{"sh", "-c", `: >"$1"`, "sh", target}})
			if res.Exit == 0 {
				t.Errorf("wrote %s: %s", target, out)
			}
		}
		if left, _ := os.ReadDir(outside); len(left) != 0 {
			t.Errorf("found %v outside", left)
		}
	},
	"settings of the kernel cannot be written": func(t *testing.T, box Sandbox) {
		needs(t, box.Confinement().Files, "files")
		for _, path := range []string{"/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/vm/overcommit_memory", "/proc/self/oom_score_adj"} {
			if res, out := run(t, box, Command{Argv: []string{"sh", "-c", `: >>"$1"`, "sh", path}}); res.Exit == 0 {
				t.Errorf("opened %s for writing: %s", path, out)
			}
		}
	},
	"host files are invisible": func(t *testing.T, box Sandbox) {
		needs(t, box.Confinement().Files, "files")
		secret := filepath.Join(t.TempDir(), "key.pem")
		write(t, secret, secretValue)
		dir := t.TempDir()
		if err := os.Symlink(secret, filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{secret, "link", "/proc/1/root" + secret, "/etc/shadow", "/root/.ssh", "/root/.gitconfig", "/root/.npmrc", "/root/.config", "/sys/kernel"} {
			if res, out := run(t, box, Command{Dir: dir, Argv: []string{"sh", "-c", `if [ -d "$1" ]; then ls "$1"; else cat "$1"; fi`, "sh", path}}); res.Exit == 0 {
				t.Errorf("sees %s: %s", path, out)
			}
		}
	},
	"a read-only tree refuses writes": func(t *testing.T, box Sandbox) {
		needs(t, box.Confinement().Files, "files")
		dir := t.TempDir()
		write(t, filepath.Join(dir, "a.txt"), "old")
		for _, script := range []string{"echo new >a.txt", "rm a.txt", "touch b.txt", "chmod 777 a.txt", "mv a.txt c.txt"} {
			if res, out := run(t, box, Command{Dir: dir, ReadOnlyDir: true, Script: script}); res.Exit == 0 {
				t.Errorf("%s worked: %s", script, out)
			}
		}
		if got, _ := os.ReadFile(filepath.Join(dir, "a.txt")); string(got) != "old" {
			t.Errorf("file became %q", got)
		}
	},
	"a read-only bind refuses writes": func(t *testing.T, box Sandbox) {
		needs(t, box.Confinement().Files, "files")
		cache := t.TempDir()
		if res, _ := run(t, box, Command{Binds: []Bind{{Host: cache, Inside: "/cache"}}, Script: "touch /cache/x"}); res.Exit == 0 {
			t.Error("wrote into it")
		}
	},
	"the host's network is refused and loopback inside works": func(t *testing.T, box Sandbox) {
		needs(t, box.Confinement().Network && box.Confinement().Loopback, "the network with a loopback of its own")
		requiretest.Program(t, "python3")
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		port := l.Addr().(*net.TCPAddr).Port
		const script = `
import socket, sys
port = int(sys.argv[1])
try:
    socket.create_connection(("127.0.0.1", port), 2)
    print("reached the host")
except OSError as e:
    print("refused")
s = socket.create_server(("127.0.0.1", 0))
c = socket.create_connection(s.getsockname(), 2)
print("loopback works")
`
		cmd := Command{Argv: []string{"python3", "-c", script, strconv.Itoa(port)}}
		if _, out := run(t, box, cmd); out != "refused\nloopback works\n" {
			t.Errorf("got %q", out)
		}
		cmd.Network = true
		if _, out := run(t, box, cmd); out != "refused\nloopback works\n" {
			t.Errorf("a set-up step: got %q", out)
		}
	},
	"capabilities are dropped and cannot come back": func(t *testing.T, box Sandbox) {
		needs(t, box.Confinement().Processes, "privileges")
		_, out := run(t, box, Command{Script: "grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status; unshare -Ur id -u || echo refused"})
		for _, want := range []string{"CapEff:\t0000000000000000\n", "CapBnd:\t0000000000000000\n", "NoNewPrivs:\t1\n", "refused\n"} {
			if !strings.Contains(out, want) {
				t.Errorf("misses %q in:\n%s", want, out)
			}
		}
	},
	"output beyond the cap is cut in the middle and dropped": func(t *testing.T, box Sandbox) {
		res, out := run(t, box, Command{
			Script: "echo first; head -c 300000000 /dev/zero | tr '\\0' x; echo; echo last >&2",
			Limits: Limits{OutputBytes: 10000},
		})
		if res.Exit != 0 || !res.OutputTruncated || res.OutputBytes < 300_000_000 {
			t.Fatalf("%+v", res)
		}
		if len(out) > 10100 || !strings.HasPrefix(out, "first\n") || !strings.HasSuffix(out, "last\n") || !strings.Contains(out, "bytes of output cut here") {
			t.Errorf("%d bytes: %.60q … %q", len(out), out, out[max(0, len(out)-60):])
		}
	},
	"a command that never ends is killed at the timeout": func(t *testing.T, box Sandbox) {
		for _, script := range []string{"trap '' TERM INT HUP; while :; do :; done", "yes", "sleep 1000 & sleep 1000"} {
			res, _ := run(t, box, Command{Script: script, Timeout: 300 * time.Millisecond})
			if !res.TimedOut || res.Exit != 137 || res.Signal != "SIGKILL" {
				t.Errorf("%s: %+v", script, res)
			}
		}
	},
	"cancelling the context kills everything and is an error": func(t *testing.T, box Sandbox) {
		ctx, cancel := context.WithCancel(t.Context())
		token := token()
		out := &signalWriter{ready: make(chan struct{})}
		go func() { <-out.ready; cancel() }()
		_, err := box.Run(ctx, Command{Dir: t.TempDir(), Script: "setsid " + sleeper(token) + " & echo up; wait; sleep 1000", Output: out, Timeout: time.Minute})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v", err)
		}
		gone(t, token)
	},
	"daemons die with the command": func(t *testing.T, box Sandbox) {
		requiretest.Program(t, "setsid")
		for name, script := range map[string]string{
			"background":  "%s & ",
			"setsid":      "setsid %s & ",
			"nohup":       "nohup %s >/dev/null 2>&1 & ",
			"double fork": "(setsid sh -c '(%s) >/dev/null 2>&1 </dev/null & ' &) ; ",
			"no marker":   "setsid env -i /bin/sh -c '%s' >/dev/null 2>&1 & sleep 1.5; ",
		} {
			token := token()
			res, out := run(t, box, Command{Script: fmt.Sprintf(script, sleeper(token)) + "echo done"})
			if res.Exit != 0 || !strings.Contains(out, "done") || res.TimedOut {
				t.Errorf("%s: %+v %q", name, res, out)
			}
			if box.Confinement() == (Confinement{}) && res.Killed == 0 {
				t.Errorf("%s: no survivor was counted", name)
			}
			gone(t, token)
		}
		zombies(t)
	},
	"limits hold": func(t *testing.T, box Sandbox) {
		res, out := run(t, box, Command{Script: "ulimit -n; ulimit -c; head -c 2000000 /dev/zero >big", Limits: Limits{OpenFiles: 77, FileBytes: 1 << 20}})
		if !strings.HasPrefix(out, "77\n0\n") || res.Exit == 0 {
			t.Errorf("%+v %q", res, out)
		}
		if res, _ := run(t, box, Command{Script: "while :; do :; done", Limits: Limits{CPUSeconds: 1}}); res.Exit == 0 || res.TimedOut {
			t.Errorf("CPU time: %+v", res)
		}
	},
	"many files do not fill the disk": func(t *testing.T, box Sandbox) {
		for name, cmd := range map[string]Command{
			"bytes":   {Script: "i=0; while :; do i=$((i+1)); head -c 10000000 /dev/zero >f$i; done", Limits: Limits{DiskBytes: 20 << 20}},
			"files":   {Script: "i=0; while :; do i=$((i+1)); mkdir $(seq -f d$i-%g 500); done", Limits: Limits{DiskFiles: 500}},
			"a cache": {Script: "cd /cache 2>/dev/null || cd \"$CACHE\"; i=0; while :; do i=$((i+1)); head -c 10000000 /dev/zero >f$i; done", Limits: Limits{DiskBytes: 20 << 20}, Binds: []Bind{{Host: t.TempDir(), Inside: "/cache", Writable: true}}},
		} {
			if len(cmd.Binds) > 0 {
				cmd.Env = map[string]string{"CACHE": box.Inside(cmd, cmd.Binds[0].Host)}
			}
			if res, out := run(t, box, cmd); res.Limit != "disk" || res.Exit == 0 {
				t.Errorf("%s: %+v %q", name, res, out)
			}
		}
		if res, out := run(t, box, Command{Script: "head -c 10000000 /dev/zero >f; mkdir a b c", Limits: Limits{DiskBytes: 20 << 20, DiskFiles: 500}}); res.Exit != 0 || res.Limit != "" {
			t.Errorf("less than the limit: %+v %q", res, out)
		}
	},
	"memory is limited": func(t *testing.T, box Sandbox) {
		requiretest.Program(t, "python3")
		res, out := run(t, box, Command{
			Argv:   []string{"python3", "-c", "import time\nb = []\nwhile True:\n  b.append(bytearray(8 << 20)); time.sleep(0.01)"},
			Limits: Limits{MemoryBytes: 200 << 20},
		})
		if res.Exit == 0 || res.TimedOut || (res.Limit != "memory" && !strings.Contains(out, "MemoryError")) {
			t.Errorf("%+v %q", res, out)
		}
	},
	"a fork bomb stays within its limit": func(t *testing.T, box Sandbox) {
		res, _ := run(t, box, Command{Script: "for i in $(seq 200); do sleep 30 & done; wait", Limits: Limits{Processes: 30}, Timeout: 4 * time.Second})
		if res.Exit == 0 {
			t.Errorf("%+v", res)
		}
	},
	"standard input is empty": func(t *testing.T, box Sandbox) {
		if res, out := run(t, box, Command{Script: "cat; echo end"}); res.Exit != 0 || out != "end\n" {
			t.Errorf("%+v %q", res, out)
		}
	},
	"a go build works offline with shared caches": func(t *testing.T, box Sandbox) {
		goProgram := requiretest.Program(t, "go")
		cacheDir, err := exec.Command(goProgram, "env", "GOCACHE").Output()
		if err != nil {
			t.Fatal(err)
		}
		cache := strings.TrimSpace(string(cacheDir))
		if err := os.MkdirAll(cache, 0o755); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		write(t, filepath.Join(dir, "go.mod"), "module example.com/m\n\ngo 1.21\n")
		write(t, filepath.Join(dir, "m.go"), "package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(\"built\\n\") }\n")
		cmd := Command{Dir: dir, Binds: []Bind{{Host: cache, Inside: "/cache/go-build", Writable: true}}, Script: "go build -o prog . && ./prog", Timeout: 10 * time.Minute}
		cmd.Env = map[string]string{"GOCACHE": box.Inside(cmd, cache)}
		if res, out := run(t, box, cmd); res.Exit != 0 || out != "built\n" {
			t.Errorf("%+v %q", res, out)
		}
	},
	"bad input is refused with what to do": func(t *testing.T, box Sandbox) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "file"), "")
		for name, cmd := range map[string]Command{
			"nothing to run": {Dir: dir},
			"both":           {Dir: dir, Script: "true", Argv: []string{"true"}},
			"relative":       {Dir: "x", Script: "true"},
			"missing folder": {Dir: filepath.Join(dir, "none"), Script: "true"},
			"file as folder": {Dir: filepath.Join(dir, "file"), Script: "true"},
			"NUL":            {Dir: dir, Script: "true\x00"},
			"bad variable":   {Dir: dir, Script: "true", Env: map[string]string{"A=B": "c"}},
			"bind on system": {Dir: dir, Script: "true", Binds: []Bind{{Host: dir, Inside: "/usr/lib"}}},
			"bind missing":   {Dir: dir, Script: "true", Binds: []Bind{{Host: "/no/such", Inside: "/cache"}}},
		} {
			if _, err := box.Run(t.Context(), cmd); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
	},
}

// signalWriter closes ready at the first byte.
type signalWriter struct {
	ready chan struct{}
	up    bool
}

func (w *signalWriter) Write(p []byte) (int, error) {
	if !w.up {
		w.up = true
		close(w.ready)
	}
	return len(p), nil
}

var tokens = make(chan int, 1)

func init() { tokens <- 500_000_000 + os.Getpid()%10000*1000 }

// token is a number of seconds that only one test sleeps for, by which its
// processes are found.
func token() string { n := <-tokens; tokens <- n + 1; return strconv.Itoa(n) }

func sleeper(token string) string { return "sleep " + token }

// gone fails if a process with the token in its arguments is left.
func gone(t *testing.T, token string) {
	t.Helper()
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		if data, err := os.ReadFile(name); err == nil && strings.Contains(string(data), token) {
			t.Errorf("process is left: %s: %q", name, data)
			if pid, err := strconv.Atoi(strings.Split(name, "/")[2]); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}

// zombies fails if this process has a dead child that no running test waits
// for: one that is older than the running tests' own.
func zombies(t *testing.T) {
	t.Helper()
	for pid, s := range processes() {
		if s.parent == os.Getpid() && s.state == 'Z' && s.group != pid {
			t.Errorf("zombie %d is left", pid)
		}
	}
}
