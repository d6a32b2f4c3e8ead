// Package figures collects what benchmarks measure and prints it: latencies with
// exact percentiles, tables, and the machine and versions they were taken on.
package figures

import (
	"math"
	"slices"
	"sync"
	"time"
)

// Latencies keeps every value, so that percentiles are exact. It is safe for
// concurrent use.
type Latencies struct {
	mu  sync.Mutex
	all []time.Duration
}

// Add takes one value.
func (l *Latencies) Add(d time.Duration) {
	l.mu.Lock()
	l.all = append(l.all, d)
	l.mu.Unlock()
}

// Merge takes the values of another.
func (l *Latencies) Merge(other *Latencies) {
	other.mu.Lock()
	defer other.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, other.all...)
}

// Len is the number of values.
func (l *Latencies) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

// Percentiles returns a value for each p of 0 to 100: the smallest that at
// least p percent of all values do not exceed. Without values they are zero.
func (l *Latencies) Percentiles(ps ...float64) []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(l.all)
	out := make([]time.Duration, len(ps))
	if len(l.all) == 0 {
		return out
	}
	for i, p := range ps {
		rank := int(math.Ceil(p / 100 * float64(len(l.all))))
		out[i] = l.all[min(max(rank, 1), len(l.all))-1]
	}
	return out
}

// Median of some rates; 0 of none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}
