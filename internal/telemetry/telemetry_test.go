package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"go.uber.org/goleak"

	"culprit/queue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stats is a queue whose Redis can be away.
type stats struct {
	now queue.Stats
	err error
}

func (s *stats) Stats(context.Context) (queue.Stats, error) { return s.now, s.err }

func someStats() *stats {
	return &stats{now: queue.Stats{
		Depth: map[queue.State]int{queue.Queued: 7, queue.Dead: 2}, Waiting: map[queue.Priority]int{queue.PriorityPerson: 3, queue.PriorityCI: 4},
		OldestAge: 90 * time.Second, ToReport: 1, Paused: true, Waited: 1500 * time.Millisecond,
		Totals: map[string]int64{"enqueued": 20, "merged": 5, "duplicate": 4, "stale": 1, "claimed": 13, "reaped": 2, "abandoned": 1, "crashed": 4, "superseded": 6, "dead": 2},
	}}
}

// used is a process that has seen everything once.
func used(q StatsReader) *Metrics {
	m := New("v1.2.3", map[string]StatsReader{"sessions": q})
	m.Working("sessions", 1, nil)
	m.Delivery("workflow_run", "enqueued", 202, 3*time.Millisecond)
	for _, e := range []queue.Event{
		{Kind: queue.EventClaimed, State: queue.Running, Job: queue.Job{Priority: queue.PriorityIssue}, Took: 2 * time.Second},
		{Kind: queue.EventFinished, State: queue.Done, Took: time.Minute},
		{Kind: queue.EventLost}, {Kind: queue.EventRecovered, State: queue.Queued}, {Kind: queue.EventReported, State: queue.Dead},
	} {
		m.Watch("sessions")(e)
	}
	m.SessionEnded("fixed")
	return m
}

func get(t *testing.T, h http.Handler, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	code, text := get(t, m.Server(func(context.Context) error { return nil }, slog.New(slog.DiscardHandler)).Handler, "/metrics")
	if code != http.StatusOK {
		t.Fatalf("scrape: %d %s", code, text)
	}
	return text
}

func TestMetricsFollowTheConventions(t *testing.T) {
	t.Parallel()
	m := used(someStats())
	problems, err := promlint.New(strings.NewReader(scrape(t, m))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "culprit_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

func TestQueueMetricsTellWhatTheQueueTells(t *testing.T) {
	t.Parallel()
	q := someStats()
	m := used(q)
	text := scrape(t, m)
	for _, want := range []string{
		`culprit_queue_up{queue="sessions"} 1`, `culprit_queue_jobs{queue="sessions",state="queued"} 7`, `culprit_queue_jobs{queue="sessions",state="dead"} 2`, `culprit_queue_jobs{queue="sessions",state="snoozed"} 0`,
		`culprit_queue_waiting_jobs{priority="person",queue="sessions"} 3`, `culprit_queue_waiting_jobs{priority="issue",queue="sessions"} 0`,
		`culprit_queue_oldest_waiting_age_seconds{queue="sessions"} 90`, `culprit_queue_unreported_ends{queue="sessions"} 1`, `culprit_queue_paused{queue="sessions"} 1`,
		`culprit_queue_enqueues_total{outcome="merged",queue="sessions"} 5`, `culprit_queue_ends_total{queue="sessions",state="superseded"} 6`,
		`culprit_queue_leases_lost_total{queue="sessions"} 3`, `culprit_queue_crashes_total{queue="sessions"} 4`, `culprit_queue_wait_seconds_total{queue="sessions"} 1.5`, `culprit_queue_claims_total{queue="sessions"} 13`,
		`culprit_build_info{version="v1.2.3"} 1`,
		`culprit_webhook_delivery_duration_seconds_count{code="202",event="workflow_run",status="enqueued"} 1`,
		`culprit_worker_claim_wait_seconds_sum{priority="issue",queue="sessions"} 2`, `culprit_worker_job_duration_seconds_sum{queue="sessions",state="done"} 60`,
		`culprit_worker_leases_lost_total{queue="sessions"} 1`, `culprit_worker_taken_over_total{queue="sessions",state="queued"} 1`,
		`culprit_worker_ends_reported_total{queue="sessions",state="dead"} 1`, `culprit_worker_sessions_total{result="fixed"} 1`, `go_goroutines `, `process_open_fds `,
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("%s is missing", want)
		}
	}
	// While Redis is away the rest is still told.
	q.err = errors.New("connection refused")
	text = scrape(t, m)
	if !strings.Contains(text, `culprit_queue_up{queue="sessions"} 0`) || strings.Contains(text, "culprit_queue_jobs{") || !strings.Contains(text, "culprit_worker_sessions_total") {
		t.Errorf("with Redis away:\n%s", text)
	}
}

// docs/operations.md has a row for each metric and for nothing else.
func TestEachMetricIsDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := used(someStats())
	m.measure(t, http.StatusOK, http.Header{"X-Ratelimit-Limit": {"5000"}, "X-Ratelimit-Remaining": {"4000"}})
	families, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	var have, told []string
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "culprit_") {
			have = append(have, f.GetName())
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `(culprit_[a-z_]+)").FindAllStringSubmatch(string(doc), -1) {
		told = append(told, row[1])
	}
	slices.Sort(have)
	slices.Sort(told)
	if !slices.Equal(have, told) {
		t.Errorf("metrics:\n%s\ndocumented:\n%s", strings.Join(have, "\n"), strings.Join(told, "\n"))
	}
}

// measure sends one request through the measured transport.
func (m *Metrics) measure(t *testing.T, code int, h http.Header) {
	t.Helper()
	tr := m.GitHub(roundTrip(func(*http.Request) (*http.Response, error) {
		if code == 0 {
			return nil, errors.New("connection reset")
		}
		return &http.Response{StatusCode: code, Header: h, Body: io.NopCloser(strings.NewReader(""))}, nil
	}))
	req := httptest.NewRequest(http.MethodGet, "https://api.github.example/repos/secret-org/secret-repo", nil)
	resp, err := tr.RoundTrip(req)
	if (err != nil) != (code == 0) {
		t.Fatal(err)
	}
	if resp != nil {
		resp.Body.Close()
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestRequestsToGitHubAreCountedWithoutNames(t *testing.T) {
	t.Parallel()
	m := New("v", nil)
	m.measure(t, 200, http.Header{"X-Ratelimit-Limit": {"5000"}, "X-Ratelimit-Remaining": {"1250"}, "X-Ratelimit-Resource": {"core"}})
	m.measure(t, 200, http.Header{"X-Ratelimit-Limit": {"many"}, "X-Ratelimit-Remaining": {"1"}})
	m.measure(t, 502, http.Header{"X-Ratelimit-Limit": {"10"}, "X-Ratelimit-Remaining": {"1"}, "X-Ratelimit-Resource": {"made_up"}})
	m.measure(t, 0, nil)
	text := scrape(t, m)
	for _, want := range []string{
		`culprit_github_request_duration_seconds_count{code="200",method="GET"} 2`, `culprit_github_request_duration_seconds_count{code="502",method="GET"} 1`,
		`culprit_github_request_duration_seconds_count{code="error",method="GET"} 1`,
		`culprit_github_rate_limit_remaining_ratio{resource="core"} 0.25`, `culprit_github_rate_limit_remaining_ratio{resource="other"} 0.1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing:\n%s", want, text)
		}
	}
	if strings.Contains(text, "secret") {
		t.Error("a name is in the metrics")
	}
}

func TestBusySlotsAreThoseWhoseHandlerRuns(t *testing.T) {
	t.Parallel()
	m := New("v", nil)
	h := m.Working("sessions", 3, queue.HandlerFunc(func(context.Context, *queue.Claim) queue.Outcome {
		if text := scrape(t, m); !strings.Contains(text, `culprit_worker_busy_slots{queue="sessions"} 1`) || !strings.Contains(text, `culprit_worker_slots{queue="sessions"} 3`) {
			t.Errorf("while it runs:\n%s", text)
		}
		panic("boom")
	}))
	func() {
		defer func() { _ = recover() }()
		h.Handle(t.Context(), nil)
	}()
	if text := scrape(t, m); !strings.Contains(text, `culprit_worker_busy_slots{queue="sessions"} 0`) {
		t.Error("a panic leaves its slot busy")
	}
}

func TestReadinessIsTheChecksAndHealthIsTheProcess(t *testing.T) {
	t.Parallel()
	var problem error
	h := New("v", nil).Server(func(ctx context.Context) error {
		if _, limited := ctx.Deadline(); !limited {
			t.Error("the check may take for ever")
		}
		return problem
	}, slog.New(slog.DiscardHandler)).Handler
	for _, tt := range []struct {
		path    string
		problem error
		code    int
	}{
		{"/healthz", nil, 200}, {"/readyz", nil, 200}, {"/", nil, 404}, {"/debug/pprof/", nil, 404},
		{"/healthz", errors.New("redis://:hush@r"), 200}, {"/readyz", errors.New("redis://:hush@r"), 503},
	} {
		problem = tt.problem
		if code, text := get(t, h, tt.path); code != tt.code || strings.Contains(text, "hush") {
			t.Errorf("%s with %v: %d %q", tt.path, tt.problem, code, text)
		}
	}
}

func TestTheLogIsWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	log, err := Logger(&b, "json", "warn")
	if err != nil {
		t.Fatal(err)
	}
	log.Info("quiet")
	log.Warn("loud", "job", "j1")
	var line map[string]any
	if err := json.Unmarshal(b.Bytes(), &line); err != nil || line["msg"] != "loud" || line["job"] != "j1" {
		t.Errorf("%v: %s", err, b.String())
	}
	b.Reset()
	if log, err = Logger(&b, "text", "debug"); err != nil {
		t.Fatal(err)
	}
	log.Debug("fine")
	if !strings.Contains(b.String(), "level=DEBUG msg=fine") {
		t.Errorf("text: %s", b.String())
	}
	for _, bad := range [][2]string{{"xml", "info"}, {"text", "loud"}} {
		if _, err := Logger(&b, bad[0], bad[1]); err == nil || !strings.Contains(err.Error(), "want one of") {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
