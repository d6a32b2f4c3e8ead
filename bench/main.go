// Bench measures Culprit against what it is measured by: its queue against
// hibiken/asynq, its webhook edge against a Probot app, on one machine in one
// run. It is a module of its own, so that the product depends on neither.
//
//	go run . queue      throughput and latency of the queue, next to asynq
//	go run . backlog    100,000 waiting jobs in 1,000 groups
//	go run . webhook    1,000 deliveries a second, next to Probot
//
// Each takes -h. docs/benchmarks.md has the results that were recorded.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// commands by name.
var commands = map[string]func(ctx context.Context, args []string, out io.Writer) error{
	"queue":   benchQueue,
	"backlog": benchBacklog,
	"webhook": benchWebhook,
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 0 {
		if command, ok := commands[args[0]]; ok {
			return command(ctx, args[1:], out)
		}
	}
	return errors.New("say what to measure: queue, backlog or webhook")
}
