package githubtest_test

import (
	"strings"
	"testing"

	"culprit/internal/githubtest"
)

func TestAProtectedBranchTakesChangesByPullRequestOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, w.ProtectBranch(repoName, "main", githubtest.Protection{Reviews: 1, Checks: []string{"ci"}}))
	tok := w.token(nil)
	_, _, body := w.send("GET", "/repos/octo/calc/branches/main", tok, "")
	if !strings.Contains(body, `"protected":true`) || !strings.Contains(body, `"contexts":["ci"]`) {
		t.Errorf("branch = %s", body)
	}
	clone := t.TempDir() + "/clone"
	git(t, t.TempDir(), "clone", "--quiet", w.withToken(tok), clone)
	write(t, clone+"/b.go", "package calc\n")
	git(t, clone, "add", ".")
	git(t, clone, "commit", "--quiet", "-m", "Add b")
	if out, err := tryGit(clone, "push", "origin", "main"); err == nil || !strings.Contains(out, "GH006: Protected branch update failed for refs/heads/main.") {
		t.Errorf("push to main: %v\n%s", err, out)
	}
	if out, err := tryGit(clone, "push", "--delete", "origin", "main"); err == nil {
		t.Errorf("main was deleted:\n%s", out)
	}
	git(t, clone, "push", "--quiet", "origin", "HEAD:refs/heads/fix")
	sha := git(t, clone, "rev-parse", "HEAD")
	for _, c := range []struct {
		what, method, path, body string
		status                   int
		message                  string
	}{
		{"move by REST", "PATCH", "/git/refs/heads/main", `{"sha":"` + sha + `"}`, 422, "Changes must be made through a pull request."},
		{"write a file", "PUT", "/contents/c.go", `{"message":"m","content":"eA=="}`, 409, "Could not update file: Changes must be made through a pull request."},
		{"open a pull request", "POST", "/pulls", `{"title":"Fix","head":"fix","base":"main"}`, 201, ""},
		{"merge without review", "PUT", "/pulls/1/merge", `{}`, 405, "At least 1 approving review is required by reviewers with write access."},
	} {
		if status, _, body := w.send(c.method, "/repos/octo/calc"+c.path, tok, c.body); status != c.status || field([]byte(body), "message") != c.message {
			t.Errorf("%s: %d %s, want %d %q", c.what, status, body, c.status, c.message)
		}
	}
	must(t, w.SetPermission(repoName, "will", "write"))
	_, err := w.Review(repoName, 1, "will", "APPROVED", "")
	must(t, err)
	merge := func() (int, string) {
		status, _, body := w.send("PUT", "/repos/octo/calc/pulls/1/merge", tok, "{}")
		return status, field([]byte(body), "message")
	}
	if status, why := merge(); status != 405 || why != `Required status check "ci" is expected.` {
		t.Errorf("merge without the check: %d %s", status, why)
	}
	must(t, w.SetStatus(githubtest.StatusConfig{Repo: repoName, SHA: sha, State: "failure", Context: "ci"}))
	if status, why := merge(); status != 405 || why != `Required status check "ci" is failing.` {
		t.Errorf("merge with a red check: %d %s", status, why)
	}
	must(t, w.SetStatus(githubtest.StatusConfig{Repo: repoName, SHA: sha, State: "success", Context: "ci"}))
	if status, why := merge(); status != 200 {
		t.Errorf("merge with all that is required: %d %s", status, why)
	}
}

func TestProtectionWithoutRulesStillForbidsForcedPushes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, w.ProtectBranch(repoName, "main", githubtest.Protection{}))
	tok := w.token(nil)
	clone := t.TempDir() + "/clone"
	git(t, t.TempDir(), "clone", "--quiet", w.withToken(tok), clone)
	write(t, clone+"/b.go", "package calc\n")
	git(t, clone, "add", ".")
	git(t, clone, "commit", "--quiet", "-m", "Add b")
	git(t, clone, "push", "--quiet", "origin", "main")
	git(t, clone, "commit", "--quiet", "--amend", "-m", "Add b otherwise")
	if out, err := tryGit(clone, "push", "--force", "origin", "main"); err == nil || !strings.Contains(out, "Cannot force-push to this branch") {
		t.Errorf("forced push: %v\n%s", err, out)
	}
	must(t, w.SetPermission(repoName, "root", "admin"))
	if status, _, body := w.send("GET", "/repos/octo/calc/branches/main/protection", w.UserToken("root"), ""); status != 200 {
		t.Errorf("protection: %d %s", status, body)
	}
	if status, _, body := w.send("GET", "/repos/octo/calc/branches/main/protection", tok, ""); status != 403 {
		t.Errorf("protection without the permission to administer: %d %s", status, body)
	}
	must(t, w.UnprotectBranch(repoName, "main"))
	git(t, clone, "push", "--quiet", "--force", "origin", "main")
	if status, _, _ := w.send("GET", "/repos/octo/calc/branches/main/protection", w.UserToken("root"), ""); status != 404 {
		t.Errorf("protection that was lifted: %d", status)
	}
}
