package session

import "time"

// Incident is the session that investigates the same failure as another one.
// Who finds the failure first investigates it; the others wait for the result
// and link to it.
type Incident struct {
	Session string    `json:"session"`
	URL     string    `json:"url,omitempty"` // its comment
	Issue   int       `json:"issue,omitempty"`
	PR      int       `json:"pr,omitempty"`
	Ref     string    `json:"ref,omitempty"`
	SHA     string    `json:"sha,omitempty"` // where it was seen first
	Since   time.Time `json:"since"`         // when this session began to wait

	// What it found; empty while it runs.
	Result  Result  `json:"result,omitempty"`
	Culprit *Commit `json:"culprit,omitempty"`
	Summary string  `json:"summary,omitempty"` // of the root cause
	FixPR   int     `json:"fix_pr,omitempty"`
	// Why says why both are the same: "its culprit 3f2a91c is part of this
	// branch".
	Why string `json:"why,omitempty"`
}

// Sighting is another place where the failure of a session was seen.
type Sighting struct {
	Session string `json:"session"`
	URL     string `json:"url,omitempty"` // its comment or check run
	Ref     string `json:"ref,omitempty"`
	SHA     string `json:"sha"`
	PR      int    `json:"pr,omitempty"`
}
