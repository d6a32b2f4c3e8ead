package pipeline

import "culprit/internal/session"

// Outcome is what a stage decides. The set is closed: Advance, Rework, Ask,
// Resume, Stop.
type Outcome interface{ outcome() string }

// Advance goes on to the next stage. Note is one line for people: what the
// stage found.
type Advance struct{ Note string }

// Rework goes back to an earlier stage, at most session.MaxLoops times.
type Rework struct {
	Stage string
	Why   string
}

// Ask puts one question to a person (QD10, CR2). What is known is published,
// and the session waits; without an answer, or where nobody can answer, it ends
// with Result.
type Ask struct {
	Question session.Question
	Result   session.Result
	Why      string
}

// Resume goes on at a stage, now that the question is answered.
type Resume struct {
	Stage string
	Why   string
}

// Stop ends the investigation with a result; recording and publishing follow.
type Stop struct {
	Result session.Result
	Why    string
}

func (Advance) outcome() string { return "advance" }
func (Rework) outcome() string  { return "rework" }
func (Ask) outcome() string     { return "ask" }
func (Resume) outcome() string  { return "resume" }
func (Stop) outcome() string    { return "stop" }
