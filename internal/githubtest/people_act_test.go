package githubtest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"culprit/internal/githubtest"
)

// everyEvent subscribes the App to all that this package sends.
func everyEvent(_ *githubtest.Options, c *githubtest.AppConfig) {
	c.Events = append(githubtest.DefaultEvents(), "create", "delete", "fork", "repository", "commit_comment", "workflow_job", "pull_request_review_thread")
}

// What people do with issues, pull requests, reviews, branches and
// installations reaches the App, each time in the form that GitHub describes
// (the server is checked for that).
func TestWhatPeopleDoIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, everyEvent)
	refs, err := w.Refs(repoName)
	must(t, err)
	must(t, w.SetPermission(repoName, "will", "write"))
	_, err = w.OpenIssue(repoName, "ada", "Sign is lost", "")
	must(t, err)
	must(t, w.CreateBranch(repoName, "ada", "fix", refs["main"]))
	_, err = w.CommitFile(repoName, "ada", "fix", "b.go", []byte("package calc\n\nvar b = 1\n"), "Add b")
	must(t, err)
	_, err = w.OpenPull(repoName, "ada", githubtest.PullConfig{Title: "Add b", Head: "fix", Base: "main"})
	must(t, err)
	comment, err := w.Comment(repoName, 1, "ada", "hm")
	must(t, err)
	review, err := w.Review(repoName, 2, "will", "CHANGES_REQUESTED", "", githubtest.LineComment{Path: "b.go", Line: 3, Body: "Why one?"})
	must(t, err)
	_, lines, err := w.Reviews(repoName, 2)
	must(t, err)
	must(t, w.CreateRepo(githubtest.RepoConfig{Owner: "octo", Name: "other"}))
	some, err := w.CreateApp(githubtest.AppConfig{Name: "Some", WebhookURL: w.hooks.URL, Key: w.app.Key})
	must(t, err)
	selected, err := w.Install(some.ID, "octo", repoName)
	must(t, err)
	run, err := w.CompleteRun(githubtest.RunConfig{Repo: repoName, Jobs: []githubtest.Job{{Name: "test"}}})
	must(t, err)
	w.settle()
	for _, c := range []struct {
		want string
		do   func() error
	}{
		{"issue_comment.edited", func() error { return w.EditComment(repoName, 1, comment.ID, "ada", "/debug") }},
		{"issue_comment.deleted", func() error { return w.DeleteComment(repoName, 1, comment.ID, "ada") }},
		{"issues.assigned", func() error { return w.Assign(repoName, 1, "ada", "will") }},
		{"issues.locked", func() error { return w.LockIssue(repoName, 1, true) }},
		{"issues.unlocked", func() error { return w.LockIssue(repoName, 1, false) }},
		{"issues.closed", func() error { return w.CloseIssue(repoName, 1, "ada") }},
		{"issues.reopened", func() error { return w.ReopenIssue(repoName, 1, "ada") }},
		{"issues.deleted", func() error { return w.DeleteIssue(repoName, 1, "ada") }},
		{"pull_request.locked", func() error { return w.LockIssue(repoName, 2, true) }},
		{"pull_request.unlocked", func() error { return w.LockIssue(repoName, 2, false) }},
		{"pull_request.converted_to_draft", func() error { return w.SetDraft(repoName, 2, "ada", true) }},
		{"pull_request.ready_for_review", func() error { return w.SetDraft(repoName, 2, "ada", false) }},
		{"pull_request_review_comment.created", func() error { return w.ReplyToReview(repoName, 2, lines[0].ID, "ada", "Because.") }},
		{"pull_request_review_comment.edited", func() error { return w.EditReviewComment(repoName, 2, lines[0].ID, "will", "Why?") }},
		{"pull_request_review_thread.resolved", func() error { return w.ResolveThread(repoName, 2, lines[0].ID, "ada", true) }},
		{"pull_request_review_thread.unresolved", func() error { return w.ResolveThread(repoName, 2, lines[0].ID, "ada", false) }},
		{"pull_request_review_comment.deleted", func() error { return w.DeleteReviewComment(repoName, 2, lines[0].ID, "will") }},
		{"pull_request_review.dismissed", func() error { return w.DismissReview(repoName, 2, review.ID, "ada") }},
		{"pull_request.closed", func() error { return w.CloseIssue(repoName, 2, "ada") }},
		{"pull_request.reopened", func() error { return w.ReopenIssue(repoName, 2, "ada") }},
		{"create", func() error { return w.CreateBranch(repoName, "ada", "next", refs["main"]) }},
		{"delete", func() error { return w.DeleteBranch(repoName, "ada", "next") }},
		{"check_suite.rerequested", func() error {
			_, _, body := w.send("POST", "/repos/octo/calc/check-runs", w.token(nil), `{"name":"culprit","head_sha":"`+run.SHA+`"}`)
			var suite int64
			_, err := fmt.Sscanf(body[strings.Index(body, `"check_suite":{"id":`):], `"check_suite":{"id":%d`, &suite)
			must(t, err)
			return w.RerequestSuite(repoName, suite, "ada")
		}},
		{"fork", func() error { _, err := w.Fork("octo/other", "mallory"); return err }},
		{"installation_repositories.added", func() error { return w.AddRepository(selected, "octo/other") }},
		{"installation_repositories.removed", func() error { return w.RemoveRepository(selected, "octo/other") }},
		{"repository.archived", func() error { return w.ArchiveRepo("octo/other", true) }},
		{"repository.unarchived", func() error { return w.ArchiveRepo("octo/other", false) }},
		{"repository.privatized", func() error { return w.SetPrivate("octo/other", true) }},
		{"repository.publicized", func() error { return w.SetPrivate("octo/other", false) }},
		{"repository.deleted", func() error { return w.DeleteRepo("octo/other") }},
	} {
		before := len(w.hooks.events())
		if err := c.do(); err != nil {
			t.Errorf("%s: %v", c.want, err)
			continue
		}
		w.settle()
		if got := w.hooks.events()[before:]; !slices.Contains(got, c.want) {
			t.Errorf("events = %v, want %s", got, c.want)
		}
	}
}

func TestClosedDoorsAnswerAsGitHubDoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 2 {
		_, err := w.OpenIssue(repoName, "ada", "t", "")
		must(t, err)
	}
	must(t, w.LockIssue(repoName, 1, true))
	must(t, w.DeleteIssue(repoName, 2, "ada"))
	must(t, w.CreateRepo(githubtest.RepoConfig{Owner: "octo", Name: "other"}))
	must(t, w.DisableIssues("octo/other"))
	must(t, w.SetPermission(repoName, "will", "write"))
	tok, long := w.token(nil), strings.Repeat("x", 65537)
	for _, c := range []struct {
		what, token, method, path, body string
		status                          int
		message                         string
	}{
		{"comment in a locked issue", tok, "POST", "/repos/octo/calc/issues/1/comments", `{"body":"b"}`, 403, "Unable to create comment because issue is locked."},
		{"of a writer", w.UserToken("will"), "POST", "/repos/octo/calc/issues/1/comments", `{"body":"b"}`, 201, ""},
		{"deleted issue", tok, "GET", "/repos/octo/calc/issues/2", "", 410, "This issue was deleted"},
		{"comment on it", tok, "POST", "/repos/octo/calc/issues/2/comments", `{"body":"b"}`, 410, "This issue was deleted"},
		{"issues disabled", tok, "POST", "/repos/octo/other/issues", `{"title":"t"}`, 410, "Issues has been disabled in this repository."},
		{"unlock", tok, "DELETE", "/repos/octo/calc/issues/1/lock", "", 204, ""},
		{"lock for no reason known", tok, "PUT", "/repos/octo/calc/issues/1/lock", `{"lock_reason":"boring"}`, 422, "Validation Failed"},
		{"comment over the limit", tok, "POST", "/repos/octo/calc/issues/1/comments", `{"body":"` + long + `"}`, 422, "Validation Failed"},
		{"issue over the limit", tok, "POST", "/repos/octo/calc/issues", `{"title":"t","body":"` + long + `"}`, 422, "Validation Failed"},
		{"reaction", tok, "POST", "/repos/octo/calc/issues/1/reactions", `{"content":"eyes"}`, 201, ""},
		{"the same again", tok, "POST", "/repos/octo/calc/issues/1/reactions", `{"content":"eyes"}`, 200, ""},
		{"assign", tok, "POST", "/repos/octo/calc/issues/1/assignees", `{"assignees":["will","nobody"]}`, 201, ""},
		{"take the assignment back", tok, "DELETE", "/repos/octo/calc/issues/1/assignees", `{"assignees":["will"]}`, 200, ""},
	} {
		if status, _, body := w.send(c.method, c.path, c.token, c.body); status != c.status || c.message != "" && field([]byte(body), "message") != c.message {
			t.Errorf("%s: %d %s, want %d %q", c.what, status, body, c.status, c.message)
		}
	}
}

func TestReviewsByREST(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	refs, err := w.Refs(repoName)
	must(t, err)
	must(t, w.CreateBranch(repoName, "ada", "fix", refs["main"]))
	_, err = w.CommitFile(repoName, "ada", "fix", "b.go", []byte("package calc\n"), "Add b")
	must(t, err)
	_, err = w.OpenPull(repoName, "ada", githubtest.PullConfig{Title: "Add b", Head: "fix", Base: "main"})
	must(t, err)
	must(t, w.SetPermission(repoName, "will", "write"))
	review, err := w.Review(repoName, 1, "will", "CHANGES_REQUESTED", "", githubtest.LineComment{Path: "b.go", Line: 1, Body: "Why?"})
	must(t, err)
	_, lines, err := w.Reviews(repoName, 1)
	must(t, err)
	tok := w.token(nil)
	pull, line := "/repos/octo/calc/pulls/1", fmt.Sprintf("/repos/octo/calc/pulls/comments/%d", lines[0].ID)
	for _, c := range []struct {
		what, method, path, body string
		status                   int
	}{
		{"one review", "GET", fmt.Sprintf("%s/reviews/%d", pull, review.ID), "", 200},
		{"no such review", "GET", pull + "/reviews/1", "", 404},
		{"dismiss", "PUT", fmt.Sprintf("%s/reviews/%d/dismissals", pull, review.ID), `{"message":"done"}`, 200},
		{"dismiss again", "PUT", fmt.Sprintf("%s/reviews/%d/dismissals", pull, review.ID), `{"message":"done"}`, 422},
		{"one comment", "GET", line, "", 200},
		{"react to it", "POST", line + "/reactions", `{"content":"eyes"}`, 201},
		{"answer it", "POST", fmt.Sprintf("%s/comments/%d/replies", pull, lines[0].ID), `{"body":"Because."}`, 201},
		{"answer at length", "POST", fmt.Sprintf("%s/comments/%d/replies", pull, lines[0].ID), `{"body":"` + strings.Repeat("x", 65537) + `"}`, 422},
		{"edit it", "PATCH", line, `{"body":"Why not?"}`, 200},
		{"delete it", "DELETE", line, "", 204},
		{"it is gone", "GET", line, "", 404},
		{"ask for a review", "POST", pull + "/requested_reviewers", `{"reviewers":["will"]}`, 201},
		{"of the author", "POST", pull + "/requested_reviewers", `{"reviewers":["ada"]}`, 422},
		{"of a stranger", "POST", pull + "/requested_reviewers", `{"reviewers":["nobody"]}`, 422},
		{"who was asked", "GET", pull + "/requested_reviewers", "", 200},
		{"take it back", "DELETE", pull + "/requested_reviewers", `{"reviewers":["will"]}`, 200},
	} {
		if status, _, body := w.send(c.method, c.path, tok, c.body); status != c.status {
			t.Errorf("%s: %d %s, want %d", c.what, status, body, c.status)
		}
	}
}

func TestACommentOnALineThatChangedIsOutdated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	refs, err := w.Refs(repoName)
	must(t, err)
	must(t, w.CreateBranch(repoName, "ada", "fix", refs["main"]))
	commit := func(text string) {
		_, err = w.CommitFile(repoName, "ada", "fix", "b.go", []byte("package calc\n\n"+text+"\n"), "Change b")
		must(t, err)
	}
	commit("var b = 1")
	_, err = w.OpenPull(repoName, "ada", githubtest.PullConfig{Title: "Add b", Head: "fix", Base: "main"})
	must(t, err)
	_, err = w.Review(repoName, 1, "will", "COMMENTED", "", githubtest.LineComment{Path: "b.go", Line: 3, Body: "Why one?"})
	must(t, err)
	at := func() string {
		_, _, body := w.send("GET", "/repos/octo/calc/pulls/1/comments", w.token(nil), "")
		_, rest, found := strings.Cut(body, `"line":`)
		if !found {
			return ""
		}
		line, _, _ := strings.Cut(rest, ",")
		return line
	}
	commit("var b = 1\n\nvar c = 2")
	if got := at(); got != "3" {
		t.Errorf("after a change elsewhere the comment is on line %q, want 3", got)
	}
	commit("var b = 2")
	if got := at(); got != "" {
		t.Errorf("after the line changed the comment is on line %q, want none", got)
	}
	_, lines, err := w.Reviews(repoName, 1)
	must(t, err)
	must(t, w.ReplyToReview(repoName, 1, lines[0].ID, "ada", "Two now."))
	w.settle()
	if last := w.hooks.all()[len(w.hooks.all())-1]; !strings.Contains(string(last.body), `"line":null`) || !strings.Contains(string(last.body), `"original_line":3`) {
		t.Errorf("the reply: %s", last.body)
	}
}
