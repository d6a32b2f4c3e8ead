package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"culprit/internal/session"
)

// startMetrics serves metrics and health checks on a listener of their own, if
// there is an address for it. They are served until stop is called, also while
// running jobs are given back; ready they are no longer then.
func (s *service) startMetrics(ctx context.Context) (stop func(), err error) {
	if s.cfg.MetricsAddr == "" {
		return func() {}, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.cfg.MetricsAddr)
	if err != nil {
		return nil, &session.UserError{Code: "listen", What: fmt.Sprintf("cannot listen on %s", s.cfg.MetricsAddr), Do: "choose another address with --metrics-addr", Err: err}
	}
	server := s.metrics.Server(func(check context.Context) error {
		if ctx.Err() != nil {
			return errors.New("shutting down")
		}
		return s.redis.Ping(check).Err()
	}, s.log)
	s.log.Info("serving metrics", "address", listener.Addr().String(), "paths", "/metrics /healthz /readyz")
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("metrics are not served any more", "error", err)
		}
	}()
	return func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = server.Shutdown(grace) // a scraper that hangs is cut off
		_ = server.Close()
		<-done
	}, nil
}
