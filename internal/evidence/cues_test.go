package evidence

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"culprit/internal/session"
)

// eager is a format that wants to see every line.
type eager struct{ format }

func (eager) busy() bool { return true }

// parseEagerly parses without cues: every format is offered every line.
func parseEagerly(r io.Reader) (session.TestReport, error) {
	p := newParser(Options{})
	for i, f := range p.formats {
		p.formats[i] = eager{f}
	}
	p.busy = 1<<len(p.formats) - 1
	err := p.read(r)
	return p.report(), err
}

func samples(tb testing.TB) map[string][]byte {
	tb.Helper()
	paths, err := filepath.Glob("testdata/*/*.log")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no samples: %v", err)
	}
	all := map[string][]byte{}
	for _, p := range paths {
		if all[p], err = os.ReadFile(p); err != nil {
			tb.Fatal(err)
		}
	}
	return all
}

func TestCuesHideNothingFromTheFormats(t *testing.T) {
	t.Parallel()
	for name, data := range samples(t) {
		got, err := Parse(bytes.NewReader(data), Options{})
		if err != nil {
			t.Fatal(err)
		}
		want, err := parseEagerly(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: with cues\n%+v\nwithout\n%+v", name, got, want)
		}
	}
}

func TestScannerFindsEveryCueWhereverItStands(t *testing.T) {
	t.Parallel()
	s := theScanner()
	for i, f := range formats {
		for _, text := range f.cues.has {
			for _, in := range []string{text, "x" + text, text + "x", text[:len(text)-1] + text, "error: error" + text + text} {
				if called, _ := s.scan(in); called&(1<<i) == 0 {
					t.Errorf("%s: %q not found in %q", f.name, text, in)
				}
			}
		}
		for _, text := range f.cues.starts {
			for _, in := range []string{text, "  \t" + text + "x"} {
				if called, _ := s.scan(in); called&(1<<i) == 0 {
					t.Errorf("%s: %q not found at the start of %q", f.name, text, in)
				}
			}
		}
	}
	if called, unclean := s.scan("Downloading widget-1.2.3.tgz (123 kB)"); called != 0 || unclean {
		t.Errorf("a line that is nobody's calls %b, unclean %v", called, unclean)
	}
	if _, unclean := s.scan("a\x1b[0m"); !unclean {
		t.Error("an escape sequence counts as clean")
	}
}
