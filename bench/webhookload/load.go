package webhookload

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"culprit/bench/figures"
)

// A sender carries out the nth request of a run on a connection of its own.
type sender func(n int) error

// open makes a sender for each of the load's connections, and a function that
// closes it.
type open func() (sender, func(), error)

// outcome of a load.
type outcome struct {
	took     figures.Latencies
	sent     int // begun
	failed   int
	firstErr error
	elapsed  time.Duration
}

func (o *outcome) answered() int { return o.took.Len() }

// openLoop sends count requests at a rate, whatever the answers do. The nth is
// due at n/rate; it waits for a free connection if there is none, and its
// latency counts from when it was due, so that a target which stalls is charged
// for all that piled up (no coordinated omission). What is not sent within
// twice the time is left out and counts as not sent.
func openLoop(ctx context.Context, rate float64, count, connections int, dial open) (*outcome, error) {
	interval := time.Duration(float64(time.Second) / rate)
	ctx, cancel := context.WithTimeout(ctx, 2*time.Duration(count)*interval+2*time.Second)
	defer cancel()
	due := make(chan int, count)
	var start time.Time
	at := func(n int) time.Time { return start.Add(time.Duration(n) * interval) }
	o, wait, err := connect(connections, dial, func(send sender, o *tally) {
		for n := range due {
			if ctx.Err() != nil {
				return
			}
			o.note(send(n), at(n))
		}
	}, &start)
	if err != nil {
		return nil, err
	}
	for n := range count {
		if d := time.Until(at(n)); d > 0 {
			time.Sleep(d)
		}
		due <- n // never blocks: it has room for all
	}
	close(due)
	wait()
	return o, nil
}

// closedLoop lets each connection send the next request when the last was
// answered, for that long: the most that the target can do.
func closedLoop(ctx context.Context, d time.Duration, first, connections int, dial open) (*outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var next atomic.Int64
	next.Store(int64(first) - 1)
	var start time.Time
	o, wait, err := connect(connections, dial, func(send sender, o *tally) {
		for ctx.Err() == nil {
			began := time.Now()
			o.note(send(int(next.Add(1))), began)
		}
	}, &start)
	if err != nil {
		return nil, err
	}
	wait()
	return o, nil
}

// A tally is an outcome that many connections write.
type tally struct {
	mu sync.Mutex
	*outcome
}

func (t *tally) note(err error, since time.Time) {
	took := time.Since(since)
	t.mu.Lock()
	t.sent++
	if err != nil {
		t.failed++
		if t.firstErr == nil {
			t.firstErr = err
		}
	}
	t.mu.Unlock()
	if err == nil {
		t.took.Add(took)
	}
}

// connect opens the connections, sets the start, and runs work on each.
func connect(connections int, dial open, work func(sender, *tally), start *time.Time) (*outcome, func(), error) {
	o := &tally{outcome: &outcome{}}
	var senders []sender
	var closers []func()
	closeAll := func() {
		for _, c := range closers {
			c()
		}
	}
	for range connections {
		send, closer, err := dial()
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		senders, closers = append(senders, send), append(closers, closer)
	}
	*start = time.Now()
	var working sync.WaitGroup
	for _, send := range senders {
		working.Go(func() { work(send, o) })
	}
	return o.outcome, func() {
		working.Wait()
		o.elapsed = time.Since(*start)
		closeAll()
	}, nil
}

// overHTTP opens a connection to a webhook address. It writes requests that are
// made beforehand and reads answers with as little as HTTP needs: the generator
// shares the machine with what it measures.
func overHTTP(addr, path string, all []delivery, ids guids) open {
	return func() (sender, func(), error) {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return nil, nil, fmt.Errorf("connect to the target: %w", err)
		}
		answers := bufio.NewReader(conn)
		begin := "POST " + path + " HTTP/1.1\r\nHost: " + addr + "\r\nUser-Agent: GitHub-Hookshot/c0de123\r\nAccept: */*\r\nX-GitHub-Delivery: "
		var head []byte
		send := func(n int) error {
			d := all[n%len(all)]
			head = append(append(append(append(head[:0], begin...), ids.at(n)...), "\r\n"...), d.head...)
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			if _, err := (&net.Buffers{head, d.body}).WriteTo(conn); err != nil {
				return fmt.Errorf("send: %w", err)
			}
			resp, err := http.ReadResponse(answers, nil)
			if err != nil {
				return fmt.Errorf("read answer: %w", err)
			}
			text, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil {
				return fmt.Errorf("read answer: %w", err)
			}
			if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusAccepted {
				return fmt.Errorf("answered %d: %.200s", resp.StatusCode, text)
			}
			return nil
		}
		return send, func() { _ = conn.Close() }, nil
	}
}
