package queue

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// A Problem is a setting of a Redis server that endangers jobs, for `bot
// doctor` and the check at start.
type Problem struct {
	Code  string // eviction, persistence, version, unreadable
	Fatal bool   // jobs can be lost while everything seems well
	What  string // what was found
	Do    string // what to do
}

// String is one line for people.
func (p Problem) String() string { return p.What + ": " + p.Do }

// minVersion is the first Redis that replicates the effects of scripts only
// and has all commands that ours use.
const minVersion = 7

// CheckServer looks for settings that lose jobs: eviction, no persistence, an
// old version. An error means that the server did not answer. A server that
// does not tell its settings, as managed ones may not, has a Problem with the
// code "unreadable", not an error.
func CheckServer(ctx context.Context, rdb redis.UniversalClient) ([]Problem, error) {
	if err := rdb.Ping(ctx).Err(); err != nil {
		return nil, fmt.Errorf("check Redis: %w", err)
	}
	if cluster, ok := rdb.(*redis.ClusterClient); ok {
		return checkNodes(ctx, cluster)
	}
	facts := map[string]string{}
	for _, section := range []string{"server", "memory", "persistence"} {
		text, err := rdb.Info(ctx, section).Result()
		if err != nil {
			return []Problem{{ //nolint:nilerr // the error is the problem
				Code: "unreadable", What: "Redis does not tell its settings (" + err.Error() + ")",
				Do: "make sure that maxmemory-policy is noeviction and appendonly is yes",
			}}, nil
		}
		for line := range strings.Lines(text) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
				facts[name] = value
			}
		}
	}
	return judge(facts), nil
}

// checkNodes checks each node of a Cluster: one of them has the queue, and any
// may take it over.
func checkNodes(ctx context.Context, cluster *redis.ClusterClient) ([]Problem, error) {
	var mu sync.Mutex
	var found []Problem
	err := cluster.ForEachShard(ctx, func(ctx context.Context, node *redis.Client) error {
		problems, err := CheckServer(ctx, node)
		mu.Lock()
		defer mu.Unlock()
		for _, p := range problems {
			p.What = "node " + node.Options().Addr + ": " + p.What
			found = append(found, p)
		}
		return err
	})
	slices.SortFunc(found, func(a, b Problem) int { return strings.Compare(a.What, b.What) })
	return found, err
}

// judge reads the facts of INFO.
func judge(facts map[string]string) []Problem {
	var found []Problem
	switch p := facts["maxmemory_policy"]; {
	case p == "", p == "noeviction":
	case strings.HasPrefix(p, "volatile-"):
		found = append(found, Problem{
			Code: "eviction",
			What: "Redis drops keys that have a lifetime when its memory is full (maxmemory-policy " + p + "); jobs have none",
			Do:   "set maxmemory-policy noeviction",
		})
	default:
		found = append(found, Problem{
			Code: "eviction", Fatal: true,
			What: "Redis drops keys when its memory is full (maxmemory-policy " + p + ")",
			Do:   "set maxmemory-policy noeviction",
		})
	}
	if facts["aof_enabled"] == "0" {
		found = append(found, Problem{
			Code: "persistence",
			What: "Redis keeps no append-only file, so a restart loses the jobs since its last snapshot",
			Do:   "set appendonly yes (appendfsync everysec loses at most a second)",
		})
	} else if s := facts["aof_last_write_status"]; s != "" && s != "ok" {
		found = append(found, Problem{
			Code: "persistence", Fatal: true,
			What: "Redis cannot write its append-only file (aof_last_write_status " + s + ")",
			Do:   "free its disk and read its log",
		})
	}
	version := facts["redis_version"]
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err == nil && n < minVersion {
		found = append(found, Problem{
			Code: "version", Fatal: true,
			What: "Redis has version " + version,
			Do:   fmt.Sprintf("use Redis %d or later, or a Valkey", minVersion),
		})
	}
	return found
}
