// Package handlers is the HTTP edge: it verifies a webhook, decodes what it
// needs, decides, enqueues and answers (GH1, GH2).
//
// Nothing slow and nothing that could be lost happens here. A delivery is read
// up to a limit, its signature is checked over the raw bytes in constant time
// before a single one is parsed, and a pure function per event turns the
// payload into a Decision: a job, jobs to call off, or the reason for doing
// nothing. GitHub is answered when the decision is durable in the queue. An
// event that is unknown or not meant for us is answered 200 and dropped, so
// that an App subscribed to too much works all the same; only what GitHub
// should deliver again gets an error (503 when Redis is away).
//
// A job holds IDs and never text: whatever the payload claims about people or
// code, the worker looks up afresh before it acts on it (GH8). What can be
// told from the payload alone is decided here, since it is cheap: bots, the App
// itself, and heads that lie in a fork start nothing. What a person wants goes
// to a queue of its own, whose worker asks GitHub for the person's permission
// and only then makes a session's job of it.
//
// This is the only package that uses echo, and it knows the queue only as an
// interface and a Job.
package handlers
