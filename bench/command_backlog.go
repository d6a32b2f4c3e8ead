package main

import (
	"context"
	"flag"
	"io"

	"culprit/bench/backlog"
	"culprit/bench/figures"
	"culprit/bench/redisserver"
)

func benchBacklog(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("backlog", flag.ContinueOnError)
	jobs := flags.Int("jobs", 100_000, "waiting jobs")
	groups := flags.Int("groups", 1000, "repositories that they belong to")
	claims := flags.Int("claims", 5000, "jobs that are claimed by each number of workers")
	fsync := flags.String("fsync", "everysec", "appendfsync of Redis: everysec, always or no")
	if err := flags.Parse(args); err != nil {
		return err
	}
	figures.Machine(out, "redis", redisserver.Version())
	if err := backlog.Measure(ctx, out, backlog.Options{Jobs: *jobs, Groups: *groups, Claims: *claims, Fsync: *fsync}); err != nil {
		return err
	}
	return backlog.Fairness(ctx, out, *fsync)
}
