package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"culprit/internal/githubtest"
)

// A request to the bot, and what it must answer.
type request struct {
	name, method, path, event, contentType, guid string
	signature                                    func(good string) string // nil: the right one
	body                                         []byte
	code                                         int
	says                                         string // part of status or reason
}

func signature(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// ask sends a request; the answer is empty when none came.
func (w *world) ask(bot *botProcess, r request) (code int, text string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 15*time.Second)
	defer cancel()
	if r.method == "" {
		r.method, r.path = http.MethodPost, "/webhook"
	}
	req, err := http.NewRequestWithContext(ctx, r.method, "http://"+bot.addr+r.path, bytes.NewReader(r.body))
	if err != nil {
		w.t.Fatal(err)
	}
	sig := signature(w.app.WebhookSecret, r.body)
	if r.signature != nil {
		sig = r.signature(sig)
	}
	for name, value := range map[string]string{
		"X-Hub-Signature-256": sig, "X-GitHub-Event": r.event, "X-GitHub-Delivery": r.guid, "Content-Type": r.contentType,
	} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := http.DefaultTransport.(*http.Transport).RoundTrip(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	_, _ = b.ReadFrom(resp.Body)
	var answer struct{ Status, Reason string }
	if json.Unmarshal(b.Bytes(), &answer) != nil {
		return resp.StatusCode, b.String()
	}
	return resp.StatusCode, answer.Status + ": " + answer.Reason
}

func (w *world) mustAnswer(bot *botProcess, r request) {
	w.t.Helper()
	if code, text := w.ask(bot, r); code != r.code || !strings.Contains(text, r.says) {
		w.t.Errorf("%s: answered %d %q, want %d and %q", r.name, code, text, r.code, r.says)
	}
}

func TestEachBadRequestGetsTheRightAnswer(t *testing.T) {
	t.Parallel()
	p := newSmallProject(t)
	r := realRedis(t, "pw-of-another-test")
	w := newWorld(t, r.url, p)
	bot := w.start("--mode", "quick")
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)

	const js, guid = "application/json", "72d3162e-cc78-11e3-81ab-4c9367dc0958"
	large := func(n int) []byte { return []byte(`{"zen":"` + strings.Repeat("x", n-10) + `"}`) }
	for _, tt := range []request{
		{name: "wrong signature", event: "ping", contentType: js, body: []byte(`{}`), signature: func(string) string { return signature("another", []byte(`{}`)) }, code: 401, says: "signature does not match"},
		{name: "no signature", event: "ping", contentType: js, body: []byte(`{}`), signature: func(string) string { return "" }, code: 401, says: "is missing"},
		{name: "truncated signature", event: "ping", contentType: js, body: []byte(`{}`), signature: func(s string) string { return s[:40] }, code: 401, says: "signature does not match"},
		{name: "SHA-1 signature", event: "ping", contentType: js, body: []byte(`{}`), signature: func(s string) string { return "sha1=" + s[7:47] }, code: 401, says: "signature does not match"},
		{name: "plain text", event: "ping", contentType: "text/plain", body: []byte(`{}`), code: 415, says: "content type"},
		{name: "no content type", event: "ping", body: []byte(`{}`), code: 415, says: "content type"},
		{name: "a form", event: "ping", contentType: "application/x-www-form-urlencoded", body: []byte(`payload=%7B%22zen%22%3A%22x%22%7D`), code: 200},
		{name: "ping", event: "ping", contentType: js, body: []byte(`{"zen":"x"}`), code: 200},
		{name: "no event", contentType: js, body: []byte(`{}`), code: 400, says: "X-GitHub-Event"},
		{name: "unknown event", event: "sponsorship", contentType: js, body: []byte(`{}`), code: 200, says: "event is not used"},
		{name: "no JSON", event: "check_run", contentType: js, body: []byte(`{"action":`), code: 400, says: "payload is not what GitHub sends"},
		{name: "other JSON", event: "check_run", contentType: js, body: []byte(`{"action":"completed","check_run":[]}`), code: 400, says: "payload is not what GitHub sends"},
		{name: "25 MB", event: "sponsorship", contentType: js, body: large(25 << 20), code: 200, says: "event is not used"},
		{name: "more than 25 MB", event: "sponsorship", contentType: js, body: large(25<<20 + 1), code: 413, says: "larger than GitHub sends"},
		{name: "GET", method: http.MethodGet, path: "/webhook", code: 405},
		{name: "another path", method: http.MethodPost, path: "/webhooks", body: []byte(`{}`), code: 404},
		{name: "health", method: http.MethodGet, path: "/healthz", code: 200, says: "ok"},
		{name: "readiness", method: http.MethodGet, path: "/readyz", code: 200, says: "ok"},
	} {
		tt.guid = guid
		w.mustAnswer(bot, tt)
	}
	if !w.idle() || len(w.sessions()) > 0 {
		t.Errorf("bad requests started sessions: %v", w.sessions())
	}

	// What is gone or not allowed any more ends its job without a word, a
	// comment or a retry.
	for _, tt := range []struct {
		name, says string
		gone       func() error
		undone     func() error
	}{
		{"repository deleted", "the repository is deleted", func() error { return w.github.DeleteRepo("acme/gone") }, nil},
		{"installation suspended", "This installation has been suspended", func() error { return w.github.Suspend(w.install, true) }, func() error { return w.github.Suspend(w.install, false) }},
		{"installation deleted", "the App is not installed there any more", func() error { return w.github.Uninstall(w.install) }, func() (err error) { w.install, err = w.github.Install(w.app.ID, "acme"); return err }},
	} {
		w.makeRepo("acme/gone", p)
		payload := w.withheld("acme/gone", p.log)
		if err := tt.gone(); err != nil {
			t.Fatal(err)
		}
		from := w.log.len()
		payload.name, payload.code, payload.says = tt.name, 202, "enqueued"
		w.mustAnswer(bot, payload)
		payload.name, payload.code, payload.says = tt.name+", delivered again", 202, "duplicate"
		w.mustAnswer(bot, payload)
		said := func() string {
			lines, _ := w.log.since(from)
			return strings.Join(lines, "\n")
		}
		if !eventually(t, 20*time.Second, tt.name+": the job ends", func() bool { return w.idle() && strings.Contains(said(), tt.says) }) {
			t.Logf("log:\n%s", w.log)
		}
		if all := said(); strings.Count(all, `msg="job claimed"`) != 1 || !strings.Contains(all, tt.says) {
			t.Errorf("%s: want one attempt that finds that %s:\n%s", tt.name, tt.says, all)
		}
		if tt.undone != nil {
			if err := tt.undone(); err != nil {
				t.Fatal(err)
			}
			if err := w.github.DeleteRepo("acme/gone"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := len(w.comments()) + len(w.checks()) + len(w.sessions()); n > 0 {
		t.Errorf("something is visible of jobs whose repository is gone: %v %v %v", w.comments(), w.checks(), w.sessions())
	}

	// Without Redis nothing is taken, and GitHub is told to come again; when
	// it is back everything goes on by itself.
	payload := w.withheld(w.repo, p.log)
	r.stop()
	began := time.Now()
	payload.name, payload.code, payload.says = "Redis away", 503, "deliver again later"
	w.mustAnswer(bot, payload)
	t.Logf("Redis away: answered after %s", time.Since(began).Round(time.Millisecond))
	w.mustAnswer(bot, request{name: "readiness, Redis away", method: http.MethodGet, path: "/readyz", code: 503, says: "Redis"})
	w.mustAnswer(bot, request{name: "health, Redis away", method: http.MethodGet, path: "/healthz", code: 200})
	r.start()
	if !eventually(t, 15*time.Second, "the bot is ready again", func() bool {
		code, _ := w.ask(bot, request{method: http.MethodGet, path: "/readyz"})
		return code == http.StatusOK
	}) {
		t.Fatalf("log:\n%s", w.log)
	}
	payload.name, payload.code, payload.says = "Redis back", 202, "enqueued"
	w.mustAnswer(bot, payload)
	if !eventually(t, 2*time.Minute, "the session ends after Redis was away", func() bool { return w.completed() > 0 && w.idle() }) {
		t.Fatalf("log:\n%s", w.log)
	}
	if code := bot.terminate(t, 15*time.Second); code != exitOK {
		t.Errorf("the bot exits %d after SIGTERM, want %d:\n%s", code, exitOK, w.log)
	}
	w.mustBeWhole(p)
	lines, _ := w.log.since(0)
	for _, line := range lines {
		if !strings.HasPrefix(line, "time=") {
			t.Errorf("not a record of the bot's log: %q", line)
		}
	}
}

// makeRepo makes a further repository with the project in it.
func (w *world) makeRepo(name string, p smallProject) {
	w.t.Helper()
	owner, repo, _ := strings.Cut(name, "/")
	if err := w.github.CreateRepo(githubtest.RepoConfig{Owner: owner, Name: repo}); err != nil {
		w.t.Fatal(err)
	}
	if err := importDemo(w.t.Context(), w.github.GitDir(name), p.commits); err != nil {
		w.t.Fatal(err)
	}
}

// withheld is the delivery of a red run that GitHub could not deliver, to be
// sent by the test when it wants.
func (w *world) withheld(repo, log string) request {
	w.t.Helper()
	if err := w.github.SetWebhook(w.app.ID, nobody, w.app.WebhookSecret); err != nil {
		w.t.Fatal(err)
	}
	_, err := w.github.CompleteRun(githubtest.RunConfig{Repo: repo, Workflow: "CI", Actor: "ada", Jobs: []githubtest.Job{{
		Name: "test", Steps: []githubtest.Step{{Name: "Test", Run: testCommand, Log: log, Conclusion: "failure", ExitCode: 1}},
	}}})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	if err := w.github.WaitDeliveries(ctx); err != nil {
		w.t.Fatal(err)
	}
	all := w.github.Deliveries(w.app.ID)
	last := all[len(all)-1]
	if last.Event != "workflow_run" {
		w.t.Fatalf("the last delivery of a run is %s", last.Event)
	}
	return request{event: last.Event, contentType: "application/json", guid: last.GUID, body: last.Payload}
}
