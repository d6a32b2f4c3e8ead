package jobqueues

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"culprit/bench/concurrently"
	"culprit/bench/figures"
	"culprit/bench/redisserver"
)

// Options of Compare.
type Options struct {
	Jobs    int    // enqueued and drained in each round
	Rounds  int    // of which the median counts
	Fsync   string // appendfsync of Redis
	Workers []int
}

// A side is a queue library with settings.
type side interface {
	name() string
	open(ctx context.Context, server *redisserver.Server, jobs int) (bench, error)
}

// A bench is a side on a Redis of its own.
type bench interface {
	measured() *probe
	enqueue(ctx context.Context, n int) error
	drain(ctx context.Context, processes, slots int) error
	close() error
}

// payloadSize is what a Request of Culprit has, in bytes.
const payloadSize = 256

func payload() []byte { return make([]byte, payloadSize) }

// A shape is how the slots are spread over processes (queue.Pool,
// asynq.Server), each of which claims by one goroutine.
type shape struct{ workers, processes int }

// result of the rounds of one side and shape.
type result struct {
	enqueued, drained, both []float64 // jobs per second
	redisCPU, ownCPU        []float64 // microseconds per job
	commands                []float64 // that Redis carried out per job, those of scripts too
	took                    [operations]*figures.Latencies
}

// Compare runs all sides in turns and prints the tables.
func Compare(ctx context.Context, w io.Writer, opts Options) error {
	sides := []side{culpritSide{}, asynqSide{unique: true}, asynqSide{}, asynqSide{unique: true, tuned: true}}
	var shapes []shape
	for _, n := range opts.Workers {
		shapes = append(shapes, shape{n, 1})
		if n >= 16 {
			shapes = append(shapes, shape{n, 4})
		}
	}
	fmt.Fprintf(w, "\nRedis %v on loopback TCP. Payload %d bytes, %s jobs a round, median of %d rounds, sides in turns, an empty Redis each.\n",
		redisserver.Settings(opts.Fsync), payloadSize, figures.Count(opts.Jobs), opts.Rounds)
	fmt.Fprintln(w, "culprit: delivery GUID, merging key, superseding, turns and counting on; limits off. asynq unique: TaskID and Unique(1h). asynq plain: neither.")
	fmt.Fprintln(w, "asynq tuned: TaskCheckInterval 10 ms, its other periodic work rarer. Handlers return at once.")
	rates := figures.Table{
		Title:  "Jobs per second; ratios are culprit / asynq, over 1 means that culprit is faster",
		Header: []string{"workers", "side", "enqueue/s", "claim + finish/s", "all three/s", "ratio enqueue", "ratio claim + finish", "ratio all", "CPU µs/job: Redis", "client", "Redis commands/job"},
	}
	delays := figures.Table{
		Title:  "Calls to Redis in ms, p50 / p99",
		Header: []string{"workers", "side", "enqueue", "claim", "finish"},
	}
	for _, sh := range shapes {
		results := make([]result, len(sides))
		for round := range opts.Rounds {
			for i := range sides {
				at := (i + round) % len(sides) // nobody is always first
				if err := results[at].run(ctx, sides[at], sh, opts); err != nil {
					return fmt.Errorf("%s with %d workers: %w", sides[at].name(), sh.workers, err)
				}
			}
		}
		label := fmt.Sprintf("%d in %d", sh.workers, sh.processes)
		ours := results[0]
		for i, s := range sides {
			r := results[i]
			row := []any{label, s.name(), figures.Rate(figures.Median(r.enqueued)), figures.Rate(figures.Median(r.drained)), figures.Rate(figures.Median(r.both))}
			for _, pair := range [][2][]float64{{ours.enqueued, r.enqueued}, {ours.drained, r.drained}, {ours.both, r.both}} {
				if i == 0 {
					row = append(row, "")
				} else {
					row = append(row, fmt.Sprintf("%.2f", figures.Median(pair[0])/figures.Median(pair[1])))
				}
			}
			row = append(row, figures.Rate(figures.Median(r.redisCPU)), figures.Rate(figures.Median(r.ownCPU)), figures.Rate(figures.Median(r.commands)))
			rates.Row(row...)
			cells := []any{label, s.name()}
			for op := enqueue; op <= finish; op++ {
				if r.took[op].Len() == 0 {
					cells = append(cells, "with claims")
					continue
				}
				p := r.took[op].Percentiles(50, 99)
				cells = append(cells, figures.Ms(p[0])+" / "+figures.Ms(p[1]))
			}
			delays.Row(cells...)
		}
	}
	rates.Print(w)
	delays.Print(w)
	return nil
}

// run adds one round.
func (r *result) run(ctx context.Context, s side, sh shape, opts Options) (err error) {
	server, err := redisserver.Start(ctx, opts.Fsync)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	b, err := s.open(ctx, server, opts.Jobs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()

	commands, err := server.Commands(ctx)
	if err != nil {
		return err
	}
	redisCPU, ownCPU := figures.CPU(server.PID), figures.CPU(os.Getpid())
	began := time.Now()
	if err := produce(ctx, b, sh.workers, opts.Jobs); err != nil {
		return err
	}
	enqueued := time.Since(began)
	began = time.Now()
	if err := b.drain(ctx, sh.processes, sh.workers); err != nil {
		return err
	}
	drained := b.measured().ended.Sub(began) // without the time that shutting down takes

	now, err := server.Commands(ctx)
	if err != nil {
		return err
	}

	n := float64(opts.Jobs)
	r.enqueued = append(r.enqueued, n/enqueued.Seconds())
	r.drained = append(r.drained, n/drained.Seconds())
	r.both = append(r.both, n/(enqueued+drained).Seconds())
	r.redisCPU = append(r.redisCPU, float64((figures.CPU(server.PID)-redisCPU).Microseconds())/n)
	r.ownCPU = append(r.ownCPU, float64((figures.CPU(os.Getpid())-ownCPU).Microseconds())/n)
	r.commands = append(r.commands, float64(now-commands)/n)
	for op := range operations {
		if r.took[op] == nil {
			r.took[op] = &figures.Latencies{}
		}
		r.took[op].Merge(&b.measured().took[op])
	}
	return nil
}

// produce enqueues all jobs by that many goroutines.
func produce(ctx context.Context, b bench, producers, jobs int) error {
	return concurrently.Do(producers, jobs, func(_, n int) error {
		if err := b.enqueue(ctx, n); err != nil {
			return fmt.Errorf("enqueue: %w", err)
		}
		return nil
	})
}
