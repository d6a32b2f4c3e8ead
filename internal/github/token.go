package github

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"encoding/json"

	"github.com/bradleyfalzon/ghinstallation/v2"
	gh "github.com/google/go-github/v62/github"
)

// A scope is what a token is for; it decides its permissions (GH11).
type scope string

const (
	scopeRead  scope = "read"  // the API, to investigate
	scopeWrite scope = "write" // the API, to publish
	scopeFetch scope = "fetch" // git fetch and clone
	scopePush  scope = "push"  // git push

	scopeStatus scope = "status" // commit statuses, which an older installation may not have granted
)

// permissions of a token. GitHub adds reading of metadata to each.
func (s scope) permissions() map[string]string {
	switch s {
	case scopeRead:
		return map[string]string{"contents": "read", "issues": "read", "pull_requests": "read", "checks": "read", "actions": "read", "metadata": "read"}
	case scopeWrite:
		return map[string]string{"contents": "write", "issues": "write", "pull_requests": "write", "checks": "write", "metadata": "read"}
	case scopeStatus:
		return map[string]string{"statuses": "read"}
	case scopePush:
		return map[string]string{"contents": "write"}
	}
	return map[string]string{"contents": "read"}
}

// sourceKey names one kind of token.
type sourceKey struct {
	installation int64
	repo         string // name without owner: an installation has one owner
	scope        scope
}

// source gives out one kind of token, and a new one when it gets old.
type source struct {
	app *App
	key sourceKey

	mu   sync.Mutex
	tr   *ghinstallation.Transport // nil: ask for a new token
	last string
}

// freshFor is how long a token that is given out stays valid at least: longer
// than any single call, and than most clones.
const freshFor = 5 * time.Minute

// maxSources bounds the cache; what is over it is forgotten and asked for
// again.
const maxSources = 4096

func (a *App) source(k sourceKey) *source {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.sources[k]
	if s == nil {
		if len(a.sources) >= maxSources {
			clear(a.sources)
		}
		s = &source{app: a, key: k}
		a.sources[k] = s
	}
	return s
}

// token returns a token that is valid for some minutes.
func (s *source) token(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tr != nil {
		if end, _, err := s.tr.Expiry(); err != nil || end.Sub(s.app.now()) < freshFor {
			s.tr = nil
		}
	}
	if s.tr == nil {
		var err error
		if s.tr, err = s.issue(ctx); err != nil {
			return "", s.refused(ctx, err)
		}
	}
	t, err := s.tr.Token(ctx)
	if err != nil {
		return "", s.refused(ctx, err)
	}
	if t != s.last {
		s.last = t
		if s.app.cfg.OnToken != nil {
			s.app.cfg.OnToken(t)
		}
	}
	return t, nil
}

// issue asks for a new token, signed by the other key when one is refused.
func (s *source) issue(ctx context.Context) (*ghinstallation.Transport, error) {
	want := &gh.InstallationTokenOptions{Repositories: []string{s.key.repo}, Permissions: &gh.InstallationPermissions{}}
	if err := setPermissions(want.Permissions, s.key.scope.permissions()); err != nil {
		return nil, err
	}
	for tried := 1; ; tried++ {
		signer, n := s.app.appTransport()
		tr := ghinstallation.NewFromAppsTransport(signer, s.key.installation)
		tr.InstallationTokenOptions = want
		_, err := tr.Token(ctx)
		if err == nil {
			return tr, nil
		}
		no := (*ghinstallation.HTTPError)(nil)
		if !errors.As(err, &no) || no.Response == nil || no.Response.StatusCode != http.StatusUnauthorized || tried > 1 || !s.app.keys.refused(n) {
			return nil, err
		}
		no.Response.Body.Close()
	}
}

// forget drops a token that GitHub refused, unless it was replaced already.
func (s *source) forget(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == token {
		s.tr = nil
	}
}

// setPermissions fills GitHub's struct by the names of its JSON form.
func setPermissions(p *gh.InstallationPermissions, want map[string]string) error {
	b, err := json.Marshal(want)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, p)
}

// permissionNames is the other way round.
func permissionNames(p *gh.InstallationPermissions) (map[string]string, error) {
	granted := map[string]string{}
	b, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return granted, json.Unmarshal(b, &granted)
}

// refused explains why no token was given.
func (s *source) refused(ctx context.Context, err error) error {
	op := fmt.Sprintf("get a %s token for %s (installation %d)", s.key.scope, s.key.repo, s.key.installation)
	httpErr := (*ghinstallation.HTTPError)(nil)
	if !errors.As(err, &httpErr) || httpErr.Response == nil {
		return s.app.wrap(op, err)
	}
	r := httpErr.Response
	defer r.Body.Close()
	if r.StatusCode/100 == 2 {
		return &Error{Op: op, Status: r.StatusCode, Message: "the answer is not a token", kind: ErrTransient}
	}
	var answer struct {
		Message string `json:"message"`
	}
	text, _ := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	_ = json.Unmarshal(text, &answer)
	message := strings.ToLower(answer.Message)
	got := s.app.status(op, r, answer.Message)
	e := (*Error)(nil)
	if !errors.As(got, &e) {
		return got
	}
	switch {
	case r.StatusCode == http.StatusUnauthorized:
		e.kind = ErrForbidden
		e.Message = s.app.clean(answer.Message) + ": check the App ID, the private key and this machine's clock"
	case r.StatusCode == http.StatusNotFound:
		e.kind = ErrGone
		e.Message = "the App is not installed there any more"
	case r.StatusCode == http.StatusUnprocessableEntity && strings.Contains(message, "permission"):
		e.kind = ErrForbidden
		e.Permission = s.missing(ctx)
	case r.StatusCode == http.StatusUnprocessableEntity:
		e.kind = ErrGone
		e.Message = "the repository is deleted or not among those of the installation"
	}
	return e
}

// missing compares what the scope needs with what the installation grants.
func (s *source) missing(ctx context.Context) string {
	inst, _, err := s.app.client.Apps.GetInstallation(ctx, s.key.installation)
	if err != nil {
		return ""
	}
	granted, err := permissionNames(inst.GetPermissions())
	if err != nil {
		return ""
	}
	var lacks []string
	for name, need := range s.key.scope.permissions() {
		if have := granted[name]; have != need && have != "write" && have != "admin" && name != "metadata" {
			lacks = append(lacks, name+"="+need)
		}
	}
	slices.Sort(lacks)
	return strings.Join(lacks, ", ")
}

// authenticated adds a token to requests for GitHub's own host, and asks for a
// new one once when it is refused.
type authenticated struct {
	source *source
	host   *url.URL
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *authenticated) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != t.host.Host || req.URL.Scheme != t.host.Scheme {
		return t.next.RoundTrip(req)
	}
	for attempt := 0; ; attempt++ {
		token, err := t.source.token(req.Context())
		if err != nil {
			if req.Body != nil {
				req.Body.Close()
			}
			return nil, err
		}
		out := req.Clone(req.Context())
		if attempt > 0 && req.GetBody != nil {
			if out.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
		out.Header.Set("Authorization", "Bearer "+token)
		resp, err := t.next.RoundTrip(out)
		if err != nil || resp.StatusCode != http.StatusUnauthorized || attempt > 0 || (req.Body != nil && req.Body != http.NoBody && req.GetBody == nil) {
			return resp, err
		}
		t.source.forget(token)
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
		resp.Body.Close()
	}
}
