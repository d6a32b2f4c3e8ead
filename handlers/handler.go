package handlers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/sync/semaphore"

	"culprit/queue"
)

// Queue is what the edge needs of the job queue.
type Queue interface {
	// Enqueue returns when the job is durable.
	Enqueue(ctx context.Context, job queue.Job) (queue.Receipt, error)
	// CancelMatching calls off jobs that have not ended and returns their IDs.
	CancelMatching(ctx context.Context, m queue.Match, reason string) ([]string, error)
}

// Config of the edge.
type Config struct {
	// Secrets that a webhook may be signed with, at least one. Two let the
	// secret be changed without losing a delivery.
	Secrets []string
	Intake  // Queue, Commands and Rules.AppID are required; an empty Label is "debug"

	// Ready reports what keeps the process from serving (Redis away); nil
	// means that it is always ready.
	Ready func(ctx context.Context) error
	// Observe is told of each delivery that was answered, for metrics; nil:
	// nobody is.
	Observe func(Answered)

	Version string // shown on the plain page
	Logger  *slog.Logger

	MaxBody int64 // bytes of one delivery (25 MB, GitHub's own limit)
}

// Payloads over smallBody bytes are rare, and anybody can claim to send one:
// at most maxLarge of the largest size are read at a time, so that they can
// neither fill the memory nor keep the others out.
const (
	smallBody = 1 << 20
	maxLarge  = 8
)

type server struct {
	Config
	large *semaphore.Weighted // bytes of large payloads
}

// New makes the handler of POST /webhook, GET /healthz, /readyz and /. The
// error says what is missing in the configuration.
func New(c Config) (http.Handler, error) {
	if len(c.Secrets) == 0 {
		return nil, errors.New("start web server: no webhook secret is configured")
	}
	for _, s := range c.Secrets {
		if s == "" {
			return nil, errors.New("start web server: a webhook secret is empty: anybody could sign with it")
		}
	}
	if c.Queue == nil || c.Commands == nil {
		return nil, errors.New("start web server: no queue")
	}
	if c.AppID <= 0 {
		return nil, errors.New("start web server: no App ID is configured")
	}
	if c.Label == "" {
		c.Label = "debug"
	}
	if c.MaxBody <= 0 {
		c.MaxBody = 25 << 20
	}
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	s := &server{Config: c, large: semaphore.NewWeighted(maxLarge * c.MaxBody)}

	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.Logger.SetOutput(discard{})
	e.HTTPErrorHandler = s.httpError
	e.Use(s.recoverPanic, securityHeaders)
	e.POST("/webhook", s.observed(s.webhook))
	e.GET("/healthz", s.healthz)
	e.GET("/readyz", s.readyz)
	e.GET("/", s.index)
	return e, nil
}

// Server makes the HTTP server for a handler, with the time limits that keep
// slow and silent clients from holding it. The caller starts it and shuts it
// down.
func Server(addr string, h http.Handler) *http.Server {
	return &http.Server{
		Addr:              addr,
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      20 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
}

// securityHeaders forbid browsers everything; nothing here needs a script.
func securityHeaders(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		return next(c)
	}
}

// answer is the body of every answer but the plain page. GitHub shows it in
// the App's list of deliveries, so it says what was done and why.
type answer struct {
	Status string `json:"status"` // enqueued, merged, duplicate, stale, cancelled, ignored, ok, error
	Reason string `json:"reason,omitempty"`
	Job    string `json:"job,omitempty"`
}

func (s *server) httpError(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	code, text := http.StatusInternalServerError, "internal error"
	if he := (*echo.HTTPError)(nil); errors.As(err, &he) {
		code, text = he.Code, fmt.Sprint(he.Message)
	} else {
		s.Logger.Error("answer request", "path", c.Path(), "error", err)
	}
	_ = c.JSON(code, answer{Status: "error", Reason: text})
}

// recoverPanic keeps one bad request from ending the process.
func (s *server) recoverPanic(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			if r := recover(); r != nil {
				s.Logger.Error("handler panicked", "path", c.Path(), "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
				err = echo.NewHTTPError(http.StatusInternalServerError, "internal error")
			}
		}()
		return next(c)
	}
}

func (s *server) healthz(c echo.Context) error {
	return c.JSON(http.StatusOK, answer{Status: "ok"})
}

func (s *server) readyz(c echo.Context) error {
	if s.Ready == nil {
		return c.JSON(http.StatusOK, answer{Status: "ok"})
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), s.Timeout)
	defer cancel()
	if err := s.Ready(ctx); err != nil {
		s.Logger.Warn("not ready", "error", err)
		return c.JSON(http.StatusServiceUnavailable, answer{Status: "error", Reason: "the queue is away: check Redis"})
	}
	return c.JSON(http.StatusOK, answer{Status: "ok"})
}

func (s *server) index(c echo.Context) error {
	text := "Culprit"
	if s.Version != "" {
		text += " " + s.Version
	}
	return c.String(http.StatusOK, text+"\n\nA GitHub App that debugs red CI and labelled issues.\nWebhooks go to POST /webhook; GET /healthz and /readyz tell how it is.\n")
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
