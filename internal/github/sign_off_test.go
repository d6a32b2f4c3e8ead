package github_test

import (
	"testing"

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
