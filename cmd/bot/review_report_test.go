package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"culprit/handlers"
	"culprit/internal/github"
	"culprit/internal/githubtest"
	"culprit/internal/session"
	"culprit/queue"
)

// onLine comments on the first line of the file that a fix changes.
func (o *office) onLine(pr githubtest.PullRequest, login, body string) {
	o.t.Helper()
	_, after, _ := strings.Cut(pr.Diff, "+++ b/")
	path, _, _ := strings.Cut(after, "\n")
	_, err := o.github.Review(officeRepo, pr.Number, login, "COMMENTED", "", githubtest.LineComment{Path: path, Line: 1, Body: body})
	o.must(err)
}

// inThreads are the bot's comments on lines of a fix.
func (o *office) inThreads(pr githubtest.PullRequest) (out []string) {
	o.t.Helper()
	_, all, err := o.github.Reviews(officeRepo, pr.Number)
	o.must(err)
	for _, c := range all {
		if c.User == o.app.BotLogin() {
			out = append(out, c.Body)
		}
	}
	return out
}

// notices are what the bot says in the conversation of a fix, its session's
// comment apart.
func (o *office) notices(pr githubtest.PullRequest) (out []string) {
	o.t.Helper()
	for _, said := range o.said(pr.Number) {
		if strings.HasPrefix(said, "<!-- culprit:notice=") {
			out = append(out, said)
		}
	}
	return out
}

// beginRound claims the job about a fix and begins its round, as a worker does
// before it runs anything.
func (o *office) beginRound() (*queue.Claim, *reviewing) {
	o.t.Helper()
	ctx, w := o.t.Context(), o.worker
	c, err := w.queue.Claim(ctx, "test")
	o.must(err)
	req, err := handlers.DecodeRequest(c.Payload)
	o.must(err)
	repo, err := w.app.Repo(ctx, req.Installation, req.Owner, req.Repo)
	o.must(err)
	var folder *session.Folder
	var s *session.Session
	_, err = o.free(func() (_ string, err error) { folder, s, err = w.openReviewed(ctx, c, req); return "", err })
	o.must(err)
	o.t.Cleanup(func() { _ = folder.Close() })
	o.must(keep(folder, c, c.Fence))
	o.must(w.remember(ctx, c, s, nil))
	s.Attempt, s.Review = c.Fence, &session.Review{State: session.ReviewOpen, MaxRuns: 10, MaxTime: time.Hour}
	x := &reviewing{w, c, repo, req, folder, &checkpointed{folder, ctx, c, time.Minute}, s, w.log}
	if more, err := x.nextRound(ctx); err != nil || !more || s.OpenRound() == nil {
		o.t.Fatalf("no round: %v", err)
	}
	return c, x
}

// report tells the ends that no worker told.
func (o *office) report() {
	o.t.Helper()
	for {
		r, err := o.worker.queue.TakeReport(o.t.Context())
		if errors.Is(err, queue.ErrEmpty) {
			return
		}
		o.must(err)
		_, err = o.free(func() (string, error) { return "", o.worker.Report(o.t.Context(), r) })
		o.must(errors.Join(err, r.Done(o.t.Context())))
	}
}

// A round whose job was stopped or buried is answered and over: the next event
// goes on from there, and not with what a person stopped or what failed.
func TestARoundWhoseJobEndedDoesNotComeBack(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.worker.cfg.ReviewRounds = 3
	stop := func(c *queue.Claim) {
		_, err := o.worker.queue.Cancel(t.Context(), c.ID, "stopped by ada")
		o.must(err)
		_, err = c.Release(t.Context())
		o.must(err)
	}
	bury := func(c *queue.Claim) {
		_, err := c.Fail(t.Context(), errors.New("no disk"), queue.Permanent, 0)
		o.must(err)
	}
	for name, tt := range map[string]struct {
		reached func(r *session.Round)
		end     func(c *queue.Claim)
		pushed  bool // it has, and could not note it any more
		late    bool // the end is told after the next event was handled
		says    string
	}{
		"stopped":                                  {nil, stop, false, false, "stopped by ada"},
		"stopped, told late":                       {nil, stop, false, true, "stopped by ada"},
		"buried":                                   {nil, bury, false, false, "no disk"},
		"buried, told late":                        {nil, bury, false, true, "no disk"},
		"stopped between proof and push":           {func(r *session.Round) { r.Proved, r.Remarks[0].Answer.Kind = true, session.ReplyApplied }, stop, false, false, "stopped by ada"},
		"buried between push and note":             {func(r *session.Round) { r.Proved, r.Remarks[0].Answer.Kind = true, session.ReplyApplied }, bury, true, false, "Applied in"},
		"stopped between push and note, told late": {func(r *session.Round) { r.Proved, r.Remarks[0].Answer.Kind = true, session.ReplyApplied }, stop, true, true, "Applied in"},
		"buried after the push": {func(r *session.Round) {
			r.Proved, r.Commit, r.Remarks[0].Answer.Kind = true, strings.Repeat("c", 40), session.ReplyApplied
		}, bury, false, false, "Applied in"},
	} {
		pr, s := o.fixPull()
		o.onLine(pr, "wanda", "```suggestion\ny\n```")
		o.obey()
		c, x := o.beginRound()
		if tt.reached != nil {
			tt.reached(x.s.Round())
			x.s.Fix = &session.Fix{Task: "FIX-H1", Base: o.main, Strategy: "made by the round"}
			o.must(x.store.Save(x.s))
		}
		o.must(x.folder.Close())
		if tt.pushed {
			_, err := o.github.CommitFile(officeRepo, o.app.BotLogin(), pr.Head, "f.txt", []byte("y\n"), "fix: y\n\nCulprit-Session: "+s.ID)
			o.must(err)
		}
		tt.end(c)
		if !tt.late {
			o.report()
		}
		_, err := o.github.Review(officeRepo, pr.Number, "wanda", "APPROVED", "")
		o.must(err)
		notes, sessions := o.settle()
		o.report()
		said := o.inThreads(pr)
		if len(said) != 1 || !strings.Contains(said[0], tt.says) {
			t.Errorf("%s: the thread is answered %q, want %q once; %q, %+v", name, said, tt.says, notes, sessions)
		}
		e, _, err := o.worker.index.Session(t.Context(), s.ID)
		o.must(err)
		got, err := o.worker.stored(t.Context(), e)
		o.must(err)
		r := got.Round()
		if !got.Done() || got.Result != session.ResultFixed || len(got.Review.Rounds) != 1 || !r.Replied || got.Review.State != session.ReviewApproved {
			t.Errorf("%s: the session is %s, %s, its review %+v", name, got.State, got.Result, got.Review)
		}
		if (got.Fix.Strategy != "") != (r.Commit != "") {
			t.Errorf("%s: the round pushed %q, and the fix is %q", name, r.Commit, got.Fix.Strategy)
		}
		if said := o.notices(pr); len(said) > 0 {
			t.Errorf("%s: it is told as well that nothing was looked at: %q", name, said)
		}
	}
}

// A job that fails for good before it answered anything is told, once.
func TestAReviewThatCannotBeWorkedThroughIsTold(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	fail := func(q *queue.Queue) {
		c, err := q.Claim(t.Context(), "test")
		o.must(err)
		_, err = c.Fail(t.Context(), errors.New("GitHub answers 409"), queue.Permanent, 0)
		o.must(err)
	}
	reportCommands := func() {
		for {
			r, err := o.commands.TakeReport(t.Context())
			if errors.Is(err, queue.ErrEmpty) {
				return
			}
			o.must(err)
			o.must(o.worker.ReportCommand(t.Context(), r))
			o.must(r.Done(t.Context()))
		}
	}
	sessions := func() { o.obey(); fail(o.worker.queue); o.report() }
	command := func() {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		o.must(o.github.WaitDeliveries(ctx))
		fail(o.commands)
		reportCommands()
	}
	for _, tt := range []struct {
		name, by string
		fails    func()
		told     bool
	}{
		{"the job", "wanda", sessions, true},
		{"the command", "wanda", command, true},
		{"the command of a stranger", "stranger", command, false},
	} {
		pr, _ := o.fixPull()
		for range 2 {
			o.onLine(pr, tt.by, "Why?")
			tt.fails()
			said := o.notices(pr)
			if (len(said) > 0) != tt.told || len(said) > 1 || tt.told && !strings.Contains(said[0], "GitHub answers 409") {
				t.Errorf("%s: the bot says %q", tt.name, said)
			}
		}
	}
}

// Whoever asks for a change after the session is forgotten hears what to do, once
// a pull request, and is not told that it is looked at.
func TestAReviewThatComesTooLateIsAnswered(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	pr, _ := o.fixPull()
	o.must(os.RemoveAll(o.worker.sessionsDir()))
	for _, tt := range []struct {
		name, by, state, line, body string
		notices                     int
		reaction                    string
	}{
		{name: "approval", by: "wanda", state: "APPROVED"},
		{name: "comment of a stranger", by: "stranger", line: "Why?", reaction: "-1"},
		{name: "comment", by: "wanda", line: "Why?", notices: 1},
		{name: "another comment", by: "ada", line: "Why?", notices: 1},
		{name: "request", by: "ada", state: "CHANGES_REQUESTED", body: "No.", notices: 1},
	} {
		if tt.line != "" {
			o.onLine(pr, tt.by, tt.line)
		} else {
			_, err := o.github.Review(officeRepo, pr.Number, tt.by, tt.state, tt.body)
			o.must(err)
		}
		notes, _ := o.settle()
		said := o.notices(pr)
		if len(said) != tt.notices || tt.notices > 0 && !strings.Contains(said[0], "/debug retry") || len(o.inThreads(pr)) > 0 {
			t.Errorf("%s: the bot says %q; noted %q", tt.name, said, notes)
		}
		_, comments, err := o.github.Reviews(officeRepo, pr.Number)
		o.must(err)
		if tt.line != "" {
			if got := o.reaction("pulls", comments[len(comments)-1].ID); got != tt.reaction {
				t.Errorf("%s: reaction %q, want %q", tt.name, got, tt.reaction)
			}
		}
	}
	second, _ := o.fixPull()
	o.must(os.RemoveAll(o.worker.sessionsDir()))
	_, err := o.github.Review(officeRepo, second.Number, "ada", "CHANGES_REQUESTED", "No.")
	o.must(err)
	o.settle()
	if said := o.notices(second); len(said) != 1 {
		t.Errorf("a request alone: the bot says %q", said)
	}
}

// A commit status is red CI of a fix as a check run is. What turns red later at
// the same commit counts when it shows something new.
func TestRedStatusesOfAFixAreItsRedCI(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.worker.cfg.ReviewRounds = 3
	pr, s := o.fixPull()
	red := func(name, says string) {
		o.must(o.github.SetStatus(githubtest.StatusConfig{Repo: officeRepo, SHA: s.Published.FixCommit, State: "failure", Context: name, Description: says, Login: "wanda"}))
	}
	red("ci/legacy", "--- FAIL: TestA (0.00s)")
	o.must(o.github.SetStatus(githubtest.StatusConfig{Repo: officeRepo, SHA: s.Published.FixCommit, State: "success", Context: "ci/green"}))
	o.obey()
	event, err := o.worker.queue.Claim(t.Context(), "test")
	o.must(err)
	notes, err := o.free(func() (string, error) { return o.worker.do(t.Context(), event, o.worker.log) })
	o.must(errors.Join(err, event.Complete(t.Context(), notes)))
	c, x := o.beginRound()
	m := x.s.Round().Remarks[0]
	if m.Kind != session.RemarkCI || len(m.Jobs) != 1 || m.Jobs[0] != "ci/legacy" || len(m.Failures) != 1 || x.s.Round().Way != session.ByCandidate {
		t.Fatalf("the round is about %+v; noted %q", m, notes)
	}
	o.must(x.replied(t.Context(), x.s.Round()))
	for _, tt := range []struct{ name, says, id string }{
		{"ci/legacy", "--- FAIL: TestB (0.00s)", ""}, // dealt with already
		{"ci/other", "--- FAIL: TestA (0.00s)", ""},
		{"ci/third", "--- FAIL: TestB (0.00s)", m.ID + "-2"},
	} {
		red(tt.name, tt.says)
		got, err := x.redCI(t.Context(), &github.PullRequest{HeadSHA: pr.HeadSHA})
		o.must(err)
		if got == nil && tt.id != "" || got != nil && got.ID != tt.id {
			t.Errorf("%s: %+v, want %q", tt.name, got, tt.id)
		}
	}
	o.must(x.folder.Close())
	o.must(c.Complete(t.Context(), ""))
}

// An installation that did not grant to read statuses has none.
func TestStatusesThatMayNotBeReadAreNone(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.must(o.github.SetStatus(githubtest.StatusConfig{Repo: officeRepo, State: "error", Context: "ci/legacy"}))
	repo, err := o.worker.app.Repo(t.Context(), o.install, "acme", "prices")
	o.must(err)
	if got, err := repo.RedStatuses(t.Context(), o.main); err != nil || len(got) != 1 {
		t.Errorf("statuses %+v: %v", got, err)
	}
	p := githubtest.DefaultPermissions()
	delete(p, "statuses")
	o.must(o.github.SetInstallationPermissions(o.install, p))
	o.wait(2 * time.Hour) // the token that was given has lapsed
	if got, err := repo.RedStatuses(t.Context(), o.main); err != nil || len(got) != 0 {
		t.Errorf("statuses %+v: %v", got, err)
	}
}
