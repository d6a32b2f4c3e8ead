package pipeline

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"culprit/internal/session"
)

// A crowd answers questions when it is asked, in turn.
type crowd []string

func (c *crowd) Answer(context.Context, *session.Session) (session.Answer, bool, error) {
	if len(*c) == 0 {
		return session.Answer{}, false, nil
	}
	a := (*c)[0]
	*c = (*c)[1:]
	return session.Answer{ID: a, By: "ada", Text: a}, a != "", nil
}

// waits runs a session until it waits or ends, as another process would each
// time, and returns how long it wants to wait.
func (w *world) waits(t *testing.T, c *crowd) (*session.Session, time.Time) {
	t.Helper()
	d := w.deps()
	d.People, d.Patience = c, 72*time.Hour
	s := w.load(t)
	err := Run(t.Context(), s, d)
	var wait *WaitError
	if err != nil && !errors.As(err, &wait) {
		t.Fatal(err)
	}
	if wait == nil {
		return s, time.Time{}
	}
	return w.load(t), wait.Until
}

func TestAQuestionIsWaitedForAndItsAnswerResumesTheSession(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.culprit = 0 // no commit passes
	people := &crowd{}
	s, until := w.waits(t, people)
	if s.Done() || s.State != AskStage || s.Question.Asks != session.AsksGood || until.Sub(w.now) < 71*time.Hour || w.finals != 1 {
		t.Fatalf("stands at %s with question %+v, waits until %s, shown %d times", s.State, s.Question, until, w.finals)
	}
	if got := s.Question.Options; len(got) != 1 || got[0] != "/debug answer REVISION" || !strings.Contains(s.Question.Default, "72 h") {
		t.Errorf("options %q, without an answer %q", got, s.Question.Default)
	}

	// Woken by something else it goes on waiting, until the same moment.
	if s, again := w.waits(t, people); s.State != AskStage || !again.Equal(until) {
		t.Errorf("waits until %s, want %s", again, until)
	}
	// An answer that is none is said, and the session waits on.
	*people = crowd{"nowhere"}
	if s, _ := w.waits(t, people); s.State != AskStage || !strings.Contains(s.Question.Note, "no such revision nowhere") || len(s.Answers) != 1 {
		t.Errorf("stands at %s, question %+v, answers %+v", s.State, s.Question, s.Answers)
	}
	// A usable one resumes it; nothing is confirmed all the same, and the other
	// question comes.
	w.culprit = 5
	*people = crowd{"c4"}
	s, _ = w.waits(t, people)
	if s.State != AskStage || s.Flags.Good != "c4" || s.Question.Asks != session.AsksSymptom || !s.Answered(session.AsksGood) {
		t.Fatalf("stands at %s with question %+v, good %q", s.State, s.Question, s.Flags.Good)
	}
	w.verdicts = regressionConfirmed
	*people = crowd{"only since the move to the new server"}
	s, _ = w.waits(t, people)
	if s.Result != session.ResultFixed || s.Question != nil || !strings.Contains(s.Symptom.Text, "new server") || len(s.Answers) != 3 {
		t.Errorf("ends with %s (%s), question %+v, answers %+v", s.Result, s.Reason, s.Question, s.Answers)
	}
}

func TestWithoutAnAnswerTheSessionEndsWithWhatIsKnown(t *testing.T) {
	t.Parallel()
	w := newWorld()
	people := &crowd{}
	_, until := w.waits(t, people)
	w.now = until
	s, _ := w.waits(t, people)
	if !s.Done() || s.Result != session.ResultInconclusive || !s.Question.Over || !strings.Contains(s.Reason, "nobody answered") || w.written["BUG_REPORT.md"] == "" {
		t.Errorf("ends with %s (%s), question %+v", s.Result, s.Reason, s.Question)
	}
}

func TestNothingIsAskedTwice(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.culprit = 0
	if s, until := w.waits(t, &crowd{}); until.IsZero() {
		t.Fatalf("ends with %s", s.Result)
	}
	s, _ := w.waits(t, &crowd{"c4", "no idea"})
	if !s.Done() || s.Result != session.ResultInconclusive || s.Question != nil || len(s.Answers) != 2 {
		t.Errorf("ends with %s (%s), question %+v, answers %+v", s.Result, s.Reason, s.Question, s.Answers)
	}
}

func TestACommandIsAskedForWhereNoneIsKnown(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.verdicts = regressionConfirmed
	w.files = map[string]string{"README": "hello"}
	people := &crowd{}
	if s, _ := w.waits(t, people); s.Question == nil || s.Question.Asks != session.AsksTest || w.runs > 0 {
		t.Fatalf("question %+v after %d runs", s.Question, w.runs)
	}
	*people = crowd{"make check"}
	if s, _ := w.waits(t, people); s.Result != session.ResultFixed || s.Flags.Test != "make check" {
		t.Errorf("ends with %s (%s), test %q", s.Result, s.Reason, s.Flags.Test)
	}
}
