package search_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"text/tabwriter"

	"culprit/internal/experiment/search"
)

var (
	simulate   = flag.Bool("sim", false, "print the simulation tables of the culprit search")
	repeats    = flag.Int("sim-repeats", 200, "histories per row of the simulation tables")
	confidence = flag.Float64("sim-confidence", 0.95, "confidence claimed in the simulation tables")
)

// sample is one simulated search.
type sample struct {
	right, decided         bool
	runs, rounds, searched int
	claimed                float64
}

type setting struct {
	n             int
	after, before float64
	broken        float64 // share of candidates that are untestable, in stretches
	k             int
	confidence    float64
	hint          int // reproduction runs at both ends, not counted
	flaky         bool
	culprit       int  // -1: anywhere
	verify        int  // Options.Verify
	reproduced    bool // the reproduction went on until it had seen the failure
}

func (s setting) draw(rng *rand.Rand) sample {
	h := &history{n: s.n, culprit: s.culprit, before: s.before, after: s.after, rng: rng, broken: map[int]bool{}}
	if s.culprit < 0 {
		h.culprit = rng.IntN(s.n)
	}
	for len(h.broken) < int(s.broken*float64(s.n-1)) {
		at, length := rng.IntN(s.n), 1+rng.IntN(max(1, s.n/20))
		if rng.IntN(2) == 0 {
			length = 1
		}
		for i := at; i < min(at+length, s.n-1); i++ {
			h.broken[i] = true
		}
	}
	opts := search.Options{Confidence: s.confidence, Flaky: s.flaky, Bad: h.repeat(s.n-1, s.hint), Good: h.repeat(search.Good, s.hint), Verify: s.verify}
	for s.reproduced && opts.Bad.Failures == 0 {
		opts.Bad.Add(h.run(s.n - 1))
	}
	_, r := h.solve(opts, s.k, 5000)
	return sample{right: h.right(r), decided: r.Decided, runs: r.Runs, rounds: r.Rounds, searched: r.Located, claimed: r.Probability}
}

type summary struct {
	right, decided, claimed     float64
	mean                        float64
	medianRuns, p95Runs         int
	medianRounds, p95Rounds     int
	medianSearched, p95Searched int
}

func (s setting) summary(repeats int, seed uint64) summary {
	var out summary
	var runs, rounds, searched []int
	for i := range repeats {
		r := s.draw(rand.New(rand.NewPCG(seed, uint64(i))))
		if r.right {
			out.right++
		}
		if r.decided {
			out.decided++
		}
		out.claimed += r.claimed
		runs, rounds, searched = append(runs, r.runs), append(rounds, r.rounds), append(searched, r.searched)
		out.mean += float64(r.runs)
	}
	f := float64(repeats)
	out.right, out.decided, out.claimed, out.mean = out.right/f, out.decided/f, out.claimed/f, out.mean/f
	at := func(v []int, q float64) int {
		slices.Sort(v)
		return v[min(len(v)-1, int(q*float64(len(v))))]
	}
	out.medianRuns, out.p95Runs = at(runs, 0.5), at(runs, 0.95)
	out.medianRounds, out.p95Rounds = at(rounds, 0.5), at(rounds, 0.95)
	out.medianSearched, out.p95Searched = at(searched, 0.5), at(searched, 0.95)
	return out
}

// TestSimulation prints the tables of `make bench-culprit`:
// go test ./internal/experiment/search -run TestSimulation -sim -v -timeout 0
func TestSimulation(t *testing.T) {
	if !*simulate {
		t.Skip("skipped: the tables take minutes; ask for them with -sim")
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "n\tafter\tbefore\tuntestable\tk\tright\tclaimed\tdecided\truns\tp95\trounds\tp95\tmean\t\n")
	for _, n := range []int{16, 256, 4096} {
		for _, after := range []float64{1, 0.5, 0.2, 0.05} {
			for _, before := range []float64{0, 0.01, 0.1} {
				if before > 0 && after < 2*before {
					continue // not a worse failure rate, or hardly one
				}
				for _, broken := range []float64{0, 0.3} {
					for _, k := range []int{1, 2, 4, 8} {
						s := setting{n: n, after: after, before: before, broken: broken, k: k, confidence: *confidence, hint: 10, reproduced: true, verify: 3, culprit: -1}
						x := s.summary(*repeats, 1)
						fmt.Fprintf(w, "%d\t%g\t%g\t%.0f%%\t%d\t%.1f%%\t%.1f%%\t%.1f%%\t%d\t%d\t%d\t%d\t%.1f\t\n", n, after, before, 100*broken, k, 100*x.right, 100*x.claimed, 100*x.decided, x.medianRuns, x.p95Runs, x.medianRounds, x.p95Rounds, x.mean)
					}
				}
			}
		}
		_ = w.Flush()
	}
}

// TestPublishedSetting compares with the figures of robust-git-bisect's README
// (https://crates.io/crates/robust-git-bisect): git's own history from
// e83c516331 to 54e85e7af1 (60,429 commits), culprit 9c3592cf3c, a test that
// answers wrong 5 % of the time.
func TestPublishedSetting(t *testing.T) {
	if !*simulate {
		t.Skip("skipped: takes minutes; ask for it with -sim")
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "method\truns\tright\t\n")
	fmt.Fprintf(w, "published: robust-git-bisect 0.99\t29.7\t99.54%%\t\n")
	fmt.Fprintf(w, "published: robust-git-bisect 0.9\t26.2\t98.90%%\t\n")
	fmt.Fprintf(w, "published: git bisect\t16.2\t31.80%%\t\n")
	fmt.Fprintf(w, "published: git bisect, tests repeated\t35.0\t86.64%%\t\n")
	for _, at := range []int{-1, 3772} {
		for _, hint := range []int{0, 10, 100} {
			for _, conf := range []float64{0.95, 0.99, 0.995} {
				s := setting{n: 60429, after: 0.95, before: 0.05, k: 1, confidence: conf, hint: hint, flaky: true, culprit: at}
				x := s.summary(*repeats, 2)
				fmt.Fprintf(w, "culprit at %d, %d runs known at each end, confidence %g\t%.2f\t%.2f%%\t\n", at, hint, conf, x.mean, 100*x.right)
			}
		}
	}
	_ = w.Flush()
}

func log2ceil(n int) int { return int(math.Ceil(math.Log2(float64(n)))) }
