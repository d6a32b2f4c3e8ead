package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"culprit/queue"
)

// checkedByHand is a project whose files do not tell how it is tested.
func checkedByHand() smallProject {
	var p smallProject
	add := func(subject, amount string) {
		p.commits = append(p.commits, demoCommit{
			subject: subject, author: "Ada <ada@a.example>", branch: "main", when: demoStart.Add(time.Duration(len(p.commits)) * time.Hour),
			files: []txtar.File{{Name: "amount.txt", Data: []byte(amount)}, {Name: "look.sh", Data: []byte("grep -q 80 amount.txt || { echo 'amount.txt:1: want 80'; exit 1; }\n")}},
		})
	}
	add("State the amount", "80\n")
	add("Round the amount", "100\n")
	return p
}

// stateLabels are the labels of an issue that show a session's state.
func (w *world) stateLabels(issue int) (out []string) {
	w.t.Helper()
	all, err := w.github.Issues(w.repo)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, i := range all {
		for _, l := range i.Labels {
			if i.Number == issue && strings.HasPrefix(l, "debug:") {
				out = append(out, l)
			}
		}
	}
	return out
}

// A session that needs a person asks, sleeps, and goes on with the answer; one
// that nobody answers ends when the time is over.
func TestAQuestionWaitsForItsAnswer(t *testing.T) {
	t.Parallel()
	p := checkedByHand()
	w := newWorld(t, someRedis(t).url, p)
	bot := w.start("--mode", "quick")
	q := w.openQueue()
	sleeps := func(n int) func() bool {
		return func() bool {
			s, err := q.Stats(t.Context())
			return err == nil && s.Depth[queue.Snoozed] == n && s.Depth[queue.Running] == 0
		}
	}
	issue := w.labelled("The amount is wrong")
	if !eventually(t, 60*time.Second, "the session waits for an answer", sleeps(1)) {
		t.Fatalf("log:\n%s", w.log)
	}
	asks := w.onlyComment(issue)
	if !strings.Contains(asks, "Needs a person") || !strings.Contains(asks, "/debug answer 'COMMAND'") || !strings.Contains(asks, "ends after 72 h") {
		t.Errorf("the question is:\n%s", asks)
	}
	if got := w.stateLabels(issue); !slices.Equal(got, []string{"debug:needs-you"}) {
		t.Errorf("labels are %v while it waits", got)
	}

	// Nobody else can answer, and the wait outlives the bot.
	if _, err := w.github.Comment(w.repo, issue, "stranger", "/debug answer 'sh look.sh'"); err != nil {
		t.Fatal(err)
	}
	w.delivered()
	if code := bot.terminate(t, 15*time.Second); code != exitOK {
		t.Errorf("the bot exits %d", code)
	}
	bot = w.start("--mode", "quick", "--answer-wait", "1s")
	if !sleeps(1)() {
		t.Error("the session does not wait any more")
	}
	if _, err := w.github.Comment(w.repo, issue, "ada", "It is the script.\n\n/debug answer 'sh look.sh'"); err != nil {
		t.Fatal(err)
	}
	w.delivered()
	if !eventually(t, 60*time.Second, "the session ends with its answer", w.idle) {
		t.Fatalf("log:\n%s", w.log)
	}
	if got := w.onlyComment(issue); !strings.Contains(got, "Root cause found") || !strings.Contains(got, "Round the amount") || len(w.pulls()) != 1 {
		t.Errorf("it ends with:\n%s", got)
	}
	if got := w.stateLabels(issue); !slices.Equal(got, []string{"debug:done"}) || len(w.sessions()) != 1 {
		t.Errorf("labels are %v at the end, sessions %v", got, w.sessions())
	}
	w.mustBeTold(issue, "/debug answer 'sh look.sh'", "waits for no answer")

	// Without an answer it ends by itself, and says so.
	silent := w.labelled("The amount is wrong again")
	if !eventually(t, 60*time.Second, "the session ends without an answer", func() bool {
		return w.completed() == 2 && w.idle() && slices.Equal(w.stateLabels(silent), []string{"debug:done"})
	}) {
		t.Fatalf("log:\n%s", w.log)
	}
	if got := w.onlyComment(silent); !strings.Contains(got, "which nobody answered") || strings.Contains(got, "Needs a person") {
		t.Errorf("it ends with:\n%s", got)
	}
	if code := bot.terminate(t, 15*time.Second); code != exitOK {
		t.Errorf("the bot exits %d", code)
	}
}
