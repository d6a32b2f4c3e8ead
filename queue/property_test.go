package queue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"culprit/queue"
	"culprit/queue/queuetest"
)

// machine drives a queue by random operations of several workers, some of which
// are zombies that act on claims they lost, and knows what must be true. Scripts
// are atomic, so interleaving whole operations covers what concurrent workers
// can do.
type machine struct {
	*queue.Queue
	ctx    context.Context
	rdb    *redis.Client
	prefix string
	clock  *queuetest.Clock

	ids     []string
	states  map[string]queue.State
	jobs    map[string]queue.Job
	hand    []*queue.Claim   // claims that somebody believes to have
	owner   map[string]int64 // fence of the claim that is valid
	fence   int64
	crashes map[string]int // of each job since its last retry
	inRow   map[string]int // of them since its last progress
	steps   map[string]int64
	untold  map[string]bool // ended and to be told
	reports []*queue.Report
	edges   map[[2]queue.State]bool
}

const repoLimit, instLimit = 1, 2

func newMachine(rt *rapid.T, rdb *redis.Client) *machine {
	m := &machine{
		ctx: context.Background(), rdb: rdb, prefix: queuetest.Prefix(), clock: queuetest.NewClock(),
		states: map[string]queue.State{}, jobs: map[string]queue.Job{}, owner: map[string]int64{},
		crashes: map[string]int{}, inRow: map[string]int{}, steps: map[string]int64{},
		untold: map[string]bool{}, edges: map[[2]queue.State]bool{},
	}
	q, err := queue.Open(m.ctx, queue.Options{
		Redis: rdb, Prefix: m.prefix, Now: m.clock.Now, MaxAttempts: 3,
		Limits: queue.Limits{Repository: repoLimit, Installation: instLimit},
	})
	if err != nil {
		rt.Fatal(err)
	}
	m.Queue = q
	for _, tr := range queue.Transitions() {
		m.edges[[2]queue.State{tr.From, tr.To}] = true
	}
	return m
}

// held draws a claim and tells whether it is the valid one of its job.
func (m *machine) held(rt *rapid.T) (c *queue.Claim, valid bool) {
	if len(m.hand) == 0 {
		rt.Skip("nobody has a claim")
	}
	c = rapid.SampledFrom(m.hand).Draw(rt, "claim")
	return c, m.owner[c.ID] == c.Fence
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

func (m *machine) id(rt *rapid.T) string {
	if len(m.ids) == 0 {
		rt.Skip("no jobs")
	}
	return rapid.SampledFrom(m.ids).Draw(rt, "job")
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
	r, err := m.Enqueue(m.ctx, j)
	if err != nil {
		rt.Fatal(err)
	}
	if r.Outcome == queue.Enqueued {
		m.ids = append(m.ids, r.ID)
		m.jobs[r.ID] = j
	} else if m.states[r.ID] == "" {
		rt.Fatalf("%s into job %s, which nobody knows", r.Outcome, r.ID)
	}
}

func (m *machine) claim(rt *rapid.T) {
	c, err := m.Claim(m.ctx, rapid.SampledFrom([]string{"w1", "w2", "w3"}).Draw(rt, "worker"))
	if errors.Is(err, queue.ErrEmpty) {
		return
	}
	if err != nil {
		rt.Fatal(err)
	}
	if c.Fence <= m.fence {
		rt.Fatalf("fence %d after %d", c.Fence, m.fence)
	}
	if m.owner[c.ID] != 0 {
		rt.Fatalf("job %s has two owners", c.ID)
	}
	m.fence, m.owner[c.ID] = c.Fence, c.Fence
	m.hand = append(m.hand, c)
}

func (m *machine) reap(rt *rapid.T) {
	recovered, dead, err := m.Reap(m.ctx)
	if err != nil {
		rt.Fatal(err)
	}
	for _, info := range append(recovered, dead...) {
		if m.owner[info.ID] != info.Fence {
			rt.Fatalf("reaped job %s, which nobody had", info.ID)
		}
		delete(m.owner, info.ID)
		m.crashed(rt, info.ID, info.State)
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
	switch err := r.Done(m.ctx); {
	case err == nil:
		delete(m.untold, r.ID)
	case !errors.Is(err, queue.ErrLost):
		rt.Fatal(err)
	}
}

func (m *machine) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"enqueue": m.enqueue, "enqueue more": m.enqueue, "claim": m.claim, "claim more": m.claim,
		"reap": m.reap, "tell": m.tell, "told": m.told,
		"time": func(rt *rapid.T) {
			m.clock.Advance(time.Duration(rapid.IntRange(0, 60).Draw(rt, "seconds")) * time.Second)
		},
		"heartbeat": func(rt *rapid.T) {
			c, valid := m.held(rt)
			_, err := c.Heartbeat(m.ctx)
			m.ends(rt, c, valid, false, err)
		},
		"checkpoint": func(rt *rapid.T) {
			c, valid := m.held(rt)
			step := rapid.Int64Range(0, 4).Draw(rt, "step")
			_, err := c.Checkpoint(m.ctx, []byte(fmt.Sprint(c.Fence)), step)
			m.ends(rt, c, valid, false, err)
			if valid && step > m.steps[c.ID] {
				m.steps[c.ID], m.inRow[c.ID] = step, 0
			}
		},
		"complete": func(rt *rapid.T) {
			c, valid := m.held(rt)
			m.ends(rt, c, valid, true, c.Complete(m.ctx, ""))
		},
		"fail": func(rt *rapid.T) {
			c, valid := m.held(rt)
			kind := rapid.SampledFrom([]queue.FailureKind{queue.Transient, queue.Permanent}).Draw(rt, "kind")
			_, err := c.Fail(m.ctx, errors.New("x"), kind, 0)
			m.ends(rt, c, valid, true, err)
		},
		"snooze": func(rt *rapid.T) {
			c, valid := m.held(rt)
			_, err := c.Snooze(m.ctx, m.clock.Now().Add(time.Minute), "")
			m.ends(rt, c, valid, true, err)
		},
		"release": func(rt *rapid.T) {
			c, valid := m.held(rt)
			_, err := c.Release(m.ctx)
			m.ends(rt, c, valid, true, err)
		},
		"crash": func(rt *rapid.T) {
			c, valid := m.held(rt)
			s, err := c.Crash(m.ctx, "panic")
			m.ends(rt, c, valid, true, err)
			if valid {
				m.crashed(rt, c.ID, s)
			}
		},
		"abandon": func(rt *rapid.T) {
			c, valid := m.held(rt)
			s, err := m.Abandon(m.ctx, c.ID, c.Fence)
			m.ends(rt, c, valid, true, err)
			if valid {
				m.crashed(rt, c.ID, s)
			}
		},
		"cancel": func(rt *rapid.T) {
			if _, err := m.Cancel(m.ctx, m.id(rt), "stop"); err != nil {
				rt.Fatal(err)
			}
		},
		"retry": func(rt *rapid.T) {
			id := m.id(rt)
			err := m.Retry(m.ctx, id)
			var refused *queue.StateError
			if err != nil && !errors.As(err, &refused) {
				rt.Fatal(err)
			}
			if err == nil && m.states[id].Ended() {
				delete(m.untold, id)
				delete(m.crashes, id)
				delete(m.inRow, id)
				delete(m.steps, id)
			}
		},
		"": m.check,
	}
}

// check compares all jobs with what they were and with one another.
func (m *machine) check(rt *rapid.T) {
	depth := map[queue.State]int{}
	repos, insts, keys := map[string]int{}, map[string]int{}, map[string]string{}
	waiting := map[queue.Priority]int{}
	for _, id := range m.ids {
		info, err := m.Show(m.ctx, id)
		if err != nil {
			rt.Fatalf("job is lost: %v", err)
		}
		depth[info.State]++
		if info.Crashes != m.crashes[id] || info.CrashesInRow != m.inRow[id] {
			rt.Fatalf("job %s counts %d crashes, %d in a row; it had %d and %d", id, info.Crashes, info.CrashesInRow, m.crashes[id], m.inRow[id])
		}
		m.moved(rt, id, m.states[id], info.State)
		m.states[id] = info.State
		if (info.State == queue.Running) != (m.owner[id] != 0) {
			rt.Fatalf("job %s is %s; its owner has fence %d", id, info.State, m.owner[id])
		}
		switch info.State {
		case queue.Running:
			repos[info.Repository]++
			insts[info.Installation]++
			if repos[info.Repository] > repoLimit || insts[info.Installation] > instLimit {
				rt.Fatalf("limits are broken: %v, %v", repos, insts)
			}
		case queue.Queued:
			waiting[info.Priority]++
		}
		if !info.State.Ended() && info.Stop == queue.SignalNone && info.Key != "" {
			if keys[info.Key] != "" {
				rt.Fatalf("jobs %s and %s have the key %s", keys[info.Key], id, info.Key)
			}
			keys[info.Key] = id
		}
	}
	s, err := m.Stats(m.ctx)
	if err != nil {
		rt.Fatal(err)
	}
	for _, state := range queue.States() {
		if s.Depth[state] != depth[state] {
			rt.Fatalf("%d jobs are %s, statistics say %d", depth[state], state, s.Depth[state])
		}
	}
	for p := queue.PriorityCI; p <= queue.PriorityPerson; p++ {
		if s.Waiting[p] != waiting[p] {
			rt.Fatalf("%d jobs of class %s wait, statistics say %d", waiting[p], p, s.Waiting[p])
		}
	}
	if s.ToReport != len(m.untold) {
		rt.Fatalf("%d ends to tell, statistics say %d", len(m.untold), s.ToReport)
	}
}

// moved holds the transition against the table of the state machine. A claim
// takes a job that became due in the same script.
func (m *machine) moved(rt *rapid.T, id string, from, to queue.State) {
	if to.Ended() && from != to && to != queue.Done {
		m.untold[id] = true
	}
	if from == to || m.edges[[2]queue.State{from, to}] {
		return
	}
	if to == queue.Running && m.edges[[2]queue.State{from, queue.Queued}] {
		return
	}
	rt.Fatalf("job %s went from %q to %q, which the state machine does not have", id, from, to)
}

// finish works everything off and looks at what is left in Redis.
func (m *machine) finish(rt *rapid.T) {
	for range 4*len(m.ids) + 10 {
		m.clock.Advance(time.Hour)
		m.reap(rt)
		for {
			n := len(m.hand)
			m.claim(rt)
			if len(m.hand) == n {
				break
			}
			m.check(rt)
			c := m.hand[n]
			m.ends(rt, c, true, true, c.Complete(m.ctx, ""))
		}
		m.check(rt)
	}
	for _, id := range m.ids {
		if !m.states[id].Ended() {
			rt.Fatalf("job %s never ended: it is %s", id, m.states[id])
		}
	}
	for range m.ids {
		r, err := m.TakeReport(m.ctx)
		if errors.Is(err, queue.ErrEmpty) {
			break
		}
		if err == nil {
			err = r.Done(m.ctx)
		}
		if err != nil {
			rt.Fatal(err)
		}
		if !m.untold[r.ID] {
			rt.Fatalf("the end of job %s is told again", r.ID)
		}
		delete(m.untold, r.ID)
	}
	if len(m.untold) > 0 {
		rt.Fatalf("ends that nobody can tell: %v", m.untold)
	}
	m.clock.Advance(365 * 24 * time.Hour)
	if n, err := m.Purge(m.ctx); err != nil || n != len(m.ids) {
		rt.Fatalf("forgot %d of %d jobs: %v", n, len(m.ids), err)
	}
	keys, err := m.rdb.Keys(m.ctx, "{"+m.prefix+"}:*").Result()
	if err != nil {
		rt.Fatal(err)
	}
	for _, key := range keys {
		switch _, name, _ := strings.Cut(key, ":"); name {
		case "tick", "count", "delivery", "deliveries":
		default:
			rt.Fatalf("%s is left in Redis", key)
		}
	}
}

func anyInterleaving(rdb *redis.Client) func(*rapid.T) {
	return func(rt *rapid.T) {
		m := newMachine(rt, rdb)
		rt.Repeat(m.actions())
		m.finish(rt)
	}
}

func TestAnyInterleavingOnRedis(t *testing.T) {
	t.Parallel()
	rapid.Check(t, anyInterleaving(queuetest.Real(t)))
}

func TestAnyInterleavingOnEmbedded(t *testing.T) {
	t.Parallel()
	rdb := queuetest.Embedded(t)
	// Its Lua is slow and the scripts are the same: a few runs are enough, and as
	// many as it takes to shrink one that failed.
	runs, failed := 0, false
	rapid.Check(t, func(rt *rapid.T) {
		if runs++; runs > 10 && !failed {
			return
		}
		failed = true
		anyInterleaving(rdb)(rt)
		failed = false
	})
}

func TestANewcomerWaitsForOneJobOfEachInstallation(t *testing.T) {
	t.Parallel()
	rdb := queuetest.Real(t)
	rapid.Check(t, func(rt *rapid.T) {
		m := newMachine(rt, rdb)
		busy := rapid.IntRange(1, 4).Draw(rt, "installations")
		for range rapid.IntRange(1, 40).Draw(rt, "jobs") {
			n := rapid.IntRange(0, busy-1).Draw(rt, "installation")
			r := rapid.IntRange(0, 3).Draw(rt, "repository")
			m.must(rt, queue.Job{Installation: fmt.Sprint(n), Repository: fmt.Sprint(n, "/", r)})
		}
		serve := func() string {
			c, err := m.Claim(m.ctx, "w")
			if err != nil {
				return ""
			}
			if err := c.Complete(m.ctx, ""); err != nil {
				rt.Fatal(err)
			}
			m.clock.Advance(time.Duration(rapid.IntRange(0, 5).Draw(rt, "seconds")) * time.Second)
			return c.ID
		}
		for range rapid.IntRange(0, 10).Draw(rt, "served before") {
			serve()
		}
		id := m.must(rt, queue.Job{Installation: "new", Repository: "new/r"})
		for n := range busy + 1 {
			if serve() == id {
				return
			}
			if n == busy {
				rt.Fatalf("still waits after %d jobs of %d installations", busy+1, busy)
			}
		}
	})
}

func (m *machine) must(rt *rapid.T, j queue.Job) string {
	r, err := m.Enqueue(m.ctx, j)
	if err != nil {
		rt.Fatal(err)
	}
	return r.ID
}
