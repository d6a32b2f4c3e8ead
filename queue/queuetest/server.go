// Package queuetest holds what every Redis that carries a queue must pass, and
// what tests of the queue and of its users need: servers, a clock.
package queuetest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"culprit/internal/requiretest"
	"culprit/queue/embedded"
)

// Real starts a redis-server on a Unix socket in a folder of its own and ends
// it with the test. Extra arguments are configuration, as "--appendonly", "yes".
// Without redis-server the test is skipped.
func Real(tb testing.TB, args ...string) *redis.Client {
	tb.Helper()
	program := requiretest.Program(tb, "redis-server")
	dir, err := os.MkdirTemp("", "redis") // short: socket paths are limited to 107 bytes
	if err != nil {
		tb.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	var output bytes.Buffer
	cmd := exec.Command(program, append([]string{
		"--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "", "--maxmemory-policy", "noeviction",
	}, args...)...)
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: socket, PoolSize: 100})
	tb.Cleanup(func() {
		_ = rdb.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for rdb.Ping(ctx).Err() != nil {
		select {
		case <-ctx.Done():
			tb.Fatalf("redis-server did not answer:\n%s", output.String())
		case <-tick.C:
		}
	}
	return rdb
}

// Embedded starts an embedded Redis and ends it with the test.
func Embedded(tb testing.TB) *redis.Client {
	tb.Helper()
	s, err := embedded.Start()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s.Client()
}

// A Clock is what Options.Now wants, moved by hand.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock starts at a fixed moment.
func NewClock() *Clock {
	return &Clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

// Now returns the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
