package session

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// Review is what became of the session's fix pull request (GH7, DB8).
type Review struct {
	State  ReviewState `json:"state"`
	By     string      `json:"by,omitempty"`
	Rounds []Round     `json:"rounds,omitempty"`
	// Handled are the IDs of remarks that were dealt with, and of red CI jobs.
	Handled []string `json:"handled,omitempty"`
	// Asked is set when a person was asked to take over: no round follows.
	Asked bool `json:"asked,omitempty"`
	// What the session was given; each round gets as much again.
	MaxRuns int           `json:"max_runs"`
	MaxTime time.Duration `json:"max_time_ns"`
}

// ReviewState is how a fix pull request stands.
type ReviewState string

// States of a fix pull request.
const (
	ReviewOpen     ReviewState = "open"
	ReviewApproved ReviewState = "approved"
	ReviewMerged   ReviewState = "merged"
	ReviewClosed   ReviewState = "closed"
)

// RemarkKind says where a remark came from.
type RemarkKind string

// Kinds of remark.
const (
	RemarkLine   RemarkKind = "line"   // a comment on a line
	RemarkReview RemarkKind = "review" // a review that requests changes
	RemarkCI     RemarkKind = "ci"     // red CI of the pull request
)

// Remark is one thing that was said against the fix.
type Remark struct {
	ID   string     `json:"id"` // "line-12", "review-34", "ci-" and the commit, then its number from the second
	Kind RemarkKind `json:"kind"`
	By   string     `json:"by,omitempty"`
	Text string     `json:"text,omitempty"` // foreign

	Thread int64  `json:"thread,omitempty"` // the comment that the answer goes below
	Path   string `json:"path,omitempty"`
	Start  int    `json:"start,omitempty"` // first and last line, at the head of the branch; 0: it is gone
	Line   int    `json:"line,omitempty"`
	// Suggestion is what the lines are to be replaced by; nil: none was made.
	Suggestion *string `json:"suggestion,omitempty"`

	SHA      string    `json:"sha,omitempty"` // of red CI
	Jobs     []string  `json:"jobs,omitempty"`
	Failures []Failure `json:"failures,omitempty"`

	Answer Reply `json:"answer"`
}

// Reply says what is answered to a remark, once.
type Reply struct {
	Kind   ReplyKind `json:"kind"`
	Detail string    `json:"detail,omitempty"`
}

// ReplyKind is one of the answers.
type ReplyKind string

// The answers (docs/commands.md).
const (
	ReplyApplied   ReplyKind = "applied"   // the suggestion holds and is pushed
	ReplyReplaced  ReplyKind = "replaced"  // another proved fix is pushed
	ReplyRefused   ReplyKind = "refused"   // Detail: why what was suggested does not hold
	ReplyNoOther   ReplyKind = "no_other"  // Detail: why no other fix can be proved
	ReplyOutdated  ReplyKind = "outdated"  // the lines are not there any more
	ReplyNoWrite   ReplyKind = "no_write"  // a suggestion needs write permission
	ReplyNone      ReplyKind = "none"      // it was said already what is not possible
	ReplyWords     ReplyKind = "words"     // a remark in words, which nothing here can read
	ReplyElsewhere ReplyKind = "elsewhere" // CI fails without the fix as well; Detail: what
	ReplyNotHere   ReplyKind = "not_here"  // CI's failure does not show here; Detail: what was run
	ReplyRepeated  ReplyKind = "repeated"  // asked before, with nothing new since
	ReplyLimit     ReplyKind = "limit"     // the rounds are used up
	ReplyForeign   ReplyKind = "foreign"   // a person pushed to the branch, and the fix is not replaced below that
	ReplyMoved     ReplyKind = "moved"     // the branch was pushed to meanwhile
	ReplyCutShort  ReplyKind = "cut_short" // Detail: what ended the round
)

// Digest tells whether two remarks ask for the same.
func (r Remark) Digest() string {
	parts := []string{string(r.Kind), r.Path, strings.Join(strings.Fields(strings.ToLower(r.Text)), " ")}
	if r.Suggestion != nil {
		parts = []string{"suggestion", r.Path, *r.Suggestion}
	}
	for _, f := range r.Failures {
		parts = append(parts, f.ID(), f.Signature)
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// Round is one more attempt at the fix, for what was said against it.
type Round struct {
	N       int       `json:"n"`
	Began   time.Time `json:"began"`
	Head    string    `json:"head"` // of the branch, that it builds on
	Remarks []Remark  `json:"remarks"`
	// Way is empty when nothing was to be run.
	Way    RoundWay `json:"way,omitempty"`
	Proved bool     `json:"proved,omitempty"`
	Commit string   `json:"commit,omitempty"` // that was pushed
	// Refused is why nothing could be pushed, unless the branch had moved.
	Refused string `json:"refused,omitempty"`
	// Replied is set when all remarks are answered.
	Replied bool `json:"replied,omitempty"`
	// The fix as it stood before.
	Fix          *Fix          `json:"fix_before,omitempty"`
	Confirmation *Confirmation `json:"confirmation_before,omitempty"`
	Rejected     []string      `json:"rejected_before,omitempty"`
	// Patch is the change on top of Head. It is not stored: a resumed session
	// makes it again.
	Patch string `json:"-"`
}

// RoundWay is how a round tries to mend the fix.
type RoundWay string

// Ways that need no language model.
const (
	BySuggestion RoundWay = "suggestion" // what reviewers suggested
	ByCandidate  RoundWay = "candidate"  // the next fix that can be proved
)

// Round is the last round of the review, or nil.
func (s *Session) Round() *Round {
	if s.Review == nil || len(s.Review.Rounds) == 0 {
		return nil
	}
	return &s.Review.Rounds[len(s.Review.Rounds)-1]
}

// OpenRound is the round that is under way, or nil.
func (s *Session) OpenRound() *Round {
	if r := s.Round(); r != nil && r.Way != "" && !r.Replied {
		return r
	}
	return nil
}

// Tried is the number of rounds in which something was run.
func (r *Review) Tried() (n int) {
	for _, x := range r.Rounds {
		if x.Way != "" {
			n++
		}
	}
	return n
}

// Asks reports whether a remark asks for another fix. Words on a line do not:
// they get an answer, and nothing is run for them.
func (r Remark) Asks() bool { return r.Suggestion != nil || r.Kind != RemarkLine }

// untried are the answers to what was not looked at: it may be asked for again.
var untried = []ReplyKind{ReplyNoWrite, ReplyMoved, ReplyCutShort}

// Repeats reports whether a remark asks for what an earlier one asked for, with
// the branch as it was then.
func (r *Review) Repeats(m Remark, head string) bool {
	return slices.ContainsFunc(r.Rounds, func(x Round) bool {
		return x.Head == head && slices.ContainsFunc(x.Remarks, func(old Remark) bool {
			return old.ID != m.ID && old.Digest() == m.Digest() && !slices.Contains(untried, old.Answer.Kind)
		})
	})
}

// Handle notes that a remark was dealt with.
func (r *Review) Handle(m Remark) {
	r.Handled = append(r.Handled, m.ID)
	for _, job := range m.Jobs {
		r.Handled = append(r.Handled, CIJobID(m.SHA, job))
	}
}

// CIJobID names a red job or status of a commit among what was handled.
func CIJobID(sha, job string) string { return "ci-" + sha + ": " + job }

// CIFailures are the failures that red CI of a commit has shown in n remarks.
func (r *Review) CIFailures(sha string) (out []Failure, n int) {
	for _, x := range r.Rounds {
		for _, m := range x.Remarks {
			if m.Kind == RemarkCI && m.SHA == sha {
				out, n = append(out, m.Failures...), n+1
			}
		}
	}
	return out, n
}

// Said reports whether a remark was given this kind of answer.
func (r *Review) Said(kind ReplyKind) bool {
	return slices.ContainsFunc(r.Rounds, func(x Round) bool {
		return slices.ContainsFunc(x.Remarks, func(m Remark) bool { return m.Answer.Kind == kind })
	})
}

// Answer gives all remarks of the round that have no answer yet the same one.
func (r *Round) Answer(kind ReplyKind, detail string) {
	for i := range r.Remarks {
		if r.Remarks[i].Answer.Kind == "" {
			r.Remarks[i].Answer = Reply{kind, detail}
		}
	}
}

// PutBack makes the fix the one that it was before the round. One that the round
// has pushed stays: it is what the branch holds.
func (s *Session) PutBack(r *Round) {
	s.Result, s.Reason = ResultFixed, ""
	if r.Commit != "" {
		return
	}
	s.Fix, s.Confirmation, s.Rejected = r.Fix, r.Confirmation, r.Rejected
	if s.Fix != nil && s.Fixes != nil {
		s.Fixes[s.Fix.Task] = s.Fix
	}
}

// Abandon ends a round that did not come to its push, for the reason given by
// the answer: the fix stays as it was, and nothing is said to be applied. After
// the push only the rest was missing, and the answers are true.
func (s *Session) Abandon(r *Round, kind ReplyKind, detail string) {
	if r.Commit == "" {
		r.Proved = false
		for i := range r.Remarks {
			if a := &r.Remarks[i].Answer; a.Kind == ReplyApplied || a.Kind == ReplyReplaced {
				*a = Reply{}
			}
		}
	}
	r.Answer(kind, detail)
	s.PutBack(r)
}

// CutShort ends the open round of a session that is not gone on with, if it has
// one.
func (s *Session) CutShort(why string) bool {
	r := s.OpenRound()
	if r == nil || s.Done() {
		return false
	}
	s.Abandon(r, ReplyCutShort, why)
	s.State = StateDone
	return true
}
