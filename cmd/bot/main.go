// Command bot is Culprit: it finds, proves and mends what made CI red.
//
// Run it without arguments for the list of commands.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"culprit/internal/sandbox"
)

func main() {
	sandbox.Confine() // where this process was started to become a confined command
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	app := App{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Args: os.Args[1:], LookupEnv: os.LookupEnv, Now: time.Now,
	}
	code := app.Run(ctx)
	stop()
	os.Exit(code)
}
