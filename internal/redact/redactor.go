package redact

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"sort"
	"sync"
	"sync/atomic"
)

// MinSecret is the shortest secret that is looked for, in bytes. A shorter one
// would be found by chance in ordinary text, and its place in a text full of
// markers would give it away; a secret that short protects nothing.
const MinSecret = 6

// Redactor replaces secrets by markers. It is safe for concurrent use.
type Redactor struct {
	mu      sync.Mutex
	secrets []secret // guarded by mu

	compiled atomic.Pointer[automaton] // of secrets; nil after one was added
}

type secret struct{ kind, value string }

// New returns a redactor of the given secrets and of all known shapes.
// Secrets shorter than MinSecret are passed over.
func New(secrets ...string) *Redactor {
	r := &Redactor{}
	for _, s := range secrets {
		r.Add(s)
	}
	return r
}

// Add makes the redactor know one more secret, such as a token that was just
// issued. Writers that are open know it from their next line on.
func (r *Redactor) Add(value string) { r.AddKind("secret", value) }

// AddKind is Add with the word that stands in the marker, of lower-case
// letters, digits and dashes.
func (r *Redactor) AddKind(kind, value string) {
	if len(value) < MinSecret || !kindForm.MatchString(kind) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.secrets {
		if s.value == value {
			return
		}
	}
	r.secrets = append(r.secrets, secret{kind, value})
	r.compiled.Store(nil)
}

var (
	kindForm = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)
	marker   = regexp.MustCompile(`\[REDACTED:[a-z0-9-]{1,32}\]`)
)

func (r *Redactor) automaton() *automaton {
	if a := r.compiled.Load(); a != nil {
		return a
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	a := compile(r.secrets)
	r.compiled.Store(a)
	return a
}

// Bytes returns b without secrets; b itself is not changed, and is returned
// when there is none in it.
func (r *Redactor) Bytes(b []byte) []byte {
	out, changed := r.automaton().redact(b)
	if !changed {
		return b
	}
	return r.keepJSON(b, out)
}

// String is Bytes for strings.
func (r *Redactor) String(s string) string { return string(r.Bytes([]byte(s))) }

// Reader returns what is read from in without secrets.
func (r *Redactor) Reader(in io.Reader) io.Reader {
	pr, pw := io.Pipe()
	go func() {
		w := r.Writer(pw)
		_, err := io.Copy(w, in)
		if closeErr := w.Close(); err == nil {
			err = closeErr
		}
		pw.CloseWithError(err)
	}()
	return pr
}

// span is a part of a text that is to go.
type span struct {
	from, to int
	kind     string
}

// redact replaces until nothing is found any more: a marker ends the token
// before it, which may make the text after it a token of its own.
func (a *automaton) redact(b []byte) (out []byte, changed bool) {
	for {
		spans := a.spans(b)
		if len(spans) == 0 {
			return b, changed
		}
		b, changed = replace(b, spans), true
	}
}

func replace(b []byte, spans []span) []byte {
	out := make([]byte, 0, len(b))
	at := 0
	for _, s := range spans {
		out = append(out, b[at:s.from]...)
		out = append(out, "[REDACTED:"+s.kind+"]"...)
		at = s.to
	}
	return append(out, b[at:]...)
}

// spans are the places of all secrets in b, in order, joined where they
// overlap, without those that lie inside a marker.
func (a *automaton) spans(b []byte) []span {
	found := append(a.exact(b), shapesIn(b)...)
	if len(found) == 0 {
		return nil
	}
	for i := range found {
		found[i] = widen(b, found[i])
	}
	markers := marker.FindAllIndex(b, -1)
	sort.SliceStable(found, func(i, j int) bool { return found[i].from < found[j].from })
	var out []span
	for _, s := range found {
		for {
			i := sort.Search(len(markers), func(i int) bool { return markers[i][1] > s.from })
			if i == len(markers) || markers[i][0] >= s.to {
				break
			}
			m := markers[i]
			if m[0] <= s.from && s.to <= m[1] {
				s.to = s.from // inside: leave it
				break
			}
			if s.from <= m[0] && m[1] <= s.to {
				// The secret goes on behind a marker that it contains.
				markers = append(markers[:i:i], markers[i+1:]...)
				continue
			}
			s.from, s.to = min(s.from, m[0]), max(s.to, m[1])
		}
		if s.from >= s.to {
			continue
		}
		if n := len(out); n > 0 && s.from < out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// widen moves the ends of a span out of JSON escapes (\n, \u00e9), which a
// marker would otherwise cut in two.
func widen(b []byte, s span) span {
	if from, _, inside := escapeAround(b, s.from); inside {
		s.from = from
	}
	if _, to, inside := escapeAround(b, s.to); inside {
		s.to = to
	}
	return s
}

// escapeAround finds the JSON escape that holds position i in its middle.
func escapeAround(b []byte, i int) (from, to int, inside bool) {
	for k := 1; k <= 5 && k <= i; k++ {
		if b[i-k] != '\\' {
			continue
		}
		run := 0
		for p := i - k; p >= 0 && b[p] == '\\'; p-- {
			run++
		}
		if run%2 == 0 {
			return 0, 0, false
		}
		from, to = i-k, i-k+2
		if to > len(b) || !bytes.ContainsRune([]byte(`"\/bfnrtu`), rune(b[from+1])) {
			return 0, 0, false
		}
		if b[from+1] == 'u' {
			for to < len(b) && to < from+6 && isHex(b[to]) {
				to++
			}
		}
		return from, to, i < to
	}
	return 0, 0, false
}

func isHex(c byte) bool {
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')
}

// keepJSON repairs what replacing text broke: when the whole, or a line, was
// JSON before and no longer is, its strings and numbers are redacted one by
// one instead.
func (r *Redactor) keepJSON(before, after []byte) []byte {
	if json.Valid(after) {
		return after
	}
	if looksJSON(before) && json.Valid(before) {
		return r.structural(before)
	}
	// Lines can be told apart only if redaction joined none.
	old, now := bytes.SplitAfter(before, []byte{'\n'}), bytes.SplitAfter(after, []byte{'\n'})
	if len(old) != len(now) {
		return after
	}
	for i := range old {
		if !bytes.Equal(old[i], now[i]) && looksJSON(old[i]) && json.Valid(old[i]) && !json.Valid(now[i]) {
			now[i] = r.structural(old[i])
		}
	}
	return bytes.Join(now, nil)
}

// looksJSON passes over a bare number, which is a text like any other.
func looksJSON(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 0 && (line[0] == '{' || line[0] == '[' || line[0] == '"')
}

// structural redacts a JSON document value by value. Where a secret is still
// in it (it lay across values), nothing of the document is kept.
func (r *Redactor) structural(doc []byte) []byte {
	core := bytes.TrimSpace(doc)
	start := bytes.Index(doc, core)
	frame := func(core []byte) []byte {
		out := append([]byte(nil), doc[:start]...)
		return append(append(out, core...), doc[start+len(bytes.TrimSpace(doc)):]...)
	}
	lost := frame([]byte(`"[REDACTED:document]"`))
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return lost
	}
	out, err := json.Marshal(r.value(v))
	if err != nil {
		return lost
	}
	if _, changed := r.automaton().redact(out); changed {
		return lost
	}
	return frame(out)
}

func (r *Redactor) value(v any) any {
	clean := func(s string) string {
		out, _ := r.automaton().redact([]byte(s))
		return string(out)
	}
	switch v := v.(type) {
	case string:
		return clean(v)
	case json.Number:
		if s := clean(v.String()); s != v.String() {
			return s
		}
		return v
	case []any:
		for i := range v {
			v[i] = r.value(v[i])
		}
		return v
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[clean(k)] = r.value(e)
		}
		return out
	}
	return v
}
