package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metrics of one process. Its methods are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	worker   workerMetrics
	webhook  *prometheus.HistogramVec
	github   githubMetrics
}

// New makes the metrics of a process of the given version, which looks at these
// queues, by name.
func New(version string, queues map[string]StatsReader) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), worker: newWorkerMetrics(), webhook: newWebhookMetrics(), github: newGitHubMetrics()}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "culprit_build_info", Help: "Always 1; its label is the version of this process.",
	}, []string{"version"})
	build.WithLabelValues(version).Set(1)
	m.registry.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), m.webhook)
	m.registry.MustRegister(m.worker.all()...)
	m.registry.MustRegister(m.github.all()...)
	m.registry.MustRegister(queueCollector(queues))
	return m
}

// Gatherer is what the metrics are read from.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }
