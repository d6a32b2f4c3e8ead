package evidence

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"culprit/internal/session"
)

func TestSignatureIsTheSameForTheSameFaultInTwoRuns(t *testing.T) {
	t.Parallel()
	same := [][2]string{
		{"got 1, want 2", "got 37, want 4"},
		{"dial tcp 127.0.0.1:41234: connect: connection refused", "dial tcp 127.0.0.1:5: connect: connection refused"},
		{"open /tmp/TestX123/001/a.txt: no such file", "open /tmp/TestX987/002/a.txt: no such file"},
		{"took 1.5s at 2024-05-01T12:34:56.789Z", "took 230ms at 2026-11-30T01:02:03Z"},
		{"object at 0x7f59482 of 3f2a91c7", "object at 0xdeadbeef of 9b01aa4"},
		{"id 6ba7b810-9dad-11d1-80b4-00c04fd430c8 gone", "id 123e4567-e89b-12d3-a456-426614174000 gone"},
		{"/home/a/x/main.go: bad", "/builds/9/y/z/main.go: bad"},
		{"a\n  b", "a b"},
	}
	for _, c := range same {
		a, b := Signature(session.Failure{Kind: session.KindTest, Message: c[0]}), Signature(session.Failure{Kind: session.KindTest, Message: c[1]})
		if a != b {
			t.Errorf("%q → %q\n%q → %q", c[0], a, c[1], b)
		}
	}
	different := [][2]string{
		{"undefined: foo", "undefined: bar"},
		{"unexpected EOF", "unexpected newline"},
		{"package github.com/a/b", "package github.com/a/c"},
		{"-1", "true"},
	}
	for _, c := range different {
		a, b := Signature(session.Failure{Kind: session.KindTest, Message: c[0]}), Signature(session.Failure{Kind: session.KindTest, Message: c[1]})
		if a == b {
			t.Errorf("%q and %q are both %q", c[0], c[1], a)
		}
	}
	if Signature(session.Failure{Kind: session.KindTest}) != "" {
		t.Error("no message has a signature")
	}
}

func TestTargetOfLeavesOutParentsAndOtherPackages(t *testing.T) {
	t.Parallel()
	got := TargetOf(
		session.Failure{Package: "p", Test: "TestW/a", Kind: session.KindTest, Message: "x"}, session.Failure{Package: "p", Test: "TestW/b"},
		session.Failure{Package: "p", Test: "TestW"}, session.Failure{Package: "q", Test: "TestZ"}, session.Failure{Kind: session.KindCommand},
	)
	want := session.Target{Tests: []string{"TestW/a", "TestW/b"}, Package: "p", Kind: session.KindTest, Signature: "test: x"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestParseMapsPathsToTheRepository(t *testing.T) {
	t.Parallel()
	files := func(p string) (string, bool) {
		switch {
		case p == "example.com/shop/p/p_test.go":
			return "p/p_test.go", true
		case strings.HasSuffix(p, "/q/q_test.go"):
			return "q/q_test.go", true
		}
		return "", false
	}
	rep, err := Parse(strings.NewReader(sample(t, "go/text")), Options{Step: "build / test", Command: "go test ./...", Files: files})
	if err != nil {
		t.Fatal(err)
	}
	byTest := map[string]session.Failure{}
	for _, f := range rep.Failures {
		byTest[f.Test] = f
	}
	if f := byTest["TestAdd/one_two"]; f.Location() != "p/p_test.go:11" || f.Step != "build / test" || f.Command != "go test ./..." {
		t.Errorf("TestAdd: %+v", f)
	}
	if f := byTest["TestBoom/in"]; f.Location() != "q/q_test.go:6" || len(f.Stack) != 1 {
		t.Errorf("TestBoom: %+v", f)
	}
}

func TestParseSurvivesHostileBytes(t *testing.T) {
	t.Parallel()
	fail := "--- FAIL: TestX (0.00s)\n    x_test.go:5: no\nFAIL\nFAIL\tp\t0.1s\n"
	cases := map[string]string{
		"a line of a megabyte":               strings.Repeat("a", 1<<20) + "\n" + fail,
		"NUL and invalid UTF-8":              "\x00\xff\xfe\n" + fail,
		"colours and titles":                 "\x1b]0;title\x07\x1b[31m--- FAIL: TestX (0.00s)\x1b[0m\n" + fail,
		"an escape sequence that never ends": "\x1b[31\n\x1b]0;never\n" + fail,
		"carriage returns":                   strings.ReplaceAll("loading 1%\rloading 2%\r\n"+fail, "\n", "\r\n"),
		"no line end":                        strings.TrimSuffix(fail, "\n"),
	}
	for name, in := range cases {
		for _, r := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in))} {
			rep, err := Parse(r, Options{})
			if err != nil || len(rep.Failures) == 0 || rep.Failures[0].Test != "TestX" {
				t.Errorf("%s: %v, %+v", name, err, rep)
			}
		}
	}
}

func TestParseReturnsWhatItReadBeforeAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	rep, err := Parse(io.MultiReader(strings.NewReader("--- FAIL: TestX (0.00s)\nFAIL\tp\t0.1s\n"), iotest.ErrReader(broken)), Options{})
	if !errors.Is(err, broken) || len(rep.Failures) != 1 {
		t.Errorf("%v, %+v", err, rep)
	}
}

// endless repeats a text up to n bytes without holding them.
type endless struct {
	text string
	at   int
	left int64
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(int64(len(p)), e.left)], e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	e.left -= int64(n)
	return n, nil
}

func TestParseHoldsNoMoreForALargerLog(t *testing.T) {
	var text strings.Builder
	paths, _ := filepath.Glob("testdata/*/*.log")
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(data)
	}
	// Names that never repeat are the worst case of what is kept.
	for i := range 200_000 {
		fmt.Fprintf(&text, "=== RUN   TestA%d\n--- FAIL: TestA%d (0.00s)\n    a_test.go:1: %d\n", i, i, i)
	}
	p := newParser(Options{})
	if err := p.read(&endless{text: text.String(), left: 24 << 20}); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	runtime.KeepAlive(p)
	p = nil
	runtime.GC()
	runtime.ReadMemStats(&after)
	if held := int64(before.HeapAlloc) - int64(after.HeapAlloc); held > 16<<20 {
		t.Errorf("the parser holds %d MiB after 24 MiB of log", held>>20)
	}
}

func archive(t *testing.T, entries ...string) *bytes.Reader {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i+1 < len(entries); i += 2 {
		f, err := w.Create(entries[i])
		if err == nil {
			_, err = f.Write([]byte(entries[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(b.Bytes())
}

func TestParseLogArchiveReadsStepsOnceAndIgnoresTheRest(t *testing.T) {
	t.Parallel()
	fail := "2024-05-01T12:00:00.0000000Z --- FAIL: TestX (0.00s)\r\n2024-05-01T12:00:00.0000000Z FAIL\tp\t0.1s\r\n"
	r := archive(t, "0_build (1.22, ✅).txt", fail, "build (1.22, ✅)/", "", "build (1.22, ✅)/3_Run go test.txt", fail, "build (1.22, ✅)/10_Post.txt", "fine\n",
		"__MACOSX/build/._3_Run.txt", fail, "1_lint.txt", "2024-05-01T12:00:00.0000000Z a.c:1:2: error: bad\r\n", "../../etc/evil.txt", "x", "build/notes.md", fail)
	rep, err := ParseLogArchive(r, r.Size(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Failures) != 2 || rep.Failures[0].Step != "build (1.22, ✅) / Run go test" || rep.Failures[1].Step != "lint" {
		t.Errorf("%+v", rep.Failures)
	}
}

func TestParseLogArchiveRefusesHostileArchives(t *testing.T) {
	t.Parallel()
	if _, err := ParseLogArchive(strings.NewReader("no zip"), 6, Options{}); err == nil {
		t.Error("no zip: no error")
	}
	var many []string
	for i := range maxEntries + 1 {
		many = append(many, fmt.Sprint(i, ".txt"), "")
	}
	r := archive(t, many...)
	if _, err := ParseLogArchive(r, r.Size(), Options{}); err == nil || !strings.Contains(err.Error(), "entries") {
		t.Errorf("too many entries: %v", err)
	}
	good := archive(t, "job/1_a.txt", "--- FAIL: TestX (0.00s)\nFAIL\tp\t0.1s\n", "job/2_b.txt", strings.Repeat("b", 1000))
	data, err := io.ReadAll(good)
	if err != nil {
		t.Fatal(err)
	}
	i := bytes.Index(data, []byte("job/2_b.txt"))
	data[i+len("job/2_b.txt")+2] ^= 0xff // in the second entry's data
	rep, err := ParseLogArchive(bytes.NewReader(data), int64(len(data)), Options{})
	if err == nil || !strings.Contains(err.Error(), "2_b") || len(rep.Failures) != 1 {
		t.Errorf("broken entry: %v, %+v", err, rep)
	}
}

func FuzzParse(f *testing.F) {
	paths, _ := filepath.Glob("testdata/*/*.log")
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rep, err := Parse(bytes.NewReader(data), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, fl := range rep.Failures {
			if len(fl.Message) > maxMessage || fl.From < 0 || fl.To > int64(len(data)) || fl.From > fl.To || fl.Kind == "" {
				t.Errorf("%+v", fl)
			}
		}
		if again, _ := Parse(iotest.HalfReader(bytes.NewReader(data)), Options{}); !reflect.DeepEqual(rep, again) {
			t.Errorf("reads of other sizes give another report:\n%+v\n%+v", rep, again)
		}
		for _, fl := range rep.Failures {
			if o, reason := Judge(TargetOf(fl), 0, false, session.TestReport{NoTests: true}, ""); o == session.FailedSame {
				t.Errorf("a run without tests is a failure: %s", reason)
			}
		}
	})
}

func FuzzSignature(f *testing.F) {
	f.Add("got 1.5s at /tmp/x/y.go:12 0xff")
	f.Fuzz(func(t *testing.T, s string) {
		once := Signature(session.Failure{Kind: session.KindTest, Message: s})
		if len(once) > 8*len(s)+20 {
			t.Errorf("%d bytes from %d", len(once), len(s))
		}
	})
}

func BenchmarkParse(b *testing.B) {
	var text strings.Builder
	for _, name := range []string{"go/verbose", "go/text", "pytest/verbose_short", "jest/verbose", "cargo/all", "actions/go_job", "node/spec"} {
		data, err := os.ReadFile("testdata/" + name + ".log")
		if err != nil {
			b.Fatal(err)
		}
		text.Write(data)
	}
	noise := strings.Repeat("2024-05-01T12:34:56.1234567Z Downloading https://registry.example.com/packages/widget-1.2.3.tgz (123 kB)\r\n", 40) +
		strings.Repeat("    compiled module src/components/widget/index.js in 12ms\n", 40)
	for name, in := range map[string]string{"failures": text.String(), "mixed": text.String() + strings.Repeat(noise, 20), "noise": noise} {
		b.Run(name, func(b *testing.B) {
			const size = 8 << 20
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(&endless{text: in, left: size}, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
