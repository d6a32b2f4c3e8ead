package agent

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"
)

// sessions that wait at a time.
const sessions = 200

// slow answers the first question with a call, and begins an answer to the
// second one that never ends.
const slow = `rules:
  - {when: {turn: 1}, answer: {calls: [{name: read, arguments: {path: a, size: 12000}}]}}
  - {answer: {text: I am thinking about it., hold: never}}
`

// wait starts the sessions and returns when the answers of all have begun.
func (r *rig) wait(ctx context.Context, tb testing.TB) (ended func() []Done) {
	tb.Helper()
	out := make([]Done, sessions)
	var wg sync.WaitGroup
	for i := range sessions {
		wg.Go(func() {
			out[i] = r.client.Run(ctx, r.task())
		})
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(2 * time.Minute)
	defer limit.Stop()
	for r.server.Waiting() < sessions {
		select {
		case <-tick.C:
		case <-limit.C:
			tb.Fatalf("%d of %d sessions wait", r.server.Waiting(), sessions)
		}
	}
	return func() []Done { wg.Wait(); return out }
}

// Sessions that are called off while a model is answering leave nothing: no
// goroutine (TestMain looks) and no connection.
func TestCancelledSessionsEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, slow)
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := r.wait(ctx, t)
	cancel(errCalledOff)
	for _, done := range ended() {
		if done.End != Cancelled || done.Turns != 1 || done.Usage.Out == 0 {
			t.Fatalf("%+v", done)
		}
	}
}

var errCalledOff = errors.New("called off")

// BenchmarkWaitingSessions says what a session costs while its model answers
// slowly. Both ends of each connection lie in this process, the scripted
// server's too: what a session costs is less than this.
func BenchmarkWaitingSessions(b *testing.B) {
	for b.Loop() {
		r := newRig(b, slow)
		before, goroutines := inUse(), runtime.NumGoroutine()
		ctx, cancel := context.WithCancel(b.Context())
		ended := r.wait(ctx, b)
		b.ReportMetric(float64(inUse()-before)/sessions/1024, "KiB/session")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/sessions, "goroutines/session")
		cancel()
		ended()
		r.client.Close()
		left := runtime.NumGoroutine() - goroutines
		for range 100 { // connections end a little later
			if left <= 0 {
				break
			}
			runtime.Gosched()
			<-time.After(10 * time.Millisecond)
			left = runtime.NumGoroutine() - goroutines
		}
		b.ReportMetric(float64(max(left, 0)), "goroutines-left")
	}
}

// inUse is the memory that the heap and the stacks hold, in bytes.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
