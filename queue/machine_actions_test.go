package queue_test

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"culprit/queue"
)

// actions are what may happen next, all with the same chance.
func (m *machine) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"enqueue": m.enqueue, "enqueue more": m.enqueue, "claim": m.claim, "claim more": m.claim,
		"reap": m.reap, "tell": m.tell, "told": m.told, "pause": m.pause,
		"cancel": m.cancel, "cancel matching": m.cancelMatching, "retry": m.retry,
		"heartbeat": m.holds(func(rt *rapid.T, c *queue.Claim, _ bool) error { _, err := c.Heartbeat(m.ctx); return err }),
		"valid": m.holds(func(rt *rapid.T, c *queue.Claim, owner bool) error {
			err := c.Valid(m.ctx)
			if stop := m.jobs[c.ID].Stop; owner && (err == nil) != (stop == queue.SignalNone) {
				rt.Fatalf("the owner was asked %q, and Valid says %v", stop, err)
			}
			if owner {
				return nil
			}
			return err
		}),
		"checkpoint": m.holds(m.checkpoint),
		"complete":   m.leaves(func(rt *rapid.T, c *queue.Claim) (queue.State, error) { return queue.Done, c.Complete(m.ctx, "") }),
		"fail": m.leaves(func(rt *rapid.T, c *queue.Claim) (queue.State, error) {
			kind := rapid.SampledFrom([]queue.FailureKind{queue.Transient, queue.Permanent}).Draw(rt, "kind")
			return c.Fail(m.ctx, errors.New("x"), kind, 0)
		}),
		"snooze": m.leaves(func(rt *rapid.T, c *queue.Claim) (queue.State, error) {
			return c.Snooze(m.ctx, m.clock.Now().Add(time.Minute), "")
		}),
		"release": m.leaves(func(rt *rapid.T, c *queue.Claim) (queue.State, error) { return c.Release(m.ctx) }),
		"crash":   m.buries(func(c *queue.Claim) (queue.State, error) { return c.Crash(m.ctx, "panic") }),
		"abandon": m.buries(func(c *queue.Claim) (queue.State, error) { return m.Abandon(m.ctx, c.ID, c.Fence) }),
		"time": func(rt *rapid.T) {
			m.clock.Advance(time.Duration(rapid.IntRange(0, 60).Draw(rt, "seconds")) * time.Second)
		},
		"": m.check,
	}
}

// failovers are further actions, for a Redis that can copy keys.
func (m *machine) failovers() map[string]func(*rapid.T) {
	actions := m.actions()
	actions["replica falls behind"] = m.keep
	actions["failover"] = m.fallBack
	return actions
}

// held draws a claim and tells whether it is the valid one of its job.
func (m *machine) held(rt *rapid.T) (c *queue.Claim, valid bool) {
	if len(m.hand) == 0 {
		rt.Skip("nobody has a claim")
	}
	c = rapid.SampledFrom(m.hand).Draw(rt, "claim")
	return c, m.owner[c.ID] == c.Fence
}

// holds is an operation that leaves the claim as it is.
func (m *machine) holds(op func(*rapid.T, *queue.Claim, bool) error) func(*rapid.T) {
	return func(rt *rapid.T) {
		c, valid := m.held(rt)
		m.ends(rt, c, valid, false, op(rt, c, valid))
	}
}

// leaves is an operation that ends the claim. It is sent twice, as after a lost
// answer: that must answer the same and do nothing more.
func (m *machine) leaves(op func(*rapid.T, *queue.Claim) (queue.State, error)) func(*rapid.T) {
	return func(rt *rapid.T) { m.leave(rt, op) }
}

func (m *machine) leave(rt *rapid.T, op func(*rapid.T, *queue.Claim) (queue.State, error)) (c *queue.Claim, valid bool, to queue.State) {
	c, valid = m.held(rt)
	to, err := op(rt, c)
	m.ends(rt, c, valid, true, err)
	if valid {
		if again, err := op(rt, c); err != nil || again != to {
			rt.Fatalf("sent again: %s, %v; want %s", again, err, to)
		}
	}
	return c, valid, to
}

// buries is a leave that counts as a crash, of which three bury a job.
func (m *machine) buries(op func(*queue.Claim) (queue.State, error)) func(*rapid.T) {
	return func(rt *rapid.T) {
		c, valid, to := m.leave(rt, func(_ *rapid.T, c *queue.Claim) (queue.State, error) { return op(c) })
		if valid {
			m.crashed(rt, c.ID, to)
		}
	}
}

// ends checks that an operation was refused exactly if the claim was stale.
func (m *machine) ends(rt *rapid.T, c *queue.Claim, valid, over bool, err error) {
	switch {
	case valid && err != nil:
		rt.Fatalf("the owner was refused: %v", err)
	case !valid && !errors.Is(err, queue.ErrLost):
		rt.Fatalf("fence %d of job %s is stale, but got %v", c.Fence, c.ID, err)
	case valid && over:
		delete(m.owner, c.ID)
	}
	if over {
		m.hand = slices.DeleteFunc(m.hand, func(o *queue.Claim) bool { return o == c })
	}
}

// crashed counts a crash of a job and tells whether it had to bury it.
func (m *machine) crashed(rt *rapid.T, id string, to queue.State) {
	m.crashes[id]++
	m.inRow[id]++
	if to != queue.Cancelled && to != queue.Superseded && (to == queue.Dead) != (m.inRow[id] >= 3) {
		rt.Fatalf("after %d crashes in a row job %s is %s", m.inRow[id], id, to)
	}
}

func (m *machine) checkpoint(rt *rapid.T, c *queue.Claim, valid bool) error {
	step := rapid.Int64Range(0, 4).Draw(rt, "step")
	state := fmt.Sprint(c.Fence, " ", step)
	_, err := c.Checkpoint(m.ctx, []byte(state), step)
	if valid {
		m.saved[c.ID] = state
		if step > m.steps[c.ID] {
			m.steps[c.ID], m.inRow[c.ID] = step, 0
		}
	}
	return err
}

func (m *machine) enqueue(rt *rapid.T) {
	n := rapid.IntRange(0, 3).Draw(rt, "repository")
	j := queue.Job{
		Repository: fmt.Sprint("o/", n), Installation: fmt.Sprint(n / 3),
		Priority: queue.Priority(rapid.IntRange(0, 2).Draw(rt, "priority")),
		SHA:      rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "sha"),
	}
	if rapid.Bool().Draw(rt, "has key") {
		j.Key = j.Repository + j.SHA
	}
	if rapid.Bool().Draw(rt, "has ref") {
		j.Ref = j.Repository + "@main"
	}
	if rapid.Bool().Draw(rt, "has delivery") {
		j.Delivery = fmt.Sprint(rapid.IntRange(0, 20).Draw(rt, "delivery"))
	}
	want, id := queue.Enqueued, ""
	var older []string
	for other, info := range m.jobs {
		switch {
		case !live(info):
		case j.Key != "" && info.Key == j.Key:
			want, id = queue.Merged, other
		case j.Ref != "" && info.Ref == j.Ref && info.SHA != j.SHA:
			older = append(older, other)
		}
	}
	if first := m.deliveries[j.Delivery]; first != "" {
		want, id = queue.Duplicate, first
	}
	r, err := m.Enqueue(m.ctx, j)
	if err != nil {
		rt.Fatal(err)
	}
	if want != queue.Enqueued {
		older = nil
	}
	slices.Sort(older)
	slices.Sort(r.Superseded)
	if r.Outcome != want || id != "" && r.ID != id || !slices.Equal(r.Superseded, older) {
		rt.Fatalf("job is %s into %s and supersedes %v; want %s, %s, %v", r.Outcome, r.ID, r.Superseded, want, id, older)
	}
	if r.Outcome == queue.Enqueued {
		m.ids = append(m.ids, r.ID)
	}
	if j.Delivery != "" && r.Outcome != queue.Duplicate {
		m.deliveries[j.Delivery] = r.ID
	}
}

// claim takes the job that goes first in its group; it gets none only if none is
// due within the limits: no job is forgotten in the line.
func (m *machine) claim(rt *rapid.T) {
	c, err := m.Claim(m.ctx, rapid.SampledFrom([]string{"w1", "w2", "w3"}).Draw(rt, "worker"))
	if errors.Is(err, queue.ErrEmpty) {
		for id, info := range m.jobs {
			if !m.paused && m.due(info) && !m.full(info.Repository, info.Installation) {
				rt.Fatalf("nobody gets job %s, which is %s, and nothing stands in its way", id, info.State)
			}
		}
		return
	}
	if err != nil {
		rt.Fatal(err)
	}
	was := m.jobs[c.ID]
	switch {
	case m.paused:
		rt.Fatal("a paused queue gives out a job")
	case c.Fence <= m.fence:
		rt.Fatalf("fence %d after %d", c.Fence, m.fence)
	case m.owner[c.ID] != 0:
		rt.Fatalf("job %s has two owners", c.ID)
	case !m.due(was):
		rt.Fatalf("job %s was given out, and was %s until %s", c.ID, was.State, was.DueAt)
	case string(c.Resume) != m.saved[c.ID]:
		rt.Fatalf("job %s goes on from %q, and was left at %q", c.ID, c.Resume, m.saved[c.ID])
	}
	turn := func(info queue.Info) time.Time { return info.EnqueuedAt.Add(-time.Duration(info.Priority) * m.ageing) }
	for id, other := range m.jobs {
		if other.Repository == c.Repository && other.Installation == c.Installation && m.due(other) && turn(other).Before(turn(was)) {
			rt.Fatalf("job %s was given out before %s of its repository, whose turn it was", c.ID, id)
		}
	}
	m.fence, m.owner[c.ID] = c.Fence, c.Fence
	m.hand = append(m.hand, c)
}

func (m *machine) reap(rt *rapid.T) {
	recovered, dead, err := m.Reap(m.ctx)
	if err != nil {
		rt.Fatal(err)
	}
	taken := map[string]bool{}
	for _, info := range append(recovered, dead...) {
		if m.owner[info.ID] != info.Fence {
			rt.Fatalf("reaped job %s, which nobody had", info.ID)
		}
		taken[info.ID] = true
		delete(m.owner, info.ID)
		m.crashed(rt, info.ID, info.State)
	}
	for id, info := range m.jobs {
		if info.State == queue.Running && taken[id] != info.DueAt.Before(m.clock.Now()) {
			rt.Fatalf("the lease of job %s ends %s; reaped is %t", id, info.DueAt, taken[id])
		}
	}
}

func (m *machine) tell(rt *rapid.T) {
	r, err := m.TakeReport(m.ctx)
	if errors.Is(err, queue.ErrEmpty) {
		return
	}
	if err != nil {
		rt.Fatal(err)
	}
	if !m.untold[r.ID] {
		rt.Fatalf("the end of job %s is told again", r.ID)
	}
	m.reports = append(m.reports, r)
}

func (m *machine) told(rt *rapid.T) {
	if len(m.reports) == 0 {
		rt.Skip("nobody tells")
	}
	i := rapid.IntRange(0, len(m.reports)-1).Draw(rt, "report")
	r := m.reports[i]
	m.reports = slices.Delete(m.reports, i, i+1)
	if rapid.Bool().Draw(rt, "later") {
		if err := r.Later(m.ctx, time.Minute); err != nil && !errors.Is(err, queue.ErrLost) {
			rt.Fatal(err)
		}
		return
	}
	switch err := r.Done(m.ctx); {
	case err == nil:
		delete(m.untold, r.ID)
	case !errors.Is(err, queue.ErrLost):
		rt.Fatal(err)
	}
}

func (m *machine) pause(rt *rapid.T) {
	op := m.Pause
	if m.paused {
		op = m.Resume
	}
	if err := op(m.ctx); err != nil {
		rt.Fatal(err)
	}
	m.paused = !m.paused
}

func (m *machine) id(rt *rapid.T) string {
	if len(m.ids) == 0 {
		rt.Skip("no jobs")
	}
	return rapid.SampledFrom(m.ids).Draw(rt, "job")
}

func (m *machine) cancel(rt *rapid.T) {
	if _, err := m.Cancel(m.ctx, m.id(rt), "stop"); err != nil {
		rt.Fatal(err)
	}
}

func (m *machine) cancelMatching(rt *rapid.T) {
	if rapid.IntRange(0, 3).Draw(rt, "rare") > 0 {
		rt.Skip("not now")
	}
	repo := fmt.Sprint("o/", rapid.IntRange(0, 3).Draw(rt, "repository"))
	got, err := m.CancelMatching(m.ctx, queue.Match{Repository: repo}, "gone")
	if err != nil {
		rt.Fatal(err)
	}
	var want []string
	for id, info := range m.jobs {
		if info.Repository == repo && !info.State.Ended() {
			want = append(want, id)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		rt.Fatalf("cancelled %v, want %v", got, want)
	}
}

func (m *machine) retry(rt *rapid.T) {
	id := m.id(rt)
	err := m.Retry(m.ctx, id)
	var refused *queue.StateError
	if err != nil && !errors.As(err, &refused) {
		rt.Fatal(err)
	}
	if err == nil && m.jobs[id].State.Ended() {
		delete(m.untold, id)
		delete(m.crashes, id)
		delete(m.inRow, id)
		delete(m.steps, id)
	}
}

// keep notes all that Redis has: a replica gets no further than this.
func (m *machine) keep(rt *rapid.T) {
	s := &snapshot{known: m.clone(), keys: map[string]string{}}
	for _, key := range m.keys(rt) {
		dump, err := m.rdb.Dump(m.ctx, key).Result()
		if err != nil {
			rt.Fatal(err)
		}
		s.keys[key] = dump
	}
	m.kept = s
}

// fallBack makes Redis what it was: the replica took over. Claims and reports
// stay in the hands of those who believe to have them.
func (m *machine) fallBack(rt *rapid.T) {
	if m.kept == nil {
		rt.Skip("no replica is behind")
	}
	_, err := m.rdb.TxPipelined(m.ctx, func(p redis.Pipeliner) error {
		for _, key := range m.keys(rt) {
			p.Del(m.ctx, key)
		}
		for key, dump := range m.kept.keys {
			p.Restore(m.ctx, key, 0, dump)
		}
		return nil
	})
	if err != nil {
		rt.Fatal(err)
	}
	m.known, m.kept = m.kept.known, nil
	m.offers = true // what comes back so is found by the next look
	// It takes time; fences follow it.
	m.clock.Advance(time.Second)
}
