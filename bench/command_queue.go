package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"

	"culprit/bench/figures"
	"culprit/bench/jobqueues"
	"culprit/bench/redisserver"
)

func benchQueue(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("queue", flag.ContinueOnError)
	jobs := flags.Int("jobs", 5000, "jobs of one round")
	rounds := flags.Int("rounds", 3, "rounds, of which the median counts")
	fsync := flags.String("fsync", "everysec", "appendfsync of Redis: everysec, always or no")
	workers := flags.String("workers", "1,16,64", "numbers of workers")
	if err := flags.Parse(args); err != nil {
		return err
	}
	opts := jobqueues.Options{Jobs: *jobs, Rounds: *rounds, Fsync: *fsync}
	for s := range strings.SplitSeq(*workers, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return fmt.Errorf("-workers: %q is not a number of workers", s)
		}
		opts.Workers = append(opts.Workers, n)
	}
	figures.Machine(out, "redis", redisserver.Version())
	return jobqueues.Compare(ctx, out, opts)
}
