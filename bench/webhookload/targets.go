package webhookload

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"culprit/bench/redisserver"
)

// A target is a server process that takes webhooks.
type target struct {
	name   string
	path   string  // of webhooks
	stores []store // none: it stores nothing
	start  func(ctx context.Context, s *source, server *redisserver.Server, dir string) (*process, error)
}

// targets in the order they are measured.
func targets(bot, probot string) []target {
	botStart := func(ctx context.Context, s *source, server *redisserver.Server, dir string) (*process, error) {
		listening := regexp.MustCompile(`msg="listening for webhooks" address=(\S+)`)
		ready := func(log string) string {
			if m := listening.FindStringSubmatch(log); m != nil {
				return m[1]
			}
			return ""
		}
		return launch(ctx, dir, ready, exec.Command(bot, "serve", "--addr", "127.0.0.1:0"),
			"HOME="+dir, "CULPRIT_DATA="+filepath.Join(dir, "data"), "REDIS_URL="+server.URL(),
			"GITHUB_API_URL="+strings.TrimRight(s.github.APIURL(), "/"), fmt.Sprint("GITHUB_APP_ID=", s.app.ID),
			"GITHUB_APP_PRIVATE_KEY="+string(s.app.PrivateKeyPEM()), "GITHUB_WEBHOOK_SECRET="+s.app.WebhookSecret)
	}
	node := func(more ...string) func(context.Context, *source, *redisserver.Server, string) (*process, error) {
		return func(ctx context.Context, s *source, server *redisserver.Server, dir string) (*process, error) {
			port, err := redisserver.FreePort()
			if err != nil {
				return nil, err
			}
			cmd := exec.Command("node", "app.js")
			cmd.Dir = probot
			addr := fmt.Sprint("127.0.0.1:", port)
			ready := func(string) string { // with LOG_LEVEL=error its log tells nothing
				conn, err := net.DialTimeout("tcp", addr, time.Second)
				if err != nil {
					return ""
				}
				_ = conn.Close()
				return addr
			}
			return launch(ctx, dir, ready, cmd, append([]string{
				"HOME=" + dir, "NODE_ENV=production", "HOST=127.0.0.1", fmt.Sprint("PORT=", port), "REDIS_URL=" + server.URL(),
				fmt.Sprint("APP_ID=", s.app.ID), "PRIVATE_KEY=" + string(s.app.PrivateKeyPEM()), "WEBHOOK_SECRET=" + s.app.WebhookSecret,
			}, more...)...)
		}
	}
	const hooks = "/api/github/webhooks"
	return []target{
		{name: "culprit `bot serve`", path: "/webhook", stores: []store{{"{culprit}:index", "d:"}, {"{culprit-commands}:index", "d:"}}, start: botStart},
		{name: "Probot, verify + store", path: hooks, stores: []store{{"deliveries", ""}}, start: node()},
		{name: "Probot, verify only", path: hooks, start: node("STORE=none")},
		{name: "Probot, verify + store, LOG_LEVEL=error", path: hooks, stores: []store{{"deliveries", ""}}, start: node("LOG_LEVEL=error")},
	}
}

// build compiles the bot of this source tree and installs the Probot app's
// packages as its lock file says.
func build(ctx context.Context, dir string) (bot, probot string, err error) {
	here, err := os.Getwd()
	if err != nil {
		return "", "", err
	}
	probot = filepath.Join(here, "probot")
	if _, err := os.Stat(filepath.Join(probot, "app.js")); err != nil {
		return "", "", fmt.Errorf("find the Probot app: %w: run this in bench/", err)
	}
	bot = filepath.Join(dir, "bot")
	for _, cmd := range []*exec.Cmd{
		at(filepath.Dir(here), exec.CommandContext(ctx, "go", "build", "-o", bot, "./cmd/bot")),
		at(probot, exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund", "--loglevel=error")),
	} {
		if cmd.Dir == probot {
			if _, err := os.Stat(filepath.Join(probot, "node_modules", "probot")); err == nil {
				continue // installed by an earlier run
			}
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args[:2], " "), err, out)
		}
	}
	return bot, probot, nil
}

func at(dir string, cmd *exec.Cmd) *exec.Cmd {
	cmd.Dir = dir
	return cmd
}

// A process is a running target. Its log goes to a file, as on a server.
type process struct {
	cmd   *exec.Cmd
	addr  string
	log   *os.File
	ended chan error
}

// launch starts a process with only these variables and waits until ready, which
// is given its log, returns the address where it listens.
func launch(ctx context.Context, dir string, ready func(log string) string, cmd *exec.Cmd, env ...string) (*process, error) {
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", cmd.Args[0], err), log.Close())
	}
	p := &process{cmd: cmd, log: log, ended: make(chan error, 1)}
	go func() { p.ended <- cmd.Wait() }()
	deadline := time.After(30 * time.Second)
	for {
		if p.addr = ready(p.text()); p.addr != "" {
			return p, nil
		}
		select {
		case err := <-p.ended:
			p.ended <- err
			return nil, errors.Join(fmt.Errorf("%s ended: %w\n%s", cmd.Args[0], err, p.text()), p.stop())
		case <-deadline:
			return nil, errors.Join(fmt.Errorf("%s does not listen\n%s", cmd.Args[0], p.text()), p.stop())
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), p.stop())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// text is the beginning of the log.
func (p *process) text() string {
	f, err := os.Open(p.log.Name())
	if err != nil {
		return ""
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(bufio.NewReader(f), 64<<10))
	return string(b)
}

func (p *process) stop() error {
	_ = p.cmd.Process.Signal(os.Interrupt)
	select {
	case <-p.ended:
	case <-time.After(5 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
	return p.log.Close()
}

// A store is a hash of Redis in which a field after a prefix is the GUID of what
// was stored.
type store struct{ hash, prefix string }

// stored counts the GUIDs from first on that one of the stores has.
func stored(ctx context.Context, rdb *redis.Client, stores []store, ids guids, first, count int) (found int, err error) {
	const batch = 1000
	for from := first; from < first+count; from += batch {
		has := make([]bool, min(batch, first+count-from))
		for _, s := range stores {
			fields := make([]string, len(has))
			for i := range fields {
				fields[i] = s.prefix + ids.at(from+i)
			}
			values, err := rdb.HMGet(ctx, s.hash, fields...).Result()
			if err != nil {
				return found, fmt.Errorf("look for deliveries in Redis: %w", err)
			}
			for i, v := range values {
				has[i] = has[i] || v != nil
			}
		}
		for _, ok := range has {
			if ok {
				found++
			}
		}
	}
	return found, nil
}
