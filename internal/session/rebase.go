package session

// Rebase is a proven fix put onto its branch as the branch is when the fix is to
// be published: people push while a session runs (GH6).
type Rebase struct {
	Branch string `json:"branch"`
	Head   string `json:"head"` // the branch's commit now
	// Commit is Head with the fix on top; empty when that cannot be made.
	Commit   string `json:"commit,omitempty"`
	Conflict string `json:"conflict,omitempty"` // why the fix does not apply to Head

	Before Count  `json:"before"`         // failing test at Head
	After  Count  `json:"after"`          // at Commit
	Note   string `json:"note,omitempty"` // why the proof was not run there to its end
}

// Proven reports whether the failure was seen at the branch's head and not with
// the fix on top of it.
func (r *Rebase) Proven() bool {
	return r.Commit != "" && r.Note == "" && r.Before.Failures > 0 && r.After.Runs > 0 && r.After.Failures+r.After.Other == 0
}

// Against says why the fix is not for the branch as it is now; empty when
// nothing speaks against it.
func (r *Rebase) Against() string {
	switch {
	case r.Before.Runs > 0 && r.Before.Failures == 0:
		return "passes the test without the fix"
	case r.After.Failures+r.After.Other > 0:
		return "fails the test with the fix too"
	}
	return ""
}

// FixBase is the commit that the session's fix is published on.
func (s *Session) FixBase() string {
	if s.Rebase != nil && s.Rebase.Commit != "" {
		return s.Rebase.Head
	}
	return s.Fix.Base
}
