package evidence

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

var benchLog = flag.String("bench-log", "", "one large log, as scripts/bench-logs makes it: measure throughput and memory on it")

// TestThroughputOfALargeLog prints how fast a log is read, by the clock and by
// the CPU time of this process, and holds how much memory it takes at most.
func TestThroughputOfALargeLog(t *testing.T) {
	if *benchLog == "" {
		t.Skip("no large log here: make bench-logs makes one")
	}
	f, err := os.Open(*benchLog)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	start, spent := time.Now(), cpuTime(t)
	p := newParser(Options{})
	if err := p.read(f); err != nil {
		t.Fatal(err)
	}
	rep := p.report()
	took, cpu := time.Since(start), cpuTime(t)-spent
	mb := float64(info.Size()) / 1e6
	peak := peakMemory(t)
	fmt.Printf("Parse: %.0f MB in %.2f s: %.0f MB/s, %.0f MB/s of CPU time; peak memory %d KiB; %d failures kept\n",
		mb, took.Seconds(), mb/took.Seconds(), mb/cpu.Seconds(), peak, len(rep.Failures))
	if len(rep.Failures) == 0 {
		t.Error("the log names no failure: it is not the mixed one")
	}
	if peak > mostMemory {
		t.Errorf("peak memory is %d KiB, want at most %d", peak, mostMemory)
	}
}

// mostMemory is the goal for the peak memory of a process that reads a log, in
// KiB.
const mostMemory = 32 << 10

func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// peakMemory is the process's largest resident size in KiB, of Linux's own
// account.
func peakMemory(t *testing.T) (kib int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(status)) {
		if v, ok := strings.CutPrefix(l, "VmHWM:"); ok {
			if _, err := fmt.Sscanf(v, "%d kB", &kib); err != nil {
				t.Fatal(err)
			}
			return kib
		}
	}
	t.Fatal("/proc/self/status names no peak")
	return 0
}
