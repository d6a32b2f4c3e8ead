package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"culprit/handlers"
	"culprit/internal/budget"
	"culprit/internal/checkout"
	"culprit/internal/config"
	"culprit/internal/github"
	"culprit/internal/index"
	"culprit/internal/knowledge"
	"culprit/internal/redact"
	"culprit/internal/sandbox"
	"culprit/internal/session"
	"culprit/internal/telemetry"
	"culprit/queue"
	"culprit/queue/embedded"
)

func (a *App) serve(ctx context.Context, args []string) int {
	return a.service(ctx, config.Serve, args)
}

func (a *App) work(ctx context.Context, args []string) int {
	return a.service(ctx, config.Work, args)
}

// service runs serve or work until it is told to stop.
func (a *App) service(ctx context.Context, cmd config.Command, args []string) int {
	cfg, err := config.Load(cmd, args, a.LookupEnv)
	if errors.Is(err, config.ErrHelp) {
		fmt.Fprintf(a.Stdout, "usage: bot %s [flags]\n\nEach setting is a flag or an environment variable (docs/configuration.md). Defaults stand in brackets.\n\n%s", cmd, config.Help(cmd))
		return exitOK
	}
	if err != nil {
		return a.usageError(string(cmd), err)
	}
	cfg.Work = cfg.Work || cmd == config.Work
	svc, err := openService(ctx, cfg, a.Stderr, a.Now)
	if err != nil {
		return a.fail(err)
	}
	err = svc.run(ctx, cmd == config.Serve, cfg.Work)
	if err := errors.Join(err, svc.close()); err != nil {
		return a.fail(err)
	}
	return exitOK
}

// service is a process of the bot with what it has open.
type service struct {
	cfg      config.Config
	log      *slog.Logger
	redis    redis.UniversalClient
	embedded *embedded.Server // nil with a Redis of its own
	queue    *queue.Queue     // of sessions
	commands *queue.Queue     // of what people want, until it is checked
	app      *github.App
	redactor *redact.Redactor
	metrics  *telemetry.Metrics
	now      func() time.Time
	ready    func(addr string) // told the address once it listens; may be nil
	ownCode  string            // see executor
	seams    seams             // of the worker
}

// The queue of commands is apart from that of sessions, in keys and in slots: a
// command takes seconds and must not wait for a session, and what is not
// checked yet must not be merged with what is (GH8).
const (
	commandsPrefix = "culprit-commands"
	sessionsQueue  = "sessions" // names for operators
	commandsQueue  = "commands"
	commandSlots   = 2
)

// maxAttempts buries a job after so many failures that looked as if they would
// pass. With the queue's backoff that is 40 to 80 minutes: GitHub's bad hours
// shall not bury what waited for them.
const maxAttempts = 12

// openService connects what serve and work share.
func openService(ctx context.Context, cfg config.Config, logTo io.Writer, now func() time.Time) (_ *service, err error) {
	s := &service{cfg: cfg, redactor: redact.New(string(cfg.PrivateKey), cfg.RedisURL), now: now}
	for _, secret := range cfg.WebhookSecrets {
		s.redactor.Add(secret)
	}
	if s.log, err = telemetry.Logger(s.redactor.Records(logTo), cfg.LogFormat, cfg.LogLevel); err != nil {
		return nil, err
	}
	// The client's own logger would write to the standard error past redaction.
	redis.SetLogger(redisLog{s.log})
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if err := os.MkdirAll(filepath.Join(cfg.Data, "sessions"), 0o700); err != nil {
		return nil, &session.UserError{Code: "data-folder", What: "the data folder cannot be made", Do: "make --data writable or choose another folder", Err: err}
	}
	if err := s.openRedis(ctx); err != nil {
		return nil, err
	}
	if s.queue, err = queue.Open(ctx, queue.Options{Redis: s.redis, Lease: cfg.Lease, Limits: limits(cfg), Ageing: cfg.Ageing, MaxAttempts: maxAttempts}); err != nil {
		return nil, &session.UserError{Code: "redis-away", What: "Redis does not answer", Do: "check REDIS_URL and that the server runs: " + s.redactor.String(err.Error()), Err: err}
	}
	if s.commands, err = queue.Open(ctx, queue.Options{Redis: s.redis, Prefix: commandsPrefix, Lease: cfg.Lease}); err != nil {
		return nil, &session.UserError{Code: "redis-away", What: "Redis does not answer", Do: "check REDIS_URL and that the server runs: " + s.redactor.String(err.Error()), Err: err}
	}
	s.metrics = telemetry.New(versionString(), map[string]telemetry.StatsReader{sessionsQueue: s.queue, commandsQueue: s.commands})
	s.app, err = github.New(github.Config{
		BaseURL: cfg.APIURL, AppID: cfg.AppID, PrivateKey: cfg.PrivateKey, Redact: s.redactor.String,
		OnToken: func(token string) { s.redactor.AddKind("github-token", token) }, Logger: s.log, Now: now,
		UserAgent: "culprit/" + versionString(), Measure: s.metrics.GitHub,
	})
	if err != nil {
		return nil, &session.UserError{Code: "app-key", What: err.Error(), Do: "use the private key that GitHub made for this App", Err: err}
	}
	return s, nil
}

func (s *service) close() error {
	var errs []error
	if s.app != nil {
		s.app.Close()
	}
	if s.embedded != nil {
		errs = append(errs, s.embedded.Close())
	} else if s.redis != nil {
		errs = append(errs, s.redis.Close())
	}
	return errors.Join(errs...)
}

// run serves and works until the context ends, and stops both cleanly.
func (s *service) run(ctx context.Context, serve, work bool) error {
	stopMetrics, err := s.startMetrics(ctx)
	if err != nil {
		return err
	}
	defer stopMetrics()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ends := make(chan error, 3)
	parts := 0
	start := func(part func(context.Context) error) {
		parts++
		go func() {
			err := part(ctx)
			stop(err)
			ends <- err
		}()
	}
	if work {
		start(s.runWorker)
	}
	if serve {
		start(s.runServer)
	}
	start(s.runRecovery)
	var errs []error
	for range parts {
		errs = append(errs, <-ends)
	}
	return errors.Join(errs...)
}

// runServer answers webhooks.
func (s *service) runServer(ctx context.Context) error {
	handler, err := handlers.New(handlers.Config{
		Secrets: s.cfg.WebhookSecrets, Intake: s.intake(ctx), Version: versionString(), Logger: s.log,
		Observe: func(a handlers.Answered) { s.metrics.Delivery(a.Event, a.Status, a.Code, a.Took) },
		Ready:   func(ctx context.Context) error { return s.redis.Ping(ctx).Err() },
	})
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.cfg.Addr)
	if err != nil {
		return &session.UserError{Code: "listen", What: fmt.Sprintf("cannot listen on %s", s.cfg.Addr), Do: "choose another address with --addr", Err: err}
	}
	server := handlers.Server(s.cfg.Addr, handler)
	s.log.Info("listening for webhooks", "address", listener.Addr().String(), "path", "/webhook")
	if s.ready != nil {
		s.ready(listener.Addr().String())
	}
	closed := make(chan error, 1)
	go func() {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		closed <- server.Shutdown(grace)
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve webhooks: %w", err)
	}
	return <-closed
}

// intake is what decides about deliveries, the webhook's and recovered ones.
func (s *service) intake(ctx context.Context) handlers.Intake {
	return handlers.Intake{
		Queue: s.queue, Commands: s.commands,
		Rules: handlers.Rules{Label: s.cfg.Label, AppID: s.cfg.AppID, AppSlug: s.slug(ctx)},
	}
}

// runRecovery looks for failed deliveries. Workers do it too: they can while
// every web process is down.
func (s *service) runRecovery(ctx context.Context) error {
	r := &recovery{app: s.app, queue: s.queue, commands: s.commands, intake: s.intake(ctx), log: s.log, now: s.now, every: s.cfg.Recover}
	return r.run(ctx)
}

// slug of the App, to know its own events; they are known by the App's ID too,
// so that a GitHub that is away at start does not keep webhooks out.
func (s *service) slug(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	slug, err := s.app.Slug(ctx)
	if err != nil {
		s.log.Warn("the App's name is not known", "error", err)
	}
	return slug
}

// runWorker takes jobs.
func (s *service) runWorker(ctx context.Context) (err error) {
	box, err := sandbox.Open(s.cfg.Sandbox, sandbox.Options{AllowOff: s.cfg.AllowNoSandbox, SetupHosts: s.cfg.SetupHosts})
	if err != nil {
		return &session.UserError{
			Code: "no-sandbox", What: "no sandbox is to be had, and repository code is not run without one",
			Do: "install bubblewrap (`bot doctor` tells more), or set CULPRIT_ALLOW_NO_SANDBOX=true for repositories that you trust", Err: err,
		}
	}
	if box.Name() == sandbox.Off {
		s.log.Warn("repository code runs without a sandbox, with the rights of this process")
	} else {
		for _, f := range sandbox.SelfTest(ctx, box) {
			if !f.OK {
				return &session.UserError{Code: "leaky-sandbox", What: "the sandbox fails its self-test (" + f.Name + "): " + f.Detail, Do: f.Remedy}
			}
		}
	}
	cache, err := checkout.OpenCache(filepath.Join(s.cfg.Data, "repositories"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cache.Close()) }()
	llm, err := openModels(s.cfg.Models, budget.Open(s.redis), s.redactor, s.now)
	if err != nil {
		return err
	}
	defer llm.close()
	w := &worker{cfg: s.cfg, app: s.app, queue: s.queue, index: index.Open(s.redis), memory: knowledge.OpenRedis(s.redis), models: llm, box: box, cache: cache, redactor: s.redactor, log: s.log, now: s.now, metrics: s.metrics, ownCode: s.ownCode, seams: s.seams}
	n, err := w.requeue(ctx)
	if err != nil {
		return fmt.Errorf("take up unfinished sessions: %w", err)
	}
	if n > 0 {
		s.log.Info("unfinished sessions are taken up", "sessions", n)
	}
	pool, err := queue.NewPool(s.queue, queue.PoolOptions{
		Handler: s.metrics.Working(sessionsQueue, s.cfg.Jobs, w), Slots: s.cfg.Jobs, Report: w.Report, ShutdownGrace: s.cfg.Grace,
		RedisGrace: s.cfg.RedisGrace, Log: s.log, Observe: s.metrics.Watch(sessionsQueue),
	})
	if err != nil {
		return err
	}
	s.log.Info("taking jobs", "at a time", s.cfg.Jobs, "sandbox", box.Name())
	commands, err := queue.NewPool(s.commands, queue.PoolOptions{
		Handler: s.metrics.Working(commandsQueue, commandSlots, queue.HandlerFunc(w.HandleCommand)), Slots: commandSlots, Report: w.ReportCommand,
		ShutdownGrace: s.cfg.Grace, RedisGrace: s.cfg.RedisGrace, Log: s.log, Observe: s.metrics.Watch(commandsQueue),
	})
	if err != nil {
		return err
	}
	var side sync.WaitGroup
	defer side.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	side.Go(func() { w.reconcile(ctx, s.cfg.Recover) })
	return both(ctx, pool.Run, commands.Run)
}

// both runs two parts until the context ends or one of them does.
func both(ctx context.Context, a, b func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	second := make(chan error, 1)
	go func() {
		defer stop()
		second <- b(ctx)
	}()
	err := a(ctx)
	stop()
	return errors.Join(err, <-second)
}
