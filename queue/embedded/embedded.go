// Package embedded runs a Redis inside this process, for one machine and for
// trying the product out.
//
// It is miniredis, which runs the queue's scripts as Redis does, with three
// differences that matter. It keeps nothing: when the process ends its jobs are
// gone, so whoever uses it enqueues unfinished sessions again from their
// folders. It is reached only from this machine, by a password that only this
// process knows, because a job is a request to run code. And keys with a
// lifetime expire only when its clock is driven, which a goroutine of the
// Server does; the queue itself uses no such keys. See
// docs/adr/0002-embedded-redis.md.
package embedded

import (
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// A Server is a running Redis. Close it.
type Server struct {
	mini     *miniredis.Miniredis
	client   *redis.Client
	password string

	stop sync.Once
	quit chan struct{}
	done chan struct{}
}

// Start listens on a free port of the loopback interface. It prints nothing.
func Start() (*Server, error) {
	s := &Server{
		mini: miniredis.NewMiniRedis(), password: rand.Text(),
		quit: make(chan struct{}), done: make(chan struct{}),
	}
	s.mini.RequireAuth(s.password)
	if err := s.mini.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("start embedded Redis: %w", err)
	}
	s.client = redis.NewClient(s.Options())
	go s.drive(time.Second)
	return s, nil
}

// drive lets the time pass for keys with a lifetime.
func (s *Server) drive(step time.Duration) {
	defer close(s.done)
	t := time.NewTicker(step)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			s.mini.FastForward(step)
		case <-s.quit:
			return
		}
	}
}

// Options returns what a client of its own needs.
func (s *Server) Options() *redis.Options {
	return &redis.Options{
		Addr: s.mini.Addr(), Password: s.password,
		// Only managed clusters move connections.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// Client returns a client that lives as long as the server.
func (s *Server) Client() *redis.Client { return s.client }

// Close ends the client and the server and waits for both. It may be called
// more than once.
func (s *Server) Close() error {
	var err error
	s.stop.Do(func() {
		close(s.quit)
		<-s.done
		err = s.client.Close()
		s.mini.Close()
	})
	if err != nil {
		return fmt.Errorf("close embedded Redis: %w", err)
	}
	return nil
}
