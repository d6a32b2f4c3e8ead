// Package index remembers in Redis which session is about what, so that a
// command finds the session of its thread, a red run of many jobs is looked at
// once, and the same failure on several branches is one incident (GH2, CR22).
//
// docs/architecture.md tells how one failure comes to be investigated once.
//
// It holds IDs and short facts, and is no truth: the session's folder and its
// checkpoint are. Entries lapse after a month without use. Losing all of it
// costs a repeated investigation and nothing else.
package index

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"culprit/internal/session"
)

// Keep is how long an entry is kept after its last use.
const Keep = 30 * 24 * time.Hour

// Index is safe for concurrent use.
type Index struct {
	rdb  redis.UniversalClient
	base string
}

// Open makes a handle; it makes no call.
func Open(rdb redis.UniversalClient) *Index { return &Index{rdb: rdb, base: "{culprit-index}:"} }

// Entry is what is known of a session.
type Entry struct {
	Session string `json:"session"`
	Job     string `json:"job"` // of the queue
	Key     string `json:"key"` // of the job
	SHA     string `json:"sha,omitempty"`
	Ref     string `json:"ref,omitempty"`
	Issue   int    `json:"issue,omitempty"`
	PR      int    `json:"pr,omitempty"`
	// Seen are the red CI jobs that the session has looked at.
	Seen []string `json:"seen,omitempty"`
}

// Put stores an entry and makes it the latest under its Key and the other keys.
func (x *Index) Put(ctx context.Context, e Entry, keys ...string) error {
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("index session %s: %w", e.Session, err)
	}
	_, err = x.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, x.base+"session:"+e.Session, data, Keep)
		for _, k := range append([]string{e.Key}, keys...) {
			if k != "" {
				p.Set(ctx, x.base+"key:"+k, e.Session, Keep)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("index session %s: %w", e.Session, err)
	}
	return nil
}

// Session returns the entry of a session; ok is false when there is none.
func (x *Index) Session(ctx context.Context, id string) (e Entry, ok bool, err error) {
	data, err := x.rdb.Get(ctx, x.base+"session:"+id).Bytes()
	if errors.Is(err, redis.Nil) {
		return Entry{}, false, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &e)
	}
	if err != nil {
		return Entry{}, false, fmt.Errorf("look up session %s: %w", id, err)
	}
	return e, true, nil
}

// Latest returns the entry that was put last under a key.
func (x *Index) Latest(ctx context.Context, key string) (Entry, bool, error) {
	id, err := x.rdb.Get(ctx, x.base+"key:"+key).Result()
	if errors.Is(err, redis.Nil) {
		return Entry{}, false, nil
	}
	if err != nil {
		return Entry{}, false, fmt.Errorf("look up the session of %s: %w", key, err)
	}
	return x.Session(ctx, id)
}

//go:embed lua/own.lua
var files embed.FS

var own = func() *redis.Script {
	text, err := files.ReadFile("lua/own.lua")
	if err != nil {
		panic("index: script is not embedded: " + err.Error()) // a build without its files
	}
	return redis.NewScript(string(text))
}()

// Own makes a session the owner of failures, unless another one owns all of
// them: then it is returned. Failures that nobody owns become the session's. A
// session that gives up what instead owns takes over: what belonged to it
// counts as nobody's. The whole is one step, so that of two sessions that begin
// at the same time one is first.
func (x *Index) Own(ctx context.Context, failures []string, id, instead string) (owner string, err error) {
	if len(failures) == 0 {
		return id, nil
	}
	keys := make([]string, len(failures))
	for i, f := range failures {
		keys[i] = x.base + "failure:" + f
	}
	owner, err = own.Run(ctx, x.rdb, keys, id, instead, int(Keep.Seconds())).Text()
	if err != nil {
		return "", fmt.Errorf("look for the same failure elsewhere: %w", err)
	}
	return owner, nil
}

// See notes that the failures of a session were seen elsewhere too.
func (x *Index) See(ctx context.Context, owner string, s session.Sighting) error {
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("note a sighting of session %s: %w", owner, err)
	}
	key := x.base + "seen:" + owner
	_, err = x.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.HSet(ctx, key, s.Session, data)
		p.Expire(ctx, key, Keep)
		return nil
	})
	if err != nil {
		return fmt.Errorf("note a sighting of session %s: %w", owner, err)
	}
	return nil
}

// Unsee takes back a sighting that turned out to be another failure.
func (x *Index) Unsee(ctx context.Context, owner, id string) error {
	if err := x.rdb.HDel(ctx, x.base+"seen:"+owner, id).Err(); err != nil {
		return fmt.Errorf("take back a sighting of session %s: %w", owner, err)
	}
	return nil
}

// Sightings lists where else the failures of a session were seen, in the order
// of the sessions' names, which begin with their dates.
func (x *Index) Sightings(ctx context.Context, owner string) ([]session.Sighting, error) {
	all, err := x.rdb.HVals(ctx, x.base+"seen:"+owner).Result()
	if err != nil {
		return nil, fmt.Errorf("list sightings of session %s: %w", owner, err)
	}
	var out []session.Sighting
	for _, data := range all {
		var s session.Sighting
		if json.Unmarshal([]byte(data), &s) == nil {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b session.Sighting) int { return strings.Compare(a.Session, b.Session) })
	return out, nil
}
