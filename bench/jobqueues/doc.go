// Package jobqueues measures Culprit's queue against hibiken/asynq: the same
// Redis, the same client library, the same settings of persistence, the same
// jobs, in the same run, in turns.
//
// Each side is used as a program uses it. First a number of producers enqueue
// all jobs, then a number of slots drain them with a handler that returns at
// once. Latencies are those of the calls to Redis that make up an operation,
// seen by a hook of the client that both sides share; the time that a
// library spends around them is in the rates. A pool of Culprit completes jobs
// and claims the next ones by one call, which the table has under claim.
//
// What the two do per job is not equal, and the tables say so: Culprit checks
// the delivery's GUID, merges jobs of one key, supersedes older commits, keeps
// turns between repositories and installations, counts limits and keeps the
// ended job for a week. asynq is measured plain, and with the nearest that it
// has: a task ID and a uniqueness lock.
package jobqueues
