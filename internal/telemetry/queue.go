package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"culprit/queue"
)

// StatsReader is the queue, as far as metrics need it.
type StatsReader interface {
	Stats(ctx context.Context) (queue.Stats, error)
}

// statsTimeout bounds how long a scrape waits for Redis. A scraper gives up
// after 10 s, and the other metrics matter most when Redis is away.
const statsTimeout = 2 * time.Second

// queueCollector reads the state of each queue, by its name, at each scrape.
type queueCollector map[string]StatsReader

var _ prometheus.Collector = queueCollector{}

func queueDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("culprit_queue_"+name, help, append([]string{"queue"}, labels...), nil)
}

var (
	queueUp = queueDesc("up", "Whether Redis answered this scrape; without it the other metrics of the queue are missing.")

	queueJobs    = queueDesc("jobs", "Jobs by state, those that ended as long as they are kept.", "state")
	queueWaiting = queueDesc("waiting_jobs", "Queued jobs by priority: ci, issue, person.", "priority")
	queueOldest  = queueDesc("oldest_waiting_age_seconds", "Age of the oldest queued job; 0 when none waits.")
	queueUntold  = queueDesc("unreported_ends", "Dead, cancelled and superseded jobs whose end was not told on GitHub yet.")
	queuePaused  = queueDesc("paused", "Whether claiming is paused (bot jobs pause, drain).")

	queueEnqueues  = queueDesc("enqueues_total", "Requests by what became of them: enqueued, merged, duplicate, stale.", "outcome")
	queueEnds      = queueDesc("ends_total", "Ends of jobs by state: done, dead, cancelled, superseded.", "state")
	queueWaitTime  = queueDesc("wait_seconds_total", "Time that claimed jobs stood in the line, all together.")
	queueLeases    = queueDesc("leases_lost_total", "Jobs taken from workers that stopped renewing their lease or were found dead.")
	queueNumerical = map[string]*prometheus.Desc{
		"claimed":  queueDesc("claims_total", "Jobs given to workers."),
		"released": queueDesc("releases_total", "Jobs given back by workers that shut down."),
		"failed":   queueDesc("failures_total", "Attempts that failed."),
		"crashed":  queueDesc("crashes_total", "Attempts whose worker died, lost its lease or panicked."),
		"retried":  queueDesc("retries_total", "Jobs that people ran again."),
		"evicted":  queueDesc("evicted_jobs_total", "Jobs of which Redis dropped the content: its maxmemory-policy is not noeviction."),
	}
)

// Describe implements prometheus.Collector.
func (c queueCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		queueUp, queueJobs, queueWaiting, queueOldest, queueUntold, queuePaused, queueEnqueues, queueEnds, queueWaitTime, queueLeases,
	} {
		ch <- d
	}
	for _, d := range queueNumerical {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c queueCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), statsTimeout)
	defer cancel()
	for name, q := range c {
		collect(ctx, name, q, ch)
	}
}

func collect(ctx context.Context, name string, q StatsReader, ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{name}, labels...)...)
	}
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, append([]string{name}, labels...)...)
	}
	s, err := q.Stats(ctx)
	if err != nil {
		gauge(queueUp, 0)
		return
	}
	gauge(queueUp, 1)
	for _, state := range queue.States() {
		gauge(queueJobs, float64(s.Depth[state]), string(state))
		if state.Ended() {
			counter(queueEnds, float64(s.Totals[string(state)]), string(state))
		}
	}
	for p := queue.PriorityCI; p <= queue.PriorityPerson; p++ {
		gauge(queueWaiting, float64(s.Waiting[p]), p.String())
	}
	gauge(queueOldest, s.OldestAge.Seconds())
	gauge(queueUntold, float64(s.ToReport))
	gauge(queuePaused, number(s.Paused))
	for _, o := range []queue.EnqueueOutcome{queue.Enqueued, queue.Merged, queue.Duplicate, queue.Stale} {
		counter(queueEnqueues, float64(s.Totals[string(o)]), string(o))
	}
	counter(queueWaitTime, s.Waited.Seconds())
	counter(queueLeases, float64(s.Totals["reaped"]+s.Totals["abandoned"]))
	for name, d := range queueNumerical {
		counter(d, float64(s.Totals[name]))
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
