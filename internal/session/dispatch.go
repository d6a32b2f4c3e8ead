package session

import "time"

// Dispatch is one line of dispatches.jsonl, the audit of every call of a model
// (DB9). Each attempt is a line of its own.
type Dispatch struct {
	TS      time.Time `json:"ts"`
	Step    string    `json:"step"`           // stage that it belongs to: investigate, fix
	Task    string    `json:"task,omitempty"` // row that pays for it
	Mode    Mode      `json:"mode,omitempty"`
	Role    string    `json:"role"` // fast, high, judge
	Model   string    `json:"model"`
	Prompt  string    `json:"prompt"` // file of the instructions
	Hash    string    `json:"prompt_hash"`
	Turn    int       `json:"turn"`    // of the conversation, from 1
	Attempt int       `json:"attempt"` // of the turn, from 1
	// Lacks names what the server was found not to know.
	Lacks   string `json:"lacks,omitempty"`
	Outcome string `json:"outcome"` // answered, retried, failed, refused, stopped
	Finish  string `json:"finish,omitempty"`
	Error   string `json:"error,omitempty"`

	TokensIn        int     `json:"tokens_in"`
	TokensCached    int     `json:"tokens_cached"` // of them
	TokensOut       int     `json:"tokens_out"`
	TokensReasoning int     `json:"tokens_reasoning,omitempty"` // of them
	Estimated       bool    `json:"estimated,omitempty"`        // the server told no counts
	Cost            float64 `json:"cost"`                       // in the operator's currency
	LatencyMS       int64   `json:"latency_ms"`
	Calls           int     `json:"calls,omitempty"` // tool calls in the answer
}

// Dispatch appends a line to dispatches.jsonl.
func (f *Folder) Dispatch(d Dispatch) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.appendLine("dispatches.jsonl", d)
}

// Dispatches reads dispatches.jsonl; torn or malformed lines are ignored.
func (f *Folder) Dispatches() ([]Dispatch, error) {
	return readLines[Dispatch](f, "dispatches.jsonl")
}
