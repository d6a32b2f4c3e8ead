package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"culprit/internal/config"
	"culprit/queue"
)

// chaosWorker is the main function of a worker of the chaos tests: `bot work`
// with a scripted investigation and with faults of its own. It takes
//
//	CHAOS_SEED    of its faults
//	CHAOS_FAULTS  their chances: stop-valid,die-valid,die-published
func chaosWorker() {
	if err := runChaosWorker(); err != nil {
		fmt.Fprintln(os.Stderr, "chaos worker:", err)
		os.Exit(1)
	}
}

func runChaosWorker() (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cfg, err := config.Load(config.Work, os.Args[1:], os.LookupEnv)
	if err != nil {
		return err
	}
	f := &faults{say: os.Stderr}
	seed, err := strconv.ParseUint(os.Getenv("CHAOS_SEED"), 10, 64)
	if err != nil {
		return err
	}
	f.random = rand.New(rand.NewPCG(seed, 1))
	if _, err := fmt.Sscanf(os.Getenv("CHAOS_FAULTS"), "%g,%g,%g", &f.stopValid, &f.dieValid, &f.diePublished); err != nil {
		return err
	}
	svc, err := openService(ctx, cfg, os.Stderr, time.Now)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := svc.close(); err == nil {
			err = cerr
		}
	}()
	svc.seams = seams{
		investigate: func(ctx context.Context, i investigation) error {
			return (&scripted{investigation: i, workspace: workspace{i.mirror}, faults: f}).run(ctx)
		},
		valid: func(ctx context.Context, c *queue.Claim) error {
			if err := c.Valid(ctx); err != nil {
				return err
			}
			f.hit(f.stopValid, "stops before it publishes", syscall.SIGSTOP)
			f.hit(f.dieValid, "dies before it publishes", syscall.SIGKILL)
			return nil
		},
	}
	return svc.run(ctx, false, true)
}
