package main

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	"culprit/queue"
)

// A chaosMachineWorker is a worker process that is started again whenever it
// is gone, as an orchestrator does.
type chaosMachineWorker struct {
	name  string
	world *world // of its machine
	log   *botLog
	proc  *botProcess
	gone  bool
	read  int // lines of the log
	// when to start it again, and when to let it go on; zero: it runs
	startAt, goOnAt time.Time
}

// tail is the end of what it said.
func (m *chaosMachineWorker) tail() string {
	lines, _ := m.log.since(max(0, m.log.len()-60))
	return strings.Join(lines, "\n")
}

// calmly is how long the jobs may take once the blows have stopped. A busy
// machine does little between two blows.
const calmly = 4 * time.Minute

// direct runs the jobs under blows until all have ended, or calmly after the
// plan's time.
func (w *chaosWorld) direct() {
	w.t.Helper()
	calmAt := time.Now().Add(w.plan.limit)
	var redisAt, blowAt, lookAt time.Time // when to start Redis again, ...
	waiting := w.jobs[:w.plan.jobs]
	enqueueAt := time.Now()
	for {
		now := time.Now()
		for _, m := range w.workers {
			w.tend(m, now)
		}
		switch {
		case !redisAt.IsZero() && now.After(redisAt):
			redisAt = time.Time{}
			w.redis.start()
			w.count.redis++
		case now.After(calmAt):
			w.plan.faults = "0,0,0"
		case redisAt.IsZero() && now.After(blowAt):
			if !blowAt.IsZero() && w.blow(now) {
				w.redis.stop()
				redisAt = now.Add(w.chance(w.plan.lease))
			}
			blowAt = now.Add(w.plan.every/2 + w.chance(w.plan.every))
		}
		if redisAt.IsZero() && now.After(enqueueAt) && len(waiting) > 0 {
			if w.enqueue(waiting[0]) {
				waiting = waiting[1:]
			}
			enqueueAt = now.Add(w.chance(2 * w.plan.limit / 8 / time.Duration(w.plan.jobs)))
		}
		if redisAt.IsZero() {
			w.stopJobs(now)
		}
		if now.After(lookAt) && redisAt.IsZero() {
			if w.plan.enough != nil && w.plan.enough(w) {
				break
			}
			if len(waiting) == 0 && w.ended() {
				break
			}
			lookAt = now.Add(300 * time.Millisecond)
		}
		if now.After(calmAt.Add(calmly)) {
			w.t.Errorf("seed %d: not all jobs ended within %s of blows and %s of calm", w.plan.seed, w.plan.limit, calmly)
			break
		}
		w.pause(20 * time.Millisecond)
	}
	if !redisAt.IsZero() {
		w.redis.start()
	}
}

// pause is the director's tick.
func (w *chaosWorld) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	<-t.C
}

func (w *chaosWorld) chance(most time.Duration) time.Duration {
	return time.Duration(w.random.Int64N(int64(most) + 1))
}

// tend reads what a worker says, and starts or resumes it when its time is
// there.
func (w *chaosWorld) tend(m *chaosMachineWorker, now time.Time) {
	lines, _ := m.log.since(m.read)
	m.read += len(lines)
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "chaos: stops"):
			w.count.pauses++
			m.goOnAt = now.Add(w.longerThanLease())
		case strings.HasPrefix(line, "chaos: dies"):
			w.count.kills++
		case strings.Contains(line, `msg="job lost to another worker"`):
			w.count.lost++
		case strings.Contains(line, "panic"):
			w.t.Errorf("seed %d: %s: %s", w.plan.seed, m.name, line)
		}
	}
	if m.proc != nil && !m.gone {
		select {
		case <-m.proc.done:
			m.gone, m.startAt, m.goOnAt = true, now.Add(w.chance(500*time.Millisecond)), time.Time{}
		default:
		}
	}
	switch {
	case m.gone && !w.ending && now.After(m.startAt):
		w.start(m)
	case !m.gone && !m.goOnAt.IsZero() && now.After(m.goOnAt):
		m.goOnAt = time.Time{}
		_ = m.proc.cmd.Process.Signal(syscall.SIGCONT)
	}
}

func (w *chaosWorld) start(m *chaosMachineWorker) {
	env := append(m.world.environ(), fmt.Sprintf("CHAOS_SEED=%d", w.random.Uint64()), "CHAOS_FAULTS="+w.plan.faults)
	m.proc = spawnProgram(w.t, "chaosworker", m.log, env, "--lease", w.plan.lease.String(), "--sandbox", "off", "--allow-no-sandbox", "--jobs", "2")
	m.gone = false
}

func (w *chaosWorld) longerThanLease() time.Duration {
	return w.plan.lease*11/10 + w.chance(w.plan.lease)
}

// blow hits somebody; true: it is Redis' turn.
func (w *chaosWorld) blow(now time.Time) bool {
	p := w.random.Float64()
	m := w.workers[w.random.IntN(len(w.workers))]
	switch {
	case p < .1:
		return true
	case m.gone || !m.goOnAt.IsZero():
	case p < .65:
		w.count.kills++
		_ = m.proc.cmd.Process.Kill()
	default:
		w.count.pauses++
		_ = m.proc.cmd.Process.Signal(syscall.SIGSTOP)
		m.goOnAt = now.Add(w.longerThanLease())
	}
	return false
}

func (w *chaosWorld) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(w.t.Context(), 5*time.Second)
}

// enqueue puts a job into the queue, as a webhook does; false: not now.
func (w *chaosWorld) enqueue(j *chaosJob) bool {
	ctx, cancel := w.context()
	defer cancel()
	r, err := w.queue.Enqueue(ctx, j.job)
	if err != nil {
		return false // its delivery will be sent again
	}
	if r.Outcome != queue.Enqueued && r.Outcome != queue.Duplicate {
		w.t.Errorf("job %s is %s", j.job.Key, r.Outcome)
	}
	j.id, j.queued = r.ID, time.Now()
	return true
}

// stopJobs calls jobs off and supersedes them when their time is there.
func (w *chaosWorld) stopJobs(now time.Time) {
	for _, j := range w.jobs {
		if j.stop == "" || j.stopped || j.id == "" || now.Before(j.queued.Add(j.after)) {
			continue
		}
		if j.stop == "supersede" {
			j.stopped = w.enqueue(j.next)
			continue
		}
		ctx, cancel := w.context()
		_, err := w.queue.Cancel(ctx, j.id, "a person stopped it")
		cancel()
		j.stopped = err == nil
	}
}

// ended reports whether all jobs have, and all of it was told.
func (w *chaosWorld) ended() bool {
	for _, j := range w.jobs {
		if j.id == "" || j.stop != "" && !j.stopped {
			return false
		}
	}
	ctx, cancel := w.context()
	defer cancel()
	stats, err := w.queue.Stats(ctx)
	if err != nil {
		return false
	}
	for state, n := range stats.Depth {
		if n > 0 && !state.Ended() {
			return false
		}
	}
	return stats.ToReport == 0
}

// rest lets paused workers go on, stops all, starts them without faults, waits
// until all stand idle, and stops them again. So whatever one of them still had
// in hand, or takes up of what it finds on its machine, is seen.
func (w *chaosWorld) rest() {
	w.t.Helper()
	w.ending = true
	for _, m := range w.workers {
		if m.goOnAt = (time.Time{}); !m.gone {
			_ = m.proc.cmd.Process.Signal(syscall.SIGCONT)
		}
	}
	w.stopWorkers()
	w.plan.faults = "0,0,0"
	for _, m := range w.workers {
		from := m.log.len()
		w.start(m)
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
		if m.log.await(ctx, from, `msg="taking jobs"`, m.proc.done) == "" {
			w.t.Errorf("seed %d: %s does not start any more:\n%s", w.plan.seed, m.name, m.tail())
		}
		cancel()
	}
	eventually(w.t, 2*time.Minute, "all is at rest", w.ended)
	w.stopWorkers()
}

// stopWorkers stops all of them as an operator does.
func (w *chaosWorld) stopWorkers() {
	w.t.Helper()
	for _, m := range w.workers {
		if !m.gone {
			_ = m.proc.cmd.Process.Signal(syscall.SIGTERM)
		}
	}
	limit := time.Now().Add(40 * time.Second)
	for _, m := range w.workers {
		for w.tend(m, time.Now()); !m.gone; w.tend(m, time.Now()) {
			if time.Now().After(limit) {
				m.proc.dump()
				w.t.Errorf("seed %d: %s does not stop:\n%s", w.plan.seed, m.name, m.tail())
				m.proc.kill()
			}
			w.pause(20 * time.Millisecond)
		}
	}
}
