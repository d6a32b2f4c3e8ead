package patch

import (
	"bytes"
	"fmt"

	"culprit/internal/session"
)

// maxPairs bounds the pairs of old and new lines that Lines compares.
const maxPairs = 40_000

// alike is how similar two lines must be for one to be the other's successor.
const alike = 0.5

// Lines cuts a hunk into its changed lines: a line that was replaced, one that
// was taken out, one that was added. Each is a hunk of its own whose ID is the
// hunk's with its number, and Apply and Reverse take any subset of them. A hunk
// that cannot be cut (a whole-file change, one that is too large, or one that
// cannot be read) is returned as it is.
//
// Which old line became which new one is a guess by their text; it decides
// only what counts as one element, never what is applied.
func Lines(h session.Hunk) []session.Hunk {
	if h.Whole {
		return []session.Hunk{h}
	}
	c, err := changeOf(h)
	if err != nil || len(c.old)*len(c.new) > maxPairs || len(c.old)+len(c.new) < 2 {
		return []session.Hunk{h}
	}
	var out []session.Hunk
	put := func(i, m, j, n int) {
		part := change{c.oldAt + i, c.newAt + j, c.old[i : i+m], c.new[j : j+n]}.hunk()
		part.ID, part.File, part.OldFile = fmt.Sprintf("%s:%d", h.ID, len(out)+1), h.File, h.OldFile
		if h.Raw != nil {
			part.Raw = []byte(part.Text)
		}
		out = append(out, part)
	}
	i, j := 0, 0
	gap := func(toOld, toNew int) {
		pairs := 0
		if toOld-i == toNew-j {
			pairs = toOld - i // as many out as in: one for one
		}
		for ; pairs > 0; pairs-- {
			put(i, 1, j, 1)
			i, j = i+1, j+1
		}
		for ; i < toOld; i++ {
			put(i, 1, j, 0)
		}
		for ; j < toNew; j++ {
			put(i, 0, j, 1)
		}
	}
	for _, p := range aligned(c.old, c.new) {
		gap(p[0], p[1])
		put(i, 1, j, 1)
		i, j = i+1, j+1
	}
	gap(len(c.old), len(c.new))
	if len(out) < 2 {
		return []session.Hunk{h}
	}
	return out
}

// aligned pairs lines that are alike, in order, such that the sum of their
// similarities is greatest.
func aligned(old, new [][]byte) (pairs [][2]int) {
	score := make([][]float64, len(old)+1) // of what follows
	for i := range score {
		score[i] = make([]float64, len(new)+1)
	}
	same := make([][]float64, len(old))
	for i := len(old) - 1; i >= 0; i-- {
		same[i] = make([]float64, len(new))
		for j := len(new) - 1; j >= 0; j-- {
			score[i][j] = max(score[i+1][j], score[i][j+1])
			if s := similar(old[i], new[j]); s >= alike {
				same[i][j] = s
				score[i][j] = max(score[i][j], s+score[i+1][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(old) && j < len(new); {
		switch {
		case same[i][j] > 0 && score[i][j] == same[i][j]+score[i+1][j+1]:
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case score[i][j] == score[i+1][j]:
			i++
		default:
			j++
		}
	}
	return pairs
}

// similar is the share of two lines that their common beginning and end make
// up, in [0, 1]; the space around them does not count.
func similar(a, b []byte) float64 {
	a, b = bytes.TrimSpace(a), bytes.TrimSpace(b)
	if len(a) == 0 && len(b) == 0 {
		return 1
	}
	short := min(len(a), len(b))
	head := 0
	for head < short && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < short-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return 2 * float64(head+tail) / float64(len(a)+len(b))
}
