package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/term"

	"culprit/internal/session"
)

// screen prints progress: one line per transition, and on a terminal a last
// line that is rewritten while experiments run.
type screen struct {
	mu    sync.Mutex
	w     io.Writer
	now   func() time.Time
	start time.Time
	live  bool // a terminal
	quiet bool
	runs  int
	drawn bool // a live line stands there
}

func newScreen(w io.Writer, now func() time.Time, quiet bool) *screen {
	return &screen{w: w, now: now, start: now(), live: isTerminal(w), quiet: quiet}
}

// Line prints one line of progress. Foreign text in it cannot move the cursor.
func (s *screen) Line(format string, args ...any) {
	if s.quiet {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	fmt.Fprintf(s.w, "%7s  %s\n", s.elapsed(), printable(fmt.Sprintf(format, args...)))
}

// Seen shows one finished run on the live line.
func (s *screen) Seen(t session.Trial, o session.Observation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs++
	if s.quiet || !s.live {
		return
	}
	s.clear()
	line := fmt.Sprintf("%7s  %d runs · %s · %s at %.8s", s.elapsed(), s.runs, t.Name, o.Outcome, t.Rev)
	if w := terminalWidth(s.w); len(line) > w {
		line = line[:w]
	}
	fmt.Fprint(s.w, printable(line))
	s.drawn = true
}

// Close takes the live line away. It may be called twice.
func (s *screen) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
}

func (s *screen) clear() {
	if s.drawn {
		fmt.Fprint(s.w, "\r\x1b[K")
		s.drawn = false
	}
}

func (s *screen) elapsed() string {
	return s.now().Sub(s.start).Round(100 * time.Millisecond).String()
}

// printable replaces what can steer a terminal or make text look like another.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unprintable(r) {
			return ' '
		}
		return r
	}, s)
}

// unprintable are control characters, line and paragraph separators, and those
// that change the direction of text.
func unprintable(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// terminalWidth of w, or 80.
func terminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 20 {
			return n
		}
	}
	return 80
}
