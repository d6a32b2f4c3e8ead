package main

import (
	"errors"
	"log/slog"
	"testing"

	"culprit/internal/config"
	"culprit/internal/redact"
	"culprit/internal/session"
	"culprit/queue"
	"culprit/queue/queuetest"
)

func TestARedisThatLosesJobsIsRefusedAsConfigured(t *testing.T) {
	t.Parallel()
	evicts := queuetest.StartProcess(t, "--port", "0", "--save", "", "--appendonly", "yes", "--maxmemory-policy", "allkeys-lru")
	forgets := queuetest.StartProcess(t, "--port", "0", "--save", "", "--appendonly", "no")
	for _, tt := range []struct {
		redis       *queuetest.Process
		check, code string // empty: it starts
	}{
		{evicts, "refuse", "redis-eviction"},
		{evicts, "strict", "redis-eviction"},
		{evicts, "warn", ""},
		{forgets, "refuse", ""},
		{forgets, "strict", "redis-persistence"},
		{forgets, "warn", ""},
	} {
		s := &service{
			cfg: config.Config{RedisURL: "unix://" + tt.redis.Socket, RedisCheck: tt.check},
			log: slog.New(slog.DiscardHandler), redactor: redact.New(),
		}
		err := s.openRedis(t.Context())
		if cerr := s.close(); cerr != nil {
			t.Error(cerr)
		}
		var user *session.UserError
		if errors.As(err, &user); tt.code == "" && err != nil || tt.code != "" && (user == nil || user.Code != tt.code) {
			t.Errorf("%s: got %v, want %q", tt.check, err, tt.code)
		}
	}
}

func TestLimitsOfTheConfigurationAreThoseOfTheWorkers(t *testing.T) {
	t.Parallel()
	c := config.Config{Work: true, Limits: config.Limits{Repository: 2, Installation: 0, Total: 9}}
	if got, want := limits(c), (queue.Limits{Repository: 2, Installation: -1, Total: 9}); got != want {
		t.Errorf("a worker has %+v, want %+v", got, want)
	}
	c.Work = false
	if got, want := limits(c), (queue.Limits{Repository: -1, Installation: -1, Total: -1}); got != want {
		t.Errorf("a process that only serves has %+v, want %+v", got, want)
	}
}
