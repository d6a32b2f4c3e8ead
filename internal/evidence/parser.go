package evidence

import (
	"io"
	"math/bits"
	"strings"

	"culprit/internal/session"
)

// line is one line of the input, freed of its envelope.
type line struct {
	text     string
	from, to int64
	marked   bool // the runner marked it as an error
}

// format recognises the output of one runner or tool. It keeps what state it
// needs between lines, all of it bounded.
type format interface {
	// line is offered each line that holds one of the format's cues, and while
	// it is busy every line; true means that it is the format's own, and that
	// formats later in the list shall not see it.
	line(l line) bool
	// busy reports that the format has something under way, and that lines
	// without its cues matter to it.
	busy() bool
	// end is called once after the last line, and at the end of each step.
	end()
}

// parser is one pass over one stream.
type parser struct {
	envelope envelope
	out      *collector
	formats  []format
	scanner  *scanner
	busy     set   // the formats that see every line
	offered  int64 // bytes of lines that were offered to a format, once for each: the work done
}

func newParser(opts Options) *parser {
	p := &parser{out: newCollector(opts), scanner: theScanner()}
	for _, f := range formats {
		p.formats = append(p.formats, f.make(p.out))
	}
	return p
}

func (p *parser) read(r io.Reader) error {
	return eachLine(r, func(text string, from, to int64) {
		l := line{from: from, to: to}
		var called set
		var skip bool
		if l.text, called, skip = p.envelope.open(text, p); skip {
			return
		}
		if len(l.text) > 2 && l.text[0] == '#' {
			if l.text, l.marked = strings.CutPrefix(l.text, "##[error]"); l.marked {
				called = 1<<len(p.formats) - 1
			}
		}
		p.feed(l, called|p.busy)
	})
}

// feed offers a line to the formats in who, in their order.
func (p *parser) feed(l line, who set) {
	for ; who != 0; who &= who - 1 {
		i := bits.TrailingZeros64(uint64(who))
		f := p.formats[i]
		taken := f.line(l)
		p.offered += int64(len(l.text))
		if f.busy() {
			p.busy |= 1 << i
		} else {
			p.busy &^= 1 << i
		}
		if taken {
			return
		}
	}
}

// flush ends what the formats have under way.
func (p *parser) flush() {
	p.busy = 0
	for i, f := range p.formats {
		if f.end(); f.busy() {
			p.busy |= 1 << i
		}
	}
}

func (p *parser) report() session.TestReport {
	p.flush()
	return p.out.report()
}

// message gathers the lines of a failure's message up to maxMessage bytes.
type message struct {
	b     strings.Builder
	lines int
}

func (m *message) add(s string) {
	if m.b.Len() >= maxMessage {
		return
	}
	if m.lines > 0 {
		m.b.WriteByte('\n')
	}
	m.lines++
	m.b.WriteString(cut(s, maxMessage-m.b.Len()))
}

func (m *message) String() string { return strings.TrimRight(m.b.String(), " \t\n") }
