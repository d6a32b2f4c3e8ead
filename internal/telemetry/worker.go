package telemetry

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"culprit/queue"
)

type workerMetrics struct {
	slots, busy                 *prometheus.GaugeVec
	wait, took                  *prometheus.HistogramVec
	lost, taken, told, sessions *prometheus.CounterVec
}

// Jobs take from a second (nothing to do) to hours (a deep session); they wait
// from milliseconds to as long.
var (
	waitBuckets = []float64{0.01, 0.05, 0.25, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600}
	tookBuckets = []float64{1, 5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 2 * 3600, 4 * 3600}
)

func newWorkerMetrics() workerMetrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "culprit", Subsystem: "worker", Name: name, Help: help}, labels)
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "culprit", Subsystem: "worker", Name: name, Help: help}, []string{"queue"})
	}
	histogram := func(name, help string, buckets []float64, label string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "culprit", Subsystem: "worker", Name: name, Help: help, Buckets: buckets}, []string{"queue", label})
	}
	return workerMetrics{
		slots:    gauge("slots", "Jobs that this process takes at a time."),
		busy:     gauge("busy_slots", "Jobs that this process works on."),
		wait:     histogram("claim_wait_seconds", "How long claimed jobs stood in the line, by priority.", waitBuckets, "priority"),
		took:     histogram("job_duration_seconds", "How long this process worked on a job at a stretch, by the state that it left it in.", tookBuckets, "state"),
		lost:     counter("leases_lost_total", "Jobs that this process lost to another while it worked on them.", "queue"),
		taken:    counter("taken_over_total", "Jobs that this process took from silent workers, by the state they came into.", "queue", "state"),
		told:     counter("ends_reported_total", "Ends that no worker told and this process reported, by state.", "queue", "state"),
		sessions: counter("sessions_total", "Sessions that ended in this process, by result.", "result"),
	}
}

func (m workerMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.slots, m.busy, m.wait, m.took, m.lost, m.taken, m.told, m.sessions}
}

// Watch is the Observe of a queue.Pool that works off the queue of this name.
func (m *Metrics) Watch(queueName string) func(queue.Event) {
	return func(e queue.Event) {
		switch e.Kind {
		case queue.EventClaimed:
			m.worker.wait.WithLabelValues(queueName, e.Job.Priority.String()).Observe(e.Took.Seconds())
		case queue.EventFinished:
			m.worker.took.WithLabelValues(queueName, string(e.State)).Observe(e.Took.Seconds())
		case queue.EventLost:
			m.worker.lost.WithLabelValues(queueName).Inc()
		case queue.EventRecovered:
			m.worker.taken.WithLabelValues(queueName, string(e.State)).Inc()
		case queue.EventReported:
			m.worker.told.WithLabelValues(queueName, string(e.State)).Inc()
		}
	}
}

// Working counts the slots that are in use while a handler runs.
func (m *Metrics) Working(queueName string, slots int, h queue.Handler) queue.Handler {
	m.worker.slots.WithLabelValues(queueName).Set(float64(slots))
	busy := m.worker.busy.WithLabelValues(queueName)
	m.worker.lost.WithLabelValues(queueName) // told as 0 from the start
	return queue.HandlerFunc(func(ctx context.Context, c *queue.Claim) queue.Outcome {
		busy.Inc()
		defer busy.Dec()
		return h.Handle(ctx, c)
	})
}

// SessionEnded counts a session; the result is one of session.Result.
func (m *Metrics) SessionEnded(result string) { m.worker.sessions.WithLabelValues(result).Inc() }
