package github_test

import (
	"errors"
	"net/http"
	"testing"

	"culprit/internal/github"
	"culprit/internal/githubtest"
)

func TestSignOffIsDemandedWhereGitHubEnforcesIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.repo()
	for _, tt := range []struct {
		branch string
		set    func() error
		want   bool
	}{
		{"plain", func() error { return nil }, false},
		{"protected", func() error {
			return w.gh.ProtectBranch(full, "protected", githubtest.Protection{Checks: []string{"ci", "DCO"}})
		}, true},
		{"other-checks", func() error {
			return w.gh.ProtectBranch(full, "other-checks", githubtest.Protection{Checks: []string{"docodco"}})
		}, false},
		{"ruled", func() error {
			return w.gh.AddRule(full, githubtest.Rule{Branches: "ruled", Checks: []string{"lint", "dco"}})
		}, true},
		{"feature/messages", func() error {
			return w.gh.AddRule(full, githubtest.Rule{Branches: "feature/*", Message: `(?m)^Signed-off-by: .+ <.+>$`})
		}, true},
		{"other-messages", func() error {
			return w.gh.AddRule(full, githubtest.Rule{Branches: "other-*", Message: `^[A-Z]+-\d+`, Creation: true})
		}, false},
	} {
		check(t, w.gh.CreateBranch(full, "ann", tt.branch, w.head))
		check(t, tt.set())
		if got, err := r.DemandsSignOff(t.Context(), tt.branch); err != nil || got != tt.want {
			t.Errorf("%s: %t, %v; want %t", tt.branch, got, err, tt.want)
		}
	}
	if got, err := r.DemandsSignOff(t.Context(), "gone"); err != nil || got {
		t.Errorf("a branch that is gone: %t, %v", got, err)
	}
	r.SignOff = true
	if got, err := r.DemandsSignOff(t.Context(), ""); err != nil || !got {
		t.Errorf("web_commit_signoff_required: %t, %v", got, err)
	}
}

func TestWhatThePlanDoesNotHaveDemandsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.repo()
	check(t, w.gh.CreateBranch(full, "ann", "topic", w.head))
	const branch, rules = "/repos/{owner}/{repo}/branches/{branch}", "/repos/{owner}/{repo}/rules/branches/{branch}"
	for name, tt := range map[string]struct {
		route string
		fault githubtest.Fault
		want  error
	}{
		"rulesets are not on the plan":        {rules, githubtest.NotOnPlan(), nil},
		"protection is not on the plan":       {branch, githubtest.NotOnPlan(), nil},
		"an old server knows no rulesets":     {rules, githubtest.Fault{Status: http.StatusNotFound}, nil},
		"the App may not read":                {rules, githubtest.Fault{Status: http.StatusForbidden, Body: `{"message":"Resource not accessible by integration","status":"403"}`}, github.ErrForbidden},
		"the limit of the hour is used up":    {rules, githubtest.SecondaryRateLimit(http.StatusForbidden, 0), github.ErrTransient},
		"the installation has been suspended": {branch, githubtest.Fault{Status: http.StatusForbidden, Body: `{"message":"This installation has been suspended","status":"403"}`}, github.ErrGone},
	} {
		in := w.gh.Inject(tt.fault.On(http.MethodGet, tt.route))
		got, err := r.DemandsSignOff(t.Context(), "topic")
		in.Remove()
		if got || !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
			t.Errorf("%s: %t, %v; want %v", name, got, err, tt.want)
		}
		if in.Hits() == 0 {
			t.Errorf("%s: nobody asked", name)
		}
	}
}
