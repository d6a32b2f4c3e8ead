package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"
)

// Show returns one job. ErrNotFound: there is none.
func (q *Queue) Show(ctx context.Context, id string) (Info, error) {
	infos, err := q.load(ctx, []string{id})
	if err != nil {
		return Info{}, fmt.Errorf("show job %s: %w", id, err)
	}
	if len(infos) == 0 {
		return Info{}, fmt.Errorf("show job %s: %w", id, ErrNotFound)
	}
	return infos[0], nil
}

// List returns up to limit jobs in a state: waiting ones oldest first, ended
// ones latest first, snoozed and retrying ones by when they are due.
func (q *Queue) List(ctx context.Context, state State, limit int) ([]Info, error) {
	if !state.valid() {
		return nil, fmt.Errorf("list jobs: %q is not a state; there are %v", state, States())
	}
	if limit <= 0 {
		return nil, nil
	}
	ids, err := q.rdb.ZRangeArgs(ctx, redis.ZRangeArgs{
		Key: q.base + "state:" + string(state), Start: 0, Stop: limit - 1, Rev: state.Ended(),
	}).Result()
	if err != nil {
		return nil, fmt.Errorf("list %s jobs: %w", state, err)
	}
	infos, err := q.load(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("list %s jobs: %w", state, err)
	}
	return infos, nil
}

// load reads jobs in one round trip and leaves out those that are gone.
func (q *Queue) load(ctx context.Context, ids []string) ([]Info, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	fields := make([]*redis.MapStringStringCmd, len(ids))
	_, err := q.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, id := range ids {
			fields[i] = p.HGetAll(ctx, q.base+"job:"+id)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var infos []Info
	for i, id := range ids {
		if f := fields[i].Val(); len(f) > 0 {
			f["id"] = id
			infos = append(infos, infoOf(f))
		}
	}
	return infos, nil
}

// parseInfo reads a script's answer: names and values in turn.
func parseInfo(flat []string) (Info, error) {
	if len(flat)%2 != 0 {
		return Info{}, fmt.Errorf("read job: %d fields and values do not pair", len(flat))
	}
	f := make(map[string]string, len(flat)/2)
	for i := 0; i < len(flat); i += 2 {
		f[flat[i]] = flat[i+1]
	}
	return infoOf(f), nil
}

// infoOf reads a job's fields. Only scripts write them, so a number that does
// not parse is absent.
func infoOf(f map[string]string) Info {
	num := func(name string) int {
		n, _ := strconv.Atoi(f[name])
		return n
	}
	fence, _ := strconv.ParseInt(f["fence"], 10, 64)
	info := Info{
		Job:   jobOf(f["spec"]),
		State: State(f["state"]), Attempt: num("attempt"), Crashes: num("crashes"), CrashesInRow: num("row"), Merges: num("merges"),
		Fence: fence, Worker: f["worker"], Progress: f["progress"], Reason: f["reason"],
		Summary: f["summary"], Stop: Signal(f["stop"]), Replaced: f["by"],
		EnqueuedAt: microTime(f["enqueued"]), StartedAt: microTime(f["started"]),
		Reported: f["reported"] == "1",
		Waited:   time.Duration(num("waited")) * time.Microsecond, History: historyOf(f["history"]),
	}
	info.ID, info.Priority, info.Asked = f["id"], Priority(num("prio")), microTime(f["asked"])
	if info.Asked.IsZero() {
		info.Asked = info.EnqueuedAt
	}
	if len(info.History) == 0 { // it came, and nothing has happened since
		info.History = []Change{{At: info.EnqueuedAt, To: Queued}}
	}
	info.Since = info.History[len(info.History)-1].At
	if f["payload"] != "" {
		info.Payload = []byte(f["payload"])
	}
	switch info.State {
	case Running, Retrying, Snoozed:
		info.DueAt = microTime(f["due"])
	case Done, Dead, Cancelled, Superseded:
		info.EndedAt = info.Since
	}
	return info
}

func historyOf(lines string) []Change {
	var out []Change
	for line := range strings.SplitSeq(lines, "\n") {
		at, rest, ok := strings.Cut(line, " ")
		if !ok {
			continue
		}
		state, why, _ := strings.Cut(rest, " ")
		out = append(out, Change{At: microTime(at), To: State(state), Why: strings.ToValidUTF8(why, "\uFFFD")})
	}
	return out
}

// maxText bounds reasons, summaries and progress lines, in bytes.
const maxText = 4 << 10

func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	s = s[:maxText]
	for !utf8.ValidString(s) && len(s) > maxText-utf8.UTFMax {
		s = s[:len(s)-1]
	}
	return strings.ToValidUTF8(s, "\uFFFD") + "…"
}

func errText(err error) string {
	if err == nil {
		return "no reason was given"
	}
	return err.Error()
}

func isLost(err error) bool { return errors.Is(err, ErrLost) }
