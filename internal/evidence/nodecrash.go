package evidence

import (
	"strings"

	"culprit/internal/session"
)

// nodeCrash takes an error that ended a Node program: "TypeError: message" and
// its stack in the first column, which no runner printed.
type nodeCrash struct {
	out   *collector
	block *jsBlock
}

func (c *nodeCrash) line(l line) bool {
	s := l.text
	if c.block != nil {
		if strings.HasPrefix(s, "    at ") || c.block.msg.lines < 5 && !c.block.stack && s != "" {
			c.block.line(s, l.to)
			return true
		}
		c.end()
	}
	if s == "" || s[0] < 'A' || s[0] > 'Z' || !jsError(s) || pyException(s) && !strings.Contains(s, "Error: ") && !strings.Contains(s, "Error [") {
		return false
	}
	c.block = &jsBlock{Failure: session.Failure{Framework: "node", From: l.from, To: l.to}}
	c.block.line(s, l.to)
	return false // others may know it better
}

func (c *nodeCrash) busy() bool { return c.block != nil }

func (c *nodeCrash) end() {
	b := c.block
	c.block = nil
	if b == nil || !b.stack {
		return
	}
	f := b.finish()
	if f.Kind == session.KindTest && !strings.HasPrefix(f.Message, "AssertionError") {
		f.Kind = session.KindPanic
	}
	c.out.fail(f, secondary)
}
