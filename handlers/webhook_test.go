package handlers_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"culprit/handlers"
	"culprit/internal/conformance"
	"culprit/internal/githubtest"
	"culprit/internal/requiretest"
	"culprit/queue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret, oldSecret = "s3cret-new", "s3cret-old"

// fakeQueue remembers what it was asked.
type fakeQueue struct {
	mu      sync.Mutex
	jobs    []queue.Job
	cancels []queue.Match
	err     error
	hang    bool
}

func (q *fakeQueue) Enqueue(ctx context.Context, job queue.Job) (queue.Receipt, error) {
	if q.hang {
		<-ctx.Done()
		return queue.Receipt{}, ctx.Err()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs = append(q.jobs, job)
	return queue.Receipt{ID: "job-1", Outcome: queue.Enqueued}, q.err
}

func (q *fakeQueue) CancelMatching(_ context.Context, m queue.Match, _ string) ([]string, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.cancels = append(q.cancels, m)
	return []string{"job-1"}, q.err
}

// serve starts the edge on loopback.
func serve(t *testing.T, q handlers.Queue, configure ...func(*handlers.Config)) *httptest.Server {
	t.Helper()
	c := handlers.Config{
		Secrets: []string{secret, oldSecret},
		Intake:  handlers.Intake{Queue: q, Commands: q, Rules: handlers.Rules{AppID: 4242, AppSlug: "culprit"}, Timeout: 10 * time.Second},
	}
	for _, f := range configure {
		f(&c)
	}
	h, err := handlers.New(c)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(nil)
	s.Config = handlers.Server("", h)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func sign(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

type delivery struct {
	event, contentType, signature string
	body                          []byte
}

// post sends a delivery and returns status and answer.
func post(t *testing.T, s *httptest.Server, d delivery) (int, map[string]string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/webhook", bytes.NewReader(d.body))
	if err != nil {
		t.Fatal(err)
	}
	if d.contentType == "" {
		d.contentType = "application/json"
	}
	if d.signature == "" {
		d.signature = sign(secret, d.body)
	}
	req.Header.Set("Content-Type", d.contentType)
	if d.signature != "none" {
		req.Header.Set("X-Hub-Signature-256", d.signature)
	}
	if d.event != "" {
		req.Header.Set("X-GitHub-Event", d.event)
	}
	req.Header.Set("X-GitHub-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958")
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer map[string]string
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatalf("answer %d is not JSON: %v", resp.StatusCode, err)
	}
	return resp.StatusCode, answer
}

func TestDeliveriesAreAnsweredByWhatWasDone(t *testing.T) {
	t.Parallel()
	labelled := payload(t, "issues.labeled", nil)
	form := []byte(url.Values{"payload": {string(labelled)}}.Encode())
	const asForm = "application/x-www-form-urlencoded"
	for name, c := range map[string]struct {
		d      delivery
		status int
		answer string
		jobs   int
	}{
		"labelled":              {delivery{event: "issues", body: labelled}, 202, "enqueued", 1},
		"charset":               {delivery{event: "issues", body: labelled, contentType: "application/json; charset=utf-8"}, 202, "enqueued", 1},
		"form":                  {delivery{event: "issues", body: form, contentType: asForm}, 202, "enqueued", 1},
		"old secret":            {delivery{event: "issues", body: labelled, signature: sign(oldSecret, labelled)}, 202, "enqueued", 1},
		"capitals in signature": {delivery{event: "issues", body: labelled, signature: "sha256=" + strings.ToUpper(sign(secret, labelled)[7:])}, 202, "enqueued", 1},
		"ping":                  {delivery{event: "ping", body: payload(t, "ping", nil)}, 200, "ignored", 0},
		"unknown event":         {delivery{event: "sponsorship", body: []byte(`{}`)}, 200, "ignored", 0},
		"no signature":          {delivery{event: "issues", body: labelled, signature: "none"}, 401, "missing", 0},
		"wrong signature":       {delivery{event: "issues", body: labelled, signature: sign("other", labelled)}, 401, "does not match", 0},
		"signature of less":     {delivery{event: "issues", body: labelled, signature: sign(secret, labelled[:10])}, 401, "does not match", 0},
		"truncated signature":   {delivery{event: "issues", body: labelled, signature: sign(secret, labelled)[:40]}, 401, "does not match", 0},
		"SHA-1 signature":       {delivery{event: "issues", body: labelled, signature: "sha1=" + strings.Repeat("0", 40)}, 401, "does not match", 0},
		"not hex":               {delivery{event: "issues", body: labelled, signature: "sha256=" + strings.Repeat("z", 64)}, 401, "does not match", 0},
		"malformed JSON":        {delivery{event: "issues", body: labelled[:len(labelled)-1]}, 400, "not what GitHub sends", 0},
		"empty":                 {delivery{event: "issues"}, 400, "not what GitHub sends", 0},
		"not UTF-8":             {delivery{event: "issues", body: []byte("{\"action\":\"\xff\"}")}, 400, "UTF-8", 0},
		"form without payload":  {delivery{event: "issues", body: []byte("a=b"), contentType: asForm}, 400, "payload", 0},
		"other content type":    {delivery{event: "issues", body: labelled, contentType: "text/plain"}, 415, "application/json", 0},
		"no event":              {delivery{body: labelled}, 400, "X-GitHub-Event", 0},
		"hostile event":         {delivery{event: "issues key{x}", body: labelled}, 400, "X-GitHub-Event", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := &fakeQueue{}
			status, answer := post(t, serve(t, q), c.d)
			if text := fmt.Sprint(answer); status != c.status || !strings.Contains(text, c.answer) {
				t.Errorf("answer is %d %s, want %d %q", status, text, c.status, c.answer)
			}
			if len(q.jobs) != c.jobs {
				t.Errorf("%d jobs, want %d", len(q.jobs), c.jobs)
			}
		})
	}
}

func TestLargeBodiesAreRefused(t *testing.T) {
	t.Parallel()
	q := &fakeQueue{}
	s := serve(t, q, func(c *handlers.Config) { c.MaxBody = 1000 })
	for name, body := range map[string]io.Reader{
		"with a length":    bytes.NewReader(make([]byte, 1001)),
		"without a length": io.MultiReader(bytes.NewReader(make([]byte, 1001))),
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/webhook", body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Hub-Signature-256", sign(secret, make([]byte, 1001)))
		resp, err := s.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: status is %d, want 413", name, resp.StatusCode)
		}
	}
}

func TestBodyThatEndsEarlyIsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, &fakeQueue{})
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /webhook HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: sha256=00\r\nContent-Length: 100\r\n\r\n{}")
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 400")) {
		t.Errorf("answer is %q, %v", answer, err)
	}
}

func TestAbsentQueueIsToldQuickly(t *testing.T) {
	t.Parallel()
	for name, q := range map[string]*fakeQueue{"refused": {err: errors.New("dial tcp: refused")}, "hanging": {hang: true}} {
		s := serve(t, q, func(c *handlers.Config) { c.Timeout = 20 * time.Millisecond })
		status, answer := post(t, s, delivery{event: "issues", body: payload(t, "issues.labeled", nil)})
		if status != http.StatusServiceUnavailable || strings.Contains(answer["reason"], "dial") {
			t.Errorf("%s: answer is %d %v", name, status, answer)
		}
	}
	status, _ := post(t, serve(t, &fakeQueue{err: fmt.Errorf("enqueue: %w", queue.ErrInvalid)}), delivery{event: "issues", body: payload(t, "issues.labeled", nil)})
	if status != http.StatusOK {
		t.Errorf("a job that can never be enqueued: %d, want 200, or GitHub would deliver it again", status)
	}
}

// Nothing that a person wants may meet the job of a session: it could replace a
// request that was checked by one that was not.
func TestWhatPeopleWantIsKeptApart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		event, fixture string
		changes        set
		byPerson       bool
	}{
		"label":   {"issues", "issues.labeled", nil, true},
		"command": {"issue_comment", "issue_comment.created", nil, true},
		"button":  {"check_run", "check_run.completed", set{"action": "rerequested", "check_run.app.id": 4242}, true},
		"red CI":  {"workflow_run", "workflow_run.completed", nil, false},
	} {
		sessions, commands := &fakeQueue{}, &fakeQueue{}
		status, answer := post(t, serve(t, sessions, func(cfg *handlers.Config) { cfg.Commands = commands }), delivery{event: c.event, body: payload(t, c.fixture, c.changes)})
		if status != http.StatusAccepted || (len(commands.jobs) == 1) != c.byPerson || len(commands.jobs)+len(sessions.jobs) != 1 {
			t.Errorf("%s: %d %v, %d for people and %d for sessions", name, status, answer, len(commands.jobs), len(sessions.jobs))
		}
	}
}

func TestPlainPages(t *testing.T) {
	t.Parallel()
	ready := errors.New("dial tcp 10.0.0.1:6379: refused")
	s := serve(t, &fakeQueue{}, func(c *handlers.Config) { c.Ready = func(context.Context) error { return ready }; c.Version = "1.2" })
	fine := serve(t, &fakeQueue{}, func(c *handlers.Config) { c.Ready = func(context.Context) error { return nil } })
	for _, c := range []struct {
		address, method string
		status          int
		says            string
	}{
		{s.URL + "/healthz", "GET", 200, "ok"},
		{s.URL + "/readyz", "GET", 503, "check Redis"},
		{fine.URL + "/readyz", "GET", 200, "ok"},
		{s.URL + "/", "GET", 200, "Culprit 1.2"},
		{s.URL + "/webhook", "GET", 405, "error"},
		{s.URL + "/nowhere", "GET", 404, "error"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, c.address, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := s.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != c.status || !strings.Contains(string(body), c.says) || strings.Contains(string(body), "10.0.0.1") {
			t.Errorf("%s: %d %q, %v", c.address, resp.StatusCode, body, err)
		}
		if resp.Header.Get("X-Content-Type-Options") != "nosniff" || resp.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: headers are %v", c.address, resp.Header)
		}
	}
}

func TestPanicIsAnAnswer(t *testing.T) {
	t.Parallel()
	s := serve(t, panicQueue{})
	status, answer := post(t, s, delivery{event: "issues", body: payload(t, "issues.labeled", nil)})
	if status != http.StatusInternalServerError || answer["reason"] != "internal error" {
		t.Errorf("answer is %d %v", status, answer)
	}
}

type panicQueue struct{ *fakeQueue }

func (panicQueue) Enqueue(context.Context, queue.Job) (queue.Receipt, error) { panic("boom") }

func TestConfigurationThatLetsAnybodyInIsRefused(t *testing.T) {
	t.Parallel()
	q, rules := &fakeQueue{}, handlers.Rules{AppID: 1}
	for name, c := range map[string]handlers.Config{
		"no secret":    {Intake: handlers.Intake{Queue: q, Commands: q, Rules: rules}},
		"empty secret": {Intake: handlers.Intake{Queue: q, Commands: q, Rules: rules}, Secrets: []string{"x", ""}},
		"no commands":  {Secrets: []string{"x"}, Intake: handlers.Intake{Queue: q, Rules: rules}},
		"no queue":     {Secrets: []string{"x"}, Intake: handlers.Intake{Rules: rules}},
		"no App":       {Secrets: []string{"x"}, Intake: handlers.Intake{Queue: q, Commands: q}},
	} {
		if _, err := handlers.New(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestSlowClientsAreCutOff(t *testing.T) {
	t.Parallel()
	s := handlers.Server(":0", nil)
	if s.ReadHeaderTimeout <= 0 || s.ReadTimeout <= 0 || s.WriteTimeout <= 0 || s.IdleTimeout <= 0 {
		t.Errorf("limits are missing: %+v", s)
	}
}

// The loopback GitHub signs and sends what a red run of many jobs causes; the
// real queue makes one job of it.
func TestOneRedRunOfManyJobsIsOneJob(t *testing.T) {
	t.Parallel()
	requiretest.Program(t, "git")
	redisServer := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: redisServer.Addr()})
	t.Cleanup(func() { client.Close() })
	q, err := queue.Open(t.Context(), queue.Options{Redis: client})
	if err != nil {
		t.Fatal(err)
	}
	gh := conformance.Start(t, githubtest.Options{})
	app, err := gh.CreateApp(githubtest.AppConfig{WebhookSecret: secret})
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, q, func(c *handlers.Config) { c.AppID, c.AppSlug = app.ID, app.Slug })
	for _, step := range []func() error{
		func() error { return gh.SetWebhook(app.ID, s.URL+"/webhook", secret) },
		func() error { return gh.CreateOrg("octo") },
		func() error { return gh.CreateRepo(githubtest.RepoConfig{Owner: "octo", Name: "calc"}) },
		func() error { _, err := gh.Install(app.ID, "octo"); return err },
		func() error {
			_, err := gh.CommitFile("octo/calc", "ann", "main", "a.go", []byte("package a\n"), "Start")
			return err
		},
		func() error {
			_, err := gh.CompleteRun(githubtest.RunConfig{Repo: "octo/calc", Jobs: []githubtest.Job{
				{Name: "lint", Conclusion: "failure"}, {Name: "test", Conclusion: "failure"}, {Name: "docs"},
			}})
			return err
		},
		func() error { _, err := gh.OpenIssue("octo/calc", "ann", "Sign is lost", "", "debug"); return err },
		func() error { return gh.WaitDeliveries(t.Context()) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	deliveries := gh.Deliveries(app.ID)
	for _, d := range deliveries {
		if d.Code/100 != 2 {
			t.Errorf("%s %s was answered %d", d.Event, d.Action, d.Code)
		}
	}
	waiting, err := q.List(t.Context(), queue.Queued, 10)
	if err != nil || len(waiting) != 2 {
		t.Fatalf("%d jobs of %d deliveries, %v; want one for the run and one for the issue", len(waiting), len(deliveries), err)
	}
	for _, j := range waiting {
		r, err := handlers.DecodeRequest(j.Payload)
		if err != nil || r.Repository() != "octo/calc" {
			t.Errorf("request is %+v, %v", r, err)
		}
	}
	for _, d := range deliveries { // everything once more
		if err := gh.Redeliver(app.ID, d.ID); err != nil {
			t.Fatal(err)
		}
	}
	if err := gh.WaitDeliveries(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again, err := q.List(t.Context(), queue.Queued, 10); err != nil || len(again) != 2 {
		t.Errorf("%d jobs after redelivery, %v", len(again), err)
	}
}
