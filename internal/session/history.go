package session

import "time"

// Commit is one commit of the repository under investigation.
type Commit struct {
	SHA     string    `json:"sha"`
	Parents []string  `json:"parents,omitempty"`
	Author  string    `json:"author,omitempty"`
	Date    time.Time `json:"date,omitzero"`
	Subject string    `json:"subject,omitempty"` // hostile text: escape before printing
}

// Short is the abbreviated commit ID that people read.
func (c Commit) Short() string {
	if len(c.SHA) > 8 {
		return c.SHA[:8]
	}
	return c.SHA
}

// FileChange is one path that a commit or a diff touches.
type FileChange struct {
	Status  string `json:"status"` // A, M, D, R, C, T
	Path    string `json:"path"`   // new path; old path when deleted
	OldPath string `json:"old_path,omitempty"`
}

// Relevance of a past change to the symptom (OD4).
type Relevance string

// Relevance of a commit found by archaeology.
const (
	High   Relevance = "high"
	Medium Relevance = "medium"
	Low    Relevance = "low"
)

// Suspect is a commit that archaeology found near the failure, with why.
type Suspect struct {
	Commit    Commit    `json:"commit"`
	Relevance Relevance `json:"relevance"`
	Why       string    `json:"why"`
	Files     []string  `json:"files,omitempty"`
}

// Archaeology is what history says before any hypothesis (OD4).
type Archaeology struct {
	Files    []string  `json:"files,omitempty"` // files in the failure
	Suspects []Suspect `json:"suspects,omitempty"`
	Total    int       `json:"total"` // first-parent commits reachable from bad
	// Good is the newest commit seen to pass, nil when none was found.
	Good    *Commit `json:"good,omitempty"`
	GoodHow string  `json:"good_how,omitempty"` // "given with --good" or "found by galloping back"
	// Oldest is the oldest commit where the failure was seen.
	Oldest     *Commit `json:"oldest,omitempty"`
	Skipped    int     `json:"skipped"` // commits tried and untestable
	Candidates int     `json:"candidates,omitempty"`
	// Suspicious are lines that the failing test runs through and few passing
	// ones do, by coverage: where to read first, and proof of nothing. Coverage
	// says which tests were compared, or why none were.
	Suspicious []SuspiciousLine `json:"suspicious,omitempty"`
	Coverage   string           `json:"coverage,omitempty"`
	// Boundary says why no good commit exists: "root", "untestable", "limit".
	Boundary string `json:"boundary,omitempty"`
}

// SuspiciousLine is a stretch of lines with the score that their coverage gives
// them (Ochiai), in [0, 1].
type SuspiciousLine struct {
	File    string  `json:"file"`
	Line    int     `json:"line"` // the first
	To      int     `json:"to"`   // the last
	Score   float64 `json:"score"`
	Failing int     `json:"failing"` // failing tests that cover it
	Passing int     `json:"passing"` // passing tests that cover it
}

// Location is the first of the lines.
func (l SuspiciousLine) Location() string { return Location(l.File, l.Line) }

// Hunk is one contiguous change of one file, the unit that the minimiser
// removes and keeps.
type Hunk struct {
	ID       string `json:"id"` // "duration.go#2", stable within the diff
	File     string `json:"file"`
	OldFile  string `json:"old_file,omitempty"`
	OldStart int    `json:"old_start"`
	OldLines int    `json:"old_lines"`
	NewStart int    `json:"new_start"`
	NewLines int    `json:"new_lines"`
	// Text is "-old\n+new\n" lines without header, and the marker that diff
	// writes below a line without a newline at the end of a file. With Whole
	// set it is the file's section of the diff below its "diff --git" line.
	Text  string `json:"text,omitempty"`
	Whole bool   `json:"whole,omitempty"` // whole-file change: created, deleted, renamed, binary, mode
	// Raw is Text where Text is no valid UTF-8, which JSON cannot carry.
	Raw []byte `json:"raw,omitempty"`
}

// Before is how many lines of the old side stand before the hunk.
func (h Hunk) Before() int {
	if h.OldLines > 0 {
		return h.OldStart - 1
	}
	return h.OldStart
}

// Location is where the hunk's new side stands.
func (h Hunk) Location() string { return Location(h.File, max(h.NewStart, 1)) }
