package search_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"culprit/internal/experiment/search"
)

// setting is a kind of histories and how they are searched.
type setting struct {
	n             int
	after, before float64
	broken        float64 // share of candidates that are untestable, in stretches
	k             int
	confidence    float64
	hint          int  // reproduction runs at both ends, not counted
	reproduced    bool // the reproduction went on until it had seen the failure
	flaky         bool
	verify        int // Options.Verify
	// peer searches in our place; nil is the search itself.
	peer func(h *history) search.Result
}

// draw makes the history of a seed: the same one for every searcher.
func (s setting) draw(rng *rand.Rand) *history {
	h := &history{n: s.n, culprit: rng.IntN(s.n), before: s.before, after: s.after, rng: rng, broken: map[int]bool{}}
	for len(h.broken) < int(s.broken*float64(s.n-1)) {
		at, length := rng.IntN(s.n), 1+rng.IntN(max(1, s.n/20))
		if rng.IntN(2) == 0 {
			length = 1
		}
		for i := at; i < min(at+length, s.n-1); i++ {
			h.broken[i] = true
		}
	}
	return h
}

func (s setting) search(h *history) search.Result {
	if s.peer != nil {
		return s.peer(h)
	}
	opts := search.Options{Confidence: s.confidence, Flaky: s.flaky, Bad: h.repeat(s.n-1, s.hint), Good: h.repeat(search.Good, s.hint), Verify: s.verify}
	for s.reproduced && opts.Bad.Failures == 0 {
		opts.Bad.Add(h.run(s.n - 1))
	}
	_, r := h.solve(opts, s.k, mostRuns)
	return r
}

// mostRuns ends a simulated search.
const mostRuns = 5000

// summary of many searches. Shares are of all of them; those that were not
// decided count as wrong only in right.
type summary struct {
	histories           int
	right, wrong        float64 // wrong: decided, and not right
	decided, claimed    float64
	mean                float64
	runs, rounds        spread
	located             spread // runs until one boundary was left
	overLocated, mostOf int    // most runs above ceil(log2 n), and their history
}

// spread of whole numbers: median, 95th percentile, greatest.
type spread struct{ median, p95, most int }

func spreadOf(v []int) spread {
	slices.Sort(v)
	return spread{v[len(v)/2], v[min(len(v)-1, len(v)*95/100)], v[len(v)-1]}
}

// summary searches the histories of seeds 0, 1, 2, …; it is the same on every
// machine and with any number of cores.
func (s setting) summary(histories int, seed uint64) summary {
	results := make([]search.Result, histories)
	right := make([]bool, histories)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), histories) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < histories; i = int(next.Add(1)) - 1 {
				h := s.draw(rand.New(rand.NewPCG(seed, uint64(i))))
				results[i] = s.search(h)
				right[i] = h.right(results[i])
			}
		})
	}
	wg.Wait()
	out := summary{histories: histories, overLocated: -s.n}
	var runs, rounds, located []int
	each := 1 / float64(histories)
	for i, r := range results {
		switch {
		case right[i] && r.Decided:
			out.right += each
		case r.Decided:
			out.wrong += each
		}
		if r.Decided {
			out.decided += each
		}
		out.claimed += r.Probability * each
		out.mean += float64(r.Runs) * each
		runs, rounds, located = append(runs, r.Runs), append(rounds, r.Rounds), append(located, r.Located)
		if over := r.Located - log2ceil(s.n); over > out.overLocated {
			out.overLocated, out.mostOf = over, i
		}
	}
	out.runs, out.rounds, out.located = spreadOf(runs), spreadOf(rounds), spreadOf(located)
	return out
}

// holds says whether a share of right answers can be that of a searcher that
// is right with probability p: it lies at most z standard deviations below.
func holds(share, p float64, histories int, z float64) bool {
	return share >= p-z*math.Sqrt(p*(1-p)/float64(histories))-1e-9
}

func log2ceil(n int) int { return int(math.Ceil(math.Log2(float64(n)))) }
