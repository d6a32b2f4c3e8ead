package queue

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
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
// use and holds no connection of its own, and no goroutine beyond the calls of
// Enqueue that wait for it.
type Queue struct {
	rdb  redis.UniversalClient
	opts Options
	base string   // "{prefix}:"
	keys []string // that scripts declare: the index

	enqueues enqueues
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
	q.keys = []string{q.base + "index"}
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

// Parts that operations share, each after those that it needs. Redis makes the
// functions of a script anew with each call, so an operation has those that it
// needs and no more.
var (
	aside   = []string{"core"}                          // what is no job
	leasing = []string{"core", "lease"}                 // leaves a job where it is
	moving  = []string{"core", "line", "move", "lease"} // moves jobs
)

// script loads one operation with its parts. What it changed is written after it.
func script(name string, parts []string) *redis.Script {
	var text strings.Builder
	add := func(file string) {
		b, err := luaFiles.ReadFile("lua/" + file + ".lua")
		if err != nil {
			panic("queue: script is not embedded: " + err.Error()) // a build without its files
		}
		text.Write(b)
		text.WriteByte('\n')
	}
	for _, part := range parts {
		add(part)
	}
	text.WriteString("local function operation()\n")
	add(name)
	text.WriteString("end\nlocal answer = operation()\nflush()\nreturn answer\n")
	return redis.NewScript(text.String())
}

// run executes a script. The first arguments are the same for all of them:
// the base of the keys, the time and the settings that decide about turns.
func (q *Queue) run(ctx context.Context, s *redis.Script, args ...any) *redis.Cmd {
	now := int64(0)
	if q.opts.Now != nil {
		now = q.opts.Now().UnixMicro()
	}
	all := make([]any, 0, 5+len(args))
	all = append(all, now, q.opts.Ageing.Microseconds(), q.opts.Limits.Repository, q.opts.Limits.Installation, q.opts.Limits.Total)
	return s.Run(ctx, q.rdb, q.keys, append(all, args...)...)
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
