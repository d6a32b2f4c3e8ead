package main

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"culprit/internal/checkout"
	"culprit/internal/conformance"
	"culprit/internal/github"
	"culprit/internal/githubtest"
	"culprit/internal/session"
	"culprit/queue"
)

// Each real error of GitHub, of git and of the queue has its fate.
func TestEachErrorHasItsFate(t *testing.T) {
	t.Parallel()
	gh := conformance.Start(t, githubtest.Options{})
	key, err := appKey()
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []func() error{
		func() error { return gh.CreateOrg("acme") },
		func() error { return gh.CreateRepo(githubtest.RepoConfig{Owner: "acme", Name: "prices"}) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	app, err := gh.CreateApp(githubtest.AppConfig{Name: "Culprit", Owner: "acme", Key: key})
	if err != nil {
		t.Fatal(err)
	}
	inst, err := gh.Install(app.ID, "acme")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		fault githubtest.Fault
		fate  fate
	}{
		"500":                      {githubtest.Fault{Status: 500}, retried},
		"502 page":                 {githubtest.BadGateway(), retried},
		"connection lost":          {githubtest.Fault{Drop: true}, retried},
		"half an answer":           {githubtest.Fault{Truncate: true}, retried},
		"primary limit, far away":  {githubtest.PrimaryRateLimit(time.Now().Add(40 * time.Minute)), snoozed},
		"secondary limit":          {githubtest.SecondaryRateLimit(403, time.Minute), snoozed},
		"too many requests":        {githubtest.Fault{Status: 429}, snoozed},
		"a permission is missing":  {githubtest.Fault{Status: 403, Body: `{"message":"Resource not accessible by integration"}`}, buried},
		"refused":                  {githubtest.Fault{Status: 422}, buried},
		"conflict":                 {githubtest.Fault{Status: 409}, buried},
		"repository gone":          {githubtest.Fault{Status: 404}, moot},
		"repository blocked":       {githubtest.Fault{Status: 451}, moot},
		"a token that was revoked": {githubtest.Fault{Status: 401, Body: `{"message":"Bad credentials"}`}, retried},
	} {
		in := gh.Inject(tt.fault.On("GET", "/repos/{owner}/{repo}"))
		// A limit that was met is remembered by the client that met it.
		fresh, err := github.New(github.Config{BaseURL: gh.APIURL(), AppID: app.ID, PrivateKey: app.PrivateKeyPEM(), Attempts: 1})
		if err != nil {
			t.Fatal(err)
		}
		_, err = fresh.Repo(t.Context(), inst, "acme", "prices")
		fresh.Close()
		in.Remove()
		if err == nil || fateOf(err) != tt.fate {
			t.Errorf("%s: %v is %s, want %s", name, err, fateOf(err), tt.fate)
		}
	}
	for _, tt := range []struct {
		err  error
		fate fate
	}{
		{checkout.ErrAccess, buried},
		{checkout.ErrUnknownRevision, buried},
		{checkout.ErrRejected, buried},
		{session.ErrBusy, waits},
		{&session.UserError{What: "x"}, buried},
		{queue.ErrLost, released},
		{fmt.Errorf("%w: %w", github.ErrFenced, queue.ErrCancelled), released},
		{errors.New("no space left on device"), retried},
	} {
		if got := fateOf(fmt.Errorf("do it: %w", tt.err)); got != tt.fate {
			t.Errorf("%v is %s, want %s", tt.err, got, tt.fate)
		}
	}
	if d := spread(10*time.Minute, 0); d != 10*time.Minute {
		t.Errorf("the shortest wait for a limit of 10 m is %s", d)
	}
	if d := spread(10*time.Minute, 0.999); d < 11*time.Minute || d > 12*time.Minute {
		t.Errorf("the longest wait for a limit of 10 m is %s", d)
	}
}
