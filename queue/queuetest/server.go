// Package queuetest holds what every Redis that carries a queue must pass, and
// what tests of the queue and of its users need: servers, a clock.
package queuetest

import (
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"culprit/queue/embedded"
)

// Real starts a redis-server on a Unix socket in a folder of its own and ends
// it with the test. Extra arguments are configuration, as "--appendonly", "yes".
// Without redis-server the test is skipped.
func Real(tb testing.TB, args ...string) *redis.Client {
	tb.Helper()
	return StartProcess(tb, append([]string{"--port", "0", "--save", "", "--maxmemory-policy", "noeviction"}, args...)...).Client()
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
