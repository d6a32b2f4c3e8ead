package evidence

import (
	"io"
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
	// line is offered each line; true means that it is the format's own, and
	// that formats later in the list shall not see it.
	line(l line) bool
	// end is called once after the last line, and at the end of each step.
	end()
}

// parser is one pass over one stream.
type parser struct {
	envelope envelope
	out      *collector
	formats  []format
}

func newParser(opts Options) *parser {
	p := &parser{out: newCollector(opts)}
	p.formats = newFormats(p.out)
	return p
}

// newFormats lists the formats in the order in which they see a line. Those
// with the most particular phrases come first; the generic ones, which take
// what nobody knows, come last.
func newFormats(out *collector) []format {
	return []format{
		&goJSON{out: out},
		&goTest{out: out},
		&pytest{out: out},
		&unittest{out: out},
		&vitest{out: out},
		&jest{out: out},
		&tap{out: out},
		&nodeTest{out: out},
		&mocha{out: out},
		&cargo{out: out},
		&maven{out: out},
		&gradle{out: out},
		&pythonTrace{out: out},
		&nodeCrash{out: out},
		&compiler{out: out},
		&world{out: out},
	}
}

func (p *parser) read(r io.Reader) error {
	return eachLine(r, func(text string, from, to int64) {
		l := line{from: from, to: to}
		var skip bool
		if l.text, skip = p.envelope.open(text, p); skip {
			return
		}
		l.text, l.marked = strings.CutPrefix(l.text, "##[error]")
		p.feed(l)
	})
}

func (p *parser) feed(l line) {
	for _, f := range p.formats {
		if f.line(l) {
			return
		}
	}
}

// flush ends what the formats have under way.
func (p *parser) flush() {
	for _, f := range p.formats {
		f.end()
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
