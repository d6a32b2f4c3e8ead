package queue_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"culprit/queue"
	"culprit/queue/queuetest"
)

// anyInterleaving draws limits and then what happens.
func anyInterleaving(rdb *redis.Client, actions func(*machine) map[string]func(*rapid.T)) func(*rapid.T) {
	return func(rt *rapid.T) {
		m := newMachine(rt, rdb, queue.Limits{
			Repository:   rapid.IntRange(1, 2).Draw(rt, "limit of a repository"),
			Installation: rapid.IntRange(1, 3).Draw(rt, "limit of an installation"),
			Total:        rapid.SampledFrom([]int{-1, 2, 3}).Draw(rt, "limit of all"),
		})
		rt.Repeat(actions(m))
		m.finish(rt)
	}
}

func TestAnyInterleavingOnRedis(t *testing.T) {
	t.Parallel()
	rapid.Check(t, anyInterleaving(queuetest.Real(t), (*machine).actions))
}

// Redis falls back to what a replica had, and everybody goes on.
func TestAnyInterleavingWithFailoversThatLoseWrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, anyInterleaving(queuetest.Real(t), (*machine).failovers))
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
		anyInterleaving(rdb, (*machine).actions)(rt)
		failed = false
	})
}

func TestANewcomerWaitsForOneJobOfEachInstallation(t *testing.T) {
	t.Parallel()
	rdb := queuetest.Real(t)
	rapid.Check(t, func(rt *rapid.T) {
		m := newMachine(rt, rdb, queue.Limits{Repository: 1, Installation: 2, Total: -1})
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
