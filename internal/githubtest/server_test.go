package githubtest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-github/v62/github"

	"culprit/internal/githubtest"
)

// field reads a string out of JSON by a dotted path; "" when it is not there.
func field(body []byte, path string) string {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return ""
	}
	for key := range strings.SplitSeq(path, ".") {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	s, _ := v.(string)
	return s
}

// The whole way of a bot: red CI, its logs, a comment, a branch, a pull
// request, a check run.
func TestABotCanDoItsJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	gh := w.client()

	run, err := w.CompleteRun(githubtest.RunConfig{Repo: repoName, Jobs: []githubtest.Job{{
		Name: "test", Steps: []githubtest.Step{{Name: "Run tests", Run: "go test ./...", Log: "--- FAIL: TestAdd\nFAIL\n", Conclusion: "failure"}},
	}}})
	must(t, err)
	jobs, _, err := gh.Actions.ListWorkflowJobs(ctx, "octo", "calc", run.ID, nil)
	must(t, err)
	if jobs.GetTotalCount() != 1 || jobs.Jobs[0].GetConclusion() != "failure" {
		t.Fatalf("jobs = %+v", jobs)
	}
	u, _, err := gh.Actions.GetWorkflowJobLogs(ctx, "octo", "calc", jobs.Jobs[0].GetID(), 0)
	must(t, err)
	resp, err := http.Get(u.String())
	must(t, err)
	defer resp.Body.Close()
	var log strings.Builder
	_, err = io.Copy(&log, resp.Body)
	must(t, err)
	for _, want := range []string{"##[group]Run go test ./...", "Z --- FAIL: TestAdd", "##[error]Process completed with exit code 1."} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, log.String())
		}
	}

	issue, _, err := gh.Issues.Create(ctx, "octo", "calc", &github.IssueRequest{Title: github.String("CI is red")})
	must(t, err)
	comment, _, err := gh.Issues.CreateComment(ctx, "octo", "calc", issue.GetNumber(), &github.IssueComment{Body: github.String("Investigating")})
	must(t, err)
	_, _, err = gh.Issues.EditComment(ctx, "octo", "calc", comment.GetID(), &github.IssueComment{Body: github.String("Root cause found")})
	must(t, err)

	dir := t.TempDir()
	git(t, dir, "clone", "--quiet", w.withToken(w.token(nil)), "clone")
	clone := dir + "/clone"
	git(t, clone, "checkout", "--quiet", "-b", "culprit/fix")
	write(t, clone+"/calc.go", "package calc\n\nfunc Add(a, b int) int { return b + a }\n")
	git(t, clone, "commit", "--quiet", "-am", "Fix Add")
	git(t, clone, "push", "--quiet", "origin", "culprit/fix")

	pr, _, err := gh.PullRequests.Create(ctx, "octo", "calc", &github.NewPullRequest{
		Title: github.String("Fix Add"), Head: github.String("culprit/fix"), Base: github.String("main"), Body: github.String("Fixes #1"),
	})
	must(t, err)
	if !pr.GetMergeable() || pr.GetChangedFiles() != 1 || pr.GetHead().GetSHA() != git(t, clone, "rev-parse", "HEAD") {
		t.Fatalf("pull request = %v", pr)
	}
	check, _, err := gh.Checks.CreateCheckRun(ctx, "octo", "calc", github.CreateCheckRunOptions{
		Name: "culprit", HeadSHA: run.SHA, ExternalID: github.String("session-1"), Status: github.String("completed"), Conclusion: github.String("neutral"),
		Output: &github.CheckRunOutput{Title: github.String("Root cause found"), Summary: github.String("…")},
	})
	must(t, err)
	if check.GetApp().GetSlug() != "culprit" {
		t.Errorf("the check run's App = %q", check.GetApp().GetSlug())
	}

	w.settle()
	comments, err := w.Comments(repoName, issue.GetNumber())
	must(t, err)
	if len(comments) != 1 || comments[0].User != "culprit[bot]" || comments[0].Edits != 1 || comments[0].Body != "Root cause found" {
		t.Errorf("comments = %+v", comments)
	}
	want := []string{
		"installation.created", "check_run.created", "check_run.completed", "check_suite.completed", "workflow_run.completed", "issues.opened",
		"issue_comment.created", "issue_comment.edited", "push", "check_suite.requested", "pull_request.opened", "check_run.created",
		"check_run.completed", "check_suite.completed",
	}
	if got := w.hooks.events(); !slices.Equal(got, want) {
		t.Errorf("events:\n got %v\nwant %v", got, want)
	}
	var writes []string
	for _, c := range w.Writes() {
		writes = append(writes, c.Method+" "+c.Route)
	}
	wantWrites := []string{
		"POST /repos/{owner}/{repo}/issues", "POST /repos/{owner}/{repo}/issues/{issue_number}/comments",
		"PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}", "POST /{owner}/{repo}.git/git-receive-pack",
		"POST /repos/{owner}/{repo}/pulls", "POST /repos/{owner}/{repo}/check-runs",
	}
	if !slices.Equal(writes, wantWrites) {
		t.Errorf("writes:\n got %q\nwant %q", writes, wantWrites)
	}
}
