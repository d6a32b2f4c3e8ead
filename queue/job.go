package queue

import (
	"fmt"
	"time"
)

// Priority orders jobs by who is waiting for them (GH4). A job gains one class
// over younger jobs for every Options.Ageing that it has waited, so that no
// class starves.
type Priority int

// The classes, lowest first.
const (
	PriorityCI     Priority = iota // red CI: nobody asked yet
	PriorityIssue                  // an issue was labelled
	PriorityPerson                 // a person gave a command and waits
)

var priorityNames = [...]string{"ci", "issue", "person"}

// String returns the name that `bot jobs` and the metrics use.
func (p Priority) String() string {
	if p < 0 || int(p) >= len(priorityNames) {
		return fmt.Sprintf("priority(%d)", int(p))
	}
	return priorityNames[p]
}

// A Job is a request for work. The queue never looks into Payload, which holds
// IDs only (installation, repository, run or issue): whoever works on the job
// reads the present truth from GitHub.
type Job struct {
	// ID is assigned by Enqueue: 18 letters and digits, in order of time.
	ID string

	// Delivery is the GUID of the webhook delivery (X-GitHub-Delivery). A
	// delivery that was seen within Options.KeepDeliveries is a Duplicate.
	// Empty: not checked.
	Delivery string

	// Key names what the job is about: repository, SHA and workflow run or
	// issue. While a job with this Key has not ended, another one is merged
	// into it (GH2). Empty: never merged.
	Key string

	// Ref is the branch, as "owner/repo@refs/heads/x". A job of the same Ref
	// and another SHA supersedes those that have not ended (GH2). Empty: the
	// job neither supersedes nor is superseded.
	Ref string
	SHA string

	// RefTime is when Ref was moved to SHA, as far as the webhook tells. A job
	// that is older than a waiting or running one of its Ref is Stale, so that
	// a delivery that was recovered late does not undo a newer one. Zero: the
	// order of arrival counts.
	RefTime time.Time

	// Asked is when the job was asked for, if that was known late (a delivery
	// that was recovered); zero: now. See Match.AskedBefore.
	Asked time.Time

	// Checkpoint is the state that the work goes on from, of a job that Redis
	// lost while its session folder was kept (CR22). Nil: it begins anew.
	Checkpoint []byte

	// Repository and Installation form the group for limits and fairness.
	// The limit per repository counts the pair, since a repository belongs to
	// one installation at a time.
	Repository   string
	Installation string

	Priority Priority
	Payload  []byte // at most Options.MaxPayload bytes
}

// EnqueueOutcome says what Enqueue did.
type EnqueueOutcome string

// What Enqueue can do with a job.
const (
	Enqueued  EnqueueOutcome = "enqueued"  // a new job waits
	Duplicate EnqueueOutcome = "duplicate" // the delivery was handled before
	Merged    EnqueueOutcome = "merged"    // a job of the same Key takes it along
	Stale     EnqueueOutcome = "stale"     // a newer SHA of the same Ref is there already
)

// A Receipt tells what became of an enqueued job. It is returned only when the
// decision is in Redis.
type Receipt struct {
	// ID of the new job, of the job it was merged into, of the job that the
	// duplicate's first delivery led to, or of the newer job of the Ref.
	ID      string
	Outcome EnqueueOutcome
	// Superseded lists older jobs of the Ref that were dropped or, when
	// running, asked to stop.
	Superseded []string
}

// Info is what the queue knows of a job.
type Info struct {
	Job
	State   State
	Attempt int // failures so far
	Crashes int // workers that died or lost the lease while they had it, in all
	// CrashesInRow are those since the work last made progress (see
	// Claim.Checkpoint): Options.MaxCrashes of them bury the job.
	CrashesInRow int

	Merges   int // later jobs of the same Key that were merged into it
	Fence    int64
	Worker   string // who has it, or had it last
	Progress string // last Claim.Progress
	Reason   string // why it failed, snoozes, was cancelled or is dead
	Summary  string // of Claim.Complete
	Stop     Signal // what a running job was asked
	Replaced string // ID of the job that superseded it

	EnqueuedAt time.Time
	StartedAt  time.Time     // first claim; zero: never ran
	DueAt      time.Time     // snoozed or retrying: not before; running: end of lease
	EndedAt    time.Time     // zero: has not ended
	Reported   bool          // its end was told on GitHub, see Queue.TakeReport
	Since      time.Time     // when it came into its State
	Waited     time.Duration // in the line, before its last claim
	History    []Change      // its states, oldest first; of very many the latest
}

// A Change is one step of a job's history.
type Change struct {
	At  time.Time
	To  State
	Why string // for Running, the worker; else the reason, if any; at most 160 bytes
}
