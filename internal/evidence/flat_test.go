package evidence

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// work is what reading a log costs, counted and not timed: bytes that were
// offered to formats and bytes that were allocated, for each byte of the log.
type work struct{ offered, allocated float64 }

func measure(t *testing.T, text string, size int) work {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p := newParser(Options{})
	if err := p.read(&endless{text: text, left: int64(size)}); err != nil {
		t.Fatal(err)
	}
	p.report()
	runtime.ReadMemStats(&after)
	return work{float64(p.offered) / float64(size), float64(after.TotalAlloc-before.TotalAlloc) / float64(size)}
}

// flat reports work per byte that has grown with the size of the log. Half of a
// byte is for what does not repeat evenly.
func flat(t *testing.T, name string, small, large work) {
	t.Helper()
	if large.offered > 1.3*small.offered+0.5 || large.allocated > 1.3*small.allocated+0.5 {
		t.Errorf("%s: work per byte grows with the log: offered %.2f, then %.2f; allocated %.2f, then %.2f", name, small.offered, large.offered, small.allocated, large.allocated)
	}
}

// The work for each byte of a log must not depend on how many bytes came
// before: whatever a format remembers is bounded. Allocations of other tests
// would be counted, so this one is not parallel.
func TestTheWorkForEachByteStaysFlat(t *testing.T) {
	dirs, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	mixed, size := strings.Builder{}, 512<<10
	if raceEnabled {
		size /= 16 // it slows each byte down tenfold
	}
	for _, dir := range dirs {
		logs, err := filepath.Glob(dir + "/*.log")
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, name := range logs {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(data)
			text.WriteByte('\n')
		}
		if text.Len() == 0 {
			continue
		}
		mixed.WriteString(text.String())
		flat(t, dir, measure(t, text.String(), size), measure(t, text.String(), 4*size))
	}
	// What a runner prints once, repeated, and never ended.
	for _, line := range []string{
		"{\"Action\":\"output\",\"Test\":\"T%d\",\"Output\":\"x\\n\"}\n", "=== RUN   T%d\n", "--- FAIL: T%d (0.00s)\n", "panic: x%d\n", "goroutine %d [running]:\n",
		"=== FAILURES ===\n____ test_%d ____\n", "FAIL src/%d.test.js\n", "  ● suite › test %d\n", "[ RUN      ] A.b%d\n", "not ok %d - x\n", "<testcase name=\"%d\">\n<failure>\n",
		"##[group]Run x%d\n", "Traceback (most recent call last):\n  File \"a.py\", line %d\n", "error[E0%d]: x\n", "test t%d ... FAILED\n", "[ERROR] T.t%d -- Time: 1 s <<< FAILURE!\n",
		"  %d) x\n", "\x1b[%d", "a\r%d", "Failed T%d [1 ms]\n", "Test Case 'T%d' started\n",
	} {
		var text strings.Builder
		for i := range 20_000 {
			fmt.Fprintf(&text, line, i)
		}
		flat(t, line, measure(t, text.String(), size/2), measure(t, text.String(), 2*size))
	}
	if testing.Short() || raceEnabled {
		return // the long log needs a second, or ten with the race detector
	}
	noise := strings.Repeat("2024-05-01T12:34:56.1234567Z Downloading https://registry.example.com/packages/widget-1.2.3.tgz (123 kB)\r\n", 20_000)
	all := mixed.String() + noise
	flat(t, "100 MB", measure(t, all, len(all)), measure(t, all, 100<<20)) // from the first round of it on
}

// Each format by itself sees every line of hostile input, whether its cues
// call it or not: none may panic, keep more than it should, or name what is
// not there.
func FuzzFormats(f *testing.F) {
	for name, data := range samples(f) {
		for i, format := range formats {
			if strings.HasPrefix(filepath.Base(filepath.Dir(name)), strings.Fields(format.name)[0]) || i%7 == len(data)%7 {
				f.Add(uint8(i), data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		i := int(which) % len(formats)
		p := newParser(Options{})
		only := p.formats[i]
		err := eachLine(bytes.NewReader(data), func(text string, from, to int64) {
			l := line{text: clean(text), from: from, to: to}
			l.text, l.marked = strings.CutPrefix(l.text, "##[error]")
			only.line(l)
			if l.marked {
				only.end()
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		only.end()
		rep := p.out.report()
		if len(rep.Failures) > maxFailures || len(rep.Passed) > maxPassed {
			t.Errorf("%s keeps %d failures and %d names", formats[i].name, len(rep.Failures), len(rep.Passed))
		}
		for _, fl := range rep.Failures {
			if fl.Kind == "" || len(fl.Message) > maxMessage || len(fl.Test) > maxName+len("…") || fl.From < 0 || fl.From > fl.To || fl.To > int64(len(data)) || len(fl.Stack) > maxStack {
				t.Errorf("%s: %+v", formats[i].name, fl)
			}
		}
	})
}
