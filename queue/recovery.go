package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	noteDeliveryScript = script("note_delivery", aside)
	recoveredScript    = script("recovered", aside)
)

// What the queue remembers of deliveries that failed (GH3). A delivery that led
// to a job is known as any other: its GUID was noted in the script that made
// the job, so whatever Redis loses, it loses both. Here is what else there is
// to know: call-offs, commands in comments (their jobs are known by the comment
// and its words), deliveries that are not to be looked at again, and those that
// could not be dealt with yet.

// A Trial is what became of a failed delivery so far.
type Trial struct {
	Settled bool // nothing is to be done any more
	Tries   int
	Last    time.Time // zero: never tried
}

// Trials returns what is known of deliveries, by their GUIDs.
func (q *Queue) Trials(ctx context.Context, guids []string) (map[string]Trial, error) {
	out := make(map[string]Trial, len(guids))
	for len(guids) > 0 {
		batch := guids[:min(500, len(guids))]
		guids = guids[len(batch):]
		known := make([]string, len(batch))
		for i, guid := range batch {
			known[i] = "d:" + guid
		}
		jobs := q.rdb.HMGet(ctx, q.base+"index", known...)
		tried := q.rdb.HMGet(ctx, q.base+"tried", batch...)
		if err := errors.Join(jobs.Err(), tried.Err()); err != nil {
			return nil, fmt.Errorf("read what is known of deliveries: %w", err)
		}
		for i, guid := range batch {
			var t Trial
			if s, ok := tried.Val()[i].(string); ok {
				t = parseTrial(s)
			}
			if jobs.Val()[i] != nil {
				t.Settled = true
			}
			out[guid] = t
		}
	}
	return out, nil
}

func parseTrial(s string) Trial {
	parts := strings.Split(s, ":")
	if len(parts) != 3 {
		return Trial{}
	}
	n, _ := strconv.Atoi(parts[0]) // the script writes numbers
	return Trial{Tries: n, Settled: parts[1] == "settled", Last: microTime(parts[2])}
}

// NoteDelivery counts a try of a delivery that happened at the given time, and
// returns how many there were. settled ends it.
func (q *Queue) NoteDelivery(ctx context.Context, guid string, at time.Time, settled bool) (int, error) {
	flag := 0
	if settled {
		flag = 1
	}
	n, err := q.run(ctx, noteDeliveryScript, guid, flag, at.UnixMicro()).Int()
	if err != nil {
		return 0, fmt.Errorf("note delivery %s: %w", guid, err)
	}
	return n, nil
}

// Recovered returns the time before which all failed deliveries are settled;
// zero: none is known to be.
func (q *Queue) Recovered(ctx context.Context) (time.Time, error) {
	s, err := q.rdb.Get(ctx, q.base+"recovered").Result()
	if errors.Is(err, redis.Nil) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("read how far deliveries are recovered: %w", err)
	}
	return microTime(s), nil
}

// SetRecovered notes that all failed deliveries before the time are settled,
// and forgets those that happened longer than keep before it.
func (q *Queue) SetRecovered(ctx context.Context, before time.Time, keep time.Duration) error {
	if err := q.run(ctx, recoveredScript, before.UnixMicro(), before.Add(-keep).UnixMicro()).Err(); err != nil {
		return fmt.Errorf("note how far deliveries are recovered: %w", err)
	}
	return nil
}
