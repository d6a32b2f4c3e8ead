package main

import (
	"context"
	"flag"
	"io"
	"time"

	"culprit/bench/figures"
	"culprit/bench/webhookload"
)

func benchWebhook(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("webhook", flag.ContinueOnError)
	opts := webhookload.Options{}
	flags.Float64Var(&opts.Rate, "rate", 1000, "deliveries per second of the open loop")
	flags.DurationVar(&opts.Duration, "duration", 10*time.Second, "of the open loop")
	flags.DurationVar(&opts.Max, "max", 5*time.Second, "of the search for the greatest rate")
	flags.IntVar(&opts.Connections, "connections", 64, "of the load generator")
	flags.StringVar(&opts.Fsync, "fsync", "everysec", "appendfsync of Redis: everysec, always or no")
	if err := flags.Parse(args); err != nil {
		return err
	}
	figures.Machine(out, webhookload.Versions()...)
	return webhookload.Measure(ctx, out, opts)
}
