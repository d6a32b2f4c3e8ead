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
// cues of all formats at once (an Aho–Corasick automaton over byte classes),
// and finds out on the way whether the line holds bytes that must be cleaned.

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
	class  [256]uint8 // of each byte; dirty is set for those that are to be cleaned
	next   []uint16   // state<<classBits | class → state
	accept uint16     // states from here on end a text
	found  []set      // by state

	starts   [256][]start // by first byte
	indented set
}

type start struct {
	text string
	who  set
}

const (
	classBits = 7
	dirty     = 1 << classBits // flag on a class
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
	s.classes(texts)
	s.automaton(texts)
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

// classes puts the bytes that no text holds into one class.
func (s *scanner) classes(texts map[string]set) {
	n := uint8(1)
	for t := range texts {
		for i := range len(t) {
			if s.class[t[i]] == 0 {
				s.class[t[i]] = n
				n++
			}
		}
	}
	if n > 1<<classBits {
		panic("evidence: the cues hold more than 127 different bytes")
	}
	for c := range 256 {
		if c < ' ' && c != '\t' || c >= 0x7f {
			s.class[c] = dirty
		}
	}
}

// automaton builds the states: the root, then those that end no text, then
// those that do, so that one comparison tells them apart.
func (s *scanner) automaton(texts map[string]set) {
	type node struct {
		child map[uint8]int
		fail  int
		found set
	}
	nodes := []node{{child: map[uint8]int{}}}
	sorted := make([]string, 0, len(texts))
	for t := range texts {
		sorted = append(sorted, t)
	}
	sort.Strings(sorted)
	for _, t := range sorted {
		at := 0
		for i := range len(t) {
			c := s.class[t[i]]
			to, ok := nodes[at].child[c]
			if !ok {
				to = len(nodes)
				nodes = append(nodes, node{child: map[uint8]int{}})
				nodes[at].child[c] = to
			}
			at = to
		}
		nodes[at].found |= texts[t]
	}
	// Breadth first: a state's fall-back is shorter than itself.
	full := make([][1 << classBits]int, len(nodes))
	queue := []int{0}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for c := range uint8(1 << classBits) {
			to, ok := nodes[at].child[c]
			switch {
			case ok && at == 0:
				full[at][c] = to
			case ok:
				nodes[to].fail = full[nodes[at].fail][c]
				full[at][c] = to
			case at != 0:
				full[at][c] = full[nodes[at].fail][c]
			}
			if ok {
				nodes[to].found |= nodes[nodes[to].fail].found
				queue = append(queue, to)
			}
		}
	}
	order := make([]int, len(nodes)) // new place → old
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool { return nodes[order[i]].found == 0 && nodes[order[j]].found != 0 })
	place := make([]uint16, len(nodes))
	for i, old := range order {
		place[old] = uint16(i)
	}
	s.next = make([]uint16, len(nodes)<<classBits)
	s.found = make([]set, len(nodes))
	s.accept = uint16(len(nodes))
	for i, old := range order {
		s.found[i] = nodes[old].found
		if s.found[i] != 0 {
			s.accept = min(s.accept, uint16(i))
		}
		for c := range 1 << classBits {
			s.next[i<<classBits|c] = place[full[old][c]]
		}
	}
}

// scan returns the formats that the line's cues call, and whether the line
// holds bytes that are to be cleaned; if so, it is to be scanned again.
func (s *scanner) scan(text string) (called set, unclean bool) {
	var state uint16
	var flags uint8
	next, accept := s.next, s.accept
	for i := 0; i < len(text); i++ {
		c := s.class[text[i]]
		flags |= c
		state = next[uint(state)<<classBits|uint(c&(dirty-1))]
		if state >= accept {
			called |= s.found[state]
		}
	}
	return called | s.begin(text), flags&dirty != 0
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
