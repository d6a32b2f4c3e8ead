// Package webhookload measures the webhook edge: the real `bot serve` process
// with a real Redis, and in the same run a minimal Probot app on the same
// payloads. The load is open-loop, so that latencies are those that GitHub
// would see at that rate; the greatest rate is found by a closed loop.
package webhookload

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"culprit/bench/figures"
	"culprit/bench/redisserver"
	"culprit/queue"
)

// Options of Measure.
type Options struct {
	Rate        float64       // deliveries per second of the open loop
	Duration    time.Duration // of the open loop
	Max         time.Duration // of the closed loop
	Connections int
	Fsync       string
}

// distinct deliveries at most; beyond it they are sent again with other GUIDs.
const distinct = 60_000

// Measure prints the tables.
func Measure(ctx context.Context, w io.Writer, opts Options) (err error) {
	dir, err := os.MkdirTemp("", "bench-webhook")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	bot, probot, err := build(ctx, dir)
	if err != nil {
		return err
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	s, err := newSource(ctx, key)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.github.Close()) }()
	count := int(opts.Rate * opts.Duration.Seconds())
	all := s.deliveries(min(distinct, max(count, 20_000)))
	bytes := 0
	for _, d := range all[:len(mix)] {
		bytes += len(d.body)
	}
	fmt.Fprintf(w, "\nPayloads as githubtest sends them: %s in turns, %.1f kB on average, 200 repositories, 50 installations.\n", strings.Join(mix[:], ", "), float64(bytes)/float64(len(mix))/1000)
	fmt.Fprintf(w, "%s are distinct; of four, two make a job and two are merged into one. All lead to a job, so each GUID must be in Redis.\n", figures.Count(len(all)))
	fmt.Fprintf(w, "Open loop: %s deliveries at %s/s, latency from the moment that each was due. Greatest rate: %d connections, each sends again at once, %s. Redis %v.\n",
		figures.Count(count), figures.Rate(opts.Rate), opts.Connections, opts.Max, redisserver.Settings(opts.Fsync))

	delays := figures.Table{
		Title:  fmt.Sprintf("At %s deliveries per second (ms)", figures.Rate(opts.Rate)),
		Header: []string{"target", "sent", "2xx", "stored", "lost", "p50", "p99", "p99.9", "max", "CPU µs per delivery"},
	}
	most := figures.Table{
		Title:  "Greatest sustained rate",
		Header: []string{"target", "deliveries/s", "stored", "lost", "p50 ms", "p99", "CPU µs per delivery", "culprit / this"},
	}
	var ours float64
	for i, t := range targets(bot, probot) {
		r, err := t.measure(ctx, filepath.Join(dir, fmt.Sprint("target-", i)), s, all, count, opts)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		rate := float64(r.greatest.answered()) / r.greatest.elapsed.Seconds()
		ratio := ""
		if ours == 0 {
			ours = rate
		} else {
			ratio = fmt.Sprintf("%.1f", ours/rate)
		}
		p := r.steady.Percentiles()
		delays.Row(t.name, figures.Count(r.steady.sent), figures.Count(r.steady.answered()), r.steadyStored, r.steadyLost, figures.Ms(p[0]), figures.Ms(p[1]), figures.Ms(p[2]), figures.Ms(p[3]), r.steadyCPU)
		p = r.greatest.Percentiles()
		most.Row(t.name, figures.Rate(rate), r.greatestStored, r.greatestLost, figures.Ms(p[0]), figures.Ms(p[1]), r.greatestCPU, ratio)
		for _, o := range []*outcome{r.steady, r.greatest} {
			if o.failed > 0 {
				fmt.Fprintf(w, "%s: %d not answered with success, first: %v\n", t.name, o.failed, o.firstErr)
			}
		}
	}
	if err := limits(ctx, &delays, &most, count, opts); err != nil {
		return err
	}
	delays.Print(w)
	most.Print(w)
	return nil
}

// Percentiles 50, 99, 99.9 and 100.
func (o *outcome) Percentiles() []time.Duration { return o.took.Percentiles(50, 99, 99.9, 100) }

// figuresOf is what one target did.
type figuresOf struct {
	steady, greatest             *outcome
	steadyStored, greatestStored string
	steadyLost, greatestLost     string
	steadyCPU, greatestCPU       string
}

func (t target) measure(ctx context.Context, dir string, s *source, all []delivery, count int, opts Options) (r figuresOf, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return r, err
	}
	server, err := redisserver.Start(ctx, opts.Fsync)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	p, err := t.start(ctx, s, server, dir)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	rdb := server.Client()
	defer rdb.Close()
	ids := newGUIDs()
	dial := overHTTP(p.addr, t.path, all, ids)
	account := func(o *outcome, first int, before time.Duration) (in, lost, cpu string, err error) {
		cpu = figures.Count(int((figures.CPU(p.cmd.Process.Pid) - before).Microseconds()) / max(1, o.answered()))
		if len(t.stores) == 0 {
			return "-", "-", cpu, nil
		}
		found, err := stored(ctx, rdb, t.stores, ids, first, o.sent)
		return figures.Count(found), figures.Count(o.answered() - found), cpu, err
	}

	// Compilers that work at run time and connection pools get warm first.
	warm, err := closedLoop(ctx, 2*time.Second, 0, opts.Connections, dial)
	if err != nil {
		return r, err
	}
	first := warm.sent
	before := figures.CPU(p.cmd.Process.Pid)
	if r.steady, err = openLoop(ctx, opts.Rate, count, opts.Connections, overHTTP(p.addr, t.path, all, ids.from(first))); err != nil {
		return r, err
	}
	if r.steadyStored, r.steadyLost, r.steadyCPU, err = account(r.steady, first, before); err != nil {
		return r, err
	}
	first += count
	before = figures.CPU(p.cmd.Process.Pid)
	if r.greatest, err = closedLoop(ctx, opts.Max, first, opts.Connections, dial); err != nil {
		return r, err
	}
	r.greatestStored, r.greatestLost, r.greatestCPU, err = account(r.greatest, first, before)
	return r, err
}

// limits adds what the same Redis gives without HTTP: one small write, and the
// queue's own script called in this process.
func limits(ctx context.Context, delays, most *figures.Table, count int, opts Options) (err error) {
	server, err := redisserver.Start(ctx, opts.Fsync)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	rdb := server.Client()
	defer rdb.Close()
	q, err := queue.Open(ctx, queue.Options{Redis: rdb})
	if err != nil {
		return err
	}
	bare := func(n int) error { return rdb.HSet(ctx, "bare", n, 1).Err() }
	enqueue := func(n int) error {
		commit := n / 2
		repo := fmt.Sprintf("organization-%03d/repository-%05d", commit%50, commit%200)
		_, err := q.Enqueue(ctx, queue.Job{
			Delivery: fmt.Sprintf("72d3162e-cc78-41e3-81ab-%012d", n), Key: fmt.Sprintf("%s@%040d/ci", repo, commit),
			Ref: fmt.Sprintf("%s@refs/heads/feature-%d", repo, commit), SHA: fmt.Sprintf("%040d", commit),
			Repository: repo, Installation: fmt.Sprint(1000 + commit%50), Payload: make([]byte, 256),
		})
		return err
	}
	for _, l := range []struct {
		name string
		do   sender
	}{{"limit: one HSET from Go", bare}, {"limit: Queue.Enqueue from Go", enqueue}} {
		dial := func() (sender, func(), error) { return l.do, func() {}, nil }
		steady, err := openLoop(ctx, opts.Rate, count, opts.Connections, dial)
		if err != nil {
			return err
		}
		greatest, err := closedLoop(ctx, opts.Max, count, opts.Connections, dial)
		if err != nil {
			return err
		}
		p := steady.Percentiles()
		delays.Row(l.name, figures.Count(steady.sent), "-", "-", "-", figures.Ms(p[0]), figures.Ms(p[1]), figures.Ms(p[2]), figures.Ms(p[3]), "-")
		p = greatest.Percentiles()
		most.Row(l.name, figures.Rate(float64(greatest.answered())/greatest.elapsed.Seconds()), "-", "-", figures.Ms(p[0]), figures.Ms(p[1]), "-", "")
		if err := errors.Join(steady.firstErr, greatest.firstErr); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return nil
}

// Versions of what the tables compare, as pairs for figures.Machine.
func Versions() []string {
	node := "unknown"
	if out, err := exec.Command("node", "--version").Output(); err == nil {
		node = strings.TrimSpace(string(out))
	}
	return []string{"redis", redisserver.Version(), "node", node, "probot", "14.3.2 (bench/probot/package-lock.json)"}
}
