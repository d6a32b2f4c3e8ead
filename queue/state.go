package queue

// State of a job. Transitions tells how it changes.
type State string

// The states of a job.
const (
	Queued     State = "queued"     // waits for a worker
	Running    State = "running"    // leased by a worker
	Retrying   State = "retrying"   // failed, waits for its next attempt
	Snoozed    State = "snoozed"    // waits for a person or a limit; costs no attempt
	Done       State = "done"       // the worker finished and published
	Dead       State = "dead"       // failed for good, too often, or crashed too many workers
	Cancelled  State = "cancelled"  // somebody called it off
	Superseded State = "superseded" // a newer SHA of its ref came
)

// States lists all of them in the order in which people want to see them.
func States() []State {
	return []State{Running, Queued, Retrying, Snoozed, Dead, Cancelled, Superseded, Done}
}

// Ended reports whether the state is terminal: only Queue.Retry leaves it.
func (s State) Ended() bool {
	switch s {
	case Done, Dead, Cancelled, Superseded:
		return true
	}
	return false
}

func (s State) valid() bool {
	for _, t := range States() {
		if s == t {
			return true
		}
	}
	return false
}

// A Transition is one edge of the state machine with the operations that take
// it. An empty From is a job's birth.
type Transition struct {
	From, To State
	By       string
}

// Transitions returns the whole state machine. The random driver of the tests
// holds the scripts against it.
func Transitions() []Transition {
	return []Transition{
		{"", Queued, "Enqueue"},
		{Queued, Running, "Claim"},
		{Queued, Cancelled, "Cancel"},
		{Queued, Superseded, "Enqueue of a newer SHA"},

		{Running, Done, "Complete"},
		{Running, Retrying, "Fail, transient"},
		{Running, Dead, "Fail, permanent or too often; Crash, Reap or Abandon, too often in a row"},
		{Running, Snoozed, "Snooze"},
		{Running, Queued, "Release; Crash; Reap; Abandon"},
		{Running, Cancelled, "any end but Complete after Cancel"},
		{Running, Superseded, "any end but Complete after a newer SHA"},

		{Retrying, Queued, "due; Retry"},
		{Retrying, Cancelled, "Cancel"},
		{Retrying, Superseded, "Enqueue of a newer SHA"},
		{Snoozed, Queued, "due; Retry; Enqueue of the same Key"},
		{Snoozed, Cancelled, "Cancel"},
		{Snoozed, Superseded, "Enqueue of a newer SHA"},

		{Done, Queued, "Retry"},
		{Dead, Queued, "Retry"},
		{Cancelled, Queued, "Retry"},
		{Superseded, Queued, "Retry"},
	}
}

// A Signal is what a heartbeat brings back from the queue.
type Signal string

// The signals.
const (
	SignalNone       Signal = ""           // go on
	SignalCancel     Signal = "cancelled"  // stop: somebody called the job off
	SignalSuperseded Signal = "superseded" // stop: a newer SHA of the ref came
	SignalLost       Signal = "lost"       // stop at once: the job is another worker's
)
