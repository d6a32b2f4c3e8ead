package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Finding is one line of `bot doctor`.
type Finding struct {
	Name   string // what was looked at: "bwrap: network refused"
	OK     bool
	Detail string // what was found
	Remedy string // what to do, empty when OK
}

const selfTestTimeout = 20 * time.Second

// Probe tests what this machine can confine, by trying it.
func Probe(ctx context.Context) []Finding {
	sealDescriptors()
	var out []Finding
	box, err := Open(Auto, Options{})
	if err != nil {
		remedy := "install bubblewrap and allow user namespaces, use Linux 6.12 or newer with Landlock, or run `bot debug --sandbox off` on repositories that you trust"
		return append(out, Finding{Name: "sandbox", Detail: err.Error(), Remedy: remedy}, limitsFinding())
	}
	out = append(out, Finding{Name: "sandbox", OK: true, Detail: box.Name() + " runs here"})
	out = append(out, SelfTest(ctx, box)...)
	if os.Geteuid() == 0 {
		out = append(out, Finding{Name: "sandbox: user", OK: true, Detail: "this process is root: a hole in the sandbox would be root's; run the worker as another user"})
	}
	return append(out, limitsFinding())
}

// SelfTest tries to break out of box in the simplest ways. A service that runs
// strangers' code calls it at start and refuses to work unless all are OK.
func SelfTest(ctx context.Context, box Sandbox) []Finding {
	private, err := newTemporary()
	if err != nil {
		return []Finding{{Name: box.Name(), Detail: err.Error(), Remedy: "make the folder for temporary files writable"}}
	}
	defer private.remove()
	tree := filepath.Join(private.dir, "tree")
	secret := filepath.Join(private.dir, "secret")
	if err := errors.Join(os.Mkdir(tree, 0o755), os.WriteFile(secret, []byte("canary"), 0o600)); err != nil {
		return []Finding{{Name: box.Name(), Detail: err.Error(), Remedy: "make the folder for temporary files writable"}}
	}
	port, closeListener := canaryListener()
	defer closeListener()

	tests := []struct {
		name, script string
	}{
		{"system is read-only", `for f in /etc/x /usr/x /x /bin/x; do if (: >"$f") 2>/dev/null; then echo "wrote $f"; exit 1; fi; done`},
		{"settings of the kernel are read-only", `for f in /proc/sys/kernel/core_pattern /proc/sysrq-trigger; do if (: >>"$f") 2>/dev/null; then echo "can write $f"; exit 1; fi; done`},
		{"host files are invisible", `if cat "` + secret + `" 2>/dev/null; then echo "reads ` + secret + `"; exit 1; fi`},
		{"environment is scrubbed", `if tr '\0' '\n' </proc/1/environ 2>/dev/null | grep -q '^` + canaryName + `='; then echo "sees the environment of process 1"; exit 1; fi; ` +
			`if [ -n "$` + canaryName + `" ]; then echo "sees the bot's environment"; exit 1; fi`},
		{"network is refused", networkScript(port)},
		{"no process can be read", fmt.Sprintf(`for f in environ maps root%s cmdline; do if cat /proc/%d/$f 2>/dev/null; then echo "reads $f of the bot"; exit 1; fi; done`, secret, os.Getpid())},
		{"no capabilities", `grep -q '^CapEff:[[:space:]]*0*$' /proc/$$/status || { grep CapEff /proc/$$/status; exit 1; }`},
	}
	if box.Confinement().Processes {
		tests = append(tests, struct{ name, script string }{"host processes are invisible", `if [ "$(ls -d /proc/[0-9]* | wc -l)" -gt 12 ]; then echo "sees other processes"; exit 1; fi`})
	}
	os.Setenv(canaryName, "canary")
	defer os.Unsetenv(canaryName)
	var out []Finding
	for _, test := range tests {
		var text strings.Builder
		res, err := box.Run(ctx, Command{Script: test.script, Dir: tree, Timeout: selfTestTimeout, Output: &text})
		f := Finding{Name: box.Name() + ": " + test.name, OK: err == nil && res.Exit == 0, Detail: "tried from inside: refused"}
		if !f.OK {
			f.Detail = firstLine(text.String(), fmt.Sprintf("exit code %d", res.Exit))
			if err != nil {
				f.Detail = err.Error()
			}
			f.Remedy = "do not run strangers' code with this sandbox; report this with the version of the kernel, and of bwrap if that is what was used"
		}
		out = append(out, f)
	}
	return out
}

// canaryName is set in the bot's own environment during the self-test.
const canaryName = "CULPRIT_SELFTEST_CANARY"

// canaryListener listens on the host's loopback.
func canaryListener() (port int, stop func()) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 1, func() {}
	}
	return l.Addr().(*net.TCPAddr).Port, func() { l.Close() }
}

// networkScript connects with what the shell has itself.
func networkScript(port int) string {
	return fmt.Sprintf(`if [ -n "$BASH_VERSION" ]; then if (exec 3<>/dev/tcp/127.0.0.1/%d) 2>/dev/null; then echo "reached the host's loopback"; exit 1; fi; fi; `+
		`if [ "$(wc -l </proc/net/route)" -gt 1 ]; then echo "has a route"; exit 1; fi`, port)
}

func limitsFinding() Finding {
	f := Finding{Name: "sandbox: limits"}
	if runtime.GOOS != "linux" {
		f.Detail = "only time and output are limited on " + runtime.GOOS
		f.Remedy = "run the worker on Linux"
		return f
	}
	memory, pids := controllers()
	f.OK = true
	switch {
	case memory && pids:
		f.Detail = "memory and processes by control group"
	default:
		f.Detail = "memory and processes by sampling, because control groups cannot be written (a limit can be passed for a quarter of a second)"
	}
	return f
}
