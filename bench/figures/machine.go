package figures

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// Machine writes where and with what the figures are taken. more is further
// pairs of name and value.
func Machine(w io.Writer, more ...string) {
	line := func(name, value string) { fmt.Fprintf(w, "%-16s %s\n", name, value) }
	line("date", time.Now().UTC().Format("2006-01-02 15:04 MST"))
	line("cores", fmt.Sprintf("%d (%s), shared by the load generator, Redis and what is measured", runtime.NumCPU(), cpuModel()))
	line("load average", Load())
	line("kernel", firstLine("uname", "-sr"))
	line("go", runtime.Version())
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/hibiken/asynq" || m.Path == "github.com/redis/go-redis/v9" {
				line(m.Path[strings.Index(m.Path, "/")+1:], m.Version)
			}
		}
	}
	for i := 0; i+1 < len(more); i += 2 {
		line(more[i], more[i+1])
	}
}

// Load is the load average of the last 1, 5 and 15 minutes; a figure that was
// taken on a busy machine has to say so.
func Load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(b))[:3], " ")
}

func cpuModel() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for l := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func firstLine(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return first
}

// CPU is the processor time that a process has used, 0 if it is not known. The
// clock of /proc ticks each 10 ms.
func CPU(pid int) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(b), ") ") // the name may hold spaces
	fields := strings.Fields(rest)
	if !ok || len(fields) < 13 {
		return 0
	}
	var ticks [2]int64
	for i := range ticks {
		ticks[i], _ = strconv.ParseInt(fields[11+i], 10, 64) // utime, stime
	}
	return time.Duration(ticks[0]+ticks[1]) * 10 * time.Millisecond
}
