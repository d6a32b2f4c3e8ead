package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"culprit/internal/session"
)

var servingMetrics = regexp.MustCompile(`serving metrics","address":"([^"]+)`)

// get asks an address and returns an empty text when no answer came.
func (w *world) get(url string) (code int, text string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 15*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	_, _ = b.ReadFrom(resp.Body)
	return resp.StatusCode, b.String()
}

// One session, as its operator sees it: in the metrics, in the log, by bot jobs.
// Its failure shows only as its CI runs the test.
func TestOperatorsCanFollowASession(t *testing.T) {
	t.Parallel()
	p := newSmallProject(t, onlyInCI...)
	r := realRedis(t, "pw-of-a-follower")
	w := newWorld(t, r.url, p)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	bot := w.start("--mode", "quick", "--metrics-addr", "127.0.0.1:0", "--log-format", "json")
	m := servingMetrics.FindStringSubmatch(w.log.String())
	if m == nil {
		t.Fatalf("no metrics are served:\n%s", w.log)
	}
	metrics := "http://" + m[1]
	startByCI(w, p)
	if !eventually(t, 2*time.Minute, "the session ends", func() bool { return w.completed() > 0 && w.idle() }) {
		t.Fatalf("log:\n%s", w.log)
	}

	for _, dir := range w.sessions() {
		var kept session.Session
		data, err := os.ReadFile(filepath.Join(dir, "session.json"))
		if err := errors.Join(err, json.Unmarshal(data, &kept)); err != nil {
			t.Fatal(err)
		}
		r := kept.Reproduction
		if r.CI == nil || r.CI.Job != "test" || r.CI.Guessed || !strings.Contains(r.Command, "DISCOUNTS=on") {
			t.Errorf("the reproduction does not follow CI: %+v", r)
		}
	}
	code, text := w.get(metrics + "/metrics")
	for _, want := range []string{
		`culprit_queue_up{queue="commands"} 1`, `culprit_queue_jobs{queue="sessions",state="done"} 1`, `culprit_queue_enqueues_total{outcome="enqueued",queue="sessions"} 1`,
		`culprit_worker_claim_wait_seconds_count{priority="ci",queue="sessions"} 1`, `culprit_worker_job_duration_seconds_count{queue="sessions",state="done"} 1`,
		`culprit_worker_sessions_total{result="fixed"} 1`, `culprit_worker_slots{queue="sessions"} 1`, `culprit_worker_busy_slots{queue="sessions"} 0`,
		`culprit_github_request_duration_seconds_count{code="201",method="POST"}`, `culprit_github_rate_limit_remaining_ratio{resource="core"}`,
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("%s is missing in the metrics (%d)", want, code)
		}
	}
	// Which of the run's events comes first is GitHub's business.
	if n := len(regexp.MustCompile(`(?m)^culprit_webhook_delivery_duration_seconds_count\{code="202",event="(check_run|check_suite|workflow_run)",status="enqueued"\} 1$`).FindAllString(text, -1)); n != 1 {
		t.Errorf("%d events are counted as enqueued, want 1", n)
	}
	if strings.Contains(text, "acme") || strings.Contains(text, w.app.WebhookSecret) {
		t.Error("the metrics name a repository or a secret")
	}

	// Every line about the job names its delivery, and its session from its
	// opening on until the job left the worker.
	lines, _ := w.log.since(0)
	var job, session string
	about := 0
	for _, line := range lines {
		var l struct{ Msg, Job, Delivery, Session string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Errorf("not a line of JSON: %q", line)
			continue
		}
		if l.Job == "" || l.Msg == "delivery" && job != "" {
			continue
		}
		about++
		if l.Delivery == "" || (job != "" && l.Job != job) {
			t.Errorf("not told whom it is about: %s", line)
		}
		job = l.Job
		if session == "" {
			session = l.Session
		}
		if l.Msg == "progress" && l.Session != session {
			t.Errorf("the session is not told: %s", line)
		}
	}
	if about < 8 || session == "" {
		t.Errorf("%d lines are about the job, session %q:\n%s", about, session, w.log)
	}

	o := &operator{t: t, url: r.url}
	for _, text := range []string{"Job " + job + " is done", session, "summary       session " + session + ": fixed", "running    on ", "comment "} {
		if out, _ := o.run(exitOK, "show", job); !strings.Contains(out, text) {
			t.Errorf("bot jobs show lacks %q:\n%s", text, out)
		}
	}

	if code, _ := w.get(metrics + "/readyz"); code != http.StatusOK {
		t.Errorf("readiness: %d", code)
	}
	r.stop()
	if code, _ := w.get(metrics + "/readyz"); code != http.StatusServiceUnavailable {
		t.Errorf("readiness, Redis away: %d", code)
	}
	if code, text := w.get(metrics + "/metrics"); code != http.StatusOK || !strings.Contains(text, `culprit_queue_up{queue="sessions"} 0`) {
		t.Errorf("metrics, Redis away: %d", code)
	}
	if code, _ := w.get(metrics + "/healthz"); code != http.StatusOK {
		t.Errorf("health, Redis away: %d", code)
	}
	r.start()
	if code := bot.terminate(t, 15*time.Second); code != exitOK {
		t.Errorf("the bot exits %d after SIGTERM:\n%s", code, w.log)
	}
	if code, _ := w.get(metrics + "/healthz"); code != 0 {
		t.Errorf("the metrics are served after the end: %d", code)
	}
}
