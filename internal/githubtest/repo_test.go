package githubtest_test

import (
	"archive/zip"
	"bytes"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-github/v62/github"

	"culprit/internal/githubtest"
)

// clone clones the repository with a token.
func (w *world) clone(token string) string {
	w.t.Helper()
	dir := w.t.TempDir()
	git(w.t, dir, "clone", "--quiet", w.withToken(token), "clone")
	return dir + "/clone"
}

func TestGitNeedsTheRightToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	readOnly := w.token(&github.InstallationTokenOptions{Permissions: &github.InstallationPermissions{Contents: github.String("read")}})
	none := w.token(&github.InstallationTokenOptions{Permissions: &github.InstallationPermissions{Issues: github.String("write")}})
	dir := w.clone(readOnly)
	write(t, dir+"/new.txt", "x")
	git(t, dir, "add", "new.txt")
	git(t, dir, "commit", "--quiet", "-m", "new")
	if out, err := tryGit(dir, "push", "origin", "HEAD:refs/heads/x"); err == nil || !strings.Contains(out, "403") {
		t.Errorf("a read-only token pushed: %v\n%s", err, out)
	}
	if out, err := tryGit(dir, "push", w.withToken(w.token(nil)), "HEAD:refs/heads/x"); err != nil {
		t.Errorf("a token with write could not push: %s", out)
	}
	if out, err := tryGit(dir, "push", w.withToken(w.token(nil)), "HEAD:refs/pull/1/head"); err == nil {
		t.Errorf("refs/pull was pushed to:\n%s", out)
	}
	for name, address := range map[string]string{"a token without contents": w.withToken(none), "nobody": w.CloneURL(repoName)} {
		if out, err := tryGit(dir, "ls-remote", address); err == nil {
			t.Errorf("%s read a private repository:\n%s", name, out)
		}
	}
	pushes, err := w.Pushes(repoName)
	must(t, err)
	last := pushes[len(pushes)-1]
	if last.Ref != "refs/heads/x" || last.User != "culprit[bot]" || last.After != git(t, dir, "rev-parse", "HEAD") {
		t.Errorf("push = %+v", last)
	}
}

func TestLargePushesArriveInChunks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.clone(w.token(nil))
	blob := make([]byte, 3<<20)
	for i := range blob { // incompressible enough to exceed git's post buffer
		blob[i] = byte(i*i>>3 ^ i>>7 ^ i*2654435761>>13)
	}
	write(t, dir+"/big", string(blob))
	git(t, dir, "add", "big")
	git(t, dir, "commit", "--quiet", "-m", "big")
	git(t, dir, "-c", "http.postBuffer=65536", "push", "--quiet", "origin", "HEAD:refs/heads/big")
}

func TestWorkflowFilesNeedTheirOwnPermission(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.clone(w.token(nil))
	write(t, dir+"/.github/workflows/ci.yml", "on: push\n")
	git(t, dir, "add", ".github")
	git(t, dir, "commit", "--quiet", "-m", "workflow")
	out, err := tryGit(dir, "push", "origin", "HEAD:refs/heads/w")
	if err == nil || !strings.Contains(out, "without `workflows` permission") {
		t.Errorf("an App pushed a workflow: %v\n%s", err, out)
	}
	must(t, w.SetPermission(repoName, "will", "write"))
	git(t, dir, "push", "--quiet", w.withToken(w.UserToken("will")), "HEAD:refs/heads/w")
}

func TestPushesBringPullRequestsUpToDate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.clone(w.token(nil))
	git(t, dir, "checkout", "--quiet", "-b", "fix")
	write(t, dir+"/README.md", "# one\n")
	git(t, dir, "commit", "--quiet", "-am", "one")
	git(t, dir, "push", "--quiet", "origin", "fix")
	pr, err := w.OpenPull(repoName, "ada", githubtest.PullConfig{Title: "Fix", Head: "fix", Base: "main"})
	must(t, err)
	if _, err := w.OpenPull(repoName, "ada", githubtest.PullConfig{Title: "Fix", Head: "fix", Base: "main"}); err == nil ||
		!strings.Contains(err.Error(), "A pull request already exists for octo:fix.") {
		t.Errorf("a second pull request: %v", err)
	}
	write(t, dir+"/README.md", "# two\n")
	git(t, dir, "commit", "--quiet", "-am", "two")
	git(t, dir, "push", "--quiet", "origin", "fix")
	gh := w.client()
	got, _, err := gh.PullRequests.Get(t.Context(), "octo", "calc", pr.Number)
	must(t, err)
	if got.GetHead().GetSHA() != git(t, dir, "rev-parse", "HEAD") || got.GetCommits() != 2 || !got.GetMergeable() {
		t.Errorf("after a push: %v", got)
	}
	_, err = w.CommitFile(repoName, "ada", "main", "README.md", []byte("# other\n"), "conflict")
	must(t, err)
	got, _, err = gh.PullRequests.Get(t.Context(), "octo", "calc", pr.Number)
	must(t, err)
	if got.GetMergeable() || got.GetMergeableState() != "dirty" {
		t.Errorf("with a conflict: mergeable %v, %s", got.GetMergeable(), got.GetMergeableState())
	}
	git(t, dir, "fetch", "--quiet", "origin", "main")
	git(t, dir, "merge", "--quiet", "-s", "ours", "-m", "merge", "FETCH_HEAD")
	git(t, dir, "push", "--quiet", "origin", "fix")
	sha, err := w.MergePull(repoName, pr.Number, "ada")
	must(t, err)
	refs, err := w.Refs(repoName)
	must(t, err)
	pulls, err := w.PullRequests(repoName)
	must(t, err)
	if refs["main"] != sha || !pulls[0].Merged || pulls[0].State != "closed" {
		t.Errorf("after the merge: %+v, main %s, want %s", pulls[0], refs["main"], sha)
	}
	w.settle()
	count := map[string]int{}
	for _, name := range w.hooks.events() {
		count[name]++
	}
	if count["pull_request.opened"] != 1 || count["pull_request.synchronize"] != 2 || count["pull_request.closed"] != 1 {
		t.Errorf("events = %v", count)
	}
}

func TestDeletingTheBranchClosesItsPullRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.CommitFile(repoName, "ada", "main", "base.txt", []byte("x"), "base")
	must(t, err)
	must(t, w.ImportGit(repoName, w.GitDir(repoName), "fix"))
	_, err = w.CommitFile(repoName, "ada", "fix", "a.txt", []byte("a"), "a")
	must(t, err)
	_, err = w.OpenPull(repoName, "ada", githubtest.PullConfig{Title: "F", Head: "fix", Base: "main"})
	must(t, err)
	_, err = w.client().Git.DeleteRef(t.Context(), "octo", "calc", "heads/fix")
	must(t, err)
	pulls, err := w.PullRequests(repoName)
	must(t, err)
	if pulls[0].State != "closed" || pulls[0].Merged {
		t.Errorf("pull request = %+v", pulls[0])
	}
}

func TestReviewsAndTheirThreads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, w.ImportGit(repoName, w.GitDir(repoName), "fix"))
	_, err := w.CommitFile(repoName, "ada", "fix", "a.txt", []byte("1\n2\n3\n"), "a")
	must(t, err)
	pr, err := w.OpenPull(repoName, "culprit[bot]", githubtest.PullConfig{Title: "F", Head: "fix", Base: "main"})
	must(t, err)
	if _, err := w.Review(repoName, pr.Number, "ada", "CHANGES_REQUESTED", "no", githubtest.LineComment{Path: "a.txt", Line: 9, Body: "?"}); err == nil {
		t.Error("a comment on a line outside of the diff was taken")
	}
	_, err = w.Review(repoName, pr.Number, "ada", "CHANGES_REQUESTED", "no", githubtest.LineComment{Path: "a.txt", Line: 2, Body: "why 2?"})
	must(t, err)
	gh := w.client()
	list, _, err := gh.PullRequests.ListComments(t.Context(), "octo", "calc", pr.Number, nil)
	must(t, err)
	if len(list) != 1 || list[0].GetLine() != 2 || !strings.HasSuffix(list[0].GetDiffHunk(), "\n+2") {
		t.Fatalf("comments = %v", list)
	}
	answer, _, err := gh.PullRequests.CreateCommentInReplyTo(t.Context(), "octo", "calc", pr.Number, "because", list[0].GetID())
	must(t, err)
	if answer.GetInReplyTo() != list[0].GetID() {
		t.Errorf("answer = %v", answer)
	}
	_, _, err = gh.PullRequests.CreateReview(t.Context(), "octo", "calc", pr.Number, &github.PullRequestReviewRequest{Event: github.String("APPROVE")})
	if err == nil || !strings.Contains(err.Error(), "422") {
		t.Errorf("the bot approved its own pull request: %v", err)
	}
	w.settle()
	got := w.hooks.events()
	want := []string{"pull_request_review.submitted", "pull_request_review_comment.created", "pull_request_review_comment.created"}
	if !slices.Equal(got[len(got)-3:], want) {
		t.Errorf("events = %v", got)
	}
}

func TestLogArchiveHasGitHubsNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run, err := w.CompleteRun(githubtest.RunConfig{Repo: repoName, Jobs: []githubtest.Job{
		{Name: "test (1.22, a/b)", Steps: []githubtest.Step{{Name: "Run go test ./..."}, {Name: "Fail", Conclusion: "failure", ExitCode: 2}, {Name: "Never"}}},
		{Name: "lint"},
	}})
	must(t, err)
	gh := w.client()
	u, _, err := gh.Actions.GetWorkflowRunLogs(t.Context(), "octo", "calc", run.ID, 0)
	must(t, err)
	resp, err := http.Get(u.String())
	must(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	must(t, err)
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	must(t, err)
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
	}
	want := []string{
		"0_test (1.22, ab).txt", "test (1.22, ab)/1_Set up job.txt", "test (1.22, ab)/2_Run go test .....txt", "test (1.22, ab)/3_Fail.txt",
		"test (1.22, ab)/5_Complete job.txt", "1_lint.txt", "lint/1_Set up job.txt", "lint/2_Run tests.txt", "lint/3_Complete job.txt",
	}
	if !slices.Equal(names, want) {
		t.Errorf("entries\n got %q\nwant %q", names, want)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u.String(), nil)
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+w.token(nil))
	refused, err := http.DefaultClient.Do(req)
	must(t, err)
	refused.Body.Close()
	if refused.StatusCode != http.StatusForbidden {
		t.Errorf("the log storage took a token: %d", refused.StatusCode)
	}
}

func TestRerunsAreFurtherAttempts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ *githubtest.Options, c *githubtest.AppConfig) {
		c.Permissions = githubtest.DefaultPermissions()
		c.Permissions["actions"] = "write"
	})
	run, err := w.CompleteRun(githubtest.RunConfig{Repo: repoName, Jobs: []githubtest.Job{{Name: "test", Conclusion: "failure"}}})
	must(t, err)
	gh := w.client()
	_, err = gh.Actions.RerunFailedJobsByID(t.Context(), "octo", "calc", run.ID)
	must(t, err)
	queued, _, err := gh.Actions.GetWorkflowRunByID(t.Context(), "octo", "calc", run.ID)
	must(t, err)
	if queued.GetStatus() != "queued" || queued.GetRunAttempt() != 2 {
		t.Errorf("after the re-run: %s, attempt %d", queued.GetStatus(), queued.GetRunAttempt())
	}
	again, err := w.CompleteRun(githubtest.RunConfig{Repo: repoName, RunID: run.ID, Jobs: []githubtest.Job{{Name: "test"}}})
	must(t, err)
	if again.Attempt != 2 {
		t.Errorf("attempt %d", again.Attempt)
	}
	first, _, err := gh.Actions.GetWorkflowRunAttempt(t.Context(), "octo", "calc", run.ID, 1, nil)
	must(t, err)
	now, _, err := gh.Actions.GetWorkflowRunByID(t.Context(), "octo", "calc", run.ID)
	must(t, err)
	if first.GetConclusion() != "failure" || now.GetConclusion() != "success" {
		t.Errorf("attempt 1 %s, now %s", first.GetConclusion(), now.GetConclusion())
	}
	checks, _, err := gh.Checks.ListCheckRunsForRef(t.Context(), "octo", "calc", run.SHA, nil)
	must(t, err)
	if checks.GetTotal() != 1 || checks.CheckRuns[0].GetConclusion() != "success" {
		t.Errorf("the latest check runs = %v", checks)
	}
}

func TestContentsAndComparison(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.CommitFile(repoName, "ada", "main", ".github/culprit.yml", []byte("mode: quick\n"), "config")
	must(t, err)
	gh := w.client()
	file, _, _, err := gh.Repositories.GetContents(t.Context(), "octo", "calc", ".github/culprit.yml", nil)
	must(t, err)
	if text, err := file.GetContent(); err != nil || text != "mode: quick\n" {
		t.Errorf("content %q, %v", text, err)
	}
	_, dir, _, err := gh.Repositories.GetContents(t.Context(), "octo", "calc", "", nil)
	must(t, err)
	if len(dir) != 3 {
		t.Errorf("root = %v", dir)
	}
	if _, _, resp, err := gh.Repositories.GetContents(t.Context(), "octo", "calc", "none", nil); err == nil || resp.StatusCode != 404 {
		t.Errorf("a missing file: %v", err)
	}
	cmp, _, err := gh.Repositories.CompareCommits(t.Context(), "octo", "calc", w.parent("main"), "main", nil)
	must(t, err)
	if cmp.GetStatus() != "ahead" || cmp.GetAheadBy() != 1 || len(cmp.Files) != 1 || cmp.Files[0].GetFilename() != ".github/culprit.yml" {
		t.Errorf("comparison = %v", cmp)
	}
}

func TestPagesShowWhatHappened(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.OpenIssue(repoName, "ada", "It <breaks>", "| a |\n|---|\n| b |", "bug")
	must(t, err)
	_, err = w.Comment(repoName, 1, "eve", "<script>alert(1)</script>hello")
	must(t, err)
	run, err := w.CompleteRun(githubtest.RunConfig{Repo: repoName, Jobs: []githubtest.Job{{Name: "test", Log: "boom", Conclusion: "failure"}}})
	must(t, err)
	for path, want := range map[string]string{
		"/": "octo/calc", "/octo/calc": "It &lt;breaks&gt;", "/octo/calc/issues/1": "<td>b</td>", "/octo/calc/commit/" + run.SHA: "Add a README",
		"/octo/calc/blob/main/calc.go": "func Add", "/octo/calc/issues/2": "Not found", "/_style.css": ".diff", "/_avatars/1": "<svg",
		"/octo/calc/actions/runs/" + strconv.FormatInt(run.ID, 10): "boom", "/octo/calc/runs/" + strconv.FormatInt(run.Jobs["test"], 10): "Process completed with exit code 1.",
	} {
		_, header, body := w.send("GET", path, "", "")
		if !strings.Contains(body, want) || strings.Contains(body, "<script") {
			t.Errorf("%s lacks %q or has a script:\n%s", path, want, body)
		}
		if strings.Contains(header.Get("Content-Type"), "html") && !strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s has no content security policy", path)
		}
	}
}

func TestCloseMayBeCalledTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.HoldDeliveries(true)
	must(t, w.Ping(w.app.ID))
	must(t, w.Close())
	must(t, w.Close())
}
