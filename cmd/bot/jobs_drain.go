package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"culprit/queue"
)

// drainLook is the time between two looks at the running jobs.
const drainLook = 500 * time.Millisecond

// drainNames is how many running jobs a line of drain names.
const drainNames = 5

func (j *jobsRun) pause() error {
	if err := j.pauseAll(); err != nil {
		return err
	}
	running, _, err := j.counts()
	if err != nil {
		return err
	}
	fmt.Fprintf(j.Stdout, "paused: nobody claims jobs until `bot jobs resume`; %s\n", goesOn(running))
	return nil
}

func (j *jobsRun) pauseAll() error {
	for _, q := range j.queues {
		if err := q.Pause(j.ctx); err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
	}
	return nil
}

// counts are the jobs that run and wait in all queues.
func (j *jobsRun) counts() (running, waiting int, err error) {
	for _, q := range j.queues {
		s, err := q.Stats(j.ctx)
		if err != nil {
			return 0, 0, err
		}
		running, waiting = running+s.Depth[queue.Running], waiting+s.Depth[queue.Queued]
	}
	return running, waiting, nil
}

func goesOn(running int) string {
	switch running {
	case 0:
		return "none runs"
	case 1:
		return "1 runs on"
	}
	return fmt.Sprintf("%d run on", running)
}

func (j *jobsRun) resume() error {
	for _, q := range j.queues {
		if err := q.Resume(j.ctx); err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
	}
	running, waiting, err := j.counts()
	if err != nil {
		return err
	}
	fmt.Fprintf(j.Stdout, "resumed: %d waiting, %d running\n", waiting, running)
	return nil
}

// drain pauses the queue and says what it waits for whenever that changes.
func (j *jobsRun) drain() error {
	ctx := j.ctx
	if j.flags.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, j.flags.timeout)
		defer cancel()
	}
	if err := j.pauseAll(); err != nil {
		return err
	}
	tick := time.NewTicker(drainLook)
	defer tick.Stop()
	said := ""
	for {
		running, err := j.running(ctx)
		if err == nil && len(running) == 0 {
			fmt.Fprintln(j.Stdout, "drained: no job runs; nobody claims jobs until `bot jobs resume`")
			return nil
		}
		if err == nil {
			if now := waitsFor(running, j.Now()); now != said {
				j.note("%s", now)
				said = now
			}
			select {
			case <-tick.C:
				continue
			case <-ctx.Done():
			}
		}
		if ctx.Err() == nil {
			return err
		}
		why := "interrupted"
		if j.ctx.Err() == nil {
			why = fmt.Sprintf("not drained after %s", j.flags.timeout)
		}
		j.note("%s; nobody claims jobs until `bot jobs resume`. %s", why, said)
		j.code = exitStopped
		return nil
	}
}

// running are the jobs of all queues that run.
func (j *jobsRun) running(ctx context.Context) (all []queue.Info, err error) {
	for _, q := range j.queues {
		found, _, err := q.Find(ctx, queue.Filter{States: []queue.State{queue.Running}}, 0)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// waitsFor names the running jobs; not their progress, which changes all the
// time.
func waitsFor(running []queue.Info, now time.Time) string {
	var names []string
	for _, i := range running[:min(len(running), drainNames)] {
		name := fmt.Sprintf("%s (%s on %s)", i.ID, i.Repository, i.Worker)
		switch {
		case now.After(i.DueAt):
			name += " whose lease is over and which a living worker must take over first"
		case i.Stop != queue.SignalNone:
			name += " which was asked to stop"
		}
		names = append(names, name)
	}
	if more := len(running) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("waiting for %d running: %s", len(running), strings.Join(names, ", "))
}
