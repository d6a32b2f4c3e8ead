package handlers

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// Of a payload of 20 kB, most of it links, a decision reads some 300 bytes.
// encoding/json looks at each byte twice, byte by byte; that was two thirds of
// what a delivery cost. So the members that no decision names are cut out
// first, by a scanner that jumps from quote to quote, and the rest is decoded
// as strictly as before. Of what is cut out only strings and brackets are looked
// at: a payload that is signed by GitHub needs no proof of its grammar.

// A selection names the members of an object that are kept, each with what is
// kept of it. Nil keeps a value whole.
type selection map[string]selection

var selections sync.Map // reflect.Type -> selection

// selectionOf is what encoding/json can set in a value of the type.
func selectionOf(t reflect.Type) selection {
	if known, ok := selections.Load(t); ok {
		return known.(selection)
	}
	s := deriveSelection(t)
	selections.Store(t, s)
	return s
}

var (
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func deriveSelection(t reflect.Type) selection {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(unmarshaler) || reflect.PointerTo(t).Implements(textUnmarshaler) {
		return nil
	}
	s := selection{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			for k, v := range deriveSelection(f.Type) {
				s[k] = v
			}
		case name == "":
			s[strings.ToLower(f.Name)] = deriveSelection(f.Type) // as GitHub writes all names
		default:
			s[name] = deriveSelection(f.Type)
		}
	}
	return s
}

// prune returns the JSON text without the members that are not selected. False:
// it is not well-formed as far as prune looks, and encoding/json says why.
func prune(text []byte, s selection) ([]byte, bool) {
	p := pruner{in: text, out: make([]byte, 0, 1024)}
	if !p.value(s, 0) {
		return nil, false
	}
	p.space()
	return p.out, p.at == len(text)
}

type pruner struct {
	in, out []byte
	at      int
}

func (p *pruner) space() {
	for p.at < len(p.in) && (p.in[p.at] == ' ' || p.in[p.at] == '\n' || p.in[p.at] == '\t' || p.in[p.at] == '\r') {
		p.at++
	}
}

// next is the first byte after spaces, 0 at the end.
func (p *pruner) next() byte {
	p.space()
	if p.at == len(p.in) {
		return 0
	}
	return p.in[p.at]
}

// value copies what is selected of the value that comes next. Depth is bounded
// by that of the selection.
func (p *pruner) value(s selection, depth int) bool {
	first := p.next()
	if s == nil || (first != '{' && first != '[') || depth > 100 {
		from := p.at
		ok := p.skip()
		p.out = append(p.out, p.in[from:p.at]...)
		return ok
	}
	closing := byte('}')
	if first == '[' {
		closing = ']'
	}
	p.at++
	p.out = append(p.out, first)
	kept := false
	for n := 0; ; n++ {
		if p.next() == closing && n == 0 {
			break
		}
		keep, of := true, s
		from := p.at
		if first == '{' {
			if p.next() != '"' || !p.skip() {
				return false
			}
			name := p.in[from+1 : p.at-1]
			if of, keep = s[string(name)]; p.next() != ':' {
				return false
			}
			p.at++
		}
		if !keep {
			p.space()
			if !p.skip() {
				return false
			}
		} else {
			if kept {
				p.out = append(p.out, ',')
			}
			kept = true
			p.out = append(p.out, p.in[from:p.at]...)
			if !p.value(of, depth+1) {
				return false
			}
		}
		if c := p.next(); c == closing {
			break
		} else if c != ',' {
			return false
		}
		p.at++
	}
	p.at++
	p.out = append(p.out, closing)
	return true
}

// skip passes over one value: to the end of a string, to the bracket that
// closes, or to the end of a word.
func (p *pruner) skip() bool {
	open := 0
	for p.at < len(p.in) {
		switch p.in[p.at] {
		case '"':
			if !p.skipString() {
				return false
			}
		case '{', '[':
			open++
			p.at++
			continue
		case '}', ']':
			if open--; open < 0 {
				return false
			}
			p.at++
		case ' ', '\n', '\t', '\r', ',', ':':
			if open == 0 {
				return false
			}
			p.at++
			continue
		default:
			for p.at < len(p.in) && inWord(p.in[p.at]) {
				p.at++
			}
		}
		if open == 0 {
			return true
		}
	}
	return false
}

// inWord holds for the bytes of numbers, true, false and null, and for others
// that have no place outside of strings.
func inWord(c byte) bool {
	switch c {
	case ' ', '\n', '\t', '\r', ',', ':', '"', '[', ']', '{', '}':
		return false
	}
	return true
}

func (p *pruner) skipString() bool {
	for from := p.at + 1; ; {
		n := bytes.IndexByte(p.in[from:], '"')
		if n < 0 {
			return false
		}
		end := from + n
		slashes := 0
		for p.in[end-1-slashes] == '\\' { // ends at the opening quote at the latest
			slashes++
		}
		from = end + 1
		if slashes%2 == 0 {
			p.at = from
			return true
		}
	}
}
