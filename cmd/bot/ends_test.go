package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"culprit/internal/checkout"
	"culprit/internal/conformance"
	"culprit/internal/github"
	"culprit/internal/githubtest"
	"culprit/internal/session"
	"culprit/queue"
)

// A job that cannot clone is tried again; what is visible of it meanwhile must
// come to an end, once, however the job is called off.
func TestHoweverAWaitingJobIsCalledOffItsEndIsTold(t *testing.T) {
	t.Parallel()
	p := newSmallProject(t)
	w := newWorld(t, embeddedRedis(t).url, p)
	// The clone fails, and so soon after its beginning that no state of the
	// pipeline was ever saved.
	w.github.Inject(githubtest.Fault{Status: 500}.On("GET", "/{owner}/{repo}.git/info/refs"))
	w.start()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	rows := []struct {
		cause, says string
		issue       int
		callOff     func(issue int) error
	}{
		{"the issue is closed", "the issue was closed", 0, func(n int) error { return w.github.CloseIssue(w.repo, n, "ada") }},
		{"the label is taken off", "the label was taken off the issue", 0, func(n int) error { return w.github.RemoveLabel(w.repo, n, "ada", "debug") }},
		{"a person stops it", "stop", 0, func(n int) error { _, err := w.github.Comment(w.repo, n, "ada", "/debug stop"); return err }},
		{"the branch is deleted", "the branch was deleted", -1, func(int) error { return w.github.DeleteBranch(w.repo, "ada", "topic") }},
	}
	q := w.openQueue()
	for i, row := range rows {
		if row.issue < 0 {
			refs, err := w.github.Refs(w.repo)
			ok(err)
			ok(w.github.CreateBranch(w.repo, "ada", "topic", refs["main"]))
			_, err = w.github.CommitFile(w.repo, "ada", "topic", "note.txt", []byte("x"), "Note")
			ok(err)
			w.redCI("topic", p.log)
		} else {
			rows[i].issue = w.labelled(row.cause)
		}
		w.delivered()
		if !eventually(t, 60*time.Second, row.cause+": it waits for its next try, visibly", func() bool {
			s, err := q.Stats(t.Context())
			return err == nil && s.Depth[queue.Retrying] == i+1 && len(w.checks()) == i+1
		}) {
			t.Fatalf("log:\n%s", w.log)
		}
	}
	for i, row := range rows {
		ok(row.callOff(row.issue))
		w.delivered()
		if !eventually(t, 60*time.Second, row.cause+": the end is told", func() bool { return w.completed() == i+1 }) {
			t.Fatalf("log:\n%s", w.log)
		}
	}
	told := map[string]bool{}
	for _, c := range w.checks() {
		if c.Status != "completed" || c.Conclusion != "neutral" || !strings.Contains(c.Title, "Stopped") {
			t.Errorf("check run %s is %s, %s: %s", c.ExternalID, c.Status, c.Conclusion, c.Title)
		}
		told[c.Title] = true
	}
	for _, row := range rows {
		found := false
		for title := range told {
			found = found || strings.Contains(title, row.says)
		}
		if !found {
			t.Errorf("%s: nobody is told why: %v", row.cause, told)
		}
		if row.issue < 0 {
			continue
		}
		comments, err := w.github.Comments(w.repo, row.issue)
		ok(err)
		own := 0
		for _, c := range comments {
			if c.User == w.app.BotLogin() && strings.Contains(c.Body, "culprit:session=") {
				own++
				if !strings.Contains(c.Body, "Stopped") {
					t.Errorf("%s: the comment still says:\n%s", row.cause, c.Body)
				}
			}
		}
		if own != 1 {
			t.Errorf("%s: %d comments of the session, want 1", row.cause, own)
		}
	}
	if !w.idle() {
		t.Error("a job that was called off is still in the queue")
	}
}

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
