package queue

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Options of a Queue. Zero values take the default in parentheses.
type Options struct {
	Redis  redis.UniversalClient // required: single node, Sentinel or Cluster
	Prefix string                // hash tag of all keys ("culprit")

	Limits Limits

	Lease       time.Duration // how long a silent worker keeps a job (30 s)
	MaxAttempts int           // failures that bury a job (5)
	MaxCrashes  int           // crashes in a row, without progress between them, that bury a job (3)
	Backoff     Backoff       // between attempts
	Ageing      time.Duration // waiting time that outweighs one class of priority (30 min)

	MaxPayload    int // bytes (64 KiB)
	MaxCheckpoint int // bytes after compression (8 MiB)

	KeepDeliveries  time.Duration // how long a delivery is remembered (96 h: GitHub redelivers for 72 h)
	KeepEnded       time.Duration // how long jobs that ended are shown (7 days; dead ones 4 times as long)
	KeepCheckpoints time.Duration // how long the checkpoint of an ended job is kept (72 h)

	// Now replaces Redis' own clock in tests. Every process of a queue must
	// use the same clock.
	Now func() time.Time
}

// Limits of jobs that run at the same time. Zero values take the default in
// parentheses; negative ones mean no limit.
type Limits struct {
	Repository   int // (1)
	Installation int // (4)
	Total        int // over all workers (no limit)
}

// A Queue is a handle on the jobs under one prefix. It is safe for concurrent
// use and holds no goroutine and no connection of its own.
type Queue struct {
	rdb  redis.UniversalClient
	opts Options
	base string // "{prefix}:"
}

// Open checks the options and that Redis answers.
func Open(ctx context.Context, opts Options) (*Queue, error) {
	if opts.Redis == nil {
		return nil, errors.New("open queue: no Redis client given")
	}
	opts = opts.withDefaults()
	if err := checkName("prefix", opts.Prefix); err != nil {
		return nil, fmt.Errorf("open queue: %w", err)
	}
	q := &Queue{rdb: opts.Redis, opts: opts, base: "{" + opts.Prefix + "}:"}
	if err := q.rdb.Ping(ctx).Err(); err != nil {
		return nil, fmt.Errorf("open queue: reach Redis: %w", err)
	}
	return q, nil
}

// Lease returns how long a silent worker keeps a job.
func (q *Queue) Lease() time.Duration { return q.opts.Lease }

func (o Options) withDefaults() Options {
	setDefault(&o.Prefix, "culprit")
	setDefault(&o.Limits.Repository, 1)
	setDefault(&o.Limits.Installation, 4)
	setDefault(&o.Limits.Total, -1)
	setDefault(&o.Lease, 30*time.Second)
	setDefault(&o.MaxAttempts, 5)
	setDefault(&o.MaxCrashes, 3)
	setDefault(&o.Ageing, 30*time.Minute)
	setDefault(&o.MaxPayload, 64<<10)
	setDefault(&o.MaxCheckpoint, 8<<20)
	setDefault(&o.KeepDeliveries, 96*time.Hour)
	setDefault(&o.KeepEnded, 7*24*time.Hour)
	setDefault(&o.KeepCheckpoints, 72*time.Hour)
	o.Backoff = o.Backoff.withDefaults()
	return o
}

func setDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

//go:embed lua/*.lua
var luaFiles embed.FS

// script loads one operation with the functions that all of them share. What it
// changed is written after it.
func script(name string) *redis.Script {
	read := func(file string) string {
		b, err := luaFiles.ReadFile("lua/" + file + ".lua")
		if err != nil {
			panic("queue: script is not embedded: " + err.Error()) // a build without its files
		}
		return string(b)
	}
	return redis.NewScript(read("lib") + "\nlocal function operation()\n" + read(name) + "\nend\nlocal answer = operation()\nflush()\nreturn answer\n")
}

// run executes a script. The first arguments are the same for all of them:
// the base of the keys, the time and the settings that decide about turns.
func (q *Queue) run(ctx context.Context, s *redis.Script, args ...any) *redis.Cmd {
	now := int64(0)
	if q.opts.Now != nil {
		now = q.opts.Now().UnixMicro()
	}
	all := append([]any{
		now,
		q.opts.Ageing.Microseconds(),
		q.opts.Limits.Repository,
		q.opts.Limits.Installation,
		q.opts.Limits.Total,
	}, args...)
	return s.Run(ctx, q.rdb, []string{q.base + "tick"}, all...)
}

// now is the queue's time as this process knows it, for deadlines that a
// caller gives as a moment.
func (q *Queue) now() time.Time {
	if q.opts.Now != nil {
		return q.opts.Now()
	}
	return time.Now()
}

const idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// newID returns 10 characters of time in milliseconds and 8 of randomness, so
// that IDs sort by time and never meet.
func newID(now time.Time) string {
	var id [18]byte
	ms := uint64(now.UnixMilli())
	for i := 9; i >= 0; i-- {
		id[i] = idAlphabet[ms&31]
		ms >>= 5
	}
	var r [8]byte
	_, _ = rand.Read(r[:]) // never fails since Go 1.24
	for i, b := range r {
		id[10+i] = idAlphabet[b&31]
	}
	return string(id[:])
}

func microTime(s string) time.Time {
	us, err := strconv.ParseInt(s, 10, 64)
	if err != nil || us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us)
}
