// Package knowledge remembers what sessions found of each test of a repository
// (features QD4, DB4), so that the next one begins with the test's history: a
// test that was flaky three times is suspected of it first, and people see that
// a failure that was fixed is back.
//
// It holds facts that runs showed, never guesses, and none of them is needed:
// losing all of it costs context. Two stores keep the same records: Redis for
// the service, and the session folders of this machine for the command line.
// Records of one repository are never shown in another.
package knowledge

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"culprit/internal/session"
)

const (
	// Keep is how long a test's history is kept after it was last added to.
	Keep = 180 * 24 * time.Hour
	// perTest is how many sessions of one test are remembered.
	perTest = 20
	// folders is how many session folders of a machine are looked at, the
	// newest first.
	folders = 200
)

// newest brings records in order, the newest first.
func newest(all []session.Past) []session.Past {
	slices.SortFunc(all, func(a, b session.Past) int {
		return cmp.Or(b.At.Compare(a.At), strings.Compare(b.Session, a.Session), strings.Compare(a.Test, b.Test))
	})
	return all
}

// Redis is safe for concurrent use.
type Redis struct {
	rdb  redis.UniversalClient
	base string
}

// OpenRedis makes a handle; it makes no call.
func OpenRedis(rdb redis.UniversalClient) *Redis {
	return &Redis{rdb: rdb, base: "{culprit-knowledge}:"}
}

// key of a test's history: names are hostile and long, so they are hashed.
func (x *Redis) key(repository, test string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(repository) + "\x00" + test))
	return x.base + "test:" + hex.EncodeToString(sum[:16])
}

// Learn adds what a session found. Doing it again changes nothing.
func (x *Redis) Learn(ctx context.Context, s *session.Session) error {
	for _, p := range s.Findings() {
		data, err := json.Marshal(p)
		if err != nil {
			return fmt.Errorf("remember session %s: %w", s.ID, err)
		}
		key := x.key(s.Source.Repository, p.Test)
		var all *redis.MapStringStringCmd
		_, err = x.rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.HSet(ctx, key, p.Session, data)
			pipe.Expire(ctx, key, Keep)
			all = pipe.HGetAll(ctx, key)
			return nil
		})
		if err != nil {
			return fmt.Errorf("remember session %s: %w", s.ID, err)
		}
		// Names begin with their date: the first are the oldest.
		if old := slices.Sorted(maps.Keys(all.Val())); len(old) > perTest {
			if err := x.rdb.HDel(ctx, key, old[:len(old)-perTest]...).Err(); err != nil {
				return fmt.Errorf("forget old sessions of %s: %w", p.Test, err)
			}
		}
	}
	return nil
}

// Recall returns what other sessions found of the tests of this one, the newest
// first.
func (x *Redis) Recall(ctx context.Context, s *session.Session) ([]session.Past, error) {
	tests := s.FailingTests()
	if len(tests) == 0 {
		return nil, nil
	}
	found := make([]*redis.MapStringStringCmd, len(tests))
	_, err := x.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, t := range tests {
			found[i] = pipe.HGetAll(ctx, x.key(s.Source.Repository, t))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("recall earlier sessions: %w", err)
	}
	var out []session.Past
	for _, f := range found {
		for id, data := range f.Val() {
			var p session.Past
			if id != s.ID && json.Unmarshal([]byte(data), &p) == nil {
				out = append(out, p)
			}
		}
	}
	return newest(out), nil
}

// Folders recalls from the session folders of this machine (Dir). They are the
// record themselves, so there is nothing to learn.
type Folders struct{ Dir string }

// Learn does nothing.
func (Folders) Learn(context.Context, *session.Session) error { return nil }

// Recall returns what earlier sessions about the same local repository found of
// the tests of this one, the newest first. Folders that cannot be read are
// passed over: they are somebody else's, or half written.
func (f Folders) Recall(ctx context.Context, s *session.Session) ([]session.Past, error) {
	tests := s.FailingTests()
	if len(tests) == 0 {
		return nil, nil
	}
	names, err := os.ReadDir(f.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("recall earlier sessions: %w", err)
	}
	slices.SortFunc(names, func(a, b fs.DirEntry) int { return strings.Compare(b.Name(), a.Name()) })
	var out []session.Past
	for _, n := range names[:min(len(names), folders)] {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("recall earlier sessions: %w", err)
		}
		var other session.Session
		data, err := os.ReadFile(filepath.Join(f.Dir, n.Name(), "session.json"))
		if err != nil || json.Unmarshal(data, &other) != nil || !other.Done() || other.ID == s.ID || other.Source.Path != s.Source.Path {
			continue
		}
		for _, p := range other.Findings() {
			if slices.Contains(tests, p.Test) {
				out = append(out, p)
			}
		}
	}
	return newest(out), nil
}
