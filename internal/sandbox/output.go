package sandbox

import (
	"fmt"
	"io"
)

// capped hands the first half of limit bytes on at once and keeps the last
// half in a ring, so that a command that prints for ever costs a fixed amount
// of memory and both ends of its output survive: the head says what it was
// doing, the tail why it ended.
type capped struct {
	w     io.Writer
	limit int64 // negative: no limit
	head  int64 // bytes that may still go out at once
	tail  []byte
	next  int // next position to write in tail once it is full
	size  int // capacity of tail
	total int64
	cut   int64
}

func newCapped(w io.Writer, limit int64) *capped {
	if w == nil {
		w = io.Discard
	}
	half := limit / 2
	return &capped{w: w, limit: limit, head: limit - half, size: int(half)}
}

// Write never fails: a reader that went away must not change what the command
// experiences.
func (c *capped) Write(p []byte) (int, error) {
	n := len(p)
	c.total += int64(n)
	if c.limit < 0 {
		_, _ = c.w.Write(p)
		return n, nil
	}
	if c.head > 0 {
		k := int(min(c.head, int64(len(p))))
		_, _ = c.w.Write(p[:k])
		c.head -= int64(k)
		p = p[k:]
	}
	if len(p) > c.size {
		c.cut += int64(len(p) - c.size)
		p = p[len(p)-c.size:]
	}
	if grow := min(len(p), c.size-len(c.tail)); grow > 0 {
		c.tail = append(c.tail, p[:grow]...)
		p = p[grow:]
	}
	c.cut += int64(len(p)) // each of these overwrites one kept byte
	for len(p) > 0 {
		k := copy(c.tail[c.next:], p)
		c.next = (c.next + k) % c.size
		p = p[k:]
	}
	return n, nil
}

// finish writes the marker and the tail.
func (c *capped) finish() {
	if c.cut > 0 {
		fmt.Fprintf(c.w, "\n[... %d bytes of output cut here ...]\n", c.cut)
	}
	if len(c.tail) > 0 {
		_, _ = c.w.Write(c.tail[c.next:])
		_, _ = c.w.Write(c.tail[:c.next])
	}
}
