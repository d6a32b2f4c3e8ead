package github_test

import (
	"strings"
	"testing"

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
