package redact

import (
	"bytes"
	"errors"
	"io"
)

// Limits of what a writer holds back, in bytes.
const (
	// maxLine is the longest line that is looked at as a whole.
	maxLine = 64 << 10
	// overlap is what is kept of a longer line, more than any token has.
	overlap = 8 << 10
	// maxHeld bounds what is held back for a secret over many lines.
	maxHeld = 256 << 10
)

// Writer returns a writer that passes on to w what is written, without
// secrets. It passes on whole lines, and holds back those at the end that may
// be the beginning of a secret; Close writes the rest and does not close w.
// What comes out does not depend on how the stream was cut into writes (lines
// over 64 KiB excepted, which may be redacted more than needed).
func (r *Redactor) Writer(w io.Writer) io.WriteCloser { return &writer{r: r, w: w} }

// Records returns a writer for a log: each Write is one record, as those of
// log/slog are, and is passed on at once, without secrets. Writer would hold a
// record back whose end may begin a secret, and a log must not lag behind.
func (r *Redactor) Records(w io.Writer) io.Writer { return records{r, w} }

type records struct {
	r *Redactor
	w io.Writer
}

func (w records) Write(p []byte) (int, error) {
	if _, err := w.w.Write(w.r.Bytes(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

type writer struct {
	r      *Redactor
	w      io.Writer
	buf    []byte
	wait   int // the length of buf below which nothing can be decided
	closed bool
	err    error
}

func (w *writer) Write(p []byte) (int, error) {
	if w.closed {
		return 0, errors.New("write redacted: writer is closed")
	}
	written := 0
	for len(p) > 0 && w.err == nil {
		n := min(len(p), maxLine)
		w.buf = append(w.buf, p[:n]...)
		p, written = p[n:], written+n
		w.pass(false)
	}
	return written, w.err
}

func (w *writer) Close() error {
	if w.closed {
		return w.err
	}
	w.closed = true
	w.pass(true)
	return w.err
}

// pass writes as much of the buffer as is decided.
func (w *writer) pass(final bool) {
	if w.err != nil || len(w.buf) == 0 || (len(w.buf) < w.wait && !final) {
		return
	}
	a := w.r.automaton()
	cut := len(w.buf)
	if !final {
		cut = w.decided(a)
	}
	if cut == 0 {
		// Look again when there is half as much more, so that many small
		// writes cost no more than few large ones.
		w.wait = len(w.buf) + len(w.buf)/2
		return
	}
	w.wait = 0
	out := w.r.Bytes(w.buf[:cut])
	if _, err := w.w.Write(out); err != nil {
		w.err = err
		return
	}
	w.buf = append(w.buf[:0:0], w.buf[cut:]...)
}

// decided is the length of the beginning of the buffer that later bytes
// cannot change.
func (w *writer) decided(a *automaton) int {
	b := w.buf
	cut := bytes.LastIndexByte(b, '\n') + 1
	if len(b)-cut > maxLine {
		// One long line: take its beginning, but cut no secret in two.
		cut = len(b) - overlap
		for _, s := range a.spans(b) {
			if s.from < cut && cut < s.to {
				cut = s.from
			}
		}
		if p := a.pending(b[:cut]); p < cut {
			cut = p
		}
		if cut == 0 && len(b) > maxHeld {
			cut = len(b)
		}
		return cut
	}
	if cut == 0 || len(b) > maxHeld {
		return cut
	}
	whole := b[:cut]
	held := min(a.pending(whole), openKey(whole))
	if held == cut {
		return cut
	}
	cut = bytes.LastIndexByte(b[:held], '\n') + 1
	// What is held back must not begin within a secret of many lines.
	spans := append(a.exact(whole), keysIn(whole)...)
	for moved := true; moved; {
		moved = false
		for _, s := range spans {
			if s.from < cut && cut < s.to {
				cut, moved = bytes.LastIndexByte(b[:s.from], '\n')+1, true
			}
		}
	}
	return cut
}
