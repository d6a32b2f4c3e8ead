package main

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"culprit/internal/githubtest"
)

// What happens to the branch while the session runs, and what the repository
// wants of commits: the fix is for the branch as it is when it is published, or
// the comment says why there is none.
func TestAFixIsForTheBranchAsItIsWhenPublished(t *testing.T) {
	t.Parallel()
	w := newFaultWorld(t)
	commit := func(path, text string) func(string) error {
		return func(repo string) error {
			_, err := w.github.CommitFile(repo, "ada", "topic", path, []byte(text), "Go on")
			return err
		}
	}
	nothing := func(string) error { return nil }
	for _, tt := range []struct {
		name              string
		before, meanwhile func(repo string) error
		onHead            bool   // the fix starts at the branch's head
		says              string // in the comment
		none              bool   // there is no fix pull request
		draft             bool
		message           string // of the commit
	}{
		{name: "stands still", before: nothing, onHead: true},
		{name: "moved on elsewhere", before: nothing, meanwhile: commit("other.txt", "x\n"), onHead: true, says: "as it is now"},
		{
			name: "changed the same lines", before: nothing, meanwhile: commit("a.go", "package m\n\n// Answer is 41.\nconst Answer = 41 // sic\n"),
			says: "does not apply there (a.go was changed)", draft: true,
		},
		{name: "has the fix", before: nothing, meanwhile: commit("a.go", chaosGood), none: true, says: "passes the test without the fix"},
		{
			name: "is deleted", before: nothing, none: true, says: "the branch was deleted",
			meanwhile: func(repo string) error { return w.github.DeleteBranch(repo, "ada", "topic") },
		},
		{
			name: "rule refuses the fix branch", none: true, says: "the repository refused the branch culprit/",
			before: func(repo string) error {
				return w.github.AddRule(repo, githubtest.Rule{Branches: "culprit/**/*", Creation: true})
			},
		},
		{name: "DCO App", before: commit(".github/dco.yml", "require:\n  members: false\n"), onHead: true, message: "Signed-off-by: culprit[bot] <"},
		{name: "CONTRIBUTING", before: commit("CONTRIBUTING.md", "Sign your work with `git commit -s`.\n"), onHead: true, message: "Signed-off-by: culprit[bot] <"},
		{
			name: "required check", onHead: true, message: "Signed-off-by: culprit[bot] <",
			before: func(repo string) error {
				return w.github.AddRule(repo, githubtest.Rule{Branches: "topic", Checks: []string{"DCO"}})
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := w.startBot(10*time.Second, 3)
			defer b.stop()
			repo, _ := w.newRepo()
			refs, err := w.github.Refs(repo)
			w.must(err)
			w.must(w.github.CreateBranch(repo, "ada", "topic", refs["main"]))
			w.must(tt.before(repo))
			if tt.meanwhile != nil {
				b.meanwhile = func() { w.must(tt.meanwhile(repo)) }
			}
			_, err = w.github.CompleteRun(githubtest.RunConfig{Repo: repo, Branch: "topic", Actor: "ada", Jobs: []githubtest.Job{{Name: "test", Conclusion: "failure", Log: "FAIL\tm.example/m\n"}}})
			w.must(err)
			if err := b.settle(); err != nil {
				t.Fatal(err)
			}
			refs, err = w.github.Refs(repo)
			w.must(err)
			all := ""
			for sha := range map[string]bool{refs["topic"]: true, refs["main"]: true} {
				if sha == "" {
					continue
				}
				comments, err := w.github.CommitComments(repo, sha)
				w.must(err)
				for _, c := range comments {
					all += c.Body
				}
			}
			pulls, err := w.github.PullRequests(repo)
			w.must(err)
			for _, pr := range pulls {
				comments, err := w.github.Comments(repo, pr.Number)
				w.must(err)
				for _, c := range comments {
					all += c.Body
				}
			}
			if tt.none != (len(pulls) == 0) || len(pulls) > 1 {
				t.Fatalf("%d pull requests; the bot says:\n%s", len(pulls), all)
			}
			checks, err := w.github.CheckRuns(repo)
			w.must(err)
			for _, c := range checks {
				all += c.Title + c.Summary + c.Text
			}
			if !strings.Contains(all, tt.says) {
				t.Errorf("the bot does not say %q:\n%s", tt.says, all)
			}
			if tt.none {
				return
			}
			pr := pulls[0]
			out, err := exec.CommandContext(t.Context(), "git", "--git-dir="+w.github.GitDir(repo), "log", "-1", "--format=%P%n%B", pr.Head).Output()
			w.must(err)
			parent, message, _ := strings.Cut(string(out), "\n")
			if (parent == refs["topic"]) != tt.onHead || !strings.Contains(message, tt.message) || tt.message == "" && strings.Contains(message, "Signed-off-by") {
				t.Errorf("the fix starts at %s, the branch is at %s; its message is:\n%s", parent, refs["topic"], message)
			}
			if tt.draft && !pr.Draft || pr.Base != "topic" {
				t.Errorf("pull request %+v", pr)
			}
		})
	}
}
