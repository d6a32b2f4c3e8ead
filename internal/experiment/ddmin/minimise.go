package ddmin

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
)

// singlesUpTo is the largest set whose elements are tried one by one first.
const singlesUpTo = 8

// errBudget ends a search whose MaxTests are spent.
var errBudget = errors.New("test budget spent")

// Minimise returns an ascending subset of 0..n-1 that reproduces the failure
// and from which no element can be left out. It is empty when the failure
// shows without any element: what is being minimised is then not its cause.
//
// ErrNotReproduced is returned when the whole set does not reproduce. When ctx
// ends or test fails, the best subset so far is returned beside the error;
// when MaxTests is spent it is returned without one, and Stats says so. Before
// the whole set has reproduced there is no such subset, and nil is returned.
func Minimise(ctx context.Context, n int, test Test, opts Options) ([]int, Stats, error) {
	if n < 0 {
		return nil, Stats{}, fmt.Errorf("minimise %d elements: the number must not be negative", n)
	}
	m := &minimiser{test: test, opts: opts, seen: map[string]Verdict{}, used: map[string]bool{}}
	m.opts.Parallel = max(m.opts.Parallel, 1)
	best, err := m.run(ctx, n)
	m.stats.Speculated = m.stats.Tests - len(m.used)
	if errors.Is(err, errBudget) {
		m.stats.Exhausted = true
		err = nil
		if best == nil {
			err = fmt.Errorf("minimise %d elements: %w before the whole set had reproduced; allow more tests", n, errBudget)
		}
	}
	return best, m.stats, err
}

type minimiser struct {
	test  Test
	opts  Options
	seen  map[string]Verdict
	used  map[string]bool // tested subsets whose answer was looked at
	stats Stats
}

func (m *minimiser) run(ctx context.Context, n int) ([]int, error) {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	// The whole set and the empty one are independent questions: one wave.
	whole, err := m.first(ctx, [][]int{all})
	if err != nil {
		return nil, err
	}
	if whole < 0 {
		return nil, ErrNotReproduced
	}
	if none, err := m.first(ctx, [][]int{{}}); err != nil {
		return all, err
	} else if none == 0 {
		m.stats.Minimal = true
		return []int{}, nil
	}
	if n > 2 && n <= max(singlesUpTo, 2*m.opts.Parallel) {
		singles := chunks(all, n)
		if i, err := m.first(ctx, singles); err != nil {
			return all, err
		} else if i >= 0 {
			m.stats.Minimal = true
			return singles[i], nil
		}
	}
	return m.reduce(ctx, all)
}

// reduce is ddmin proper; best reproduces at every moment.
func (m *minimiser) reduce(ctx context.Context, best []int) ([]int, error) {
	parts := 2
	for len(best) > 1 {
		parts = min(parts, len(best))
		subsets := chunks(best, parts)
		i, err := m.first(ctx, subsets)
		if err != nil {
			return best, err
		}
		if i >= 0 {
			best, parts = subsets[i], 2
			continue
		}
		complements := make([][]int, parts)
		for i, s := range subsets {
			complements[i] = without(best, s)
		}
		if i, err = m.first(ctx, complements); err != nil {
			return best, err
		}
		switch {
		case i >= 0:
			best, parts = complements[i], max(parts-1, 2)
		case parts == len(best):
			m.stats.Minimal = true
			return best, nil
		default:
			parts *= 2
		}
	}
	m.stats.Minimal = true
	return best, nil
}

// first returns the index of the first candidate that reproduces, -1 if none
// does. Candidates are tested in waves of Options.Parallel.
func (m *minimiser) first(ctx context.Context, candidates [][]int) (int, error) {
	for i := 0; i < len(candidates); {
		key := keyOf(candidates[i])
		verdict, known := m.seen[key]
		if !known {
			if err := m.wave(ctx, candidates[i:]); err != nil {
				return -1, err
			}
			continue
		}
		if m.used[key] {
			m.stats.Cached++
		}
		m.used[key] = true
		if verdict == Reproduces {
			return i, nil
		}
		i++
	}
	return -1, nil
}

// wave tests the first few candidates that are not known yet, at the same
// time, and waits for all of them.
func (m *minimiser) wave(ctx context.Context, candidates [][]int) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("minimise: %w", err)
	}
	size := m.opts.Parallel
	if m.opts.MaxTests > 0 {
		size = min(size, m.opts.MaxTests-m.stats.Tests)
		if size <= 0 {
			return errBudget
		}
	}
	var batch [][]int
	chosen := map[string]bool{}
	for _, c := range candidates {
		key := keyOf(c)
		if _, known := m.seen[key]; known || chosen[key] {
			continue
		}
		chosen[key] = true
		if batch = append(batch, c); len(batch) == size {
			break
		}
	}
	verdicts := make([]Verdict, len(batch))
	errs := make([]error, len(batch))
	var wg sync.WaitGroup
	for i, c := range batch {
		wg.Go(func() { verdicts[i], errs[i] = m.test(ctx, append([]int{}, c...)) })
	}
	wg.Wait()
	m.stats.Waves++
	m.stats.Tests += len(batch)
	for i, c := range batch {
		if errs[i] != nil {
			return fmt.Errorf("test %d of the elements: %w", len(c), errs[i])
		}
	}
	for i, c := range batch {
		m.seen[keyOf(c)] = verdicts[i]
		if verdicts[i] == Unresolved {
			m.stats.Unresolved++
		}
	}
	return nil
}

// chunks cuts set into parts pieces whose sizes differ by at most one.
func chunks(set []int, parts int) [][]int {
	out := make([][]int, 0, parts)
	for i := range parts {
		out = append(out, set[i*len(set)/parts:(i+1)*len(set)/parts])
	}
	return out
}

// without returns set less the elements of part; both are ascending.
func without(set, part []int) []int {
	out := make([]int, 0, len(set)-len(part))
	for _, e := range set {
		if len(part) > 0 && part[0] == e {
			part = part[1:]
			continue
		}
		out = append(out, e)
	}
	return out
}

func keyOf(set []int) string {
	var b []byte
	for _, e := range set {
		b = binary.AppendUvarint(b, uint64(e))
	}
	return string(b)
}
