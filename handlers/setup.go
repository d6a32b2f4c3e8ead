package handlers

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

// SetupConfig is what the set-up pages need (GH10).
type SetupConfig struct {
	Secret   string // in the address of the first page, so that nobody else begins
	GitHub   string // web address of GitHub, without trailing slash
	Org      string // that will own the App; empty: the person's account
	Manifest string // JSON
	// Finish trades GitHub's code for the App and stores its credentials. It
	// returns where the App is installed.
	Finish func(ctx context.Context, code string) (installURL string, err error)
}

// setup walks a person through GitHub's manifest flow: a page with one button
// that sends the manifest to GitHub, and the page to which GitHub sends the
// browser back with a code.
type setup struct {
	SetupConfig
	state string // ties GitHub's answer to this set-up

	mu       sync.Mutex // held while the App is finished: a code counts once
	finished bool
}

// finishTime bounds Finish. It is less than the server takes for an answer.
const finishTime = 15 * time.Second

// NewSetup makes the handler of /setup and /setup/done.
func NewSetup(c SetupConfig) (http.Handler, error) {
	u, err := url.Parse(c.GitHub)
	if err != nil || u.Host == "" || c.Secret == "" || c.Finish == nil {
		return nil, errors.New("start set-up: give GitHub's address, a secret and what is to be done")
	}
	s := &setup{SetupConfig: c, state: rand.Text()}
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.Logger.SetOutput(discard{})
	e.Use(securityHeaders)
	e.GET("/setup", s.begin)
	e.GET("/setup/done", s.done)
	return e, nil
}

// action is where the form goes.
func (s *setup) action() string {
	if s.Org == "" {
		return s.GitHub + "/settings/apps/new"
	}
	return s.GitHub + "/organizations/" + url.PathEscape(s.Org) + "/settings/apps/new"
}

func (s *setup) begin(c echo.Context) error {
	if subtle.ConstantTimeCompare([]byte(c.QueryParam("secret")), []byte(s.Secret)) != 1 {
		return s.page(c, http.StatusForbidden, setupPage{Title: "This address is not complete", Text: "Open the whole address that the command printed."})
	}
	// Forms may go to GitHub, and nowhere else.
	c.Response().Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; form-action "+s.GitHub)
	return s.page(c, http.StatusOK, setupPage{
		Title: "Set up Culprit", Text: "GitHub shows you the App's name and permissions, makes it, and sends you back here. Nothing is installed yet.",
		Action: s.action() + "?state=" + s.state, Manifest: s.Manifest,
	})
}

func (s *setup) done(c echo.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished || subtle.ConstantTimeCompare([]byte(c.QueryParam("state")), []byte(s.state)) != 1 {
		return s.page(c, http.StatusForbidden, setupPage{Title: "Start again", Text: "This answer of GitHub does not belong to a set-up that is under way. Open the address that the command printed."})
	}
	// GitHub gives the credentials once: a browser that goes away must not lose
	// them, and a page that is loaded again may try again.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request().Context()), finishTime)
	defer cancel()
	install, err := s.Finish(ctx, c.QueryParam("code"))
	if err != nil {
		return s.page(c, http.StatusBadGateway, setupPage{Title: "The App could not be finished", Text: err.Error()})
	}
	s.finished = true
	return s.page(c, http.StatusOK, setupPage{
		Title: "The App is made", Text: "Its credentials are stored; the command says where. Now choose the repositories that it may see.", Install: install,
	})
}

type setupPage struct {
	Title, Text               string
	Action, Manifest, Install string
}

var setupTemplate = template.Must(template.New("setup").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{{.Title}}</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:38rem;margin:12vh auto;padding:0 1rem;color:#1f2328}button,a.go{font:inherit;display:inline-block;padding:.5rem 1rem;border-radius:6px;border:1px solid #1f883d;background:#1f883d;color:#fff;text-decoration:none;cursor:pointer}</style>
</head><body><h1>{{.Title}}</h1><p>{{.Text}}</p>
{{- if .Action}}
<form action="{{.Action}}" method="post"><input type="hidden" name="manifest" value="{{.Manifest}}"><button>Create the App on GitHub</button></form>
{{- end}}
{{- if .Install}}
<p><a class="go" href="{{.Install}}">Install it</a></p>
{{- end}}
</body></html>
`))

func (s *setup) page(c echo.Context, status int, p setupPage) error {
	h := c.Response().Header()
	if p.Action == "" {
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	}
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "text/html; charset=utf-8")
	c.Response().WriteHeader(status)
	return setupTemplate.Execute(c.Response(), p)
}
