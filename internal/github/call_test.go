package github_test

import (
	"errors"
	"testing"
	"time"

	"culprit/internal/github"
	"culprit/internal/githubtest"
)

const (
	issueRoute    = "/repos/{owner}/{repo}/issues/{issue_number}"
	commentsRoute = "/repos/{owner}/{repo}/issues/{issue_number}/comments"
)

func TestReadsAreRepeatedWhenGitHubStumbles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.issueSession()
	for name, f := range map[string]githubtest.Fault{
		"500": {Status: 500}, "502 page": githubtest.BadGateway(), "503": {Status: 503}, "504": {Status: 504}, "dropped": {Drop: true},
	} {
		t.Run(name, func(t *testing.T) {
			w.slept = nil
			r := w.repo()
			f.Times = 2
			in := w.gh.Inject(f.On("GET", issueRoute))
			if _, err := r.Issue(t.Context(), s.Source.Issue); err != nil {
				t.Errorf("third attempt: %v", err)
			}
			// net/http repeats a GET by itself on a connection that was closed
			// before it was used again.
			if n := len(w.slept); n == 0 || (n == 1 && name != "dropped") || n > 2 || (n == 2 && w.slept[1] <= w.slept[0]) {
				t.Errorf("backoff was %v", w.slept)
			}
			in.Remove()
			f.Times = 0
			in = w.gh.Inject(f.On("GET", issueRoute))
			defer in.Remove()
			if _, err := r.Issue(t.Context(), s.Source.Issue); !errors.Is(err, github.ErrTransient) {
				t.Errorf("error is %v, want ErrTransient", err)
			}
		})
	}
}

func TestCreationsAreNotRepeatedBlindly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.issueSession()
	in := w.gh.Inject(githubtest.Fault{Status: 502, Late: true}.On("POST", commentsRoute))
	p := w.publisher()
	if err := p.Progress(t.Context(), s); !errors.Is(err, github.ErrTransient) {
		t.Errorf("error is %v, want ErrTransient", err)
	}
	in.Remove()
	check(t, p.Progress(t.Context(), s))
	if got := len(w.comments(s.Source.Issue)); got != 1 || in.Hits() != 1 {
		t.Errorf("%d comments after %d attempts", got, in.Hits())
	}
}

func TestRateLimitsSayWhenToComeBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]struct {
		fault     githubtest.Fault
		secondary bool
		low, high time.Duration
	}{
		"primary":                  {githubtest.PrimaryRateLimit(time.Now().Add(40 * time.Minute)), false, 35 * time.Minute, 41 * time.Minute},
		"primary, over already":    {githubtest.PrimaryRateLimit(time.Now().Add(-time.Minute)), false, time.Second, time.Second},
		"secondary 403":            {githubtest.SecondaryRateLimit(403, 90*time.Second), true, 80 * time.Second, 91 * time.Second},
		"secondary 429":            {githubtest.SecondaryRateLimit(429, 90*time.Second), true, 80 * time.Second, 91 * time.Second},
		"429 that names no time":   {githubtest.Fault{Status: 429}, true, time.Minute, time.Minute},
		"403 that says it in text": {githubtest.Fault{Status: 403, Body: `{"message":"You have exceeded a secondary rate limit"}`}, true, time.Minute, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			r := w.repo() // each remembers the limits it met
			in := w.gh.Inject(c.fault.On("GET", issueRoute))
			defer in.Remove()
			_, err := r.Issue(t.Context(), 1)
			limit := (*github.RateLimitError)(nil)
			if !errors.As(err, &limit) || limit.Secondary != c.secondary || !errors.Is(err, github.ErrTransient) {
				t.Fatalf("error is %v", err)
			}
			if d := github.RetryAfter(err); d < c.low || d > c.high {
				t.Errorf("come back in %v, want %v to %v", d, c.low, c.high)
			}
			if in.Hits() != 1 {
				t.Errorf("%d calls into the limit, want 1", in.Hits())
			}
		})
	}
}

func TestAnswersAreClassified(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.issueSession()
	r := w.repo()
	for name, c := range map[string]struct {
		fault githubtest.Fault
		kind  error
	}{
		"404":            {githubtest.Fault{Status: 404}, github.ErrNotFound},
		"410":            {githubtest.Fault{Status: 410}, github.ErrNotFound},
		"451":            {githubtest.Fault{Status: 451}, github.ErrGone},
		"blocked":        {githubtest.Fault{Status: 403, Body: `{"message":"Repository access blocked"}`}, github.ErrGone},
		"403":            {githubtest.Fault{Status: 403, Body: `{"message":"Resource not accessible by integration"}`}, github.ErrForbidden},
		"409":            {githubtest.Fault{Status: 409}, github.ErrRefused},
		"422":            {githubtest.Fault{Status: 422}, github.ErrRefused},
		"truncated JSON": {githubtest.Fault{Truncate: true}, github.ErrTransient},
		"not JSON":       {githubtest.Fault{Status: 200, Body: "<html>"}, github.ErrTransient},
		"401 for ever":   {githubtest.Fault{Status: 401, Body: `{"message":"Bad credentials"}`}, github.ErrTransient},
	} {
		t.Run(name, func(t *testing.T) {
			defer w.gh.Inject(c.fault.On("GET", issueRoute)).Remove()
			if _, err := r.Issue(t.Context(), 1); !errors.Is(err, c.kind) {
				t.Errorf("error is %v, want %v", err, c.kind)
			}
		})
	}
}

func TestCallsEndInTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := must(github.New(github.Config{
		BaseURL: w.gh.APIURL(), AppID: w.app.ID, PrivateKey: w.app.PrivateKeyPEM(), Transport: w.tr, Timeout: 50 * time.Millisecond, Attempts: 1,
	}))(t)
	w.gh.Inject(githubtest.Fault{Latency: time.Hour})
	_, err := client.Repo(t.Context(), w.inst, "octo", "calc")
	if !errors.Is(err, github.ErrTransient) {
		t.Errorf("error is %v, want ErrTransient", err)
	}
}
