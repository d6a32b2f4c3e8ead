// Package config turns environment and flags into one typed, checked value.
//
// Every setting is one row of a table: its flag, its environment variable, its
// default, what it is for and how it is read. Help texts and
// docs/configuration.md are made from the same table. A flag beats the
// environment, the environment beats the default. All problems are reported at
// once, each with the name of its setting and what to do; nothing downstream
// checks again. Values of secrets never appear in an error or in help.
package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"culprit/internal/egress"
	"culprit/queue/connect"
)

// DefaultData is the folder of sessions and caches when none is set, in the
// folder in which the service is started.
const DefaultData = "culprit-data"

// Config is what serve and work need (GH10).
type Config struct {
	Addr           string
	APIURL         string // REST root, without trailing slash
	AppID          int64
	PrivateKey     []byte   // PEM
	WebhookSecrets []string // the current one first; an older one while rotating
	RedisURL       string   // empty = embedded Redis
	RedisFiles     connect.Files
	RedisCheck     string        // refuse, strict, warn
	RedisGrace     time.Duration // for running jobs while Redis is away
	Data           string        // folder of sessions and caches
	Label          string
	MinPermission  string // triage, write, maintain or admin: whose labels, commands and buttons count
	Sandbox        string // auto, bwrap, landlock, off
	AllowNoSandbox bool
	SetupHosts     []string // that set-up steps may reach besides egress.Registries
	Jobs           int      // jobs at a time in this process
	Limits         Limits
	Ageing         time.Duration // of waiting jobs, for one class of priority
	Concurrency    int           // hypotheses tested at a time in one session
	Mode           string
	MaxRuns        int
	Timeout        time.Duration // of one session
	RunTimeout     time.Duration // of one run of a test command
	AnswerWait     time.Duration // for the answer to a session's question
	ReviewRounds   int           // of one fix pull request
	Lease          time.Duration
	Grace          time.Duration // for running jobs at shutdown
	Recover        time.Duration // between two looks for failed deliveries and lost jobs
	Work           bool          // serve also works
	MetricsAddr    string        // empty: off
	LogFormat      string        // text, json
	LogLevel       string        // debug, info, warn, error
	Models         Models
}

// HostList reads a list of hosts that set-up steps may reach.
func HostList(v string) (out []string, err error) {
	var problems []error
	for _, s := range strings.Split(v, ",") {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		if _, err := egress.ParseRule(s); err != nil {
			problems = append(problems, err)
		}
		out = append(out, s)
	}
	return out, errors.Join(problems...)
}

// Limits of jobs that run at a time, by whom they are for; 0: none.
type Limits struct{ Repository, Installation, Total int }

// setting is one row of the table.
type setting struct {
	flag, env, def, help string
	secret               bool
	serveOnly            bool
	isBool               bool
	set                  func(c *Config, v string) error
}

// settings is the table, in the order of the help text.
var settings = []setting{
	{flag: "addr", env: "CULPRIT_ADDR", def: ":8080", help: "address that the webhook server listens on", serveOnly: true,
		set: func(c *Config, v string) error { c.Addr = v; return nil }},
	{flag: "work", env: "CULPRIT_WORK", def: "false", help: "also take jobs in this process", serveOnly: true, isBool: true,
		set: boolean(func(c *Config) *bool { return &c.Work })},
	{flag: "github-api", env: "GITHUB_API_URL", def: "https://api.github.com", help: "REST root; https://HOST/api/v3 for GitHub Enterprise Server",
		set: apiURL},
	{flag: "app-id", env: "GITHUB_APP_ID", help: "ID of the GitHub App (its settings page shows it)",
		set: func(c *Config, v string) error {
			id, err := strconv.ParseInt(v, 10, 64)
			if err != nil || id <= 0 {
				return errors.New("want the App's number, as its settings page shows it")
			}
			c.AppID = id
			return nil
		}},
	{flag: "private-key-file", env: "GITHUB_APP_PRIVATE_KEY_FILE", help: "file with the App's private key (PEM); the key itself may stand in GITHUB_APP_PRIVATE_KEY instead",
		set: func(c *Config, v string) error {
			data, err := os.ReadFile(v)
			if err != nil {
				return fmt.Errorf("read it: %w", err)
			}
			return privateKey(c, string(data))
		}},
	{env: "GITHUB_APP_PRIVATE_KEY", help: "the App's private key (PEM)", secret: true, set: privateKey},
	{env: "GITHUB_WEBHOOK_SECRET", help: "secret that signs webhooks; two, separated by a comma, while rotating", secret: true, serveOnly: true,
		set: func(c *Config, v string) error {
			for _, s := range strings.Split(v, ",") {
				if s = strings.TrimSpace(s); s != "" {
					c.WebhookSecrets = append(c.WebhookSecrets, s)
				}
			}
			if len(c.WebhookSecrets) > 2 {
				return errors.New("want at most two secrets, the current one first")
			}
			return nil
		}},
	{env: "REDIS_URL", help: "address of Redis, see below; without it an embedded one is started (one machine, for trying out)", secret: true,
		set: func(c *Config, v string) error {
			_, err := connect.Parse(v)
			c.RedisURL = v
			return err
		}},
	{env: "REDIS_CA_FILE", help: "file with the authorities (PEM) that the certificate of Redis must come from, instead of the system's",
		set: func(c *Config, v string) error { c.RedisFiles.CA = v; return nil }},
	{env: "REDIS_CERT_FILE", help: "file with the client's certificate (PEM), for a Redis that asks for one",
		set: func(c *Config, v string) error { c.RedisFiles.Cert = v; return nil }},
	{env: "REDIS_KEY_FILE", help: "file with the key (PEM) of that certificate",
		set: func(c *Config, v string) error { c.RedisFiles.Key = v; return nil }},
	{flag: "redis-check", env: "CULPRIT_REDIS_CHECK", def: "refuse", help: "what to do when Redis is set up to lose jobs: refuse to start (missing persistence is only warned of), strict (refuse that too) or warn",
		set: oneOf(func(c *Config) *string { return &c.RedisCheck }, "refuse", "strict", "warn")},
	{flag: "redis-grace", env: "CULPRIT_REDIS_GRACE", def: "5m", help: "how long running jobs go on while Redis does not answer",
		set: duration(func(c *Config) *time.Duration { return &c.RedisGrace })},
	{flag: "data", env: "CULPRIT_DATA", def: DefaultData, help: "folder for sessions and repository caches",
		set: func(c *Config, v string) (err error) { c.Data, err = filepath.Abs(v); return err }},
	{flag: "label", env: "CULPRIT_LABEL", def: "debug", help: "label of issues and pull requests that starts a session",
		set: func(c *Config, v string) error { c.Label = v; return nil }},
	{flag: "min-permission", env: "CULPRIT_MIN_PERMISSION", def: "write", help: "permission that a person's label, command or button needs: triage, write, maintain or admin (a fork's code needs write in any case)",
		set: oneOf(func(c *Config) *string { return &c.MinPermission }, "triage", "write", "maintain", "admin")},
	{flag: "sandbox", env: "CULPRIT_SANDBOX", def: "auto", help: "how repository code is confined: auto, bwrap, landlock or off",
		set: oneOf(func(c *Config) *string { return &c.Sandbox }, "auto", "bwrap", "landlock", "off")},
	{flag: "allow-no-sandbox", env: "CULPRIT_ALLOW_NO_SANDBOX", def: "false", help: "work even where no sandbox is to be had: only for repositories that you would run yourself", isBool: true,
		set: boolean(func(c *Config) *bool { return &c.AllowNoSandbox })},
	{flag: "setup-hosts", env: "CULPRIT_SETUP_HOSTS", help: "hosts that set-up steps may reach besides the public registries of packages, separated by commas: NAME, *.DOMAIN, * (all), or NAME:PORT (also at a private address)",
		set: func(c *Config, v string) (err error) { c.SetupHosts, err = HostList(v); return err }},
	{flag: "jobs", env: "CULPRIT_JOBS", def: "1", help: "sessions at a time in this process",
		set: number(func(c *Config) *int { return &c.Jobs }, 1, 64)},
	{flag: "jobs-per-repository", env: "CULPRIT_JOBS_PER_REPOSITORY", def: "1", help: "sessions at a time for one repository, over all workers; 0: no limit",
		set: number(func(c *Config) *int { return &c.Limits.Repository }, 0, 1_000_000)},
	{flag: "jobs-per-installation", env: "CULPRIT_JOBS_PER_INSTALLATION", def: "4", help: "sessions at a time for one installation (an account or organisation), over all workers; 0: no limit",
		set: number(func(c *Config) *int { return &c.Limits.Installation }, 0, 1_000_000)},
	{flag: "jobs-total", env: "CULPRIT_JOBS_TOTAL", def: "0", help: "sessions at a time over all workers; 0: no limit",
		set: number(func(c *Config) *int { return &c.Limits.Total }, 0, 1_000_000)},
	{flag: "ageing", env: "CULPRIT_AGEING", def: "30m", help: "waiting this long outweighs one class of priority (red CI, issue, person)",
		set: duration(func(c *Config) *time.Duration { return &c.Ageing })},
	{flag: "concurrency", env: "CULPRIT_CONCURRENCY", def: "5", help: "hypotheses tested at a time in one session",
		set: number(func(c *Config) *int { return &c.Concurrency }, 1, 64)},
	{flag: "mode", env: "CULPRIT_MODE", def: "full", help: "quick, full or deep",
		set: oneOf(func(c *Config) *string { return &c.Mode }, "quick", "full", "deep")},
	{flag: "max-runs", env: "CULPRIT_MAX_RUNS", def: "400", help: "most experiment runs of one session",
		set: number(func(c *Config) *int { return &c.MaxRuns }, 1, 1_000_000)},
	{flag: "timeout", env: "CULPRIT_TIMEOUT", def: "2h", help: "longest time of one session",
		set: duration(func(c *Config) *time.Duration { return &c.Timeout })},
	{flag: "run-timeout", env: "CULPRIT_RUN_TIMEOUT", def: "10m", help: "longest time of one run of a test command",
		set: duration(func(c *Config) *time.Duration { return &c.RunTimeout })},
	{flag: "answer-wait", env: "CULPRIT_ANSWER_WAIT", def: "72h", help: "how long a session waits for the answer to its question; then it ends with what is known",
		set: duration(func(c *Config) *time.Duration { return &c.AnswerWait })},
	{flag: "review-rounds", env: "CULPRIT_REVIEW_ROUNDS", def: "3", help: "how often the fix of one pull request is tried anew after its review or its CI; then a person is asked; 0: never",
		set: number(func(c *Config) *int { return &c.ReviewRounds }, 0, 20)},
	{flag: "lease", env: "CULPRIT_LEASE", def: "60s", help: "a job whose worker is silent this long goes to another",
		set: duration(func(c *Config) *time.Duration { return &c.Lease })},
	{flag: "grace", env: "CULPRIT_GRACE", def: "20s", help: "time for running jobs to be saved and given back at shutdown",
		set: duration(func(c *Config) *time.Duration { return &c.Grace })},
	{flag: "metrics-addr", env: "CULPRIT_METRICS_ADDR", help: "address that /metrics, /healthz and /readyz are served on, such as 127.0.0.1:9090, or :9090 behind a firewall; without it they are off",
		set: func(c *Config, v string) error {
			if _, _, err := net.SplitHostPort(v); err != nil {
				return errors.New("want HOST:PORT or :PORT")
			}
			c.MetricsAddr = v
			return nil
		}},
	{flag: "log-format", env: "CULPRIT_LOG_FORMAT", def: "text", help: "text or json",
		set: oneOf(func(c *Config) *string { return &c.LogFormat }, "text", "json")},
	{flag: "log-level", env: "CULPRIT_LOG_LEVEL", def: "info", help: "the least that is logged: debug, info, warn or error",
		set: oneOf(func(c *Config) *string { return &c.LogLevel }, "debug", "info", "warn", "error")},
	{flag: "recover", env: "CULPRIT_RECOVER", def: "5m", help: "how often webhook deliveries that failed are looked for, and jobs that Redis lost",
		set: duration(func(c *Config) *time.Duration { return &c.Recover })},
}

// Command is serve or work; it decides which settings there are.
type Command string

// The commands that read a Config.
const (
	Serve Command = "serve"
	Work  Command = "work"
)

// ErrHelp means that help was asked for.
var ErrHelp = pflag.ErrHelp

// Load reads flags and environment. All problems come in one error.
func Load(cmd Command, args []string, lookup func(string) (string, bool)) (Config, error) {
	flags := pflag.NewFlagSet(string(cmd), pflag.ContinueOnError)
	flags.SortFlags = false
	flags.Usage = func() {}
	for _, s := range rows(cmd) {
		if s.flag == "" {
			continue
		}
		flags.String(s.flag, "", s.help)
		if s.isBool {
			flags.Lookup(s.flag).NoOptDefVal = "true"
		}
	}
	if err := flags.Parse(args); err != nil {
		return Config{}, err
	}
	var c Config
	var problems []error
	if flags.NArg() > 0 {
		problems = append(problems, fmt.Errorf("%s takes no argument: %q", cmd, flags.Arg(0)))
	}
	for _, s := range rows(cmd) {
		value, from := s.def, "default"
		if v, ok := lookup(s.env); ok && v != "" {
			value, from = v, s.env
		}
		if s.flag != "" && flags.Changed(s.flag) {
			value, from = flags.Lookup(s.flag).Value.String(), "--"+s.flag
		}
		if value == "" {
			continue
		}
		if err := s.set(&c, value); err != nil {
			problems = append(problems, s.problem(from, value, err))
		}
	}
	problems = append(append(problems, c.missing(cmd)...), c.Models.missing()...)
	return c, errors.Join(problems...)
}

// problem says what is wrong with a value, which is shown unless it is secret.
func (s setting) problem(from, value string, err error) error {
	if s.secret {
		return fmt.Errorf("%s: %w", from, err)
	}
	return fmt.Errorf("%s %q: %w", from, value, err)
}

// missing checks what has no default.
func (c Config) missing(cmd Command) []error {
	var out []error
	if c.AppID == 0 {
		out = append(out, errors.New("the App's ID is missing: set GITHUB_APP_ID or --app-id"))
	}
	if len(c.PrivateKey) == 0 {
		out = append(out, errors.New("the App's private key is missing: set GITHUB_APP_PRIVATE_KEY_FILE or GITHUB_APP_PRIVATE_KEY"))
	}
	if cmd == Serve && len(c.WebhookSecrets) == 0 {
		out = append(out, errors.New("the webhook secret is missing: set GITHUB_WEBHOOK_SECRET to the one in the App's settings"))
	}
	if cmd == Work && c.RedisURL == "" {
		out = append(out, errors.New("work needs the queue that serve fills: set REDIS_URL (or run `serve --work` in one process)"))
	}
	return out
}

func rows(cmd Command) []setting {
	var out []setting
	for _, s := range slices.Concat(settings, modelSettings) {
		if cmd == Serve || !s.serveOnly {
			out = append(out, s)
		}
	}
	return out
}

func privateKey(c *Config, v string) error {
	if !strings.Contains(v, "-----BEGIN") || !strings.Contains(v, "PRIVATE KEY-----") {
		return errors.New("want a PEM block that begins with -----BEGIN RSA PRIVATE KEY-----")
	}
	c.PrivateKey = []byte(v)
	return nil
}

func apiURL(c *Config, v string) error {
	u, err := url.Parse(v)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return errors.New("want an address such as https://api.github.com")
	}
	if host := u.Hostname(); u.Scheme == "http" && host != "localhost" && host != "127.0.0.1" && host != "::1" {
		return errors.New("tokens are not sent over plain http: use https")
	}
	c.APIURL = strings.TrimRight(v, "/")
	return nil
}

func boolean(field func(*Config) *bool) func(*Config, string) error {
	return func(c *Config, v string) error {
		b, err := strconv.ParseBool(v)
		if err != nil {
			return errors.New("want true or false")
		}
		*field(c) = b
		return nil
	}
}

func number(field func(*Config) *int, low, high int) func(*Config, string) error {
	return func(c *Config, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < low || n > high {
			return fmt.Errorf("want a number from %d to %d", low, high)
		}
		*field(c) = n
		return nil
	}
}

func duration(field func(*Config) *time.Duration) func(*Config, string) error {
	return func(c *Config, v string) error {
		d, err := time.ParseDuration(v)
		if err != nil || d <= 0 {
			return errors.New("want a duration such as 90s, 10m or 2h")
		}
		*field(c) = d
		return nil
	}
}

func oneOf(field func(*Config) *string, values ...string) func(*Config, string) error {
	return func(c *Config, v string) error {
		for _, x := range values {
			if v == x {
				*field(c) = v
				return nil
			}
		}
		return fmt.Errorf("want one of %s", strings.Join(values, ", "))
	}
}
