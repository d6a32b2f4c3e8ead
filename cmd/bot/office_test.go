package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"culprit/handlers"
	"culprit/internal/config"
	"culprit/internal/conformance"
	"culprit/internal/github"
	"culprit/internal/githubtest"
	"culprit/internal/index"
	"culprit/internal/knowledge"
	"culprit/internal/redact"
	"culprit/internal/requiretest"
	"culprit/internal/session"
	"culprit/queue"
	"culprit/queue/embedded"
)

// An office is the way of a delivery from GitHub's webhook over HTTP to the
// decision about a session, without the session: the edge, both queues and the
// worker's part before the pipeline.
type office struct {
	t        *testing.T
	github   *githubtest.Server
	app      githubtest.App
	install  int64
	worker   *worker
	commands *queue.Queue
	later    *atomic.Int64 // nanoseconds that the clock is ahead
	number   int           // of commits made
	main     string        // head of the default branch
}

const officeRepo = "acme/prices"

func newOffice(t *testing.T) *office {
	t.Helper()
	requiretest.Program(t, "git")
	o := &office{t: t, later: &atomic.Int64{}}
	now := func() time.Time { return time.Now().Add(time.Duration(o.later.Load())) }
	o.github = conformance.Start(t, githubtest.Options{Now: now})
	key, err := appKey()
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []func() error{
		func() error { return o.github.CreateOrg("acme") },
		func() error { return o.github.CreateRepo(githubtest.RepoConfig{Owner: "acme", Name: "prices"}) },
		func() (err error) {
			o.app, err = o.github.CreateApp(githubtest.AppConfig{Name: "Culprit", Owner: "acme", Key: key})
			return err
		},
		func() (err error) { o.install, err = o.github.Install(o.app.ID, "acme"); return err },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	for login, role := range map[string]string{"ada": "admin", "mia": "maintain", "wanda": "write", "tria": "triage", "rita": "read"} {
		o.must(o.github.SetPermission(officeRepo, login, role))
	}
	o.main = o.commit("main", "wanda")

	redisServer, err := embedded.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = redisServer.Close() })
	rdb := redisServer.Client()
	sessions, err := queue.Open(t.Context(), queue.Options{Redis: rdb})
	o.must(err)
	o.commands, err = queue.Open(t.Context(), queue.Options{Redis: rdb, Prefix: commandsPrefix})
	o.must(err)
	app, err := github.New(github.Config{BaseURL: strings.TrimRight(o.github.APIURL(), "/"), AppID: o.app.ID, PrivateKey: o.app.PrivateKeyPEM(), Now: now})
	o.must(err)
	t.Cleanup(app.Close)
	o.worker = &worker{
		cfg: config.Config{Mode: "full", Concurrency: 5, MaxRuns: 100, Timeout: time.Hour, Label: "debug", Data: t.TempDir()},
		app: app, queue: sessions, index: index.Open(rdb), memory: knowledge.OpenRedis(rdb), redactor: redact.New(), log: slog.New(slog.DiscardHandler), now: now,
	}
	edge, err := handlers.New(handlers.Config{
		Secrets: []string{o.app.WebhookSecret},
		Intake:  handlers.Intake{Queue: sessions, Commands: o.commands, Timeout: 20 * time.Second, Rules: handlers.Rules{Label: "debug", AppID: o.app.ID, AppSlug: o.app.Slug}},
	})
	o.must(err)
	server := httptest.NewServer(edge)
	t.Cleanup(server.Close)
	o.must(o.github.SetWebhook(o.app.ID, server.URL+"/webhook", o.app.WebhookSecret))
	return o
}

func (o *office) must(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

// wait lets time pass on GitHub.
func (o *office) wait(d time.Duration) { o.later.Add(int64(d)) }

// commit makes a commit on a branch of the repository, or of a fork as
// "mallory/prices:branch".
func (o *office) commit(branch, login string) string {
	o.t.Helper()
	repo := officeRepo
	if fork, name, ok := strings.Cut(branch, ":"); ok {
		repo, branch = fork, name
	}
	o.number++
	sha, err := o.github.CommitFile(repo, login, branch, fmt.Sprintf("f%d.txt", o.number), []byte("x\n"), "Change")
	o.must(err)
	return sha
}

// issue opens an issue.
func (o *office) issue() int {
	o.t.Helper()
	i, err := o.github.OpenIssue(officeRepo, "ada", "Prices are wrong", "")
	o.must(err)
	return i.Number
}

// pull opens a pull request of a new branch in the repository.
func (o *office) pull(login string) githubtest.PullRequest {
	o.t.Helper()
	branch := fmt.Sprint("topic-", o.number)
	o.must(o.github.CreateBranch(officeRepo, "wanda", branch, o.main))
	o.commit(branch, "wanda")
	pr, err := o.github.OpenPull(officeRepo, login, githubtest.PullConfig{Title: "Change", Head: branch, Base: "main"})
	o.must(err)
	return pr
}

// forkPull opens a pull request from a fork of its own.
func (o *office) forkPull(login string) (githubtest.PullRequest, string) {
	o.t.Helper()
	fork, err := o.github.Fork(officeRepo, login)
	o.must(err)
	o.commit(fork+":main", login)
	pr, err := o.github.OpenPull(officeRepo, login, githubtest.PullConfig{Title: "Change", Head: login + ":main", Base: "main"})
	o.must(err)
	return pr, fork
}

func (o *office) say(number int, login, body string) int64 {
	o.t.Helper()
	c, err := o.github.Comment(officeRepo, number, login, body)
	o.must(err)
	return c.ID
}

// A decided is what the worker decided about one job of the queue of sessions.
type decided struct {
	request handlers.Request
	session *session.Session // nil: none
	why     string
}

// free does something again while the session's folder is in use: git that
// this process starts has its open files until it runs.
func (o *office) free(do func() (string, error)) (string, error) {
	for {
		what, err := do()
		if !errors.Is(err, session.ErrBusy) || o.t.Context().Err() != nil {
			return what, err
		}
		runtime.Gosched()
	}
}

// settle lets everything that GitHub sent be handled, in turn, and returns what
// became of commands and of sessions.
func (o *office) settle() (commands []string, sessions []decided) {
	o.t.Helper()
	commands = o.obey()
	for {
		c, err := o.worker.queue.Claim(o.t.Context(), "test")
		if errors.Is(err, queue.ErrEmpty) {
			return commands, sessions
		}
		o.must(err)
		req, err := handlers.DecodeRequest(c.Payload)
		o.must(err)
		repo, err := o.worker.app.Repo(o.t.Context(), req.Installation, req.Owner, req.Repo)
		o.must(err)
		if req.Kind == handlers.KindReview || strings.HasPrefix(req.Ref, handlers.FixBranches) {
			why, err := o.free(func() (string, error) { return o.worker.do(o.t.Context(), c, o.worker.log) })
			o.must(err)
			sessions = append(sessions, decided{req, nil, why})
			o.must(c.Complete(o.t.Context(), why))
			continue
		}
		s, why, err := o.worker.newSession(o.t.Context(), repo, req)
		o.must(err)
		sessions = append(sessions, decided{req, s, why})
		o.must(c.Complete(o.t.Context(), why))
	}
}

// obey handles the commands alone.
func (o *office) obey() (summaries []string) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), 30*time.Second)
	defer cancel()
	o.must(o.github.WaitDeliveries(ctx))
	for {
		c, err := o.commands.Claim(o.t.Context(), "test")
		if errors.Is(err, queue.ErrEmpty) {
			return summaries
		}
		o.must(err)
		summary, err := o.free(func() (string, error) { return o.worker.obey(o.t.Context(), c) })
		if err != nil {
			o.t.Fatalf("command of %s: %v", c.Delivery, err)
		}
		summaries = append(summaries, summary)
		o.must(c.Complete(o.t.Context(), summary))
	}
}

// show publishes a session that has just begun.
func (o *office) show(id string, src session.Source) *session.Session {
	o.t.Helper()
	src.Repository = officeRepo
	s := &session.Session{Schema: session.SchemaVersion, ID: id, State: "reproduce", Source: src, CreatedAt: o.worker.now()}
	repo, err := o.worker.app.Repo(o.t.Context(), o.install, "acme", "prices")
	o.must(err)
	pub, err := o.worker.publisher(repo, s, nil, nil)
	o.must(err)
	defer pub.Close()
	o.must(pub.Progress(o.t.Context(), s))
	return s
}

// reaction on a comment of a thread ("issues") or on a line ("pulls"): those
// that it has.
func (o *office) reaction(of string, comment int64) string {
	o.t.Helper()
	url := fmt.Sprintf("%s/repos/%s/%s/comments/%d", strings.TrimRight(o.github.APIURL(), "/"), officeRepo, of, comment)
	req, err := http.NewRequestWithContext(o.t.Context(), http.MethodGet, url, nil)
	o.must(err)
	req.Header.Set("Authorization", "Bearer "+o.github.UserToken("ada"))
	resp, err := http.DefaultClient.Do(req)
	o.must(err)
	defer resp.Body.Close()
	var c struct{ Reactions map[string]any }
	o.must(json.NewDecoder(resp.Body).Decode(&c))
	var out []string
	for _, name := range []string{"+1", "-1", "eyes", "confused"} {
		if n, ok := c.Reactions[name].(float64); ok && n > 0 {
			out = append(out, name)
		}
	}
	return strings.Join(out, " ")
}

// said are the bot's comments in a thread.
func (o *office) said(number int) (out []string) {
	o.t.Helper()
	all, err := o.github.Comments(officeRepo, number)
	o.must(err)
	for _, c := range all {
		if c.User == o.app.BotLogin() {
			out = append(out, c.Body)
		}
	}
	return out
}
