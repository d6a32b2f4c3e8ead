package patch

import "bytes"

// Conflict is a place where both sides of a three-way merge changed the same
// or neighbouring lines differently.
type Conflict struct {
	Line               int // first line of the place on our side, from 1
	Base, Ours, Theirs []byte
}

// Merge brings the change from base to theirs onto ours. Changes that overlap
// or touch without being equal are conflicts; where there is one, merged is
// nil, because a conflict is reported and never forced.
//
// The minimal revert of a commit is Merge(commit's new side, HEAD's content,
// Reverse(commit's new side, the hunks to revert)).
func Merge(base, ours, theirs []byte) (merged []byte, conflicts []Conflict) {
	lines := splitLines(base)
	mine, yours := changesOf(lines, splitLines(ours)), changesOf(lines, splitLines(theirs))
	merged = []byte{}
	at, shift := 0, 0 // lines of base that are done; our line numbers minus base's
	for len(mine) > 0 || len(yours) > 0 {
		from := len(lines)
		if len(mine) > 0 {
			from = mine[0].oldAt
		}
		if len(yours) > 0 {
			from = min(from, yours[0].oldAt)
		}
		for ; at < from; at++ {
			merged = append(merged, lines[at]...)
		}
		// Gather the changes of both sides that reach into one region.
		to, i, j := from, 0, 0
		for grown := true; grown; {
			grown = false
			if i < len(mine) && mine[i].oldAt <= to {
				to, i, grown = max(to, mine[i].oldAt+len(mine[i].old)), i+1, true
			}
			if j < len(yours) && yours[j].oldAt <= to {
				to, j, grown = max(to, yours[j].oldAt+len(yours[j].old)), j+1, true
			}
		}
		was := bytes.Join(lines[from:to], nil)
		my, your := region(lines, mine[:i], from, to), region(lines, yours[:j], from, to)
		switch {
		case j == 0 || bytes.Equal(my, your):
			merged = append(merged, my...)
		case i == 0:
			merged = append(merged, your...)
		default:
			conflicts = append(conflicts, Conflict{Line: from + shift + 1, Base: was, Ours: my, Theirs: your})
		}
		for _, c := range mine[:i] {
			shift += len(c.new) - len(c.old)
		}
		at, mine, yours = to, mine[i:], yours[j:]
	}
	for ; at < len(lines); at++ {
		merged = append(merged, lines[at]...)
	}
	if conflicts != nil {
		return nil, conflicts
	}
	return merged, nil
}

// region is what one side makes of base's lines from to to.
func region(lines [][]byte, changes []change, from, to int) []byte {
	var out []byte
	for _, c := range changes {
		out = append(out, bytes.Join(lines[from:c.oldAt], nil)...)
		out = append(out, bytes.Join(c.new, nil)...)
		from = c.oldAt + len(c.old)
	}
	return append(out, bytes.Join(lines[from:to], nil)...)
}
