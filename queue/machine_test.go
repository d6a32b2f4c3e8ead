package queue_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
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
	limits queue.Limits
	ageing time.Duration
	bell   *queuetest.Bell
	offers bool // at the last check a worker could have claimed a job in the line

	known
	hand    []*queue.Claim // claims that somebody believes to have
	fence   int64          // highest that was given out
	reports []*queue.Report
	edges   map[[2]queue.State]bool

	kept *snapshot // what a failover falls back to; nil: none
}

// known is what Redis has, seen from outside: a failover takes it back with it.
type known struct {
	ids        []string
	jobs       map[string]queue.Info // as the last check saw them
	owner      map[string]int64      // fence of the claim that is valid
	saved      map[string]string     // last checkpoint
	crashes    map[string]int        // since the last retry
	inRow      map[string]int        // of them since the last progress
	steps      map[string]int64      // how far the checkpoints were
	untold     map[string]bool       // ended and to be told
	deliveries map[string]string     // GUID -> job
	paused     bool
}

func (k known) clone() known {
	k.ids = slices.Clone(k.ids)
	k.jobs, k.owner, k.saved = maps.Clone(k.jobs), maps.Clone(k.owner), maps.Clone(k.saved)
	k.crashes, k.inRow, k.steps = maps.Clone(k.crashes), maps.Clone(k.inRow), maps.Clone(k.steps)
	k.untold, k.deliveries = maps.Clone(k.untold), maps.Clone(k.deliveries)
	return k
}

// A snapshot is what a replica has that lags.
type snapshot struct {
	known
	keys map[string]string // name -> DUMP
}

func newMachine(rt *rapid.T, rdb *redis.Client, limits queue.Limits) *machine {
	m := &machine{
		ctx: context.Background(), rdb: rdb, prefix: queuetest.Prefix(), clock: queuetest.NewClock(), limits: limits, ageing: 30 * time.Minute,
		known: known{
			jobs: map[string]queue.Info{}, owner: map[string]int64{}, saved: map[string]string{}, crashes: map[string]int{},
			inRow: map[string]int{}, steps: map[string]int64{}, untold: map[string]bool{}, deliveries: map[string]string{},
		},
		edges: map[[2]queue.State]bool{},
	}
	q, err := queue.Open(m.ctx, queue.Options{
		Redis: rdb, Prefix: m.prefix, Now: m.clock.Now, MaxAttempts: 3, Limits: limits, Ageing: m.ageing,
	})
	if err != nil {
		rt.Fatal(err)
	}
	m.Queue = q
	if m.bell, err = queuetest.Listen(m.ctx, rdb, m.prefix); err != nil {
		rt.Fatal(err)
	}
	rt.Cleanup(func() { _ = m.bell.Close() })
	for _, tr := range queue.Transitions() {
		m.edges[[2]queue.State{tr.From, tr.To}] = true
	}
	return m
}

// live reports whether a job still takes others of its Key and Ref.
func live(info queue.Info) bool { return !info.State.Ended() && info.Stop == queue.SignalNone }

// due reports whether a claim may take the job, limits apart.
func (m *machine) due(info queue.Info) bool {
	switch info.State {
	case queue.Queued:
		return true
	case queue.Retrying, queue.Snoozed:
		return !info.DueAt.After(m.clock.Now())
	}
	return false
}

// full tells how many more jobs of a repository may run: none.
func (m *machine) full(repository, installation string) bool {
	repos, insts, all := 0, 0, 0
	for _, info := range m.jobs {
		if info.State != queue.Running {
			continue
		}
		all++
		if info.Installation == installation {
			insts++
			if info.Repository == repository {
				repos++
			}
		}
	}
	over := func(n, limit int) bool { return limit >= 0 && n >= limit }
	return over(repos, m.limits.Repository) || over(insts, m.limits.Installation) || over(all, m.limits.Total)
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
		m.moved(rt, id, m.jobs[id].State, info.State)
		m.jobs[id] = info
		if (info.State == queue.Running) != (m.owner[id] != 0) {
			rt.Fatalf("job %s is %s; its owner has fence %d", id, info.State, m.owner[id])
		}
		switch info.State {
		case queue.Running:
			repos[info.Repository]++
			insts[info.Installation]++
			if repos[info.Repository] > m.limits.Repository || insts[info.Installation] > m.limits.Installation ||
				m.limits.Total >= 0 && depth[queue.Running] > m.limits.Total {
				rt.Fatalf("limits %+v are broken: %v, %v", m.limits, repos, insts)
			}
		case queue.Queued:
			waiting[info.Priority]++
		}
		if live(info) && info.Key != "" {
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
	if s.ToReport != len(m.untold) || s.Paused != m.paused {
		rt.Fatalf("%d ends to tell and paused is %t, statistics say %d and %t", len(m.untold), m.paused, s.ToReport, s.Paused)
	}
	m.wakes(rt)
}

// wakes checks that workers were told if none could get a job before and one can
// now: those who went idle look again.
func (m *machine) wakes(rt *rapid.T) {
	heard, err := m.bell.Heard(m.ctx)
	if err != nil {
		rt.Fatal(err)
	}
	before := m.offers
	m.offers = false
	for _, info := range m.jobs {
		m.offers = m.offers || !m.paused && info.State == queue.Queued && !m.full(info.Repository, info.Installation)
	}
	if m.offers && !before && !slices.Contains(heard, "job") {
		rt.Fatalf("a job can be claimed that could not before, and workers heard %q", heard)
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
	if err := m.Resume(m.ctx); err != nil {
		rt.Fatal(err)
	}
	m.paused = false
	for range 4*len(m.ids) + 10 {
		m.clock.Advance(time.Hour)
		m.reap(rt)
		m.check(rt)
		for {
			n := len(m.hand)
			m.claim(rt)
			if len(m.hand) == n {
				break
			}
			m.check(rt)
			c := m.hand[n]
			m.ends(rt, c, true, true, c.Complete(m.ctx, ""))
			m.check(rt)
		}
	}
	for _, id := range m.ids {
		if state := m.jobs[id].State; !state.Ended() {
			rt.Fatalf("job %s never ended: it is %s", id, state)
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
	for _, key := range m.keys(rt) {
		switch _, name, _ := strings.Cut(key, ":"); name {
		case "index", "deliveries":
		default:
			rt.Fatalf("%s is left in Redis", key)
		}
	}
	index, err := m.rdb.HGetAll(m.ctx, "{"+m.prefix+"}:index").Result()
	if err != nil {
		rt.Fatal(err)
	}
	for name, value := range index {
		switch kind, _, _ := strings.Cut(name, ":"); kind {
		case "tick", "n", "d", "oldest":
		default:
			rt.Fatalf("%s=%q is left in the index", name, value)
		}
	}
}

func (m *machine) keys(rt *rapid.T) []string {
	keys, err := m.rdb.Keys(m.ctx, "{"+m.prefix+"}:*").Result()
	if err != nil {
		rt.Fatal(err)
	}
	return keys
}
