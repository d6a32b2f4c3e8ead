package streamfacts

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"culprit/bench/redisserver"
	"culprit/internal/requiretest"
)

const stream, group = "jobs", "workers"

// taken returns a stream whose one entry was read by the consumer "old", whom
// "new" then took it from.
func taken(t *testing.T) (*redis.Client, string) {
	t.Helper()
	requiretest.Program(t, "redis-server")
	s, err := redisserver.Start(t.Context(), "everysec")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	rdb := s.Client()
	t.Cleanup(func() { _ = rdb.Close() })
	ctx := t.Context()
	if err := rdb.XGroupCreateMkStream(ctx, stream, group, "0").Err(); err != nil {
		t.Fatal(err)
	}
	id, err := rdb.XAdd(ctx, &redis.XAddArgs{Stream: stream, Values: []string{"job", "1"}}).Result()
	if err != nil {
		t.Fatal(err)
	}
	if err := rdb.XReadGroup(ctx, &redis.XReadGroupArgs{Group: group, Consumer: "old", Streams: []string{stream, ">"}, Count: 1}).Err(); err != nil {
		t.Fatal(err)
	}
	claim(t, rdb, "new", id)
	if got := owner(t, rdb); got != "new" {
		t.Fatalf("after XCLAIM the entry is %q's, want new's", got)
	}
	return rdb, id
}

func claim(t *testing.T, rdb *redis.Client, consumer, id string) {
	t.Helper()
	got, err := rdb.XClaim(t.Context(), &redis.XClaimArgs{Stream: stream, Group: group, Consumer: consumer, Messages: []string{id}}).Result()
	if err != nil || len(got) != 1 {
		t.Fatalf("XCLAIM for %s: %v, %v", consumer, got, err)
	}
}

// owner is the consumer for whom the entry is pending; empty: nobody.
func owner(t *testing.T, rdb *redis.Client) string {
	t.Helper()
	p, err := rdb.XPendingExt(t.Context(), &redis.XPendingExtArgs{Stream: stream, Group: group, Start: "-", End: "+", Count: 10}).Result()
	if err != nil {
		t.Fatal(err)
	}
	if len(p) == 0 {
		return ""
	}
	return p[0].Consumer
}

func TestFormerConsumerAcknowledgesAnEntryThatAnotherHas(t *testing.T) {
	t.Parallel()
	rdb, id := taken(t)
	// XACK has no argument for the consumer: whoever knows the ID may.
	n, err := rdb.XAck(t.Context(), stream, group, id).Result()
	if err != nil || n != 1 {
		t.Fatalf("XACK by the former consumer: %d, %v; Redis used to accept it", n, err)
	}
	if got := owner(t, rdb); got != "" {
		t.Errorf("the entry is still pending for %q", got)
	}
}

func TestFormerConsumerTakesAnEntryBack(t *testing.T) {
	t.Parallel()
	rdb, id := taken(t)
	claim(t, rdb, "old", id)
	if got := owner(t, rdb); got != "old" {
		t.Errorf("the entry is %q's; Redis used to give it back to old", got)
	}
}
