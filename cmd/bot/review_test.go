package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"culprit/internal/githubtest"
	"culprit/queue"
)

// A remark on the fix of the small project, and what must come of it.
type remark struct {
	name string
	// by reviews the fix, with a comment on its line of price.py or with words.
	by, state, body, line string
	does                  func(pr githubtest.PullRequest) error // instead

	says    string // the one answer in the thread; empty: none
	aside   string // the one answer in the conversation; empty: none
	commits bool   // whether the branch gets a commit
}

// quiet waits until neither a session nor a command is at work or waits.
func (w *world) quiet(what string) {
	w.t.Helper()
	opts, err := redis.ParseURL(w.redisURL)
	if err != nil {
		w.t.Fatal(err)
	}
	client := redis.NewClient(opts)
	defer client.Close()
	commands, err := queue.Open(w.t.Context(), queue.Options{Redis: client, Prefix: commandsPrefix})
	if err != nil {
		w.t.Fatal(err)
	}
	w.delivered()
	if !eventually(w.t, 90*time.Second, what, func() bool {
		s, err := commands.Stats(context.Background())
		if err != nil {
			w.t.Fatal(err)
		}
		for state, n := range s.Depth {
			if n > 0 && !state.Ended() {
				return false
			}
		}
		return w.idle()
	}) {
		w.t.Fatalf("log:\n%s", w.log)
	}
	w.delivered()
}

// fix is the bot's one pull request.
func (w *world) fix() githubtest.PullRequest {
	w.t.Helper()
	all := w.pulls()
	if len(all) != 1 {
		w.t.Fatalf("pull requests of the bot are %+v, want one; log:\n%s", all, w.log)
	}
	return all[0]
}

// threads are the comments on lines, those of the bot apart.
func (w *world) threads(number int) (people, bot []githubtest.ReviewComment) {
	w.t.Helper()
	_, all, err := w.github.Reviews(w.repo, number)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range all {
		if c.User == w.app.BotLogin() {
			bot = append(bot, c)
		} else {
			people = append(people, c)
		}
	}
	return people, bot
}

func (w *world) mustAnswerRemark(r remark) {
	t := w.t
	t.Helper()
	pr := w.fix()
	_, before := w.threads(pr.Number)
	aside := len(w.botComments(pr.Number))
	var err error
	switch {
	case r.does != nil:
		err = r.does(pr)
	case r.line != "":
		_, err = w.github.Review(w.repo, pr.Number, r.by, r.state, r.body, githubtest.LineComment{Path: "price.py", Line: 3, Body: r.line})
	default:
		_, err = w.github.Review(w.repo, pr.Number, r.by, r.state, r.body)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.quiet(r.name + " is dealt with")
	people, after := w.threads(pr.Number)
	switch replies := after[len(before):]; {
	case r.says == "" && len(replies) > 0, r.says != "" && len(replies) != 1:
		t.Errorf("%s: the bot says in threads %+v, want %q", r.name, replies, r.says)
	case r.says != "" && (!strings.Contains(replies[0].Body, r.says) || replies[0].ReplyTo != people[len(people)-1].ID):
		t.Errorf("%s: the bot answers comment %d with %q, want %q", r.name, replies[0].ReplyTo, replies[0].Body, r.says)
	case r.says != "":
		t.Logf("%s:\n%s", r.name, replies[0].Body)
	}
	switch said := w.botComments(pr.Number)[aside:]; {
	case r.aside == "" && len(said) > 0, r.aside != "" && len(said) != 1:
		t.Errorf("%s: the bot says in the conversation %q, want %q", r.name, said, r.aside)
	case r.aside != "" && !strings.Contains(said[0], r.aside):
		t.Errorf("%s: the bot says %q, want %q", r.name, said[0], r.aside)
	case r.aside != "":
		t.Logf("%s:\n%s", r.name, said[0])
	}
	if moved := w.fix().HeadSHA != pr.HeadSHA; moved != r.commits {
		t.Errorf("%s: the branch was moved: %v, want %v", r.name, moved, r.commits)
	}
}

// The review of a fix, in turn: what is suggested is tried, what holds is
// pushed, the rest is answered once, and what people decide is recorded.
func TestTheReviewOfAFixIsWorkedThrough(t *testing.T) {
	t.Parallel()
	p := newSmallProject(t)
	w := newWorld(t, someRedis(t).url, p)
	w.start("--mode", "quick", "--review-rounds", "4")
	w.redCI("main", p.log)
	w.quiet("the session ends")
	suggestion := func(code string) string { return "Simpler:\n\n```suggestion\n    " + code + "\n```\n" }
	const holds = "return round(sum(prices) * (1 - discount / 100), 2)"
	red := func(pr githubtest.PullRequest) error { w.redCI(pr.Head, p.log); return nil }
	for _, r := range []remark{
		{name: "a stranger's suggestion", by: "stranger", state: "COMMENTED", line: suggestion("import os")},
		{name: "a suggestion that does not hold", by: "ada", state: "COMMENTED", line: suggestion("return round(sum(prices), 2)"), says: "Not applied: with it the test passes only 0 of"},
		{name: "a suggestion that holds", by: "ada", state: "CHANGES_REQUESTED", line: suggestion(holds), says: "Applied in", commits: true},
		{name: "words", by: "ada", state: "COMMENTED", line: "Is this rounding right?", says: "need a language model"},
		{name: "other words", by: "ada", state: "COMMENTED", line: "Are you sure?"},
		{name: "red CI that does not show here", does: red, aside: "does not fail here"},
		{name: "another fix is wanted", by: "ada", state: "CHANGES_REQUESTED", body: "I do not like it.", aside: "holds what a reviewer suggested"},
		{name: "the same again", by: "ada", state: "CHANGES_REQUESTED", body: "I do  not like it.", aside: "was asked for before"},
		{name: "and again", by: "ada", state: "CHANGES_REQUESTED", body: "I do not like it."},
		{name: "approval", by: "ada", state: "APPROVED", body: "Well then."},
	} {
		w.mustAnswerRemark(r)
	}
	pr := w.fix()
	if !strings.Contains(pr.Diff, "+    "+holds) {
		t.Errorf("the fix is\n%s", pr.Diff)
	}
	t.Logf("%s", pr.Body)
	if said := w.botComments(pr.Number)[0]; !strings.Contains(said, "is approved by ada") {
		t.Errorf("the session's comment does not tell of the approval:\n%s", said)
	}
	if _, err := w.github.MergePull(w.repo, pr.Number, "ada"); err != nil {
		t.Fatal(err)
	}
	w.quiet("the merge is noted")
	if said := w.botComments(pr.Number)[0]; !strings.Contains(said, "was merged by ada") {
		t.Errorf("the session's comment does not tell of the merge:\n%s", said)
	}
}
