package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/redis/go-redis/v9"

	"culprit/internal/config"
	"culprit/internal/session"
	"culprit/queue"
	"culprit/queue/connect"
	"culprit/queue/embedded"
)

// redisClient makes the client of an address, without connecting yet.
func redisClient(text string, files connect.Files) (redis.UniversalClient, connect.Address, error) {
	address, err := connect.Parse(text)
	if err != nil {
		return nil, address, &session.UserError{Code: "redis-url", What: "REDIS_URL cannot be read", Do: "use " + strings.Join(connect.Forms, ", "), Err: err}
	}
	client, err := connect.Open(address, files)
	if err != nil {
		return nil, address, &session.UserError{Code: "redis-files", What: err.Error(), Do: "check REDIS_CA_FILE, REDIS_CERT_FILE and REDIS_KEY_FILE"}
	}
	return client, address, nil
}

// redisFiles are the certificates that the environment names.
func redisFiles(lookup func(string) (string, bool)) connect.Files {
	value := func(name string) string { v, _ := lookup(name); return v }
	return connect.Files{CA: value("REDIS_CA_FILE"), Cert: value("REDIS_CERT_FILE"), Key: value("REDIS_KEY_FILE")}
}

// openRedis connects to the configured Redis and checks how it is set up, or
// starts an embedded one.
func (s *service) openRedis(ctx context.Context) error {
	if s.cfg.RedisURL == "" {
		mini, err := embedded.Start()
		if err != nil {
			return err
		}
		s.embedded, s.redis = mini, mini.Client()
		s.log.Warn("no REDIS_URL is set: an embedded Redis serves this process alone; jobs that have not begun are lost when it stops")
		return nil
	}
	client, address, err := redisClient(s.cfg.RedisURL, s.cfg.RedisFiles)
	if err != nil {
		return err
	}
	s.redis = client
	for _, secret := range address.Secrets() {
		s.redactor.Add(secret)
	}
	s.log.Info("the queue is in Redis", "at", address.String(), "tls", address.TLS)
	problems, err := queue.CheckServer(ctx, s.redis)
	if err != nil {
		return nil //nolint:nilerr // queue.Open says it better
	}
	for _, p := range problems {
		if s.cfg.RedisCheck == "strict" || p.Fatal && s.cfg.RedisCheck != "warn" {
			return &session.UserError{Code: "redis-" + p.Code, What: p.What, Do: p.Do + ", or start with --redis-check=warn"}
		}
		s.log.Warn("Redis is not set up to keep jobs", "problem", p.String())
	}
	return nil
}

// limits are those of the configuration in the queue's terms. A process that
// only serves has none: limits decide who stands in the line, and those of the
// workers count.
func limits(c config.Config) queue.Limits {
	none := func(n int) int {
		if n == 0 || !c.Work {
			return -1
		}
		return n
	}
	return queue.Limits{Repository: none(c.Limits.Repository), Installation: none(c.Limits.Installation), Total: none(c.Limits.Total)}
}

// redisLog passes what the Redis client says of its connections on at debug
// level: what matters of it comes back as an error too.
type redisLog struct{ log *slog.Logger }

func (l redisLog) Printf(ctx context.Context, format string, v ...any) {
	if l.log.Enabled(ctx, slog.LevelDebug) {
		l.log.DebugContext(ctx, fmt.Sprintf(format, v...))
	}
}
