package main

import (
	"strings"
	"testing"
	"time"

	"culprit/internal/config"
	"culprit/internal/github"
	"culprit/internal/session"
)

// What a round answers at once, what it tries, and whether it is the last one.
func TestARoundTriesWhatIsNewAndEndsWhatIsNot(t *testing.T) {
	t.Parallel()
	line := func(words string) session.Remark {
		return session.Remark{Kind: session.RemarkLine, Path: "a.go", Text: words}
	}
	suggest := func(code string) session.Remark {
		m := line("```suggestion\n" + code + "\n```")
		m.Suggestion = &code
		return m
	}
	review := func(words string) session.Remark { return session.Remark{Kind: session.RemarkReview, Text: words} }
	answered := func(m session.Remark, kind session.ReplyKind) session.Remark {
		m.Answer.Kind = kind
		return m
	}
	refused := answered(suggest("x"), session.ReplyRefused)
	for name, c := range map[string]struct {
		before  []session.Remark // of the round before, in which something was run
		now     []session.Remark
		answers string
		way     session.RoundWay
		asked   bool
	}{
		"a suggestion":                      {now: []session.Remark{suggest("x")}, answers: "-", way: session.BySuggestion},
		"a request beside words":            {now: []session.Remark{review("No."), line("Why?")}, answers: "- words", way: session.ByCandidate},
		"the same suggestion":               {before: []session.Remark{refused}, now: []session.Remark{suggest("x")}, answers: "repeated", asked: true},
		"the same beside another":           {before: []session.Remark{refused}, now: []session.Remark{suggest("x"), suggest("y")}, answers: "repeated -", way: session.BySuggestion},
		"the same beside words":             {before: []session.Remark{refused}, now: []session.Remark{suggest("x"), line("Why not?")}, answers: "repeated words", asked: true},
		"the same beside one who may not":   {before: []session.Remark{refused}, now: []session.Remark{suggest("x"), answered(suggest("z"), session.ReplyNoWrite)}, answers: "repeated no_write", asked: true},
		"one who may not, again":            {before: []session.Remark{answered(suggest("x"), session.ReplyNoWrite)}, now: []session.Remark{answered(suggest("x"), session.ReplyNoWrite)}, answers: "no_write"},
		"the suggestion of one who may not": {before: []session.Remark{answered(suggest("x"), session.ReplyNoWrite)}, now: []session.Remark{suggest("x")}, answers: "-", way: session.BySuggestion},
		"the same words on a line":          {before: []session.Remark{answered(line("Why?"), session.ReplyWords)}, now: []session.Remark{line("Why?")}, answers: "none"},
		"what was stopped, again":           {before: []session.Remark{answered(review("No."), session.ReplyCutShort)}, now: []session.Remark{review("No.")}, answers: "-", way: session.ByCandidate},
		"the same request":                  {before: []session.Remark{answered(review("No."), session.ReplyNoOther)}, now: []session.Remark{review("No.")}, answers: "repeated", asked: true},
	} {
		x := &reviewing{worker: &worker{cfg: config.Config{ReviewRounds: 3}, now: time.Now}, s: &session.Session{Review: &session.Review{}}}
		if c.before != nil {
			x.s.Review.Rounds = []session.Round{{N: 1, Head: "head", Way: session.BySuggestion, Replied: true, Remarks: c.before}}
		}
		for i := range c.before {
			c.before[i].ID = "earlier"
		}
		x.begin(&github.PullRequest{HeadSHA: "head"}, c.now)
		var got []string
		for _, m := range x.s.Round().Remarks {
			if m.Answer.Kind == "" {
				m.Answer.Kind = "-"
			}
			got = append(got, string(m.Answer.Kind))
		}
		if strings.Join(got, " ") != c.answers || x.s.Round().Way != c.way || x.s.Review.Asked != c.asked {
			t.Errorf("%s: answers %q, way %q, a person is asked: %v", name, got, x.s.Round().Way, x.s.Review.Asked)
		}
	}
}
