package session

import (
	"slices"
	"time"
)

// Asks says what the answer to a question is.
type Asks string

// What can be asked for.
const (
	AsksTest    Asks = "test"    // a command that shows the failure
	AsksGood    Asks = "good"    // a revision that passes
	AsksSymptom Asks = "symptom" // anything that helps, in words
)

// Question is what a session asks a person, exactly one at a time (QD10, CR2).
type Question struct {
	Text    string   `json:"text"`
	Options []string `json:"options,omitempty"` // commands to copy
	Default string   `json:"default,omitempty"` // what happens without an answer
	Asks    Asks     `json:"asks,omitempty"`

	// Result and Why are how the session ends without an answer.
	Result Result `json:"result,omitempty"`
	Why    string `json:"why,omitempty"`
	// Until is when it stops waiting; zero: it does not wait.
	Until time.Time `json:"until,omitzero"`
	// Note says why an answer that was given is none.
	Note string `json:"note,omitempty"`
	// Over is set when the session has ended without an answer.
	Over bool `json:"over,omitempty"`
}

// Open reports whether the session waits for the answer.
func (q *Question) Open() bool { return q != nil && !q.Over }

// Answer is what a person answered.
type Answer struct {
	ID       string    `json:"id"` // of the comment, and of what the command in it said
	By       string    `json:"by"`
	At       time.Time `json:"at"`
	Text     string    `json:"text"`
	Asks     Asks      `json:"asks"`
	Question string    `json:"question"`
	// Problem says why it could not be used.
	Problem string `json:"problem,omitempty"`
}

// Answered reports whether a person has given an answer of a kind that could
// be used.
func (s *Session) Answered(a Asks) bool {
	return slices.ContainsFunc(s.Answers, func(x Answer) bool { return x.Asks == a && x.Problem == "" })
}
