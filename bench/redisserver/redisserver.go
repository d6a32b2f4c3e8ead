// Package redisserver starts real Redis servers for benchmarks: one process on
// loopback, in a folder of its own, with the persistence that
// docs/operations.md asks of a server that carries a queue.
package redisserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Server is a running redis-server.
type Server struct {
	Addr string // host:port on loopback
	PID  int

	cmd *exec.Cmd
	dir string
}

// Settings are the arguments of every server here, with the given appendfsync.
func Settings(fsync string) []string {
	return []string{
		"--appendonly", "yes", "--appendfsync", fsync, "--save", "", "--maxmemory-policy", "noeviction",
		// A rewrite of the file in the middle of a measurement would hit one
		// side of a comparison and not the other.
		"--auto-aof-rewrite-percentage", "0",
	}
}

// Start runs redis-server with the settings and waits until it answers. The
// caller closes it.
func Start(ctx context.Context, fsync string) (*Server, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("start Redis: %w: install redis-server", err)
	}
	port, err := FreePort()
	if err != nil {
		return nil, fmt.Errorf("start Redis: %w", err)
	}
	dir, err := os.MkdirTemp("", "bench-redis")
	if err != nil {
		return nil, fmt.Errorf("start Redis: %w", err)
	}
	args := append([]string{"--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", dir}, Settings(fsync)...)
	cmd := exec.Command(program, args...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start Redis: %w", err), os.RemoveAll(dir))
	}
	s := &Server{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), PID: cmd.Process.Pid, cmd: cmd, dir: dir}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for !answers(s.Addr) {
		select {
		case <-ctx.Done():
			err := s.Close()
			return nil, errors.Join(fmt.Errorf("start Redis: no answer: %w\n%s", ctx.Err(), output.String()), err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return s, nil
}

// Client opens a client whose pool is large enough for every number of workers
// that is measured.
func (s *Server) Client() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: s.Addr, PoolSize: 200})
}

// URL is what REDIS_URL takes.
func (s *Server) URL() string { return "redis://" + s.Addr + "/0" }

// FileSize is how many bytes the append-only file has.
func (s *Server) FileSize() int64 {
	var sum int64
	files, _ := filepath.Glob(filepath.Join(s.dir, "appendonlydir", "*"))
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			sum += info.Size()
		}
	}
	return sum
}

// Commands is how many commands the server has carried out since it started, by
// INFO commandstats: those that clients sent and those that scripts called.
func (s *Server) Commands(ctx context.Context) (int, error) {
	rdb := s.Client()
	defer rdb.Close()
	info, err := rdb.Info(ctx, "commandstats").Result()
	if err != nil {
		return 0, fmt.Errorf("count commands: %w", err)
	}
	sum := 0
	for line := range strings.Lines(info) {
		_, stats, _ := strings.Cut(strings.TrimSpace(line), ":calls=")
		calls, _, ok := strings.Cut(stats, ",")
		if !ok {
			continue // the heading
		}
		n, err := strconv.Atoi(calls)
		if err != nil {
			return 0, fmt.Errorf("count commands: %q: %w", line, err)
		}
		sum += n
	}
	return sum, nil
}

// Close ends the server and removes its folder.
func (s *Server) Close() error {
	_ = s.cmd.Process.Kill() // it may have ended by itself
	_ = s.cmd.Wait()
	return os.RemoveAll(s.dir)
}

// Version is what redis-server says of itself, as "7.0.15".
func Version() string {
	out, err := exec.Command("redis-server", "--version").Output()
	if err != nil {
		return "unknown"
	}
	for field := range strings.FieldsSeq(string(out)) {
		if v, ok := strings.CutPrefix(field, "v="); ok {
			return v
		}
	}
	return "unknown"
}

// answers tries one PING by hand: a client would log each refused connection.
func answers(addr string) bool {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	var pong [7]byte
	_, err = conn.Write([]byte("PING\r\n"))
	if err == nil {
		_, err = io.ReadFull(conn, pong[:])
	}
	return err == nil && string(pong[:]) == "+PONG\r\n"
}

// FreePort returns a TCP port of loopback on which nobody listens right now.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
