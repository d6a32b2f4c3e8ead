package report

import (
	"path/filepath"
	"strings"
	"testing"

	"culprit/internal/session"
)

func TestRepliesAreAsTheGoldensSay(t *testing.T) {
	t.Parallel()
	var s *session.Session
	for _, c := range samples(t) {
		if c.Name == "fixed" {
			s = c.Session
		}
	}
	text := "x"
	line := session.Remark{ID: "line-12", Kind: session.RemarkLine, By: "wanda", Path: s.Fix.Hunks[0].File, Start: s.Fix.Hunks[0].NewStart, Line: s.Fix.Hunks[0].NewStart, Suggestion: &text}
	review := session.Remark{ID: "review-34", Kind: session.RemarkReview, By: "wanda", Text: "No."}
	ci := session.Remark{
		ID: "ci-0123456789abcdef0123456789abcdef01234567", Kind: session.RemarkCI, SHA: "0123456789abcdef0123456789abcdef01234567", Jobs: []string{"test (@eve)", "lint"},
		Failures: []session.Failure{{Package: "m", Test: "TestA</details>@eve"}, {Kind: session.KindCommand}},
	}
	for _, c := range []struct {
		name   string
		remark session.Remark
		answer session.Reply
	}{
		{"applied", line, session.Reply{Kind: session.ReplyApplied}},
		{"replaced", review, session.Reply{Kind: session.ReplyReplaced, Detail: "minimal revert of 3f2a91c (1 of 6 hunks)"}},
		{"replaced_ci", ci, session.Reply{Kind: session.ReplyReplaced, Detail: "minimal revert of 3f2a91c (1 of 6 hunks)"}},
		{"refused", line, session.Reply{Kind: session.ReplyRefused, Detail: "with it these tests fail: TestA<b>@eve #12"}},
		{"no_other", review, session.Reply{Kind: session.ReplyNoOther, Detail: "No revert is left that makes the test pass and was not found wanting."}},
		{"no_other_ci", ci, session.Reply{Kind: session.ReplyNoOther, Detail: "the next one (x) does not hold: y"}},
		{"outdated", line, session.Reply{Kind: session.ReplyOutdated}},
		{"no_write", line, session.Reply{Kind: session.ReplyNoWrite}},
		{"words", line, session.Reply{Kind: session.ReplyWords}},
		{"elsewhere", ci, session.Reply{Kind: session.ReplyElsewhere, Detail: "go test -run '^TestA$' ."}},
		{"not_here", ci, session.Reply{Kind: session.ReplyNotHere, Detail: "go test -run '^TestA$' .`@eve`"}},
		{"not_here_unknown", ci, session.Reply{Kind: session.ReplyNotHere}},
		{"repeated", review, session.Reply{Kind: session.ReplyRepeated}},
		{"limit", review, session.Reply{Kind: session.ReplyLimit, Detail: "3"}},
		{"limit_none", review, session.Reply{Kind: session.ReplyLimit, Detail: "0"}},
		{"foreign", review, session.Reply{Kind: session.ReplyForeign}},
		{"moved", line, session.Reply{Kind: session.ReplyMoved}},
		{"cut_short", review, session.Reply{Kind: session.ReplyCutShort, Detail: "the limit of 400 runs is reached"}},
	} {
		r := session.Round{N: 2, Commit: "89abcdef0123456789abcdef0123456789abcdef", Remarks: []session.Remark{c.remark}}
		c.remark.Answer = c.answer
		got := Reply(s, r, c.remark)
		marker, body, _ := strings.Cut(got, "\n")
		if marker != ReplyMarker(c.remark) || strings.TrimSpace(body) == "" || strings.Contains(body, "could not be written") {
			t.Errorf("%s: %s", c.name, got)
		}
		for _, f := range faults(body, s.Source.URL) {
			t.Errorf("%s: %s", c.name, f)
		}
		compareGolden(t, filepath.Join("testdata", "replies", c.name+".md"), got)
	}
}

func TestTheReviewIsToldInCommitBodyAndComment(t *testing.T) {
	t.Parallel()
	var s *session.Session
	for _, c := range samples(t) {
		if c.Name == "fixed" {
			s = c.Session
		}
	}
	applied := session.Reply{Kind: session.ReplyApplied}
	s.Review = &session.Review{State: session.ReviewMerged, By: "mara", Rounds: []session.Round{
		{N: 1, Way: session.BySuggestion, Replied: true, Commit: "89abcdef0123456789abcdef0123456789abcdef", Remarks: []session.Remark{{Kind: session.RemarkLine, By: "wanda@eve", Path: "a.go", Answer: applied}}},
		{N: 2, Way: session.BySuggestion, Remarks: []session.Remark{
			{Kind: session.RemarkLine, By: "wanda", Path: "duration.go #1", Answer: applied},
			{Kind: session.RemarkLine, By: "eve", Path: "a.go", Answer: session.Reply{Kind: session.ReplyRefused}},
		}},
	}}
	compareGolden(t, filepath.Join("testdata", "review", "commit.txt"), RoundMessage(s))
	compareGolden(t, filepath.Join("testdata", "review", "pull.md"), PullRequest(s).Body)
	compareGolden(t, filepath.Join("testdata", "review", "comment.md"), Comment(s))
	s.Review.State, s.Review.Asked, s.Review.Rounds[1].Way = session.ReviewApproved, true, session.ByCandidate
	s.Review.Rounds[1].Remarks = []session.Remark{{Kind: session.RemarkCI, SHA: "0123456789abcdef0123456789abcdef01234567", Answer: session.Reply{Kind: session.ReplyReplaced}}}
	compareGolden(t, filepath.Join("testdata", "review", "commit_candidate.txt"), RoundMessage(s))
	compareGolden(t, filepath.Join("testdata", "review", "comment_asked.md"), Comment(s))
}
