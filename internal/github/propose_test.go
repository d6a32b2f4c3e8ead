package github_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"culprit/internal/github"
	"culprit/internal/githubtest"
	"culprit/internal/session"
)

const pullsRoute = "/repos/{owner}/{repo}/pulls"

func TestPullRequestThatAPersonClosedIsNotOpenedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.ciSession("main")
	check(t, w.publisher().Propose(t.Context(), s))
	number := s.Published.PR
	check(t, w.gh.CloseIssue(full, number, "ann"))
	s.Published = session.Published{}
	before := len(w.gh.Writes())
	check(t, w.publisher().Propose(t.Context(), s))
	if after := len(w.gh.Writes()); after != before {
		t.Errorf("%d writes to a closed pull request", after-before)
	}
	if s.Published.PR != number || len(s.NotChecked) != 1 || !strings.Contains(s.NotChecked[0], "closed") {
		t.Errorf("published %+v, notes %q", s.Published, s.NotChecked)
	}
}

func TestDraftsThatARepositoryDoesNotAllowBecomePullRequestsWithANote(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.gh.Inject(githubtest.Fault{Status: 422, Times: 1, Body: `{"message":"Draft pull requests are not supported in this repository."}`}.On("POST", pullsRoute))
	s := w.ciSession("main")
	check(t, w.publisher().Propose(t.Context(), s))
	s.State = "later"
	check(t, w.publisher().Propose(t.Context(), s))
	prs := must(w.gh.PullRequests(full))(t)
	if len(prs) != 1 || prs[0].Draft || !strings.HasPrefix(prs[0].Body, "> This would be a draft") || !strings.Contains(prs[0].Body, "proof of later") {
		t.Errorf("pull requests are %+v", prs)
	}
}

func TestRefusedPullRequestIsToldAndIsNoError(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"nothing to merge": `{"message":"Validation Failed","errors":[{"resource":"PullRequest","code":"custom","message":"No commits between main and x"}]}`,
		"rule":             `{"message":"Repository rule violations found"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.gh.Inject(githubtest.Fault{Status: 422, Body: body}.On("POST", pullsRoute))
			s := w.ciSession("main")
			check(t, w.publisher().Propose(t.Context(), s))
			check(t, w.publisher().Propose(t.Context(), s))
			if len(s.NotChecked) != 1 || s.Published.PR != 0 {
				t.Errorf("notes %q, published %+v", s.NotChecked, s.Published)
			}
		})
	}
}

func TestBranchThatIsGoneGetsNoFix(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.ciSession("deleted-branch")
	check(t, w.publisher().Propose(t.Context(), s))
	if len(must(w.gh.Pushes(full))(t)) > 1 || s.Published.PR != 0 || len(s.NotChecked) != 1 {
		t.Errorf("published %+v, notes %q", s.Published, s.NotChecked)
	}
}

func TestTitleOfAPersonStaysAndTheBodyIsUpdated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.ciSession("main")
	s.Confidence.Level = "high"
	check(t, w.publisher().Propose(t.Context(), s))
	s.State, s.Fix.Summary = "later", "another title"
	check(t, w.publisher().Propose(t.Context(), s))
	prs := must(w.gh.PullRequests(full))(t)
	if len(prs) != 1 || prs[0].Draft || prs[0].Title != "Fix: the sign is dropped" || !strings.HasPrefix(prs[0].Body, "proof of later") {
		t.Errorf("pull requests are %+v", prs)
	}
}

func TestConflictingFixIsNotProposed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.ciSession("main")
	s.Fix.Conflicts = []string{"calc.go"}
	check(t, w.publisher().Propose(t.Context(), s))
	if got := must(w.gh.PullRequests(full))(t); len(got) != 0 {
		t.Errorf("pull requests are %+v", got)
	}
}

func TestARefusedBranchIsToldAndIsNoError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	check(t, w.gh.AddRule(full, githubtest.Rule{Branches: "culprit/**/*", Creation: true}))
	s := w.ciSession("main")
	p := w.publisher(func(c *github.PublisherConfig) {
		c.Push = func(ctx context.Context, p github.Push) (string, error) {
			commit, err := w.push(ctx, p)
			if err != nil && strings.Contains(err.Error(), "creations being restricted") {
				err = fmt.Errorf("%w: %w", github.ErrRefused, err)
			}
			return commit, err
		}
	})
	check(t, p.Propose(t.Context(), s))
	if len(s.NotChecked) != 1 || !strings.Contains(s.NotChecked[0], "the repository refused the branch culprit/") || !strings.Contains(s.NotChecked[0], "creations being restricted") {
		t.Errorf("notes %q", s.NotChecked)
	}
	w.noToken(s.NotChecked[0])
	if s.Published.PR != 0 || s.Published.Branch != "" {
		t.Errorf("published %+v", s.Published)
	}
}

func TestNothingIsProposedForTheCodeOfAFork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.ciSession("")
	s.Source.PR = 1
	before := len(w.gh.Writes())
	check(t, w.publisher().Propose(t.Context(), s))
	if len(w.gh.Writes()) != before || len(s.NotChecked) != 1 || !strings.Contains(s.NotChecked[0], "fork") {
		t.Errorf("notes %q, %d writes", s.NotChecked, len(w.gh.Writes())-before)
	}
}

// What people do to branch, thread and pull request while a session runs.
func TestWhatChangedMeanwhileIsHandled(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		meanwhile   func(w *world, number int) error
		onThread    bool // the result stands in the thread, else on the commit
		pullRequest bool
	}{
		"issue is locked before anything stands there": {func(w *world, n int) error { return w.gh.LockIssue(full, n, true) }, false, true},
		"issue is deleted": {func(w *world, n int) error { return w.gh.DeleteIssue(full, n, "ann") }, false, true},
		"issue is closed":  {func(w *world, n int) error { return w.gh.CloseIssue(full, n, "ann") }, true, true},
		"branch moved on": {func(w *world, _ int) error {
			_, err := w.gh.CommitFile(full, "ann", "main", "other.go", []byte("package calc\n"), "Other")
			return err
		}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.issueSession()
			check(t, tt.meanwhile(w, s.Source.Issue))
			check(t, play(t.Context(), w.publisher(), s))
			check(t, play(t.Context(), w.publisher(), s))
			onThread := 0
			if name != "issue is deleted" {
				onThread = len(w.comments(s.Source.Issue))
			}
			elsewhere := len(w.commitComments(w.head))
			if s.Published.PR > 0 {
				elsewhere += len(w.comments(s.Published.PR))
			}
			if onThread+elsewhere != 1 || (onThread == 1) != tt.onThread {
				t.Errorf("%d comments in the thread, %d elsewhere", onThread, elsewhere)
			}
			if (s.Published.PR > 0) != tt.pullRequest {
				t.Errorf("published %+v", s.Published)
			}
		})
	}
}

func TestALockThatComesLaterLeavesTheResultElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.issueSession()
	s.Fix = nil
	p := w.publisher()
	check(t, p.Progress(t.Context(), s))
	check(t, w.gh.LockIssue(full, s.Source.Issue, true))
	s.State = "fix"
	check(t, p.Progress(t.Context(), s))
	s.State = session.StateDone
	check(t, p.Final(t.Context(), s))
	check(t, w.publisher().Final(t.Context(), s))
	ends := 0
	for _, c := range w.comments(s.Source.Issue) {
		if strings.HasPrefix(c.Body, "### done") {
			ends++
		}
	}
	for _, c := range w.commitComments(w.head) {
		if strings.HasPrefix(c.Body, "### done") {
			ends++
		}
	}
	if ends != 1 {
		t.Errorf("the result is told %d times", ends)
	}
}
