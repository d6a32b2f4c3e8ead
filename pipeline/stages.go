package pipeline

import (
	"context"
	"slices"

	"culprit/internal/session"
)

// stage is one step of a session. Its file has its name.
type stage struct {
	name string
	// doing says in the progress line what goes on while the stage runs.
	doing string
	run   func(ctx context.Context, e *env) (Outcome, error)
	// closing stages run also when the session was stopped, and are not
	// bounded by its budget: what is known must be recorded and shown.
	closing bool
	// aside stages are in no mode's list: an outcome leads to them.
	aside bool
	// reads: without a model the stage is passed over and leaves no trace.
	reads bool
}

// stages is the table of all stages, in order.
var stages = []stage{
	{name: "intake", doing: "reading the symptom", run: intake},
	{name: IncidentStage, doing: "looking for the same failure elsewhere", run: incident},
	{name: "checkout", doing: "resolving revisions", run: checkout},
	{name: "reproduce", doing: "reproducing the failure", run: reproduce},
	{name: "archaeology", doing: "searching the history for a commit that passes", run: archaeology},
	{name: "hypothesize", doing: "ranking hypotheses", run: hypothesize},
	{name: "investigate", doing: "testing hypotheses", run: investigate},
	{name: "challenge", doing: "trying to break what was confirmed", run: challenge, reads: true},
	{name: "synthesize", doing: "weighing the findings together", run: synthesize, reads: true},
	{name: "escalate", doing: "weighing the verdicts", run: escalate},
	{name: "fix", doing: "building the smallest fix", run: fix},
	{name: "confirm", doing: "proving the fix", run: confirm},
	{name: AskStage, doing: "waiting for an answer", run: ask, closing: true, aside: true},
	{name: ReviseStage, doing: "revising the fix after its review", run: revise, aside: true},
	{name: "record", doing: "writing the report", run: record, closing: true},
	{name: "publish", doing: "publishing", run: publish, closing: true},
}

// modes says which stages a mode has. Quick keeps every section of the output
// (DB1) and saves on hypotheses and repetitions instead (limits); deep has no
// stage beyond full's yet, and the report says so.
var modes = map[session.Mode][]string{
	session.Quick: names(stages),
	session.Full:  names(stages),
	session.Deep:  names(stages),
}

// limits of a mode.
type limits struct {
	hypotheses int // most hypotheses that are tested by experiment
	readers    int // most readers of a model (CR7)
	repeats    int // runs that classify a reproduction as deterministic
	flakyRuns  int // runs spent on a failure that does not show every time
	proofs     int // repetitions that prove a fix, before and after
}

var modeLimits = map[session.Mode]limits{
	session.Quick: {hypotheses: 3, readers: 1, repeats: 3, flakyRuns: 10, proofs: 2},
	session.Full:  {hypotheses: 5, readers: 3, repeats: 5, flakyRuns: 20, proofs: 3},
	session.Deep:  {hypotheses: 5, readers: 6, repeats: 8, flakyRuns: 60, proofs: 8},
}

func names(list []stage) []string {
	var out []string
	for _, s := range list {
		if !s.aside {
			out = append(out, s.name)
		}
	}
	return out
}

// stageAfter returns the stage that follows name in the mode's list, or
// StateDone.
func (e *env) stageAfter(name string) string {
	list := modes[e.s.Mode]
	if i := slices.Index(list, name); i >= 0 {
		for _, next := range list[i+1:] {
			if st, ok := stageNamed(next); ok && (e.Reads || !st.reads) {
				return next
			}
		}
	}
	return session.StateDone
}

// closingStage is the first stage that runs after a stop.
func closingStage(mode session.Mode) string {
	for _, name := range modes[mode] {
		if s, ok := stageNamed(name); ok && s.closing {
			return name
		}
	}
	return session.StateDone
}

func stageNamed(name string) (stage, bool) {
	i := slices.IndexFunc(stages, func(s stage) bool { return s.name == name })
	if i < 0 {
		return stage{}, false
	}
	return stages[i], true
}
