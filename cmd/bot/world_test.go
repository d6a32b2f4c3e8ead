package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"culprit/internal/conformance"
	"culprit/internal/githubtest"
	"culprit/internal/requiretest"
	"culprit/queue"
	"culprit/queue/embedded"
	"culprit/queue/queuetest"
)

// appKey is made once: it takes longer than many a test.
var appKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// A world is a GitHub with a project on it, a Redis, and a data folder: what
// outlives the bot that a test starts, kills and starts again.
type world struct {
	t        *testing.T
	github   *githubtest.Server
	app      githubtest.App
	install  int64
	repo     string
	redisURL string
	data     string
	home     string
	log      *botLog
	apiURL   string
	env      []string     // further variables of the bot
	queue    *queue.Queue // see openQueue
}

func newWorld(t *testing.T, redisURL string, p smallProject) *world {
	t.Helper()
	return newWorldAt(t, redisURL, p, time.Now)
}

// newWorldAt is newWorld with a GitHub that has a clock of its own.
func newWorldAt(t *testing.T, redisURL string, p smallProject, now func() time.Time) *world {
	t.Helper()
	requiretest.Program(t, "git")
	gh := conformance.Start(t, githubtest.Options{Now: now})
	dir := t.TempDir()
	w := &world{t: t, github: gh, apiURL: gh.APIURL(), repo: "acme/prices", redisURL: redisURL, data: filepath.Join(dir, "data"), home: filepath.Join(dir, "home"), log: newBotLog()}
	key, err := appKey()
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []func() error{
		func() error { return os.MkdirAll(w.home, 0o755) },
		func() error { return gh.CreateOrg("acme") },
		func() error { return gh.CreateRepo(githubtest.RepoConfig{Owner: "acme", Name: "prices"}) },
		func() error { return importDemo(t.Context(), gh.GitDir(w.repo), p.commits) },
		func() error { return gh.SetPermission(w.repo, "ada", "write") },
		func() error {
			w.app, err = gh.CreateApp(githubtest.AppConfig{Name: "Culprit", Owner: "acme", Key: key})
			return err
		},
		func() error { w.install, err = gh.Install(w.app.ID, "acme"); return err },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// environ is the whole environment of a bot.
func (w *world) environ() []string {
	return append([]string{
		"PATH=" + strings.Join([]string{"/usr/local/bin", "/usr/bin", "/bin", os.Getenv("PATH")}, ":"),
		"HOME=" + w.home, "CULPRIT_DATA=" + w.data, "REDIS_URL=" + w.redisURL,
		"GITHUB_API_URL=" + strings.TrimRight(w.apiURL, "/"),
		fmt.Sprintf("GITHUB_APP_ID=%d", w.app.ID),
		"GITHUB_APP_PRIVATE_KEY=" + string(w.app.PrivateKeyPEM()),
		"GITHUB_WEBHOOK_SECRET=" + w.app.WebhookSecret,
	}, w.env...)
}

var listening = regexp.MustCompile(`listening for webhooks"(?: address=|,"address":")([^\s"]+)`)

// launchWeb starts a bot that only takes webhooks, so that jobs stay where they
// are.
func (w *world) launchWeb(args ...string) *botProcess {
	w.t.Helper()
	p := spawn(w.t, w.log, w.environ(), append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	w.listens(p)
	return p
}

// launch starts a bot and does not wait for anything.
func (w *world) launch(args ...string) *botProcess {
	w.t.Helper()
	all := append([]string{"serve", "--work", "--addr", "127.0.0.1:0", "--allow-no-sandbox"}, args...)
	return spawn(w.t, w.log, w.environ(), all...)
}

// start starts a bot, waits until it takes webhooks, and points GitHub to it.
func (w *world) start(args ...string) *botProcess {
	w.t.Helper()
	p := w.launch(args...)
	w.listens(p)
	w.deliverTo(p)
	return p
}

// nobody is an address at which no webhook arrives.
const nobody = "http://127.0.0.1:1/nobody"

// deliverTo points GitHub to a bot, or to nobody.
func (w *world) deliverTo(p *botProcess) {
	w.t.Helper()
	address := nobody
	if p != nil {
		address = "http://" + p.addr + "/webhook"
	}
	if err := w.github.SetWebhook(w.app.ID, address, w.app.WebhookSecret); err != nil {
		w.t.Fatal(err)
	}
}

// delivered waits until all webhooks have arrived or failed.
func (w *world) delivered() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	if err := w.github.WaitDeliveries(ctx); err != nil {
		w.t.Fatal(err)
	}
}

// listens waits until a bot takes webhooks.
func (w *world) listens(p *botProcess) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	m := listening.FindStringSubmatch(w.log.await(ctx, p.from, "listening for webhooks", p.done))
	if m == nil {
		w.t.Fatalf("the bot does not listen:\n%s", w.log)
	}
	p.addr = m[1]
}

// redCI completes a red run on the branch's head, whose webhooks go out.
func (w *world) redCI(branch, log string) githubtest.Run {
	w.t.Helper()
	run, err := w.github.CompleteRun(githubtest.RunConfig{Repo: w.repo, Branch: branch, Workflow: "CI", Actor: "ada", Jobs: []githubtest.Job{{
		Name: "test", Steps: []githubtest.Step{{Name: "Test", Run: testCommand, Log: log, Conclusion: "failure", ExitCode: 1}},
	}}})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	if err := w.github.WaitDeliveries(ctx); err != nil {
		w.t.Fatal(err)
	}
	return run
}

// checks are the bot's check runs.
func (w *world) checks() []githubtest.CheckRun {
	w.t.Helper()
	all, err := w.github.CheckRuns(w.repo)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []githubtest.CheckRun
	for _, c := range all {
		if c.App == w.app.Slug {
			out = append(out, c)
		}
	}
	return out
}

// completed are those of them that have ended.
func (w *world) completed() (n int) {
	for _, c := range w.checks() {
		if c.Status == "completed" {
			n++
		}
	}
	return n
}

// pulls are the bot's pull requests.
func (w *world) pulls() []githubtest.PullRequest {
	w.t.Helper()
	all, err := w.github.PullRequests(w.repo)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []githubtest.PullRequest
	for _, pr := range all {
		if pr.User == w.app.BotLogin() {
			out = append(out, pr)
		}
	}
	return out
}

// comments are the bot's, of all threads.
func (w *world) comments() []githubtest.Comment {
	w.t.Helper()
	issues, err := w.github.Issues(w.repo)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []githubtest.Comment
	for _, i := range issues {
		all, err := w.github.Comments(w.repo, i.Number)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, c := range all {
			if c.User == w.app.BotLogin() {
				out = append(out, c)
			}
		}
	}
	return out
}

// A testRedis is a Redis that outlives the bots of a test.
type testRedis struct {
	url string
	// stop ends it as a crash does; start starts it again with what it kept on
	// disk. Both are nil for the embedded one.
	stop, start func()
}

// realRedis starts a redis-server with a password and a user for the bot that has
// just the documented rights. It writes each change to disk before it answers:
// with everysec a busy disk delays writes beyond the answer, and a kill loses
// them.
func realRedis(t *testing.T, password string) testRedis {
	t.Helper()
	p := queuetest.StartProcess(t, slices.Concat([]string{
		"--port", "0", "--save", "", "--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction",
		"--requirepass", password, "--user", "culprit", "on", ">" + password,
	}, queuetest.Rights(t))...)
	ready := redis.NewClient(&redis.Options{Network: "unix", Addr: p.Socket, Password: password})
	t.Cleanup(func() { _ = ready.Close() })
	answers := func() bool { return ready.Ping(context.Background()).Err() == nil }
	eventually(t, 20*time.Second, "redis-server answers", answers)
	return testRedis{url: "unix://culprit:" + password + "@" + p.Socket, stop: p.Kill, start: func() {
		p.Start()
		eventually(t, 20*time.Second, "redis-server answers", answers)
	}}
}

// someRedis is a redis-server where there is one, since that costs much less, or
// the embedded one.
func someRedis(t *testing.T) testRedis {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err == nil {
		return realRedis(t, "pw-of-a-test")
	}
	return embeddedRedis(t)
}

// embeddedRedis is that of this program, which here outlives the bots.
func embeddedRedis(t *testing.T) testRedis {
	t.Helper()
	s, err := embedded.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	o := s.Options()
	return testRedis{url: "redis://:" + o.Password + "@" + o.Addr}
}
