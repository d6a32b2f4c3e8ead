package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// work runs the handler on one job while its lease is renewed, and then ends
// the claim. hard ends when the shutdown's grace is over.
func (p *Pool) work(hard context.Context, t *task) {
	defer p.free(t)
	defer p.remove(t)
	defer t.cancel(nil)
	c, log := t.claim, t.log
	log.Info("job claimed", "attempt", c.Attempt, "crashes", c.Crashes, "crashes_in_row", c.CrashesInRow)
	p.opts.Observe(Event{Kind: EventClaimed, Job: c.Job, State: Running, Took: c.Waited})

	beat, stopBeat := context.WithCancel(hard)
	var beating sync.WaitGroup
	beating.Go(func() { p.renew(beat, t) })
	out, crash := p.handle(t)
	event := Event{Kind: EventFinished, Job: c.Job, Took: time.Since(t.began), Err: out.err}
	event.State, event.Err = p.end(hard, t, out, crash)
	stopBeat()
	beating.Wait()

	p.mu.Lock()
	abandoned := t.abandoned
	p.mu.Unlock()
	switch {
	case abandoned:
		log.Warn("handler returned after its job was given back")
	case isLost(event.Err):
		event.Kind = EventLost
		log.Warn("job lost to another worker", "took", event.Took)
		p.opts.Observe(event)
	case event.Err != nil:
		log.Error("cannot end job; it will be taken over when its lease ends", "error", event.Err)
	default:
		log.Info("job left this worker", "state", event.State, "took", event.Took, "error", out.err)
		event.Err = out.err
		p.opts.Observe(event)
	}
}

// handle calls the handler. A panic is a crash of this job, not of the process
// that works on others.
func (p *Pool) handle(t *task) (out Outcome, crash string) {
	defer func() {
		if r := recover(); r != nil {
			crash = fmt.Sprintf("handler panicked: %v", r)
			t.log.Error("handler panicked", "panic", r, "stack", string(debug.Stack()))
		}
	}()
	return p.opts.Handler.Handle(t.ctx, t.claim), ""
}

// renew sends heartbeats until its context ends, and ends the job's context when
// the job must stop.
func (p *Pool) renew(ctx context.Context, t *task) {
	every := p.q.opts.Lease / 3
	tick := time.NewTicker(every)
	defer tick.Stop()
	answered := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-t.poke:
		}
		call, cancel := context.WithTimeout(ctx, every)
		signal, err := t.claim.Heartbeat(call)
		cancel()
		if ctx.Err() != nil {
			return
		}
		switch {
		case isLost(err):
			t.cancel(ErrLost)
			return
		case err == nil:
			answered = time.Now()
			if cause := signal.cause(); cause != nil {
				t.cancel(cause)
			}
		case time.Since(answered) > p.q.opts.Lease+p.opts.RedisGrace:
			t.cancel(fmt.Errorf("%w: Redis has not answered for %v", ErrLost, time.Since(answered).Round(time.Second)))
			return
		default:
			t.log.Warn("cannot renew lease", "error", err)
		}
	}
}

// end turns the outcome into the job's next state, and tries for RedisGrace
// while Redis does not answer.
func (p *Pool) end(hard context.Context, t *task, out Outcome, crash string) (State, error) {
	cause := context.Cause(t.ctx)
	if isLost(cause) {
		return "", cause
	}
	if crash == "" && out.kind == outcomeDone {
		if err, ok := p.complete(hard, t, out.summary); ok {
			return Done, err
		}
	}
	act := ending(t.claim, out, crash, cause)
	ctx, cancel := context.WithTimeout(hard, p.opts.RedisGrace)
	defer cancel()
	for n := 1; ; n++ {
		call, cancelCall := context.WithTimeout(ctx, callTimeout)
		state, err := act(call)
		cancelCall()
		if err == nil || isLost(err) {
			return state, err
		}
		t.log.Warn("cannot end job yet", "error", err)
		wait := time.NewTimer(Backoff{Base: 100 * time.Millisecond, Max: 5 * time.Second}.next(n, 0))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return "", err
		}
	}
}

// ending chooses the operation. A job that was told to stop has not failed,
// whatever error its handler came back with.
func ending(c *Claim, out Outcome, crash string, stopped error) func(context.Context) (State, error) {
	release := func(ctx context.Context) (State, error) { return c.Release(ctx) }
	switch {
	case crash != "":
		return func(ctx context.Context) (State, error) { return c.Crash(ctx, crash) }
	case out.kind == outcomeDone:
		return func(ctx context.Context) (State, error) { return Done, c.Complete(ctx, out.summary) }
	case out.kind == outcomeSnooze:
		return func(ctx context.Context) (State, error) { return c.Snooze(ctx, out.until, out.summary) }
	case out.kind == outcomeRelease, stopped != nil:
		return release
	case out.kind == outcomeRetry:
		return func(ctx context.Context) (State, error) { return c.Fail(ctx, out.err, Transient, out.after) }
	}
	return func(ctx context.Context) (State, error) { return c.Fail(ctx, out.err, Permanent, 0) }
}

// reapRegularly takes over the jobs of silent workers.
func (p *Pool) reapRegularly(ctx context.Context) {
	tick := time.NewTicker(p.q.opts.Lease / 3)
	defer tick.Stop()
	var purged time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		p.reap(ctx)
		if time.Since(purged) > time.Minute {
			purged = time.Now()
			call, cancel := context.WithTimeout(ctx, callTimeout)
			if _, err := p.q.Purge(call); err != nil && ctx.Err() == nil {
				p.opts.Log.Warn("cannot forget old jobs", "error", err)
			}
			cancel()
		}
	}
}

func (p *Pool) reap(ctx context.Context) {
	for {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		recovered, dead, err := p.q.reap(call, p.q.opts.Lease)
		cancel()
		if err != nil && ctx.Err() == nil {
			p.opts.Log.Warn("cannot reap jobs", "error", err)
		}
		for _, info := range append(recovered, dead...) {
			p.opts.Log.Warn("took job from a silent worker", "job", info.ID, "worker", info.Worker,
				"crashes", info.Crashes, "crashes_in_row", info.CrashesInRow, "state", info.State)
			p.opts.Observe(Event{Kind: EventRecovered, Job: info.Job, State: info.State})
		}
		if err != nil || len(recovered)+len(dead) < reapBatch {
			return
		}
	}
}

// reportRegularly tells ends that no worker told.
func (p *Pool) reportRegularly(ctx context.Context) {
	for ctx.Err() == nil {
		r, err := p.q.TakeReport(ctx)
		if err != nil {
			if !errors.Is(err, ErrEmpty) && ctx.Err() == nil {
				p.opts.Log.Warn("cannot take ends to report", "error", err)
			}
			p.wake.waitReport(ctx, p.opts.Poll)
			continue
		}
		p.tell(ctx, r)
	}
}

func (p *Pool) tell(ctx context.Context, r *Report) {
	log := p.opts.Log.With("job", r.ID, "delivery", r.Delivery, "state", r.State, "try", r.Try)
	call, cancel := context.WithTimeout(ctx, p.q.opts.Lease*9/10)
	err := p.opts.Report(call, r)
	cancel()
	// The answer is noted even while shutting down, or the end is told twice.
	note, cancelNote := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancelNote()
	switch {
	case err == nil:
		if err = r.Done(note); err == nil {
			log.Info("reported the end of a job")
			p.opts.Observe(Event{Kind: EventReported, Job: r.Job, State: r.State})
			return
		}
	case ctx.Err() != nil:
		err = r.Later(note, 0)
	default:
		log.Warn("cannot report the end of a job yet", "error", err)
		err = r.Later(note, Backoff{Base: 5 * time.Second, Max: time.Hour}.next(r.Try, 0))
	}
	if err != nil && !isLost(err) {
		log.Warn("cannot note a report", "error", err)
	}
}
