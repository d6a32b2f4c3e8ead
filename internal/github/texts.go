package github

import (
	"time"

	"culprit/internal/session"
)

// Texts renders a session for GitHub; package report does it.
type Texts interface {
	// Comment is the session's one comment, with its hidden marker.
	Comment(s *session.Session) string
	// FindMarker returns the session ID of the marker in a comment.
	FindMarker(comment string) (sessionID string, ok bool)
	CheckRun(s *session.Session) CheckRunText
	PullRequest(s *session.Session) PullRequestText
	CommitMessage(s *session.Session) string
	// RoundMessage is the commit message of the open round of the review.
	RoundMessage(s *session.Session) string
	// BranchName is the same for a session whenever it is asked.
	BranchName(s *session.Session) string
}

// CheckRunText is what a check run shows.
type CheckRunText struct {
	Title       string
	Summary     string // Markdown
	Text        string // Markdown: the details below the summary
	Conclusion  string // when the session has ended: neutral unless it broke
	Annotations []Annotation
}

// Annotation stands at lines of a file of the checked commit.
type Annotation struct {
	Path       string
	Start, End int    // lines, from 1
	Level      string // notice, warning or failure
	Title      string
	Message    string
}

// PullRequestText is what a fix pull request shows.
type PullRequestText struct {
	Title string
	Body  string // Markdown
	Draft bool   // unless confidence is high
}

// view is a session as it is to be seen at one moment: rendered, so that it
// can be published after the session moved on.
type view struct {
	id      string
	issue   int // thread of the source: issue or pull request
	isIssue bool
	ref     string
	sha     string
	fixPR   int
	created time.Time
	comment string
	check   CheckRunText
	final   bool
	label   string // suffix of the label that shows the state
}

// Suffixes of the labels that show a session's state on its issue.
const (
	labelRunning  = "running"
	labelNeedsYou = "needs-you"
	labelDone     = "done"
)

func (p *Publisher) render(s *session.Session, final bool) view {
	v := view{
		id: s.ID, issue: s.Source.Issue, isIssue: s.Source.Issue > 0, ref: s.Source.Ref, sha: s.Source.SHA,
		fixPR: s.Published.PR, created: s.CreatedAt, final: final, label: labelRunning,
		comment: p.fit(p.cfg.Texts.Comment(s), maxText),
		check:   p.cfg.Texts.CheckRun(s),
	}
	if v.issue == 0 {
		v.issue = s.Source.PR
	}
	v.check.Title = firstRunes(p.redact(v.check.Title), 250)
	v.check.Summary = p.fit(v.check.Summary, maxText)
	v.check.Text = p.fit(v.check.Text, maxText)
	switch {
	case s.Question.Open() && !s.Done():
		v.label = labelNeedsYou
	case final:
		v.label = labelDone
	}
	return v
}
