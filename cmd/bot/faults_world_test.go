package main

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"culprit/handlers"
	"culprit/internal/checkout"
	"culprit/internal/config"
	"culprit/internal/conformance"
	"culprit/internal/github"
	"culprit/internal/githubtest"
	"culprit/internal/index"
	"culprit/internal/redact"
	"culprit/internal/requiretest"
	"culprit/internal/session"
	"culprit/internal/telemetry"
	"culprit/pipeline"
	"culprit/queue"
	"culprit/queue/embedded"
)

// A faultWorld is a GitHub and everything of the bot, in this process, except
// what makes a session long: its runs are answered from what the project is
// known to hold, and its history is in memory. Webhooks, both queues, pools,
// session folders, checkpoints, mirror, publisher and push are the product's.
type faultWorld struct {
	t       *testing.T
	github  *githubtest.Server
	app     githubtest.App
	install int64
	cache   *checkout.Cache
	cases   int
}

func newFaultWorld(t *testing.T) *faultWorld {
	t.Helper()
	requiretest.Program(t, "git")
	w := &faultWorld{t: t, github: conformance.Start(t, githubtest.Options{RateLimit: 1e6})}
	key, err := appKey()
	w.must(err)
	w.must(w.github.CreateOrg("acme"))
	w.app, err = w.github.CreateApp(githubtest.AppConfig{Name: "Culprit", Owner: "acme", Key: key})
	w.must(err)
	w.install, err = w.github.Install(w.app.ID, "acme")
	w.must(err)
	w.cache, err = checkout.OpenCache(filepath.Join(t.TempDir(), "repositories"))
	w.must(err)
	t.Cleanup(func() { _ = w.cache.Close() })
	return w
}

func (w *faultWorld) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// newRepo makes a repository for one case, with one broken commit.
func (w *faultWorld) newRepo() (repo, head string) {
	w.t.Helper()
	w.cases++
	name := fmt.Sprintf("m%d", w.cases)
	repo = "acme/" + name
	w.must(w.github.CreateRepo(githubtest.RepoConfig{Owner: "acme", Name: name}))
	w.must(importDemo(w.t.Context(), w.github.GitDir(repo), chaosCommits(nil)))
	w.must(w.github.SetPermission(repo, "ada", "write"))
	refs, err := w.github.Refs(repo)
	w.must(err)
	return repo, refs["main"]
}

// A faultBot is the bot for one case, with a Redis and a data folder of its own
// and with a clock that can be put forward. GitHub's clock cannot: a case takes
// a few minutes of the bot's time at most.
type faultBot struct {
	*faultWorld
	queue, commands *queue.Queue
	redis           *redis.Client
	ahead           atomic.Int64 // of the clock, in nanoseconds
	telling         atomic.Int64 // reports under way
	news            chan struct{}
	stop            func()
	from            int // number of calls before the case
	address         string
	meanwhile       func() // happens while the session runs; may be nil
	data            string
}

// startBot starts what takes webhooks and jobs. timeout bounds a call to GitHub,
// and so many failed attempts bury a job.
func (w *faultWorld) startBot(timeout time.Duration, attempts int) *faultBot {
	w.t.Helper()
	b := &faultBot{faultWorld: w, from: len(w.github.Calls()), data: w.t.TempDir(), news: make(chan struct{}, 1)}
	now := func() time.Time { return time.Now().Add(time.Duration(b.ahead.Load())) }
	server, err := embedded.Start()
	w.must(err)
	b.redis = server.Client()
	backoff := queue.Backoff{Base: time.Millisecond, Max: 2 * time.Millisecond}
	b.queue, err = queue.Open(w.t.Context(), queue.Options{Redis: server.Client(), Now: now, MaxAttempts: attempts, Backoff: backoff})
	w.must(err)
	b.commands, err = queue.Open(w.t.Context(), queue.Options{Redis: server.Client(), Now: now, MaxAttempts: attempts, Backoff: backoff, Prefix: commandsPrefix})
	w.must(err)
	app, err := github.New(github.Config{
		BaseURL: strings.TrimRight(w.github.APIURL(), "/"), AppID: w.app.ID, PrivateKey: w.app.PrivateKeyPEM(), Timeout: timeout,
		Attempts: 1, // or the client would hide what is to be seen here; call_test.go has its repeats
		Sleep:    func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	})
	w.must(err)
	x := &worker{
		cfg: config.Config{Mode: "quick", Concurrency: 5, MaxRuns: 100, Timeout: time.Hour, Label: "debug", Data: b.data},
		app: app, queue: b.queue, index: index.Open(server.Client()), cache: w.cache, redactor: redact.New(), log: slog.New(slog.DiscardHandler), now: now,
		metrics: telemetry.New("test", nil), seams: seams{investigate: b.investigate},
	}
	edge, err := handlers.New(handlers.Config{
		Secrets: []string{w.app.WebhookSecret},
		Intake:  handlers.Intake{Queue: b.queue, Commands: b.commands, Timeout: 20 * time.Second, Rules: handlers.Rules{Label: "debug", AppID: w.app.ID, AppSlug: w.app.Slug}},
	})
	w.must(err)
	web := httptest.NewServer(edge)
	b.address = web.URL + "/webhook"
	w.must(w.github.SetWebhook(w.app.ID, b.address, w.app.WebhookSecret))
	pool := func(q *queue.Queue, handle queue.HandlerFunc, report func(context.Context, *queue.Report) error) *queue.Pool {
		p, err := queue.NewPool(q, queue.PoolOptions{Handler: handle, Report: func(ctx context.Context, r *queue.Report) error {
			b.telling.Add(1)
			defer b.telling.Add(-1)
			return report(ctx, r)
		}, Observe: func(e queue.Event) {
			if e.Kind != queue.EventClaimed {
				select {
				case b.news <- struct{}{}:
				default:
				}
			}
		}})
		w.must(err)
		return p
	}
	sessions, commands := pool(b.queue, x.Handle, x.Report), pool(b.commands, x.HandleCommand, x.ReportCommand)
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- both(ctx, sessions.Run, commands.Run) }()
	b.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
		web.Close()
		app.Close()
		if err := server.Close(); err != nil {
			w.t.Error(err)
		}
	}
	return b
}

// investigate runs the pipeline on a history in memory.
func (b *faultBot) investigate(ctx context.Context, i investigation) error {
	x := &remembered{scripted{investigation: i, workspace: workspace{i.mirror}, idle: true}, b.meanwhile}
	return pipeline.Run(ctx, i.session, pipeline.Deps{
		Workspace: x, Runner: x, History: x, Investigator: x, Fixer: x, Publisher: i.publisher, Store: i.store, Clock: i.clock, Logs: i.logs,
		Incidents: i.incidents, Rebaser: i.rebaser, Progress: i.progress,
	})
}

// remembered is a scripted investigation that asks git nothing.
type remembered struct {
	scripted
	meanwhile func()
}

var rememberedFiles = map[string]string{"go.mod": "module m.example/m\n\ngo 1.21\n", "a.go": chaosBad, "a_test.go": chaosTest}

func (x *remembered) Resolve(_ context.Context, rev string) (session.Commit, error) {
	return session.Commit{SHA: rev, Subject: "Answer less"}, nil
}

func (x *remembered) Log(context.Context, string, pipeline.LogOptions) ([]session.Commit, error) {
	return []session.Commit{{SHA: x.session.Source.SHA, Subject: "Answer less"}, {SHA: strings.Repeat("1", 40), Subject: "Answer"}}, nil
}

func (x *remembered) Changed(context.Context, string, string) ([]session.FileChange, error) {
	return []session.FileChange{{Status: "M", Path: "a.go"}}, nil
}

func (x *remembered) Show(_ context.Context, _, path string) ([]byte, error) {
	if text, ok := rememberedFiles[path]; ok {
		return []byte(text), nil
	}
	return nil, fs.ErrNotExist
}

func (x *remembered) List(context.Context, string) (files []string, err error) {
	for name := range rememberedFiles {
		files = append(files, name)
	}
	return files, nil
}

func (x *remembered) Blame(context.Context, string, string, int, int) ([]session.Commit, error) {
	return nil, nil
}

// Run looks at other commits than the session's own.
func (x *remembered) Run(ctx context.Context, t session.Trial) (session.Observation, error) {
	if t.Rev != x.session.Bad.SHA && t.Rev != strings.Repeat("1", 40) {
		text, err := x.mirror.Show(ctx, t.Rev, "a.go")
		if err != nil {
			return session.Observation{}, err
		}
		if strings.Contains(string(text), "41") {
			t.Rev = x.session.Bad.SHA
		}
	}
	return x.scripted.Run(ctx, t)
}

func (x *remembered) Repeat(ctx context.Context, t session.Trial, n int) (c session.Count, seen []session.Observation, err error) {
	return repeat(ctx, x.Run, t, n)
}

// Fix takes its time.
func (x *remembered) Fix(ctx context.Context, s *session.Session, t session.Task) session.FixReport {
	if x.meanwhile != nil {
		x.meanwhile()
		x.meanwhile = nil
	}
	return x.scripted.Fix(ctx, s, t)
}

func (x *remembered) FindGood(ctx context.Context, s *session.Session) (session.Archaeology, error) {
	two, err := x.Log(ctx, s.Bad.SHA, pipeline.LogOptions{})
	return session.Archaeology{Total: 2, Good: &two[1], GoodHow: "found by galloping back", Candidates: 1}, err
}

// jobs are those of both queues.
func (b *faultBot) jobs() (sessions, commands []queue.Info) {
	b.t.Helper()
	commands, _, err := b.commands.Find(b.t.Context(), queue.Filter{}, 0)
	b.must(err)
	sessions, _, err = b.queue.Find(b.t.Context(), queue.Filter{}, 0)
	b.must(err)
	return sessions, commands
}

// busy reports whether anything is done now or can be done at once. A command
// that ends has made its session's job before, so commands are looked at first.
func (b *faultBot) busy() bool {
	b.t.Helper()
	for _, q := range []*queue.Queue{b.commands, b.queue} {
		s, err := q.Stats(b.t.Context())
		b.must(err)
		if s.Depth[queue.Queued]+s.Depth[queue.Running] > 0 {
			return true
		}
	}
	return b.telling.Load() > 0
}

// ends lets everything come to its end, told or not.
func (b *faultBot) ends() error { b.t.Helper(); return b.await(false) }

// settle lets everything that was begun come to its end: it puts the clock
// forward when all that is left waits for its time. It fails when that does not
// lead to an end.
func (b *faultBot) settle() error { b.t.Helper(); return b.await(true) }

func (b *faultBot) await(toBeTold bool) error {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 30*time.Second)
	defer cancel()
	if err := b.github.WaitDeliveries(ctx); err != nil {
		return fmt.Errorf("webhooks are not answered: %w", err)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for leaps := 0; ; {
		busy, waits := b.busy(), false
		sessions, commands := b.jobs()
		var due time.Time
		for _, j := range append(sessions, commands...) {
			switch {
			case j.State == queue.Retrying || j.State == queue.Snoozed:
				if waits = true; due.IsZero() || j.DueAt.Before(due) {
					due = j.DueAt
				}
			case toBeTold && j.State != queue.Done && !j.Reported:
				waits = true
			}
		}
		switch {
		case busy:
		case !waits:
			return nil
		case leaps == 400:
			return fmt.Errorf("it waits again and again: %s", stateOf(sessions, commands))
		default:
			leaps++
			leap := time.Second
			if !due.IsZero() {
				leap = max(time.Until(due)-time.Duration(b.ahead.Load()), time.Millisecond)
			}
			b.ahead.Add(int64(leap))
			// Who waits by the clock of this machine does not see the leap.
			for _, prefix := range []string{"culprit", commandsPrefix} {
				for _, what := range []string{"job", "report"} {
					b.must(b.redis.Publish(ctx, "{"+prefix+"}:wake", what).Err())
				}
			}
		}
		select {
		case <-tick.C:
		case <-b.news:
		case <-ctx.Done():
			return fmt.Errorf("it does not end: %s", stateOf(sessions, commands))
		}
	}
}

func stateOf(sessions, commands []queue.Info) string {
	var out []string
	for _, j := range append(sessions, commands...) {
		out = append(out, fmt.Sprintf("%s %s, attempt %d, reported %t: %s%s", j.Key, j.State, j.Attempt, j.Reported, j.Reason, j.Summary))
	}
	return strings.Join(out, "; ")
}
