package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf16"
)

// wrapped is the shortest variant that is found across line ends; a shorter
// one might be found by chance in two unrelated words.
const wrapped = 16

// keyLine is the shortest line of a secret of many lines (a private key) that
// is a secret by itself.
const keyLine = 16

// variants are the forms in which a secret occurs, without line ends.
func variants(value string) []string {
	seen := map[string]bool{}
	var out []string
	add := func(s string, least int) {
		s = unwrap(s)
		if len(s) >= least && !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	forms := []string{value}
	if t := strings.TrimSpace(value); t != value && len(t) >= MinSecret {
		forms = append(forms, t)
	}
	for _, s := range forms {
		add(s, MinSecret)
		for _, j := range []string{jsonForm(s, true), jsonForm(s, false), asciiJSON(s)} {
			add(j, MinSecret)
			add(jsonForm(j, false), MinSecret)
		}
		q := strconv.Quote(s)
		add(q[1:len(q)-1], MinSecret)
		add(html.EscapeString(s), MinSecret)
		add(strings.ReplaceAll(s, "'", `'\''`), MinSecret)
		for _, u := range []string{url.QueryEscape(s), url.PathEscape(s), percent(s)} {
			add(u, MinSecret)
			add(lowerPercent(u), MinSecret)
		}
		h := hex.EncodeToString([]byte(s))
		add(h, MinSecret)
		add(strings.ToUpper(h), MinSecret)
		for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			add(enc.EncodeToString([]byte(s)), 8)
			for shift := range 3 {
				core := base64Core(enc, s, shift)
				add(core, 8)
				add(strings.ReplaceAll(core, "/", `\/`), 8)
				add(url.QueryEscape(core), 8)
			}
		}
	}
	for line := range strings.SplitSeq(value, "\n") {
		line = strings.TrimSpace(line)
		if line != strings.TrimSpace(value) && len(line) >= keyLine && !strings.HasPrefix(line, "-----") {
			add(line, keyLine)
		}
	}
	return out
}

// base64Core is the part of the base64 of (shift bytes)+s+(anything) that
// depends on s alone.
func base64Core(enc *base64.Encoding, s string, shift int) string {
	coded := enc.WithPadding(base64.NoPadding).EncodeToString(append(make([]byte, shift), s...))
	from := (shift*8 + 5) / 6
	to := (shift + len(s)) * 8 / 6
	if from >= to {
		return ""
	}
	return coded[from:to]
}

func jsonForm(s string, escapeHTML bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(escapeHTML)
	// A string always encodes.
	_ = e.Encode(s)
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(b.String(), "\n"), `"`), `"`)
}

// asciiJSON is what encoders that write ASCII only make of s.
func asciiJSON(s string) string {
	var b strings.Builder
	for _, r := range jsonForm(s, false) {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	return b.String()
}

// percent encodes every byte that is no letter or digit.
func percent(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; isWord(c) && c != '_' {
			b.WriteByte(c)
		} else {
			b.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte{c})))
		}
	}
	return b.String()
}

func lowerPercent(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' && isHex(b[i+1]) && isHex(b[i+2]) {
			copy(b[i:], strings.ToLower(string(b[i:i+3])))
			i += 2
		}
	}
	return string(b)
}

func isWord(c byte) bool {
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
}

// unwrap removes line ends, and the two characters by which JSON writes them.
func unwrap(s string) string {
	return strings.NewReplacer("\r", "", "\n", "", `\n`, "", `\r`, "").Replace(s)
}

// automaton finds all variants of all secrets in one pass (Aho and Corasick,
// 1975), with line ends passed over.
type automaton struct {
	root  [256]int32
	nodes []node
}

type node struct {
	edges []edge
	fail  int32
	depth int32
	found []hit // variants that end here
}

type edge struct {
	c  byte
	to int32
}

type hit struct {
	size int
	kind string
	// digits are looked for as a whole number, not as a part of one.
	digits bool
	// lines: it holds line ends itself, and is found across them.
	lines bool
}

func compile(secrets []secret) *automaton {
	a := &automaton{nodes: make([]node, 1)}
	for _, s := range secrets {
		for _, v := range variants(s.value) {
			a.insert(v, hit{
				size: len(v), kind: s.kind, digits: strings.Trim(v, "0123456789") == "",
				lines: len(v) >= wrapped || unwrap(s.value) != s.value,
			})
		}
	}
	a.link()
	return a
}

func (a *automaton) insert(v string, h hit) {
	at := int32(0)
	for i := range len(v) {
		next := a.child(at, v[i])
		if next == 0 {
			next = int32(len(a.nodes))
			a.nodes = append(a.nodes, node{depth: int32(i) + 1})
			if at == 0 {
				a.root[v[i]] = next
			} else {
				a.nodes[at].edges = append(a.nodes[at].edges, edge{v[i], next})
			}
		}
		at = next
	}
	if len(a.nodes[at].found) == 0 {
		a.nodes[at].found = []hit{h}
	}
}

// child is the node below at, or 0.
func (a *automaton) child(at int32, c byte) int32 {
	if at == 0 {
		return a.root[c]
	}
	for _, e := range a.nodes[at].edges {
		if e.c == c {
			return e.to
		}
	}
	return 0
}

func (a *automaton) step(at int32, c byte) int32 {
	for at != 0 {
		if next := a.child(at, c); next != 0 {
			return next
		}
		at = a.nodes[at].fail
	}
	return a.root[c]
}

// link sets the failure links, breadth first.
func (a *automaton) link() {
	var queue []int32
	for _, n := range a.root {
		if n != 0 {
			queue = append(queue, n)
		}
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, e := range a.nodes[at].edges {
			fail := a.step(a.nodes[at].fail, e.c)
			a.nodes[e.to].fail = fail
			a.nodes[e.to].found = append(a.nodes[e.to].found, a.nodes[fail].found...)
			queue = append(queue, e.to)
		}
	}
}

// exact are the places of the secrets. Line ends are passed over in a first
// pass, and JSON's \n and \r in a second one, which is no substitute for the
// first: in C:\npm_… the n belongs to the secret.
func (a *automaton) exact(b []byte) []span {
	if len(a.nodes) == 1 {
		return nil
	}
	out, _ := a.scan(b, false)
	if bytes.Contains(b, []byte(`\n`)) || bytes.Contains(b, []byte(`\r`)) {
		more, _ := a.scan(b, true)
		out = append(out, more...)
	}
	return out
}

// pending is where the longest text at the end of b begins that may be the
// beginning of a secret; len(b) when there is none.
func (a *automaton) pending(b []byte) int {
	if len(a.nodes) == 1 {
		return len(b)
	}
	_, plain := a.scan(b, false)
	_, escaped := a.scan(b, true)
	return min(plain, escaped)
}

func (a *automaton) scan(b []byte, escapes bool) (out []span, pending int) {
	at := int32(0)
	for i := 0; i < len(b); i++ {
		c := b[i]
		if c == '\n' || c == '\r' {
			continue
		}
		if escapes && isLineEscape(b, i) {
			i++
			continue
		}
		at = a.step(at, c)
		for _, h := range a.nodes[at].found {
			from := back(b, i, h.size, escapes)
			if h.digits && (digitAt(b, from-1) || digitAt(b, i+1)) {
				continue
			}
			if !h.lines && i+1-from != h.size {
				continue
			}
			out = append(out, span{from, i + 1, h.kind})
		}
	}
	pending = len(b)
	if depth := a.nodes[at].depth; depth > 0 {
		last := len(b) - 1
		for {
			if last >= 0 && (b[last] == '\n' || b[last] == '\r') {
				last--
				continue
			}
			if escapes && last > 0 && isLineEscape(b, last-1) {
				last -= 2
				continue
			}
			break
		}
		pending = back(b, last, int(depth), escapes)
	}
	return out, pending
}

// back is the position of the size-th byte before and including i, line ends
// not counted.
func back(b []byte, i, size int, escapes bool) int {
	for p := i; p >= 0; p-- {
		switch {
		case b[p] == '\n' || b[p] == '\r':
		case escapes && p > 0 && isLineEscape(b, p-1):
			p--
		default:
			size--
			if size == 0 {
				return p
			}
		}
	}
	return 0
}

func isLineEscape(b []byte, i int) bool {
	return b[i] == '\\' && i+1 < len(b) && (b[i+1] == 'n' || b[i+1] == 'r')
}

func digitAt(b []byte, i int) bool { return i >= 0 && i < len(b) && b[i] >= '0' && b[i] <= '9' }
