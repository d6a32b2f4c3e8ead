// Package queue keeps debug jobs in Redis so that none is lost and none is done
// twice (GH2, GH3, GH4, CR22).
//
// A debug job is long, paid for and visible to people: a lost one is a comment
// that says "investigating" for ever, a doubled one is two pull requests. So
// every change of a job is one Lua script, which Redis runs as a whole or not at
// all, and every script can be sent again after a lost answer without doing
// its work twice.
//
// # Producing
//
// Enqueue returns after the job is in Redis. In the same script a delivery that
// was seen before becomes a Duplicate, a job of the same Key is Merged into the
// one that has not ended, and older SHAs of the same Ref are superseded. Jobs that
// come while others are on their way go together.
//
// # Order
//
// Jobs form groups by installation and repository. Claim takes the installation
// whose turn it is, in it the repository whose turn it is, and in it the first
// job. A turn is a moment on the queue's clock, moved back by the job's priority
// class times Options.Ageing: a person's job goes before red CI unless that has
// waited so much longer. Whoever was served goes to the end of the line, so a
// group with ten thousand jobs delays another group by one job. A repository or
// installation at its limit leaves the line until one of its jobs ends; it costs
// the others nothing.
//
// # Working
//
// A Claim holds a lease and a fencing number higher than any before it. The
// holder renews the lease by Heartbeat, presents the number with each operation
// and asks Valid before it publishes. A worker that lost its lease is refused
// with ErrLost, whatever it believes. Reap gives the jobs of dead workers to
// others, Abandon at once if the worker is known to be dead; that is a crash,
// counted apart from failures. Options.MaxCrashes of them in a row, without a
// Checkpoint that tells of progress between them, bury the job. Fail retries by kind with backoff and jitter, Snooze
// waits without cost, Release gives the job back at once. A Pool does all of
// this for a Handler; it completes jobs and claims the next ones by one script.
//
// # Ending
//
// A worker publishes its result, then calls Complete. Every other end (dead,
// cancelled, superseded) happens where perhaps nobody is looking; such a job is
// put on the list of ends to report, in the script that ends it. TakeReport
// leases one, and Report.Done takes it off: told once, by whoever is alive.
//
// # Redis
//
// All keys carry the hash tag {prefix}, so a queue lives in one slot of a
// Cluster. Nothing relies on expiring keys, and time comes from Redis' own TIME
// unless Options.Now is set (tests). CheckServer tells what is wrong with a
// server's settings. Reasons for our own Lua are in
// docs/adr/0001-queue-on-redis-by-our-own-lua.md.
package queue
