package report

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestAnswersAreAsTheGoldensSay(t *testing.T) {
	t.Parallel()
	usage := "/debug stop    stop what runs\n"
	texts := map[string]string{}
	for _, kind := range []AnswerKind{
		AnswerMistake, AnswerHelp, AnswerAutotest, AnswerRunning, AnswerClosed, AnswerEmpty, AnswerNothingRuns, AnswerNoSession,
		AnswerNoHypothesis, AnswerNoQuestion, AnswerForkMoved, AnswerForkRefused, AnswerTooMany, AnswerFailed,
	} {
		texts[string(kind)] = AnswerText(9001, Answer{
			Kind: kind, Detail: `there is no flag "--<b>@ann #12</b>"`, List: []string{"H1", "H2"}, Session: "20261130-debug-x",
			URL: "https://github.com/octo/calc/issues/12#issuecomment-7", Usage: usage,
		})
	}
	texts["no_hypothesis_at_all"] = AnswerText(9001, Answer{Kind: AnswerNoHypothesis, Detail: "H2", Session: "20261130-debug-x", URL: "javascript:alert(1)#x"})
	for _, c := range samples(t) {
		if len(c.Tasks) == 0 {
			continue
		}
		texts["explain_"+c.Name] = Explanation(9001, c.Session, c.Tasks[0].ID)
	}
	for _, kind := range []AnswerKind{AnswerReviewFailed, AnswerReviewUnkept} {
		text := Notice(Answer{Kind: kind, Detail: "it failed for good: <b>@ann #12</b>"})
		if !strings.HasPrefix(text, NoticeMarker(kind)+"\n") {
			t.Errorf("%s: %s", kind, text)
		}
		compareGolden(t, filepath.Join("testdata", "answers", string(kind)+".md"), text)
	}
	for name, got := range texts {
		if !strings.HasPrefix(got, AnswerMarker(9001)+"\n") || strings.Contains(got, "could not be written") || strings.Count(got, "\n") < 2 {
			t.Errorf("%s: %s", name, got)
		}
		compareGolden(t, filepath.Join("testdata", "answers", name+".md"), got)
	}
}
