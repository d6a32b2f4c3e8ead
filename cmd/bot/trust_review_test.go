package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"culprit/handlers"
	"culprit/internal/githubtest"
	"culprit/internal/index"
	"culprit/internal/session"
)

// fixPull is a fix pull request of the bot, with the session that made it.
func (o *office) fixPull() (githubtest.PullRequest, *session.Session) {
	o.t.Helper()
	o.number++
	s := &session.Session{
		Schema: session.SchemaVersion, ID: fmt.Sprintf("20261130-debug-fix-%d", o.number), State: session.StateDone, Result: session.ResultFixed,
		Source: session.Source{Repository: officeRepo, Ref: "main", SHA: o.main}, CreatedAt: o.worker.now(), Fix: &session.Fix{Task: "FIX-H1", Base: o.main},
	}
	branch := handlers.FixBranches + s.ID
	o.must(o.github.CreateBranch(officeRepo, "wanda", branch, o.main))
	s.Published.FixCommit = o.commit(branch, o.app.BotLogin())
	pr, err := o.github.OpenPull(officeRepo, o.app.BotLogin(), githubtest.PullConfig{Title: "Fix", Head: branch, Base: "main"})
	o.must(err)
	s.Published.Branch, s.Published.PR = branch, pr.Number
	folder, err := session.OpenFolder(filepath.Join(o.worker.sessionsDir(), s.ID), o.worker.redactor.Bytes)
	o.must(err)
	o.must(folder.Save(s))
	o.must(folder.Close())
	o.must(o.worker.index.Put(o.t.Context(), index.Entry{Session: s.ID, Job: "ended", Key: handlers.CIKey(officeRepo, o.main)}, handlers.FixKey(officeRepo, pr.Number)))
	o.settle()
	return pr, s
}

// Who may steer the review of the bot's fixes, and by what (docs/security.md).
func TestWhoCanSteerTheReviewOfAFix(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	file := func(pr githubtest.PullRequest) string {
		for line := range strings.Lines(pr.Diff) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "+++ b/"); ok {
				return name
			}
		}
		t.Fatalf("no file in %q", pr.Diff)
		return ""
	}
	const suggestion = "```suggestion\ny\n```"
	for _, c := range []struct {
		name, min, by, state, line, body string
		reaction, says, state2           string
	}{
		{name: "words with write", by: "wanda", state: "COMMENTED", line: "Why?", reaction: "eyes", says: "need a language model"},
		{name: "suggestion with write", by: "wanda", state: "COMMENTED", line: suggestion, reaction: "eyes", says: "not tried anew here"}, // the limit is 0
		{name: "suggestion with read", by: "rita", state: "COMMENTED", line: suggestion, reaction: "-1"},
		{name: "suggestion of a stranger", by: "stranger", state: "COMMENTED", line: suggestion, reaction: "-1"},
		{name: "suggestion with triage", by: "tria", state: "COMMENTED", line: suggestion, reaction: "-1"},
		{name: "suggestion with triage, where that is enough", min: "triage", by: "tria", state: "COMMENTED", line: suggestion, reaction: "eyes", says: "needs write permission"},
		{name: "suggestion of a bot", by: "helper[bot]", state: "COMMENTED", line: suggestion},
		{name: "request of a stranger", by: "stranger", state: "CHANGES_REQUESTED", body: "No."},
		{name: "approval", by: "wanda", state: "APPROVED", state2: "approved wanda"},
		{name: "approval of a stranger", by: "stranger", state: "APPROVED", state2: "open "},
	} {
		o.worker.cfg.MinPermission = c.min
		pr, s := o.fixPull()
		var lines []githubtest.LineComment
		if c.line != "" {
			lines = append(lines, githubtest.LineComment{Path: file(pr), Line: 1, Body: c.line})
		}
		_, err := o.github.Review(officeRepo, pr.Number, c.by, c.state, c.body, lines...)
		o.must(err)
		notes, _ := o.settle()
		_, comments, err := o.github.Reviews(officeRepo, pr.Number)
		o.must(err)
		var said []string
		for _, x := range comments {
			if x.User == o.app.BotLogin() {
				said = append(said, x.Body)
			} else if got := o.reaction("pulls", x.ID); got != c.reaction {
				t.Errorf("%s: reaction %q, want %q; noted %q", c.name, got, c.reaction, notes)
			}
		}
		if said = append(said, o.said(pr.Number)...); (len(said) == 1) != (c.says != "") || len(said) > 1 || !strings.Contains(strings.Join(said, ""), c.says) {
			t.Errorf("%s: the bot says %q, want %q; noted %q", c.name, said, c.says, notes)
		}
		if c.state2 != "" {
			if got := o.reviewOf(s); got != c.state2 {
				t.Errorf("%s: the session has the review as %q, want %q", c.name, got, c.state2)
			}
		}
	}
	o.worker.cfg.MinPermission = ""

	// What ends a fix is noted, whoever did it.
	pr, s := o.fixPull()
	o.must(o.github.CloseIssue(officeRepo, pr.Number, "stranger"))
	o.settle()
	if got := o.reviewOf(s); got != "closed stranger" {
		t.Errorf("the session has the closed fix as %q", got)
	}
	// A branch that only looks like a fix is nobody's business.
	o.must(o.github.CreateBranch(officeRepo, "wanda", "culprit/mine", o.main))
	o.commit("culprit/mine", "wanda")
	mine, err := o.github.OpenPull(officeRepo, "wanda", githubtest.PullConfig{Title: "Mine", Head: "culprit/mine", Base: "main"})
	o.must(err)
	_, err = o.github.Review(officeRepo, mine.Number, "ada", "CHANGES_REQUESTED", "No.", githubtest.LineComment{Path: file(mine), Line: 1, Body: suggestion})
	o.must(err)
	if notes, sessions := o.settle(); len(sessions) > 0 || len(o.said(mine.Number)) > 0 {
		t.Errorf("a person's pull request is taken for a fix: %q, %+v", notes, sessions)
	}
}

// reviewOf is how a session has its fix's review.
func (o *office) reviewOf(s *session.Session) string {
	o.t.Helper()
	e, _, err := o.worker.index.Session(o.t.Context(), s.ID)
	o.must(err)
	got, err := o.worker.stored(o.t.Context(), e)
	o.must(err)
	if got == nil || got.Review == nil {
		return "open "
	}
	return string(got.Review.State) + " " + got.Review.By
}
