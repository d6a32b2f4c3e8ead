package queue_test

import (
	"testing"

	"culprit/queue"
	"culprit/queue/queuetest"
)

func TestCheckServerReadsARealOne(t *testing.T) {
	t.Parallel()
	rdb := queuetest.Real(t, "--appendonly", "yes")
	if found, err := queue.CheckServer(t.Context(), rdb); err != nil || len(found) != 0 {
		t.Fatalf("good server: %v, %v", found, err)
	}
	for _, set := range [][2]string{{"maxmemory-policy", "allkeys-lru"}, {"appendonly", "no"}} {
		if err := rdb.ConfigSet(t.Context(), set[0], set[1]).Err(); err != nil {
			t.Fatal(err)
		}
	}
	found, err := queue.CheckServer(t.Context(), rdb)
	if err != nil || len(found) != 2 || found[0].Code != "eviction" || found[1].Code != "persistence" {
		t.Fatalf("bad server: %v, %v", found, err)
	}
}

func TestCheckServerSaysThatTheEmbeddedOneDoesNotTell(t *testing.T) {
	t.Parallel()
	found, err := queue.CheckServer(t.Context(), queuetest.Embedded(t))
	if err != nil || len(found) != 1 || found[0].Code != "unreadable" {
		t.Fatalf("got %v, %v", found, err)
	}
}

func TestCheckServerFailsWhenRedisIsAway(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	r.cut.Store(true)
	if _, err := queue.CheckServer(t.Context(), r.rdb); err == nil {
		t.Fatal("no error")
	}
}
