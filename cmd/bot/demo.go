package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"culprit/internal/checkout"
	"culprit/internal/config"
	"culprit/internal/githubtest"
	"culprit/internal/modeltest"
	"culprit/internal/sandbox"
)

const demoRepo = "acme/pocket"

// demo shows the GitHub flow on this machine: a GitHub on loopback, the bot
// with an embedded Redis, and three scenarios on a small real project.
func (a *App) demo(ctx context.Context, args []string) int {
	var out, script string
	var keep, verbose bool
	flags := pflag.NewFlagSet("demo", pflag.ContinueOnError)
	flags.Usage = func() {}
	flags.StringVar(&out, "out", "", "folder for everything that the demo leaves (default: a new demo-… folder here)")
	flags.StringVar(&script, "model-script", "", "script of a model, FILE or example: fixes are then written, not reverted (nothing outside is asked)")
	flags.BoolVar(&keep, "keep", false, "leave the servers up at the end, to look at the pages, until interrupted")
	flags.BoolVarP(&verbose, "verbose", "v", false, "print the bot's own log")
	err := flags.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintf(a.Stdout, "usage: bot demo [flags]\n\nShows the main job on this machine, with nothing configured: webhook, queue, worker, comment, fix pull request.\n\n%s", flags.FlagUsages())
		return exitOK
	}
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("demo takes no argument: %q", flags.Arg(0))
	}
	if err != nil {
		return a.usageError("demo", err)
	}
	if out == "" {
		out = "demo-" + a.Now().Format("20060102-150405")
	}
	if out, err = filepath.Abs(out); err != nil {
		return a.fail(err)
	}
	d := &demo{app: a, dir: out, script: script, start: a.Now(), ownCode: a.goCache()}
	code, err := d.run(ctx, keep, verbose)
	if err != nil {
		return a.fail(err)
	}
	return code
}

// goCache is Go's build cache as the go command finds it, or empty.
func (a *App) goCache() string {
	dir, ok := a.LookupEnv("GOCACHE")
	if !ok || dir == "" {
		home, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, "go-build")
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() || !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}

// demo is a running demonstration.
type demo struct {
	app    *App
	dir    string
	start  time.Time
	github *githubtest.Server
	bot    githubtest.App
	box    sandbox.Sandbox
	script string            // of the model; empty: there is none
	model  *modeltest.Server // nil: there is none
	cache  *checkout.Cache
	mirror *checkout.Mirror // of what GitHub has
	// ownCode is the Go build cache of whoever runs the demo: it has the
	// standard library compiled already, and the project is the demo's own.
	ownCode string
	mu      sync.Mutex
	shown   string // last progress line
}

func (d *demo) say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fmt.Fprintf(d.app.Stdout, format+"\n", args...)
}

// lastShown is the last line of progress.
func (d *demo) lastShown() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shown
}

// isNew takes a line of progress; one that was the last already is not new.
func (d *demo) isNew(progress string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	old := d.shown
	d.shown = progress
	return progress != old
}

// run sets the stage, plays the scenarios and judges them.
func (d *demo) run(ctx context.Context, keep, verbose bool) (code int, err error) {
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return 0, err
	}
	d.say("Everything happens on this machine's loopback; it is left in %s", d.dir)
	if d.box, err = sandbox.Open(sandbox.Auto, sandbox.Options{AllowOff: true}); err != nil {
		return 0, err
	}
	if d.box.Name() == sandbox.Off {
		d.say("note: bubblewrap is not to be had here, so the demo's own code runs without a sandbox; install it for real repositories")
	}
	if err := d.openGitHub(ctx); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, d.github.Close()) }()
	if err := d.openModel(); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, d.closeModel()) }()
	logFile, err := os.Create(filepath.Join(d.dir, "bot.log"))
	if err != nil {
		return 0, err
	}
	defer logFile.Close()
	logs := io.Writer(logFile)
	if verbose {
		logs = io.MultiWriter(logFile, d.app.Stderr)
	}
	stop, err := d.startBot(ctx, &demoLog{demo: d, next: logs})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if d.cache, err = checkout.OpenCache(filepath.Join(d.dir, "ci")); err != nil {
		return 0, err
	}
	defer func() {
		if d.mirror != nil {
			err = errors.Join(err, d.mirror.Close())
		}
		err = errors.Join(err, d.cache.Close())
	}()
	if err := d.fetch(ctx); err != nil {
		return 0, err
	}
	failed := 0
	for i, s := range scenarios {
		d.say("\n── %d. %s", i+1, s.title)
		if err := s.play(ctx, d); err != nil {
			if ctx.Err() != nil {
				return exitStopped, nil
			}
			failed++
			d.say("   NOT AS IT SHOULD BE: %v", err)
			continue
		}
		d.say("   as it should be")
	}
	d.say("\n%d of %d scenarios ended as they should, in %s. Folder: %s", len(scenarios)-failed, len(scenarios), d.app.Now().Sub(d.start).Round(time.Second), d.dir)
	if keep {
		d.say("The pages are at %s/%s until you press Ctrl-C.", d.github.URL(), demoRepo)
		<-ctx.Done()
	}
	if failed > 0 {
		return 1, nil
	}
	return exitOK, nil
}

// openGitHub starts a GitHub on loopback with the demo's project in it.
func (d *demo) openGitHub(ctx context.Context) (err error) {
	d.github, err = githubtest.New(githubtest.Options{Dir: filepath.Join(d.dir, "github")})
	if err != nil {
		return err
	}
	commits, err := demoCommits()
	if err != nil {
		return err
	}
	setUp := []func() error{
		func() error { return d.github.CreateOrg("acme") },
		func() error { return d.github.CreateRepo(githubtest.RepoConfig{Owner: "acme", Name: "pocket"}) },
		func() error { return importDemo(ctx, d.github.GitDir(demoRepo), commits) },
		func() error { return d.github.SetPermission(demoRepo, "ada", "write") },
		func() error {
			d.bot, err = d.github.CreateApp(githubtest.AppConfig{Name: "Culprit", Owner: "acme"})
			return err
		},
		func() error { _, err := d.github.Install(d.bot.ID, "acme"); return err },
	}
	for _, f := range setUp {
		if err := f(); err != nil {
			return errors.Join(err, d.github.Close())
		}
	}
	d.say("GitHub on loopback: %s with %d commits in %s", d.github.URL(), len(commits), demoRepo)
	return nil
}

// startBot runs `serve --work` in this process, with an embedded Redis, and
// points the App's webhook to it.
func (d *demo) startBot(ctx context.Context, logs io.Writer) (stop func() error, err error) {
	cfg, err := config.Load(config.Serve, []string{"--addr", "127.0.0.1:0", "--work", "--allow-no-sandbox", "--data", filepath.Join(d.dir, "bot")}, d.settings)
	if err != nil {
		return nil, err
	}
	svc, err := openService(ctx, cfg, logs, d.app.Now)
	if err != nil {
		return nil, err
	}
	runCtx, cancel := context.WithCancel(ctx)
	addr, ended := make(chan string, 1), make(chan error, 1)
	svc.ownCode = d.ownCode
	svc.ready = func(a string) { addr <- a }
	go func() { ended <- svc.run(runCtx, true, true) }()
	select {
	case err := <-ended:
		cancel()
		return nil, errors.Join(err, svc.close())
	case a := <-addr:
		d.say("bot serve --work: listening on %s, embedded Redis, sandbox %s", a, d.box.Name())
		if err := d.github.SetWebhook(d.bot.ID, "http://"+a+"/webhook", d.bot.WebhookSecret); err != nil {
			cancel()
			return nil, errors.Join(err, <-ended, svc.close())
		}
	}
	return func() error {
		cancel()
		return errors.Join(<-ended, svc.close())
	}, nil
}

// settings is the environment of the demo's bot.
func (d *demo) settings(name string) (string, bool) {
	switch name {
	case "GITHUB_API_URL":
		return strings.TrimRight(d.github.APIURL(), "/"), true
	case "GITHUB_APP_ID":
		return fmt.Sprint(d.bot.ID), true
	case "GITHUB_APP_PRIVATE_KEY":
		return string(d.bot.PrivateKeyPEM()), true
	case "GITHUB_WEBHOOK_SECRET":
		return d.bot.WebhookSecret, true
	}
	return d.modelSettings(name)
}

// fetch brings the demo's own mirror up to date with GitHub.
func (d *demo) fetch(ctx context.Context) error {
	fresh, err := d.cache.OpenLocal(ctx, d.github.GitDir(demoRepo))
	if err != nil {
		return err
	}
	old := d.mirror
	d.mirror = fresh
	if old == nil {
		return nil
	}
	return old.Close()
}

// ci runs a command on a revision as the project's CI would, and returns its
// output and exit code.
func (d *demo) ci(ctx context.Context, rev, command string) (output string, exit int, err error) {
	tree, err := d.mirror.Worktree(ctx, rev)
	if err != nil {
		return "", 0, err
	}
	defer func() { err = errors.Join(err, tree.Remove(ctx)) }()
	res, err := executor{box: d.box, caches: filepath.Join(d.dir, "ci", "builds"), ownCode: d.ownCode}.Execute(ctx, ciExecution(tree.Dir(), command))
	return res.Output, res.Exit, err
}

// demoLog passes the bot's log on and tells its progress lines to the viewer.
type demoLog struct {
	demo *demo
	next io.Writer
	rest []byte
}

func (l *demoLog) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, ok := bytes.Cut(l.rest, []byte("\n"))
		if !ok {
			return l.next.Write(p)
		}
		l.rest = append([]byte(nil), rest...)
		if text, ok := progressOf(string(line)); ok && l.demo.isNew(text) {
			l.demo.say("   %6s  %s", l.demo.app.Now().Sub(l.demo.start).Round(100*time.Millisecond), text)
		}
	}
}
