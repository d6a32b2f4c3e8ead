package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"culprit/internal/session"
	"culprit/internal/workflow"
)

// Defaults of a session's budget.
const (
	DefaultMaxRuns = 400
	DefaultMaxTime = 2 * time.Hour
	maxLoops       = 3
)

// errDeadline is the cause of a context that the session's own time limit
// ended, as against one that somebody cancelled.
var errDeadline = errors.New("time limit of the session is reached")

// Deps are the adapters that a session needs; see ports.go. Refuter,
// Synthesizer, Rewriter, Logs, Incidents, Rebaser, Memory, People and Progress may be nil.
type Deps struct {
	Workspace    Workspace
	Runner       Runner
	History      GoodFinder
	Investigator Investigator
	Refuter      Refuter
	Synthesizer  Synthesizer
	Fixer        Fixer
	Rewriter     Rewriter
	Candidates   int // fixes of one cause that are written and proven at most
	Publisher    Publisher
	Store        Store
	Clock        Clock
	Logs         LogSource
	Incidents    Incidents
	Rebaser      Rebaser
	// People answer questions; nil: nobody can, and a question ends the session.
	People   People
	Patience time.Duration // how long an answer is waited for
	// Machine says what this machine has, to be compared with CI's. May be nil.
	Machine func(ctx context.Context) workflow.Machine
	Memory  Memory
	// Reads says that the investigator has a model that can read code.
	Reads bool
	// Progress gets one line per transition, for a terminal.
	Progress func(line string)
}

// env is what a stage works with.
type env struct {
	Deps
	s      *session.Session
	limits limits
	// base is the reproduction as a trial, once it is known.
	base session.Trial
}

func (e *env) progress(format string, args ...any) {
	if e.Progress != nil {
		e.Progress(fmt.Sprintf(format, args...))
	}
}

// recall asks the memory for the history of the failing tests.
func (e *env) recall(ctx context.Context) {
	if e.Memory == nil {
		return
	}
	past, err := e.Memory.Recall(ctx, e.s)
	if err != nil {
		e.progress("earlier sessions are left out: %v", err)
		return
	}
	e.s.Past = past
}

// decide records a numbered decision (CR24).
func (e *env) decide(stage, format string, args ...any) {
	e.s.Decisions = append(e.s.Decisions, session.Decision{
		N: len(e.s.Decisions) + 1, Stage: stage, Text: fmt.Sprintf(format, args...), Status: "resolved",
	})
}

// note adds a line to "What was not checked", once.
func (e *env) note(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	for _, old := range e.s.NotChecked {
		if old == line {
			return
		}
	}
	e.s.NotChecked = append(e.s.NotChecked, line)
}

// Run takes the session from wherever it stands to its end. It returns nil
// when the session has ended, whatever its result; an error means that it has
// not ended and can be run again from the last saved transition: a cancelled
// context, a store that cannot be written, a publisher that is out of reach.
// A *session.UserError ends the session's command with its message instead.
func Run(ctx context.Context, s *session.Session, d Deps) error {
	prepare(s, d.Clock.Now())
	e := &env{Deps: d, s: s, limits: modeLimits[s.Mode]}
	if s.Reproduction != nil && s.Reproduction.Command != "" {
		if err := e.rebase(ctx); err != nil {
			return err
		}
	}
	if err := d.Store.Save(s); err != nil {
		return err
	}
	for !s.Done() {
		if err := e.step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// prepare fills what a new session leaves open.
func prepare(s *session.Session, now time.Time) {
	if s.Schema == 0 {
		s.Schema = session.SchemaVersion
	}
	if _, ok := modes[s.Mode]; !ok {
		s.Mode = session.Full
	}
	if s.State == "" {
		s.State = modes[s.Mode][0]
	}
	if s.CreatedAt.IsZero() {
		s.CreatedAt = now.UTC()
	}
	if s.Budget.MaxRuns == 0 {
		s.Budget.MaxRuns = orDefault(s.Flags.MaxRuns, DefaultMaxRuns)
	}
	if s.Budget.MaxTime == 0 {
		s.Budget.MaxTime = orDefault(s.Flags.Timeout, DefaultMaxTime)
	}
	if s.Flags.Concurrency <= 0 {
		s.Flags.Concurrency = 5
	}
	if s.MaxLoops == 0 {
		s.MaxLoops = maxLoops
	}
	if s.Goals == nil {
		s.Goals = goals(s)
	}
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// step runs the session's current stage and makes its outcome durable.
func (e *env) step(ctx context.Context) error {
	s := e.s
	st, ok := stageNamed(s.State)
	if !ok {
		return fmt.Errorf("run session %s: it stands at stage %q, which this program does not know", s.ID, s.State)
	}
	s.UpdatedAt = e.Clock.Now().UTC()
	if !st.closing {
		e.progress("%s", st.doing)
		if err := e.Publisher.Progress(ctx, s); err != nil {
			return fmt.Errorf("publish progress: %w", err)
		}
	}
	began := e.Clock.Now()
	out, err := e.runStage(ctx, st)
	took := e.Clock.Now().Sub(began)
	s.Budget.Used += took
	s.Budget.Runs, _ = e.Runner.Used()
	if err != nil {
		// The stage did not finish. What it learnt is saved; it runs again.
		if saveErr := e.Store.Save(s); saveErr != nil && ctx.Err() == nil {
			err = errors.Join(err, saveErr)
		}
		return err
	}
	e.transition(st, out, took)
	s.UpdatedAt = e.Clock.Now().UTC()
	return e.Store.Save(s)
}

// runStage runs a stage within what is left of the session's time, and turns
// a spent budget into a Stop.
func (e *env) runStage(ctx context.Context, st stage) (Outcome, error) {
	if st.closing {
		return st.run(ctx, e)
	}
	left := e.s.Budget.MaxTime - e.s.Budget.Used
	if left <= 0 {
		return Stop{session.ResultStopped, fmt.Sprintf("the time limit of %s is reached", e.s.Budget.MaxTime)}, nil
	}
	bounded, cancel := context.WithTimeoutCause(ctx, left, errDeadline)
	defer cancel()
	out, err := st.run(bounded, e)
	switch {
	case errors.Is(err, session.ErrBudget):
		return Stop{session.ResultStopped, fmt.Sprintf("the limit of %d runs is reached", e.s.Budget.MaxRuns)}, nil
	case ctx.Err() == nil && errors.Is(context.Cause(bounded), errDeadline):
		return Stop{session.ResultStopped, fmt.Sprintf("the time limit of %s is reached", e.s.Budget.MaxTime)}, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return out, err
}

// transition applies an outcome to the session.
func (e *env) transition(st stage, out Outcome, took time.Duration) {
	s := e.s
	rec := session.StageRecord{Name: st.name, Outcome: out.outcome(), Took: took}
	switch o := out.(type) {
	case Advance:
		rec.Note = o.Note
		s.State = e.stageAfter(st.name)
	case Rework:
		rec.Note = o.Why
		s.CrossPhaseLoops++
		s.State = o.Stage
		if s.CrossPhaseLoops > s.MaxLoops {
			s.Result, s.Reason = session.ResultRootCause, "no fix held after "+fmt.Sprint(s.MaxLoops)+" attempts: "+o.Why
			s.State = closingStage(s.Mode)
		}
	case Ask:
		rec.Note = o.Why
		s.Result, s.Reason = o.Result, o.Why
		q := o.Question
		q.Result, q.Why = o.Result, o.Why
		s.Question, s.State = &q, closingStage(s.Mode)
		if e.People != nil {
			q.Until, s.State = e.Clock.Now().UTC().Add(e.Patience), AskStage
		}
	case Resume:
		rec.Note = o.Why
		s.Question, s.Result, s.Reason = nil, "", ""
		s.State = o.Stage
	case Stop:
		rec.Note = o.Why
		s.Result, s.Reason = o.Result, o.Why
		s.State = closingStage(s.Mode)
	}
	s.Stages = append(s.Stages, rec)
	if rec.Note != "" {
		e.progress("%s: %s", st.name, rec.Note)
	}
}
