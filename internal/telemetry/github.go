package telemetry

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type githubMetrics struct {
	requests  *prometheus.HistogramVec
	remaining *prometheus.GaugeVec
}

func newGitHubMetrics() githubMetrics {
	return githubMetrics{
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "culprit", Subsystem: "github", Name: "request_duration_seconds",
			Help:    "Requests to GitHub's API until the head of the answer, each attempt for itself, by method and HTTP status (error: no answer).",
			Buckets: []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20},
		}, []string{"method", "code"}),
		remaining: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "culprit", Subsystem: "github", Name: "rate_limit_remaining_ratio",
			Help: "Share of the rate limit that was left at the latest answer, by resource. Each installation has its own limit, and the latest may be any: look at the minimum over time.",
		}, []string{"resource"}),
	}
}

func (m githubMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.requests, m.remaining}
}

// GitHub measures requests on their way through a transport. It keeps nothing
// of a request but its method, and of an answer but its status and rate limit.
func (m *Metrics) GitHub(next http.RoundTripper) http.RoundTripper { return measured{m.github, next} }

type measured struct {
	githubMetrics
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t measured) RoundTrip(req *http.Request) (*http.Response, error) {
	began := time.Now()
	resp, err := t.next.RoundTrip(req)
	code := "error"
	if err == nil {
		code = strconv.Itoa(resp.StatusCode)
		t.limit(resp.Header)
	}
	t.requests.WithLabelValues(req.Method, code).Observe(time.Since(began).Seconds())
	return resp, err
}

// resources are GitHub's rate limits that the bot comes across.
var resources = map[string]bool{"core": true, "search": true, "graphql": true, "code_search": true}

func (t measured) limit(h http.Header) {
	limit, err := strconv.Atoi(h.Get("X-RateLimit-Limit"))
	if err != nil || limit <= 0 {
		return
	}
	left, err := strconv.Atoi(h.Get("X-RateLimit-Remaining"))
	if err != nil {
		return
	}
	resource := h.Get("X-RateLimit-Resource")
	if !resources[resource] {
		resource = "other"
	}
	t.remaining.WithLabelValues(resource).Set(float64(left) / float64(limit))
}

// CloseIdleConnections gives back what the transport below keeps.
func (t measured) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
