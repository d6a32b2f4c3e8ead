package github

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	gh "github.com/google/go-github/v62/github"
)

// Config of the App.
type Config struct {
	// BaseURL of the REST API: https://api.github.com when empty, or
	// https://HOST/api/v3 on GitHub Enterprise Server.
	BaseURL    string
	AppID      int64
	PrivateKey []byte // PEM, as GitHub gives it; two keys while it is rotated

	// OnToken is told every token before its first use; the redactor listens.
	OnToken func(token string)
	// Redact cleans text that goes into errors and onto GitHub; nil leaves it.
	Redact func(string) string

	// Transport makes the requests; nil is a transport of the App's own. It
	// must not log or keep headers.
	Transport http.RoundTripper
	// Measure is put around the transport, for metrics; nil: nothing is.
	Measure   func(http.RoundTripper) http.RoundTripper
	Timeout   time.Duration // of one attempt of a call, answer included (20 s)
	Attempts  int           // of a call that may be repeated (3)
	UserAgent string        // ("culprit")
	Logger    *slog.Logger

	Now   func() time.Time                                 // (time.Now)
	Sleep func(ctx context.Context, d time.Duration) error // between attempts
}

// App is the GitHub App, signed in. It is safe for concurrent use.
type App struct {
	cfg    Config
	base   *url.URL          // ends in "/"
	keys   *keys             // of the App, one or two
	tr     http.RoundTripper // retries; no authentication
	again  http.RoundTripper // the same, which asks again for what it knows
	client *gh.Client        // as the App itself

	mu      sync.Mutex
	sources map[sourceKey]*source
	slug    string
}

// New checks the configuration; it makes no call.
func New(c Config) (*App, error) {
	if c.AppID <= 0 {
		return nil, errors.New("set up GitHub App: no App ID is configured")
	}
	keys, err := parseKeys(c.PrivateKey)
	if err != nil {
		return nil, err
	}
	if c.BaseURL == "" {
		c.BaseURL = "https://api.github.com"
	}
	base, err := url.Parse(strings.TrimRight(c.BaseURL, "/") + "/")
	if err != nil || (base.Scheme != "https" && base.Scheme != "http") || base.Host == "" || base.User != nil {
		return nil, fmt.Errorf("set up GitHub App: the API address is not an http(s) URL: use https://api.github.com or https://HOST/api/v3")
	}
	if c.Timeout <= 0 {
		c.Timeout = 20 * time.Second
	}
	if c.Attempts <= 0 {
		c.Attempts = 3
	}
	if c.UserAgent == "" {
		c.UserAgent = "culprit"
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	if c.Transport == nil {
		c.Transport = newTransport()
	}
	if c.Measure != nil {
		c.Transport = c.Measure(c.Transport)
	}
	a := &App{cfg: c, base: base, keys: keys, sources: map[sourceKey]*source{}}
	a.tr = &retrying{next: c.Transport, timeout: c.Timeout, attempts: c.Attempts, agent: c.UserAgent, sleep: c.Sleep, log: c.Logger}
	a.again = newConditional(a.tr)
	a.client = a.newClient(signed{a})
	return a, nil
}

// Close gives back idle connections.
func (a *App) Close() {
	if t, ok := a.cfg.Transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

func (a *App) now() time.Time { return a.cfg.Now() }

func (a *App) redact(s string) string {
	if a.cfg.Redact == nil {
		return s
	}
	return a.cfg.Redact(s)
}

// newClient makes a client that follows redirects (a renamed repository) on
// GitHub's own host only.
func (a *App) newClient(t http.RoundTripper) *gh.Client {
	c := gh.NewClient(&http.Client{
		Transport: t,
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) >= 5 || req.URL.Host != a.base.Host || req.URL.Scheme != a.base.Scheme {
				return http.ErrUseLastResponse
			}
			return nil
		},
	})
	base := *a.base
	c.BaseURL, c.UserAgent = &base, a.cfg.UserAgent
	return c
}

// Slug is the App's name in addresses and logins ("culprit" in
// "culprit[bot]"), asked for once.
func (a *App) Slug(ctx context.Context) (string, error) {
	a.mu.Lock()
	slug := a.slug
	a.mu.Unlock()
	if slug != "" {
		return slug, nil
	}
	app, _, err := a.client.Apps.Get(ctx, "")
	if err != nil {
		return "", a.wrap("read the App's own name", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.slug = app.GetSlug()
	return a.slug, nil
}

// ID of the App.
func (a *App) ID() int64 { return a.cfg.AppID }

// botLogin is the login under which the App comments.
func (a *App) botLogin(ctx context.Context) (string, error) {
	slug, err := a.Slug(ctx)
	return slug + "[bot]", err
}
