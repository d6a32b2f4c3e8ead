package session

import "time"

// Past is what an earlier session of the same repository found of a test (QD4).
type Past struct {
	Session string    `json:"session"`
	At      time.Time `json:"at"` // when it ended
	Test    string    `json:"test"`
	Result  Result    `json:"result"`
	URL     string    `json:"url,omitempty"` // its comment
	Flake   *Count    `json:"flake,omitempty"`
	Why     string    `json:"why,omitempty"` // of the flake: order, time, race …
	Culprit *Commit   `json:"culprit,omitempty"`
	FixPR   int       `json:"fix_pr,omitempty"`
}

// maxTests bounds the tests of one session that are remembered: a broken build
// fails thousands, and none of them is at fault.
const maxTests = 20

// FailingTests names what failed, as the test's history is kept: the tests of
// the reproduction and of CI's logs, each once, the leading one first.
func (s *Session) FailingTests() []string {
	var out []string
	seen := map[string]bool{}
	add := func(f *Failure) {
		if f == nil || f.Test == "" || seen[f.ID()] || len(out) == maxTests {
			return
		}
		seen[f.ID()] = true
		out = append(out, f.ID())
	}
	if s.Reproduction != nil {
		add(s.Reproduction.Failure)
	}
	for i := range s.Symptom.Failures {
		add(&s.Symptom.Failures[i])
	}
	return out
}

// Findings is what this session is remembered by, one for each of its tests;
// none if it found nothing out (it was stopped, or another one investigated).
func (s *Session) Findings() []Past {
	switch s.Result {
	case ResultFixed, ResultRootCause, ResultFlaky, ResultNotReproduced, ResultInconclusive:
	default:
		return nil
	}
	p := Past{Session: s.ID, At: s.UpdatedAt, Result: s.Result, URL: s.Published.CommentURL, FixPR: s.Published.PR}
	if s.Flake != nil {
		p.Flake, p.Why = &s.Flake.Count, s.Flake.Suspected
	}
	if s.RootCause != nil && s.RootCause.Culprit != nil {
		p.Culprit = &Commit{SHA: s.RootCause.Culprit.SHA, Subject: s.RootCause.Culprit.Subject}
	}
	var out []Past
	for _, test := range s.FailingTests() {
		p.Test = test
		out = append(out, p)
	}
	return out
}
