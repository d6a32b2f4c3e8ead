package patch

import "sort"

// maxCost bounds the search for the shortest edit within one block. Beyond it
// the block is cut at lines that occur once on each side, or replaced whole:
// a diff that is a little longer, in time that stays linear.
const maxCost = 1500

// changesOf compares two files by lines, with Myers' linear-space algorithm
// ("An O(ND) Difference Algorithm and Its Variations", 1986).
func changesOf(old, new [][]byte) []change {
	ids := map[string]int{}
	number := func(lines [][]byte) []int {
		out := make([]int, len(lines))
		for i, line := range lines {
			id, ok := ids[string(line)]
			if !ok {
				id = len(ids)
				ids[string(line)] = id
			}
			out[i] = id
		}
		return out
	}
	d := differ{a: number(old), b: number(new)}
	d.gone, d.came = make([]bool, len(d.a)), make([]bool, len(d.b))
	size := len(d.a) + len(d.b) + 3
	d.forward, d.backward = make([]int, size), make([]int, size)
	d.compare(0, len(d.a), 0, len(d.b))
	slide(d.a, d.gone)
	slide(d.b, d.came)
	var out []change
	for i, j := 0, 0; i < len(old) || j < len(new); {
		if i < len(old) && j < len(new) && !d.gone[i] && !d.came[j] {
			i, j = i+1, j+1
			continue
		}
		c := change{oldAt: i, newAt: j}
		for i < len(old) && d.gone[i] {
			i++
		}
		for j < len(new) && d.came[j] {
			j++
		}
		c.old, c.new = old[c.oldAt:i], new[c.newAt:j]
		out = append(out, c)
	}
	return out
}

// slide moves each run of marked lines down as far as equal lines allow, as
// diff does: an inserted function then ends with its own closing brace.
func slide(ids []int, marked []bool) {
	for i := 0; i < len(ids); {
		if !marked[i] {
			i++
			continue
		}
		end := i
		for end < len(ids) && marked[end] {
			end++
		}
		for end < len(ids) && ids[i] == ids[end] {
			marked[i], marked[end] = false, true
			i++
			for end < len(ids) && marked[end] {
				end++
			}
		}
		i = end
	}
}

type differ struct {
	a, b              []int
	gone, came        []bool
	forward, backward []int
}

// compare marks the differences of a[aLo:aHi] and b[bLo:bHi].
func (d *differ) compare(aLo, aHi, bLo, bHi int) {
	for aLo < aHi && bLo < bHi && d.a[aLo] == d.b[bLo] {
		aLo, bLo = aLo+1, bLo+1
	}
	for aLo < aHi && bLo < bHi && d.a[aHi-1] == d.b[bHi-1] {
		aHi, bHi = aHi-1, bHi-1
	}
	if aLo == aHi || bLo == bHi {
		d.mark(aLo, aHi, bLo, bHi)
		return
	}
	x, y, u, v, ok := d.middle(aLo, aHi, bLo, bHi)
	if ok {
		d.compare(aLo, aLo+x, bLo, bLo+y)
		d.compare(aLo+u, aHi, bLo+v, bHi)
		return
	}
	anchors := d.anchors(aLo, aHi, bLo, bHi)
	if len(anchors) == 0 {
		d.mark(aLo, aHi, bLo, bHi)
		return
	}
	for _, p := range anchors {
		d.compare(aLo, p[0], bLo, p[1])
		aLo, bLo = p[0]+1, p[1]+1
	}
	d.compare(aLo, aHi, bLo, bHi)
}

func (d *differ) mark(aLo, aHi, bLo, bHi int) {
	for i := aLo; i < aHi; i++ {
		d.gone[i] = true
	}
	for j := bLo; j < bHi; j++ {
		d.came[j] = true
	}
}

// none is a place that no path has reached.
const none = -1 << 40

// middle finds the snake in the middle of a shortest edit path: from (x, y) to
// (u, v), relative to (aLo, bLo). ok is false beyond maxCost.
func (d *differ) middle(aLo, aHi, bLo, bHi int) (x, y, u, v int, ok bool) {
	n, m := aHi-aLo, bHi-bLo
	delta, half := n-m, (n+m+1)/2
	zero := half + 1 // index of diagonal 0
	step := func(reach []int, cost, k int) int {
		if cost == 0 {
			return 0
		}
		best := none
		if k < cost { // a line of b is passed
			if at := reach[zero+k+1]; at-k <= m {
				best = at
			}
		}
		if k > -cost { // a line of a is passed
			if at := reach[zero+k-1] + 1; at <= n && at > best {
				best = at
			}
		}
		return best
	}
	for cost := 0; cost <= half && cost <= maxCost; cost++ {
		for k := -cost; k <= cost; k += 2 {
			at := step(d.forward, cost, k)
			from := at
			for at >= 0 && at < n && at-k < m && d.a[aLo+at] == d.b[bLo+at-k] {
				at++
			}
			d.forward[zero+k] = at
			if back := delta - k; delta%2 != 0 && back > -cost && back < cost && at+d.backward[zero+back] >= n {
				return from, from - k, at, at - k, true
			}
		}
		for k := -cost; k <= cost; k += 2 {
			at := step(d.backward, cost, k)
			from := at
			for at >= 0 && at < n && at-k < m && d.a[aHi-1-at] == d.b[bHi-1-at+k] {
				at++
			}
			d.backward[zero+k] = at
			if ahead := delta - k; delta%2 == 0 && ahead >= -cost && ahead <= cost && at+d.forward[zero+ahead] >= n {
				return n - at, m - at + k, n - from, m - from + k, true
			}
		}
	}
	return 0, 0, 0, 0, false
}

// anchors pairs the lines that occur exactly once on each side, in the longest
// sequence that is in order on both.
func (d *differ) anchors(aLo, aHi, bLo, bHi int) [][2]int {
	type seen struct{ inA, inB, a, b int }
	lines := map[int]*seen{}
	at := func(id int) *seen {
		if lines[id] == nil {
			lines[id] = &seen{}
		}
		return lines[id]
	}
	for i := aLo; i < aHi; i++ {
		s := at(d.a[i])
		s.inA, s.a = s.inA+1, i
	}
	for j := bLo; j < bHi; j++ {
		s := at(d.b[j])
		s.inB, s.b = s.inB+1, j
	}
	var pairs [][2]int
	for i := aLo; i < aHi; i++ {
		if s := lines[d.a[i]]; s.inA == 1 && s.inB == 1 {
			pairs = append(pairs, [2]int{i, s.b})
		}
	}
	// Longest increasing subsequence of the second components.
	tails, prev := []int{}, make([]int, len(pairs))
	for i, p := range pairs {
		at := sort.Search(len(tails), func(k int) bool { return pairs[tails[k]][1] >= p[1] })
		prev[i] = -1
		if at > 0 {
			prev[i] = tails[at-1]
		}
		if at == len(tails) {
			tails = append(tails, i)
		} else {
			tails[at] = i
		}
	}
	if len(tails) == 0 {
		return nil
	}
	out := make([][2]int, len(tails))
	for i, k := tails[len(tails)-1], len(tails)-1; k >= 0; i, k = prev[i], k-1 {
		out[k] = pairs[i]
	}
	return out
}
