package githubtest_test

import (
	"slices"
	"strings"
	"testing"

	"culprit/internal/githubtest"
)

// forked is a world whose public repository mallory has forked, with a commit
// on the fork's branch "patch".
func forked(t *testing.T) (w *world, fork string) {
	w = newWorld(t)
	must(t, w.CreateRepo(githubtest.RepoConfig{Owner: "octo", Name: "open"}))
	_, err := w.CommitFile("octo/open", "ada", "main", "a.go", []byte("package a\n"), "Start")
	must(t, err)
	fork, err = w.Fork("octo/open", "mallory")
	must(t, err)
	refs, err := w.Refs("octo/open")
	must(t, err)
	must(t, w.CreateBranch(fork, "mallory", "patch", refs["main"]))
	_, err = w.CommitFile(fork, "mallory", "patch", "a.go", []byte("package a // changed\n"), "Change a")
	must(t, err)
	return w, fork
}

func TestAPullRequestCanComeFromAFork(t *testing.T) {
	t.Parallel()
	w, fork := forked(t)
	pr, err := w.OpenPull("octo/open", "mallory", githubtest.PullConfig{Title: "Change a", Head: "mallory:patch", Base: "main"})
	must(t, err)
	tok := w.token(nil)
	_, _, body := w.send("GET", "/repos/octo/open/pulls/1", tok, "")
	for path, want := range map[string]string{
		"head.repo.full_name": fork, "base.repo.full_name": "octo/open", "head.label": "mallory:patch", "author_association": "FIRST_TIME_CONTRIBUTOR",
	} {
		if got := field([]byte(body), path); got != want {
			t.Errorf("%s = %q, want %q", path, got, want)
		}
	}
	if !strings.Contains(body, `"maintainer_can_modify":true`) {
		t.Errorf("maintainers may not push: %s", body)
	}
	// The commit can be read in the base repository, which has it as a ref.
	if status, _, body := w.send("GET", "/repos/octo/open/commits/"+pr.HeadSHA, tok, ""); status != 200 {
		t.Errorf("the fork's commit in the base repository: %d %s", status, body)
	}
	if out := git(t, t.TempDir(), "ls-remote", strings.Replace(w.CloneURL("octo/open"), "http://", "http://x:"+tok+"@", 1), "refs/pull/1/head"); !strings.HasPrefix(out, pr.HeadSHA) {
		t.Errorf("refs/pull/1/head = %q, want %s", out, pr.HeadSHA)
	}
	if status, _, body := w.send("GET", "/repos/octo/open/compare/main...mallory:patch", tok, ""); status != 200 || field([]byte(body), "status") != "ahead" {
		t.Errorf("compare with the fork: %d %s", status, body)
	}
	must(t, w.LockIssue("octo/open", 1, true))
	if status, _, page := w.send("GET", "/octo/open/pull/1", "", ""); status != 200 || !strings.Contains(page, "mallory:patch") || !strings.Contains(page, "locked") {
		t.Errorf("the page: %d %s", status, page)
	}
	must(t, w.LockIssue("octo/open", 1, false))
	// A push to the fork moves it.
	sha, err := w.CommitFile(fork, "mallory", "patch", "b.go", []byte("package a\n"), "Add b")
	must(t, err)
	w.settle()
	if got, err := w.PullRequests("octo/open"); err != nil || got[0].HeadSHA != sha {
		t.Errorf("head after a push = %+v, %v, want %s", got, err, sha)
	}
	if got := w.hooks.events(); got[len(got)-1] != "pull_request.synchronize" {
		t.Errorf("events = %v", got)
	}
	// The App has no access to the fork.
	if status, _, _ := w.send("POST", "/repos/"+fork+"/issues", tok, `{"title":"t"}`); status != 403 {
		t.Errorf("writing to the fork: %d", status)
	}
	must(t, w.DeleteRepo(fork))
	_, _, body = w.send("GET", "/repos/octo/open/pulls/1", tok, "")
	if field([]byte(body), "state") != "closed" || field([]byte(body), "head.repo.full_name") != "" || field([]byte(body), "head.ref") != "patch" {
		t.Errorf("after the fork is gone: %s", body)
	}
}

func TestRunsOfAForkNameNoPullRequest(t *testing.T) {
	t.Parallel()
	w, fork := forked(t)
	pr, err := w.OpenPull("octo/open", "mallory", githubtest.PullConfig{Title: "Change a", Head: "mallory:patch", Base: "main"})
	must(t, err)
	_, err = w.CompleteRun(githubtest.RunConfig{
		Repo: "octo/open", HeadRepo: fork, SHA: pr.HeadSHA, Branch: "patch", Event: "pull_request", Actor: "mallory", Jobs: []githubtest.Job{{Name: "test", Conclusion: "failure"}},
	})
	must(t, err)
	w.settle()
	for _, h := range w.hooks.all() {
		switch event := h.header.Get("X-GitHub-Event"); event {
		case "workflow_run":
			if field(h.body, "workflow_run.head_repository.full_name") != fork || field(h.body, "workflow_run.head_branch") != "patch" || strings.Contains(string(h.body), `"pull_requests":[{`) {
				t.Errorf("%s: %s", event, h.body)
			}
		case "check_suite":
			if field(h.body, "action") == "completed" && field(h.body, "check_suite.head_branch") != "" {
				t.Errorf("%s: %s", event, h.body)
			}
		}
	}
}

func TestMaintainersMayPushToAForkThatAllowsIt(t *testing.T) {
	t.Parallel()
	w, fork := forked(t)
	must(t, w.SetPermission("octo/open", "ada", "write"))
	push := func(branch string) error {
		dir := t.TempDir()
		url := strings.Replace(w.CloneURL(fork), "http://", "http://ada:"+w.UserToken("ada")+"@", 1)
		git(t, dir, "clone", "--quiet", "--branch", branch, url, "clone")
		write(t, dir+"/clone/c.go", "package a\n")
		git(t, dir+"/clone", "add", ".")
		git(t, dir+"/clone", "commit", "--quiet", "-m", "Add c")
		_, err := tryGit(dir+"/clone", "push", "--quiet", "origin", branch)
		return err
	}
	if push("patch") == nil {
		t.Error("ada pushed to the fork without a pull request")
	}
	_, err := w.OpenPull("octo/open", "mallory", githubtest.PullConfig{Title: "Change a", Head: "mallory:patch", Base: "main"})
	must(t, err)
	must(t, push("patch"))
	if push("main") == nil {
		t.Error("ada pushed to another branch of the fork")
	}
}

func TestAuthorAssociationsTellWhoSomebodyIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, w.CreateRepo(githubtest.RepoConfig{Owner: "octo", Name: "open"}))
	must(t, w.AddMember("octo", "meg"))
	must(t, w.SetPermission("octo/open", "otto", "write"))
	_, err := w.CommitFile("octo/open", "cora", "main", "a.go", []byte("package a\n"), "Start")
	must(t, err)
	tok := w.token(nil)
	for n, c := range []struct{ login, want string }{
		{"meg", "MEMBER"}, {"otto", "COLLABORATOR"}, {"cora", "CONTRIBUTOR"}, {"nora", "NONE"}, {"dependabot[bot]", "NONE"},
	} {
		_, err := w.OpenIssue("octo/open", c.login, "t", "")
		must(t, err)
		_, _, body := w.send("GET", "/repos/octo/open/issues/"+string(rune('1'+n)), tok, "")
		if got := field([]byte(body), "author_association"); got != c.want {
			t.Errorf("%s is %s, want %s", c.login, got, c.want)
		}
		if kind := field([]byte(body), "user.type"); (kind == "Bot") != (c.login == "dependabot[bot]") {
			t.Errorf("%s is a %s", c.login, kind)
		}
	}
	// Members read private repositories, a bot is nobody whose permission can be asked.
	_, _, body := w.send("GET", "/repos/octo/calc/collaborators/meg/permission", tok, "")
	if field([]byte(body), "permission") != "read" {
		t.Errorf("a member's permission: %s", body)
	}
	if status, _, body := w.send("GET", "/repos/octo/calc/collaborators/dependabot%5Bbot%5D/permission", tok, ""); status != 404 {
		t.Errorf("a bot's permission: %d %s", status, body)
	}
}

func TestStatusesAreCombinedAndTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	refs, err := w.Refs(repoName)
	must(t, err)
	sha := refs["main"]
	tok := w.token(nil)
	state := func() string {
		_, _, body := w.send("GET", "/repos/octo/calc/commits/main/status", tok, "")
		return field([]byte(body), "state")
	}
	if got := state(); got != "pending" {
		t.Errorf("without statuses: %s", got)
	}
	must(t, w.SetStatus(githubtest.StatusConfig{Repo: repoName, State: "error", Context: "jenkins", Login: "jenkins", TargetURL: "https://ci.example.com/1"}))
	if got := state(); got != "failure" {
		t.Errorf("with an error: %s", got)
	}
	must(t, w.SetStatus(githubtest.StatusConfig{Repo: repoName, State: "success", Context: "jenkins"}))
	if got := state(); got != "success" {
		t.Errorf("after success of the same context: %s", got)
	}
	if status, _, _ := w.send("POST", "/repos/octo/calc/statuses/"+sha, tok, `{"state":"success"}`); status != 403 {
		t.Errorf("an App without statuses:write set one: %d", status)
	}
	must(t, w.SetPermission(repoName, "will", "write"))
	if status, _, body := w.send("POST", "/repos/octo/calc/statuses/"+sha, w.UserToken("will"), `{"state":"pending","context":"x"}`); status != 201 {
		t.Errorf("a person: %d %s", status, body)
	}
	if _, _, body := w.send("GET", "/repos/octo/calc/commits/main/statuses", tok, ""); strings.Count(body, `"creator"`) != 3 {
		t.Errorf("all statuses: %s", body)
	}
	w.settle()
	if got := w.hooks.events(); slices.Index(got, "status") < 0 {
		t.Errorf("events = %v", got)
	}
}
