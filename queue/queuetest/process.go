package queuetest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"culprit/internal/requiretest"
)

// A Process is a redis-server that a test can kill, stop for a while, and start
// again with what it kept in its folder.
type Process struct {
	Dir    string
	Socket string // in Dir

	tb     testing.TB
	args   []string
	mu     sync.Mutex
	cmd    *exec.Cmd
	output bytes.Buffer
}

// StartProcess starts a redis-server in a folder of its own, which listens on a
// Unix socket, and on TCP if the arguments say so, and ends it with the test.
// The arguments are configuration, as "--appendonly", "yes"; a first one
// without dashes is a file, as Sentinels need. Without redis-server the test is
// skipped.
func StartProcess(tb testing.TB, args ...string) *Process {
	tb.Helper()
	requiretest.Program(tb, "redis-server")
	dir, err := os.MkdirTemp("", "redis") // short: socket paths are limited to 107 bytes
	if err != nil {
		tb.Fatal(err)
	}
	p := &Process{Dir: dir, Socket: filepath.Join(dir, "s"), tb: tb}
	p.args = slices.Concat(args, []string{"--unixsocket", p.Socket, "--dir", dir})
	tb.Cleanup(func() {
		p.Kill()
		_ = os.RemoveAll(dir)
	})
	p.Start()
	return p
}

// Start starts it, again after Kill, and waits until it listens.
func (p *Process) Start() {
	p.tb.Helper()
	p.mu.Lock()
	p.cmd = exec.Command("redis-server", p.args...)
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	err := p.cmd.Start()
	p.mu.Unlock()
	if err != nil {
		p.tb.Fatal(err)
	}
	Eventually(p.tb, "redis-server listens", func() bool {
		conn, err := net.Dial("unix", p.Socket)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

// Kill ends it as a crash does. It may be called more than once.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	p.cmd = nil
	_ = os.Remove(p.Socket)
	if p.tb.Failed() {
		p.tb.Logf("redis-server wrote:\n%s", p.output.String())
	}
	p.output.Reset()
}

// Hang stops it as a machine does that has no time for it: it takes connections
// and answers nothing. Go lets it go on.
func (p *Process) Hang() { p.signal(syscall.SIGSTOP) }

// Go ends Hang.
func (p *Process) Go() { p.signal(syscall.SIGCONT) }

func (p *Process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.tb.Error(err)
	}
}

// Client connects by the socket, as the default user, and waits for an answer.
func (p *Process) Client() *redis.Client {
	p.tb.Helper()
	rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: p.Socket, PoolSize: 100})
	p.tb.Cleanup(func() { _ = rdb.Close() })
	Eventually(p.tb, "redis-server answers", func() bool { return rdb.Ping(context.Background()).Err() == nil })
	return rdb
}

// FreePort returns a TCP port on which nobody listens right now.
func FreePort(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}

// Eventually polls until the condition holds, and fails the test when it does
// not within half a minute.
func Eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	limit := time.NewTimer(30 * time.Second)
	defer limit.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit.C:
			tb.Fatalf("not within 30 s: %s", what)
		}
	}
}
