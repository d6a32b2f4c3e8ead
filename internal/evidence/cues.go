package evidence

import (
	"sort"
	"strings"
	"sync"
)

// Nearly every line of a log is nobody's. So that such a line costs next to
// nothing, however many formats there are, each format names its cues: the
// fixed texts of which a line must hold one before the format wants to see it
// while it has nothing under way. One pass over the line's bytes finds all
// cues of all formats at once, and finds out on the way whether the line holds
// bytes that must be cleaned.
//
// The pass looks for the pair of neighbouring bytes in each cue that is the
// rarest in logs, and compares the whole cue only where its pair stands. No
// step waits for the one before it, as those of an automaton do, so that a
// processor does several at once.

// set is a set of formats, one bit for each place in the list of formats.
type set uint64

// cues are what makes a format look at a line while it is idle.
type cues struct {
	starts   []string // the line begins with one of them, after blanks and tabs
	has      []string // one of them is anywhere in the line; ASCII only
	indented bool     // the line begins with two blanks
}

// scanner finds the cues of all formats.
type scanner struct {
	class [256]uint8                  // of each byte, 0 for one that is in no pair; dirty is set for those that are to be cleaned
	pair  [1 << (2 * classBits)]uint8 // class of a byte and of the next → place in at, 0 for none
	at    [][]cueAt

	starts   [256][]start // by first byte
	indented set
}

// cueAt is a cue whose pair ends at the byte with this place in it.
type cueAt struct {
	text string
	end  int
	who  set
}

type start struct {
	text string
	who  set
}

const (
	classBits = 6
	dirty     = 1 << 7 // flag on a class
)

// theScanner is made once, of the table of formats.
var theScanner = sync.OnceValue(func() *scanner {
	all := make([]cues, len(formats))
	for i, f := range formats {
		all[i] = f.cues
	}
	return newScanner(all)
})

func newScanner(all []cues) *scanner {
	s := &scanner{}
	texts := map[string]set{}
	for i, c := range all {
		who := set(1) << i
		if c.indented {
			s.indented |= who
		}
		for _, t := range c.starts {
			s.start(t, who)
		}
		for _, t := range c.has {
			texts[t] |= who
		}
	}
	for c := range 256 {
		if c < ' ' && c != '\t' || c >= 0x7f {
			s.class[c] = dirty
		}
	}
	s.pairs(texts)
	return s
}

func (s *scanner) start(text string, who set) {
	list := &s.starts[text[0]]
	for i := range *list {
		if (*list)[i].text == text {
			(*list)[i].who |= who
			return
		}
	}
	*list = append(*list, start{text, who})
}

// pairs chooses the pair of each cue. Cues are longer than a byte.
func (s *scanner) pairs(texts map[string]set) {
	sorted := make([]string, 0, len(texts))
	for t := range texts {
		sorted = append(sorted, t)
	}
	sort.Strings(sorted)
	s.at = make([][]cueAt, 1)
	used := uint8(0)
	class := func(c byte) uint {
		if s.class[c] == 0 {
			if used++; used >= 1<<classBits {
				panic("evidence: the pairs of the cues hold more than 63 different bytes")
			}
			s.class[c] = used
		}
		return uint(s.class[c])
	}
	for _, t := range sorted {
		best := 1
		for i := 2; i < len(t); i++ {
			if often(t[i-1], t[i]) < often(t[best-1], t[best]) {
				best = i
			}
		}
		p := class(t[best-1])<<classBits | class(t[best])
		if s.pair[p] == 0 {
			if len(s.at) > 255 {
				panic("evidence: the cues have more than 255 different pairs")
			}
			s.pair[p] = uint8(len(s.at))
			s.at = append(s.at, nil)
		}
		s.at[s.pair[p]] = append(s.at[s.pair[p]], cueAt{t, best, texts[t]})
	}
}

// often estimates how often a pair of bytes stands in logs; only the order of
// the estimates matters.
func often(a, b byte) int {
	n := oftenByte(a) * oftenByte(b)
	if a == b && a != ' ' {
		n /= 3
	}
	return n
}

func oftenByte(c byte) int {
	switch {
	case c == ' ' || c == 'e':
		return 10
	case strings.IndexByte("taoinsr", c) >= 0:
		return 7
	case c >= '0' && c <= '9' || strings.IndexByte(".:/-", c) >= 0:
		return 5
	case c >= 'a' && c <= 'z':
		return 4
	}
	return 2
}

// scan returns the formats that the line's cues call, and whether the line
// holds bytes that are to be cleaned; if so, it is to be scanned again.
func (s *scanner) scan(text string) (called set, unclean bool) {
	var flags uint8
	var before uint
	for i := 0; i < len(text); i++ {
		c := s.class[text[i]]
		flags |= c
		class := uint(c) & (1<<classBits - 1)
		if p := s.pair[before<<classBits|class]; p != 0 {
			called |= s.compare(text, i, s.at[p], called)
		}
		before = class
	}
	return called | s.begin(text), flags&dirty != 0
}

// compare returns the formats whose cues stand around the pair that ends at i.
// Those of called are known to be called.
func (s *scanner) compare(text string, i int, list []cueAt, called set) (more set) {
	for k := range list {
		c := &list[k]
		if from := i - c.end; c.who&^called != 0 && from >= 0 && strings.HasPrefix(text[from:], c.text) {
			more |= c.who
		}
	}
	return more
}

// begin returns the formats that the line's beginning calls.
func (s *scanner) begin(text string) (called set) {
	i := 0
	for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
		i++
	}
	if i == len(text) {
		return 0
	}
	if i >= 2 && text[0] == ' ' && text[1] == ' ' {
		called = s.indented
	}
	text = text[i:]
	list := s.starts[text[0]]
	for i := range list {
		if strings.HasPrefix(text, list[i].text) {
			called |= list[i].who
		}
	}
	return called
}
