// Command install fetches GitHub's own description and the public webhook
// examples for the conformance tests (`make openapi`). It needs npm and the
// network once; what is installed is found again.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"culprit/internal/conformance"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	path, err := conformance.Install(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "install GitHub's description:", err)
		os.Exit(1)
	}
	fmt.Println(path)
}
