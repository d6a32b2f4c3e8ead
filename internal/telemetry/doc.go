// Package telemetry is what operators see of a running bot: Prometheus metrics,
// the two health checks, and the log.
//
// There are two kinds of metrics, and their names keep them apart.
//
// culprit_queue_* describe the one queue that all processes share. They are
// read from Redis at each scrape, so every process tells the same: take one, or
// max() over them, never the sum. Their counters live in Redis and survive a
// restart of any process.
//
// culprit_worker_*, culprit_webhook_* and culprit_github_* describe what this
// process saw since it started. Take the sum over processes.
//
// Labels are few and from closed lists: no repository, person, branch or text
// of a repository becomes a label, since they are without number, private, and
// chosen by strangers.
//
// Metrics are served on a listener of their own, which is off unless it is given
// an address: they tell of a company's work, and the port of the webhooks is
// open to the world.
package telemetry
