package telemetry

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// GitHub waits 10 s for an answer; ours is due in milliseconds.
var answerBuckets = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

func newWebhookMetrics() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: "culprit", Subsystem: "webhook", Name: "delivery_duration_seconds",
		Help:    "Webhook deliveries by event, by what was done (enqueued, merged, duplicate, stale, cancelled, ignored, error) and by HTTP status, and how long the answer took.",
		Buckets: answerBuckets,
	}, []string{"event", "status", "code"})
}

// Delivery counts an answered webhook. event and status must be from closed
// lists: before the signature was checked, anybody could choose them.
func (m *Metrics) Delivery(event, status string, code int, took time.Duration) {
	m.webhook.WithLabelValues(event, status, strconv.Itoa(code)).Observe(took.Seconds())
}
