package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"culprit/internal/githubtest"
)

// One commit breaks the default branch, and with it a pull request and a branch
// that were begun after it. One session investigates, the others say where, and
// it says where else; then people ask about it.
func TestTheSameFailureOnSeveralBranchesIsInvestigatedOnce(t *testing.T) {
	t.Parallel()
	p := newSmallProject(t)
	w := newWorld(t, someRedis(t).url, p)
	w.start("--mode", "quick")
	refs, err := w.github.Refs(w.repo)
	if err != nil {
		t.Fatal(err)
	}
	for _, branch := range []string{"topic", "other"} {
		if err := w.github.CreateBranch(w.repo, "ada", branch, refs["main"]); err != nil {
			t.Fatal(err)
		}
		if _, err := w.github.CommitFile(w.repo, "ada", branch, branch+".txt", []byte(branch), "Work on "+branch); err != nil {
			t.Fatal(err)
		}
	}
	pr, err := w.github.OpenPull(w.repo, "ada", githubtest.PullConfig{Title: "Work", Head: "topic", Base: "main"})
	if err != nil {
		t.Fatal(err)
	}
	for _, branch := range []string{"main", "topic", "other"} {
		w.redCI(branch, p.log)
	}
	ended := func(n int) func() bool { return func() bool { return w.completed() == n && w.idle() } }
	if !eventually(t, 3*time.Minute, "all three sessions end", ended(3)) {
		t.Fatalf("log:\n%s", w.log)
	}
	titles := map[bool]int{}
	for _, c := range w.checks() {
		titles[strings.HasPrefix(c.Title, "Same failure as elsewhere")]++
	}
	if titles[false] != 1 || titles[true] != 2 || len(w.pulls()) != 1 {
		t.Fatalf("want one investigation, two links to it and one fix:\n%+v\n%+v", w.checks(), w.pulls())
	}
	fix := w.pulls()[0]
	first := w.onlyComment(fix.Number)
	if !strings.Contains(first, fmt.Sprintf("**The same failure elsewhere**: #%d", pr.Number)) && !strings.Contains(first, "`other`") {
		t.Errorf("the first comment does not say where else:\n%s", first)
	}
	for _, want := range []string{fmt.Sprintf("#%d", pr.Number), "other"} {
		if _, list, _ := strings.Cut(first, "**The same failure elsewhere**"); !strings.Contains(strings.SplitN(list, "\n", 2)[0], want) {
			t.Errorf("the first comment does not link to %s:\n%s", want, first)
		}
	}
	linking := w.onlyComment(pr.Number)
	for _, want := range []string{"Same failure as elsewhere", fmt.Sprintf("fix in #%d", fix.Number), "is part of this commit", p.culprit, "Nothing was run here"} {
		if !strings.Contains(linking, want) {
			t.Errorf("the comment on the pull request does not say %q:\n%s", want, linking)
		}
	}

	// A job of the same run that ends late adds nothing, and a redelivery neither.
	w.redCI("other", p.log)
	if !eventually(t, time.Minute, "the late job ends", w.idle) || len(w.checks()) != 3 {
		t.Errorf("a late job of the same commit: %d check runs, want 3\n%s", len(w.checks()), w.log)
	}

	// People ask, in the thread of the fix.
	for _, ask := range []struct{ body, says string }{
		{"/debug explain H1", "### H1 · confirmed"},
		{"/debug explain H9", "has no hypothesis H9"},
		{"/debug stop", "nothing to stop"},
		{"/debug answer yes", "waits for no answer"},
		{"/debug --colour", "there is no flag"},
		{"/debug rerty", `did you mean "retry"?`},
		{"/debug help", "/debug explain H2"},
		{"/autotest", "not available in this release"},
		{"/debug -c 60", "at most 5 hypotheses"},
	} {
		w.mustBeTold(fix.Number, ask.body, ask.says)
	}
	// A mistake that is mended by an edit is answered in the same comment.
	n := len(w.botComments(fix.Number))
	c := w.mustBeTold(fix.Number, "/debug explane H2", `did you mean "explain"?`)
	if err := w.github.EditComment(w.repo, fix.Number, c, "ada", "/debug explain H2"); err != nil {
		t.Fatal(err)
	}
	if !eventually(t, 30*time.Second, "the answer is edited", func() bool {
		all := w.botComments(fix.Number)
		return strings.Contains(all[len(all)-1], "### H2 ·")
	}) || len(w.botComments(fix.Number)) != n+1 {
		t.Errorf("answers: %q", w.botComments(fix.Number))
	}

	// Retry investigates here too.
	if _, err := w.github.Comment(w.repo, pr.Number, "ada", "/debug retry"); err != nil {
		t.Fatal(err)
	}
	if !eventually(t, 3*time.Minute, "the session of its own ends", ended(4)) {
		t.Fatalf("log:\n%s", w.log)
	}
	if all := w.botComments(pr.Number); len(all) != 2 || !strings.Contains(all[1], "Root cause found") {
		t.Errorf("comments on the pull request after retry: %q", all)
	}
}

// botComments are the bot's in one thread.
func (w *world) botComments(number int) (out []string) {
	w.t.Helper()
	all, err := w.github.Comments(w.repo, number)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range all {
		if c.User == w.app.BotLogin() {
			out = append(out, c.Body)
		}
	}
	return out
}

func (w *world) onlyComment(number int) string {
	w.t.Helper()
	all := w.botComments(number)
	if len(all) != 1 {
		w.t.Fatalf("%d comments of the bot on #%d, want 1: %q", len(all), number, all)
	}
	return all[0]
}

// mustBeTold gives a command and waits for its one answer.
func (w *world) mustBeTold(number int, body, says string) int64 {
	w.t.Helper()
	before := len(w.botComments(number))
	c, err := w.github.Comment(w.repo, number, "ada", body)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	if err := w.github.WaitDeliveries(ctx); err != nil {
		w.t.Fatal(err)
	}
	eventually(w.t, 30*time.Second, body+" is answered", func() bool { return w.idle() && len(w.botComments(number)) > before })
	if all := w.botComments(number); len(all) != before+1 || !strings.Contains(all[len(all)-1], says) {
		w.t.Errorf("%s: the bot says %q, want one answer with %q", body, all[min(before, len(all)):], says)
	}
	return c.ID
}
