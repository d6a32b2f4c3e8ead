package queue

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

var statsScript = script("stats", aside)

// Stats is the queue at one moment, for metrics and `bot jobs`.
type Stats struct {
	Depth     map[State]int    // jobs in each state
	Waiting   map[Priority]int // queued jobs by class
	OldestAge time.Duration    // of the queued jobs; 0: none
	ToReport  int              // ends that nobody was told yet
	Paused    bool

	// Totals count since the queue began: enqueued, duplicate, merged, stale,
	// claimed, released, failed, crashed, reaped, abandoned, retried, evicted, and the
	// ended states. Waited is the time all claimed jobs waited together.
	Totals map[string]int64
	Waited time.Duration
}

// totalNames are what scripts count.
var totalNames = []any{
	"depth:0", "depth:1", "depth:2", "enqueued", "duplicate", "merged", "stale", "claimed", "waited", "released", "failed",
	"crashed", "reaped", "abandoned", "retried", "evicted", "done", "dead", "cancelled", "superseded",
}

// Stats reads them in one script, so that they fit together.
func (q *Queue) Stats(ctx context.Context) (Stats, error) {
	got, err := q.run(ctx, statsScript, totalNames...).Slice()
	if err != nil {
		return Stats{}, fmt.Errorf("read queue statistics: %w", err)
	}
	if len(got) != 3 {
		return Stats{}, fmt.Errorf("read queue statistics: got %d lists", len(got))
	}
	head, depth, counts := numbers(got[0]), pairs(got[1]), pairs(got[2])
	if len(head) != 4 {
		return Stats{}, fmt.Errorf("read queue statistics: got %d numbers", len(head))
	}
	s := Stats{
		Depth: map[State]int{}, Waiting: map[Priority]int{}, Totals: map[string]int64{},
		Paused: head[1] == 1, ToReport: int(head[2]),
	}
	if head[3] > 0 {
		s.OldestAge = max(0, time.Duration(head[0]-head[3])*time.Microsecond)
	}
	for _, state := range States() {
		s.Depth[state] = int(depth[string(state)])
	}
	for p := PriorityCI; p <= PriorityPerson; p++ {
		s.Waiting[p] = int(counts["depth:"+strconv.Itoa(int(p))])
	}
	for name, n := range counts {
		switch {
		case name == "waited":
			s.Waited = time.Duration(n) * time.Microsecond
		case n != 0 && !strings.HasPrefix(name, "depth:"):
			s.Totals[name] = n
		}
	}
	return s, nil
}

func numbers(list any) []int64 {
	items, _ := list.([]any)
	out := make([]int64, len(items))
	for i, item := range items {
		out[i], _ = strconv.ParseInt(fmt.Sprint(item), 10, 64)
	}
	return out
}

func pairs(list any) map[string]int64 {
	items, _ := list.([]any)
	values := numbers(list)
	out := make(map[string]int64, len(items)/2)
	for i := 0; i+1 < len(items); i += 2 {
		out[fmt.Sprint(items[i])] = values[i+1]
	}
	return out
}
