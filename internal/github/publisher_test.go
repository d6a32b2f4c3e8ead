package github_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"culprit/internal/github"
	"culprit/internal/githubtest"
	"culprit/internal/session"
)

// publisherPort is pipeline.Publisher, which this package may not import.
type publisherPort interface {
	Progress(ctx context.Context, s *session.Session) error
	Propose(ctx context.Context, s *session.Session) error
	Final(ctx context.Context, s *session.Session) error
}

var _ publisherPort = (*github.Publisher)(nil)

// play publishes a whole session and returns the first error.
func play(ctx context.Context, p *github.Publisher, s *session.Session) error {
	s.State = "investigate"
	if err := p.Progress(ctx, s); err != nil {
		return err
	}
	s.State = "publish"
	if err := p.Propose(ctx, s); err != nil {
		return err
	}
	s.State = session.StateDone
	return p.Final(ctx, s)
}

func TestASessionIsOneCommentOneCheckRunAndOnePullRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.issueSession()
	for range 2 { // run twice, by two processes, with real git
		p := w.publisher(func(c *github.PublisherConfig) { c.Push = w.push })
		if err := play(t.Context(), p, s); err != nil {
			t.Fatal(err)
		}
	}
	assertPublished(t, w, s)
	if s.Published.Comment == 0 || s.Published.CommentURL == "" || s.Published.CheckRun == 0 || s.Published.PR == 0 || s.Published.FixCommit == "" {
		t.Errorf("session does not know what was published: %+v", s.Published)
	}
	run := must(w.gh.CheckRuns(full))(t)[0]
	if len(run.Actions) != 1 || run.Actions[0].Identifier != fmt.Sprintf("retry#%d", s.Source.Issue) {
		t.Errorf("buttons are %+v", run.Actions)
	}
	if run.Status != "completed" || run.Conclusion != "neutral" || run.ExternalID != s.ID || len(run.Annotations) != 60 {
		t.Errorf("check run is %s %s of %s with %d annotations", run.Status, run.Conclusion, run.ExternalID, len(run.Annotations))
	}
}

// assertPublished checks that a session about an issue stands exactly once.
func assertPublished(t *testing.T, w *world, s *session.Session) {
	t.Helper()
	comments := w.comments(s.Source.Issue)
	if len(comments) != 1 {
		t.Fatalf("%d comments, want 1: %+v", len(comments), comments)
	}
	if body := comments[0].Body; !strings.HasPrefix(body, "### done [REDACTED:secret]") {
		t.Errorf("comment is %q", body)
	}
	runs := slices.DeleteFunc(must(w.gh.CheckRuns(full))(t), func(c githubtest.CheckRun) bool { return c.ExternalID != s.ID })
	if len(runs) != 1 || runs[0].Title != "State done" || strings.Contains(runs[0].Summary, "hunter2") || len(runs[0].Annotations) != 60 {
		t.Fatalf("check runs are %+v", runs)
	}
	branch := plainTexts{}.BranchName(s)
	prs := slices.DeleteFunc(must(w.gh.PullRequests(full))(t), func(p githubtest.PullRequest) bool { return p.Head != branch })
	if len(prs) != 1 {
		t.Fatalf("%d pull requests, want 1", len(prs))
	}
	if pr := prs[0]; !pr.Draft || pr.Base != "main" || strings.Contains(pr.Body, "hunter2") || !strings.Contains(pr.Diff, "+// fixed") {
		t.Errorf("pull request is %+v", pr)
	}
	if got := strings.Join(must(w.gh.Issue(full, s.Source.Issue))(t).Labels, " "); got != "debug debug:done" {
		t.Errorf("labels are %q", got)
	}
}

// A worker is killed at each of its writes, before and after it reached
// GitHub; the next one knows either everything or nothing of what was done.
func TestKilledBetweenAnyTwoWritesNothingIsDoubled(t *testing.T) {
	t.Parallel()
	const most = 16
	for name, c := range map[string]struct{ late, remembers bool }{
		"before a write":                    {},
		"after a write":                     {late: true},
		"after a write, session was stored": {late: true, remembers: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for at := 1; at <= most; at++ {
				s := w.issueSession()
				s.ID += fmt.Sprintf("-%d", at)
				w.tr.cut(at, c.late)
				ended := play(t.Context(), w.publisher(), s)
				w.tr.cut(0, false)
				if !c.remembers {
					s.Published = session.Published{}
				}
				if err := play(t.Context(), w.publisher(), s); err != nil {
					t.Fatalf("after a cut at write %d (%v): %v", at, ended, err)
				}
				assertPublished(t, w, s)
				if ended == nil {
					return // the session makes fewer writes
				}
			}
			t.Fatalf("the session makes more than %d writes: raise the limit", most)
		})
	}
}

func TestForgedMarkersAreNotTakenForTheAppsComment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.issueSession()
	forged := must(w.gh.Comment(full, s.Source.Issue, "mallory", plainTexts{}.Comment(s)))(t)
	s.Published.Comment = forged.ID
	check(t, w.publisher().Progress(t.Context(), s))
	comments := w.comments(s.Source.Issue)
	if len(comments) != 2 || comments[0].Edits != 0 || comments[1].User != w.app.BotLogin() || s.Published.Comment != comments[1].ID {
		t.Errorf("comments are %+v, published %+v", comments, s.Published)
	}
}

func TestSecondCommentOfTheSameSessionIsRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.issueSession()
	for range 2 {
		must(w.gh.Comment(full, s.Source.Issue, w.app.BotLogin(), plainTexts{}.Comment(s)))(t)
	}
	first := w.comments(s.Source.Issue)[0].ID
	check(t, w.publisher().Progress(t.Context(), s))
	if got := w.comments(s.Source.Issue); len(got) != 1 || got[0].ID != first {
		t.Errorf("comments are %+v, want only %d", got, first)
	}
}

func TestUnchangedSessionWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.issueSession()
	check(t, play(t.Context(), w.publisher(), s))
	before := len(w.gh.Writes())
	p := w.publisher()
	s.State = session.StateDone
	check(t, p.Final(t.Context(), s))
	check(t, p.Final(t.Context(), s))
	if after := len(w.gh.Writes()); after != before {
		t.Errorf("%d needless writes: %+v", after-before, w.gh.Writes()[before:])
	}
}

func TestFastUpdatesArePutOffAndTheLastIsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.issueSession()
	p := w.publisher(func(c *github.PublisherConfig) { c.Interval = time.Hour })
	show := func(state string) {
		t.Helper()
		s.State = state
		check(t, p.Progress(t.Context(), s))
	}
	shown := func(state string, edits int) bool {
		c := w.comments(s.Source.Issue)[0]
		return strings.HasPrefix(c.Body, "### "+state+" ") && c.Edits == edits
	}
	for _, state := range []string{"a", "b", "c"} {
		show(state)
	}
	if !shown("a", 0) {
		t.Errorf("updates within the interval were shown: %+v", w.comments(s.Source.Issue))
	}
	w.clock.Add(int64(time.Hour))
	show("d")
	if !shown("d", 1) {
		t.Errorf("update after the interval was not shown: %+v", w.comments(s.Source.Issue))
	}
	// Now without another call: just before the end of the interval.
	w.clock.Add(int64(time.Hour - 20*time.Millisecond))
	show("e")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !shown("e", 2) {
		if ctx.Err() != nil {
			t.Fatalf("the last update was never shown: %+v", w.comments(s.Source.Issue))
		}
		runtime.Gosched()
	}
}

func TestFencedWorkerWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.issueSession()
	before := len(w.gh.Writes())
	lost := errors.New("lease lost")
	p := w.publisher(func(c *github.PublisherConfig) { c.Fence = func(context.Context) error { return lost } })
	for name, f := range map[string]func(context.Context, *session.Session) error{"progress": p.Progress, "propose": p.Propose, "final": p.Final} {
		if err := f(t.Context(), s); !errors.Is(err, github.ErrFenced) || !errors.Is(err, lost) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
	if after := len(w.gh.Writes()); after != before {
		t.Errorf("%d writes", after-before)
	}
}

func TestRedCIIsCommentedOnThePullRequestOfItsBranch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(w.gh.CommitFile(full, "ann", "topic", "calc.go", []byte("package calc // 2\n"), "Change"))(t)
	pr, err := w.gh.OpenPull(full, "ann", githubtest.PullConfig{Title: "Topic", Head: "topic", Base: "main"})
	check(t, err)
	s := w.ciSession("topic")
	check(t, w.publisher().Progress(t.Context(), s))
	check(t, w.publisher().Final(t.Context(), s))
	if got := w.comments(pr.Number); len(got) != 1 {
		t.Errorf("%d comments on the pull request, want 1", len(got))
	}
}

func TestRedCIOfABareBranchIsReportedOnTheFixPullRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.ciSession("main")
	check(t, play(t.Context(), w.publisher(), s))
	check(t, play(t.Context(), w.publisher(), s))
	if got := w.comments(s.Published.PR); len(got) != 1 {
		t.Errorf("%d comments on the fix pull request, want 1", len(got))
	}
}

func TestWithoutAnyThreadTheCommitIsCommented(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.ciSession("main")
	s.Fix = nil
	forged := must(w.gh.CommentCommit(full, w.head, "mallory", plainTexts{}.Comment(s)))(t)
	for _, remembers := range []bool{true, false} {
		check(t, play(t.Context(), w.publisher(), s))
		if !remembers {
			s.Published = session.Published{}
		}
	}
	check(t, play(t.Context(), w.publisher(), s))
	got := w.commitComments(w.head)
	if len(got) != 2 || got[0] != forged || got[1].User != w.app.BotLogin() || !strings.HasPrefix(got[1].Body, "### done [REDACTED:secret]") {
		t.Fatalf("comments on the commit are %+v, want the forged one and ours", got)
	}
	if s.Published.Comment != got[1].ID || !strings.HasSuffix(s.Published.CommentURL, fmt.Sprintf("/commit/%s#commitcomment-%d", w.head, got[1].ID)) {
		t.Errorf("session does not know its comment: %+v", s.Published)
	}
	// A second comment of a worker that died is removed, an outdated one edited.
	must(w.gh.CommentCommit(full, w.head, w.app.BotLogin(), got[1].Body))(t)
	s.Published, s.Fix, s.State = session.Published{}, nil, "stopped"
	check(t, w.publisher().Final(t.Context(), s))
	again := w.commitComments(w.head)
	if len(again) != 2 || again[1].ID != got[1].ID || again[1].Edits != 1 || !strings.HasPrefix(again[1].Body, "### stopped ") {
		t.Errorf("comments on the commit are %+v", again)
	}
}

func TestLockedOrDeletedIssueFallsBack(t *testing.T) {
	t.Parallel()
	const route = "/repos/{owner}/{repo}/issues/{issue_number}/comments"
	for name, fault := range map[string]githubtest.Fault{
		"locked":  {Status: 403, Body: `{"message":"Unable to create comment because issue is locked."}`},
		"deleted": {Status: 410, Body: `{"message":"This issue was deleted"}`},
		"refused": {Status: 422, Body: `{"message":"Validation Failed"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.issueSession()
			w.gh.Inject(fault.On("POST", route))
			s.Fix = nil
			check(t, play(t.Context(), w.publisher(), s))
			if got := w.commitComments(w.head); len(got) != 1 {
				t.Errorf("%d comments on the commit, want 1", len(got))
			}
			if got := must(w.gh.CheckRuns(full))(t); len(got) != 1 || got[0].Status != "completed" {
				t.Errorf("check runs are %+v", got)
			}
		})
	}
}

func TestCommentThatAPersonDeletedComesBackOnlyWithTheResult(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.issueSession()
	p := w.publisher()
	check(t, p.Progress(t.Context(), s))
	in := w.gh.Inject(githubtest.Fault{Status: 404}.On("PATCH", "/repos/{owner}/{repo}/issues/comments/{comment_id}"))
	s.State = "fix"
	check(t, p.Progress(t.Context(), s))
	if got := len(w.comments(s.Source.Issue)); got != 1 {
		t.Fatalf("%d comments after progress, want 1", got)
	}
	s.State = session.StateDone
	check(t, p.Final(t.Context(), s))
	if got := len(w.comments(s.Source.Issue)); got != 2 || in.Hits() == 0 {
		t.Errorf("%d comments after the end, want a new one", got)
	}
}

func TestDeletedRepositoryIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.issueSession()
	p := w.publisher()
	check(t, w.gh.DeleteRepo(full))
	for name, f := range map[string]func(context.Context, *session.Session) error{"progress": p.Progress, "propose": p.Propose, "final": p.Final} {
		if err := f(t.Context(), s); !errors.Is(err, github.ErrGone) {
			t.Errorf("%s: error is %v, want ErrGone", name, err)
		}
	}
}

func TestQuestionIsShownByItsLabel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.issueSession()
	check(t, w.publisher().Progress(t.Context(), s))
	s.Question = &session.Question{Text: "Which one?"}
	check(t, w.publisher().Final(t.Context(), s))
	if got := strings.Join(must(w.gh.Issue(full, s.Source.Issue))(t).Labels, " "); got != "debug debug:needs-you" {
		t.Errorf("labels are %q", got)
	}
}
