package github_test

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"culprit/internal/github"
	"culprit/internal/githubtest"
)

const tokenRoute = "/app/installations/{installation_id}/access_tokens"

// tokenRequests returns the bodies of the requests for tokens.
func (w *world) tokenRequests() []tokenRequest {
	var all []tokenRequest
	for _, c := range w.gh.Calls() {
		if c.Route == tokenRoute && c.Method == http.MethodPost {
			var r tokenRequest
			check(w.t, json.Unmarshal([]byte(c.Body), &r))
			all = append(all, r)
		}
	}
	return all
}

type tokenRequest struct {
	Repositories []string          `json:"repositories"`
	Permissions  map[string]string `json:"permissions"`
}

func TestTokensReachOneRepositoryAndCarryOnePhasesPermissions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.repo()
	for _, write := range []bool{false, true} {
		user, token, err := r.GitCredential(t.Context(), write)
		if err != nil || user != "x-access-token" || token == "" {
			t.Fatalf("credential is %q (%d bytes), %v", user, len(token), err)
		}
	}
	want := []map[string]string{
		{"contents": "read", "issues": "read", "pull_requests": "read", "checks": "read", "actions": "read", "metadata": "read"},
		{"contents": "read"},
		{"contents": "write"},
	}
	got := w.tokenRequests()
	if len(got) != len(want) {
		t.Fatalf("%d tokens were asked for, want %d: nothing was written yet", len(got), len(want))
	}
	for i, r := range got {
		if !maps.Equal(r.Permissions, want[i]) || len(r.Repositories) != 1 || r.Repositories[0] != "calc" {
			t.Errorf("token %d is for %+v", i, r)
		}
	}
}

func TestTokensAreCachedAndRenewedBeforeTheyExpire(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 3 {
		w.repo()
	}
	if got := len(w.tokenRequests()); got != 1 {
		t.Fatalf("%d tokens for the same thing, want 1", got)
	}
	w.clock.Store(int64(56 * time.Minute)) // tokens live for an hour
	w.repo()
	if got := len(w.tokenRequests()); got != 2 {
		t.Errorf("%d tokens, want a second one shortly before the first expires", got)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.tokens) != 2 {
		t.Errorf("the redactor was told %d tokens, want 2", len(w.tokens))
	}
}

func TestRefusedTokenIsReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.repo()
	s := w.issueSession()
	check(t, w.publisher().Progress(t.Context(), s))
	check(t, w.gh.RevokeTokens(w.inst))
	if _, err := r.Issue(t.Context(), s.Source.Issue); err != nil {
		t.Errorf("read after the token was revoked: %v", err)
	}
	s.State = "later"
	check(t, w.publisher().Progress(t.Context(), s)) // a write with a body
}

func TestTokenErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		breakIt func(w *world) (installation int64)
		kind    error
		says    string
	}{
		"uninstalled": {func(w *world) int64 { check(w.t, w.gh.Uninstall(w.inst)); return w.inst }, github.ErrGone, "not installed"},
		"unknown":     {func(*world) int64 { return 424242 }, github.ErrGone, "not installed"},
		"suspended":   {func(w *world) int64 { check(w.t, w.gh.Suspend(w.inst, true)); return w.inst }, github.ErrGone, "suspended"},
		"deleted":     {func(w *world) int64 { check(w.t, w.gh.DeleteRepo(full)); return w.inst }, github.ErrGone, "deleted"},
		"permission": {func(w *world) int64 {
			p := githubtest.DefaultPermissions()
			delete(p, "actions")
			p["checks"] = "read"
			check(w.t, w.gh.SetInstallationPermissions(w.inst, p))
			return w.inst
		}, github.ErrForbidden, "actions=read"},
		"wrong key": {func(w *world) int64 { w.client = w.signIn(w.app.ID + 77); return w.inst }, github.ErrForbidden, "private key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			inst := c.breakIt(w)
			_, err := w.client.Repo(t.Context(), inst, "octo", "calc")
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error is %v, want one that says %q", err, c.says)
			}
		})
	}
}

func TestMissingWritePermissionIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.issueSession()
	p := githubtest.DefaultPermissions()
	p["checks"] = "read"
	check(t, w.gh.SetInstallationPermissions(w.inst, p))
	err := w.publisher().Progress(t.Context(), s)
	if !errors.Is(err, github.ErrForbidden) || !strings.Contains(err.Error(), "checks=write") {
		t.Errorf("error is %v", err)
	}
}

func TestNoTokenLeavesForAnotherHostOrStandsInAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.redRun()
	r := w.repo()
	var log strings.Builder
	if _, err := r.JobLog(t.Context(), run.Jobs["test"], &log, 1<<20); err != nil {
		t.Fatal(err)
	}
	w.tr.mu.Lock()
	others := 0
	for host, authorization := range w.tr.hosts {
		if host != "127.0.0.1" {
			others++
			if authorization != "" {
				t.Errorf("%s was sent %d bytes of authorization", host, len(authorization))
			}
		}
	}
	w.tr.mu.Unlock()
	if others == 0 {
		t.Log("logs come from GitHub's own host here")
	}
	for _, f := range []githubtest.Fault{
		{Drop: true}, {Truncate: true}, {Status: 500}, {Status: 422, Body: `{"message":"you sent ` + w.tokens[0] + `"}`}, githubtest.BadGateway(),
	} {
		in := w.gh.Inject(f)
		_, err := r.Issue(t.Context(), 1)
		in.Remove()
		if err == nil {
			t.Fatal("no error")
		}
		w.noToken(err.Error())
	}
	in := w.gh.Inject(githubtest.Fault{Drop: true, Route: "/_logs"})
	if _, err := r.JobLog(t.Context(), run.Jobs["test"], &log, 1<<20); err != nil && (strings.Contains(err.Error(), "sig=") || strings.Contains(err.Error(), "_logs")) {
		t.Errorf("the signed address stands in %q", err)
	}
	in.Remove()
}

func TestConfigurationErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	key := githubtest.App{Key: appKey()}.PrivateKeyPEM()
	for name, c := range map[string]struct {
		config github.Config
		says   string
	}{
		"no App ID":    {github.Config{PrivateKey: key}, "App ID"},
		"no key":       {github.Config{AppID: 1}, ".pem"},
		"not a key":    {github.Config{AppID: 1, PrivateKey: []byte("secret-text")}, ".pem"},
		"bad address":  {github.Config{AppID: 1, PrivateKey: key, BaseURL: "ftp://x"}, "https://HOST/api/v3"},
		"with a login": {github.Config{AppID: 1, PrivateKey: key, BaseURL: "https://u:p@x/"}, "https://HOST/api/v3"},
	} {
		if _, err := github.New(c.config); err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "secret-text") {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}
