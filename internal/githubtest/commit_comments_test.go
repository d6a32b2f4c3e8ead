package githubtest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-github/v62/github"

	"culprit/internal/githubtest"
)

func TestCommitsHaveComments(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ *githubtest.Options, c *githubtest.AppConfig) {
		c.Events = append(githubtest.DefaultEvents(), "commit_comment")
	})
	ctx, gh := t.Context(), w.client()
	refs, err := w.Refs(repoName)
	must(t, err)
	sha := refs["main"]
	_, err = w.CommentCommit(repoName, sha, "eve", "<script>alert(1)</script>first")
	must(t, err)
	made, _, err := gh.Repositories.CreateComment(ctx, "octo", "calc", sha, &github.RepositoryComment{Body: github.String("**second**")})
	must(t, err)
	if made.GetCommitID() != sha || made.GetUser().GetLogin() != "culprit[bot]" || made.Path != nil || made.Position != nil ||
		!strings.HasSuffix(made.GetHTMLURL(), fmt.Sprintf("/octo/calc/commit/%s#commitcomment-%d", sha, made.GetID())) {
		t.Errorf("comment = %v", made)
	}
	onLine, _, err := gh.Repositories.CreateComment(ctx, "octo", "calc", sha[:12], &github.RepositoryComment{
		Body: github.String("third"), Path: github.String("README.md"), Position: github.Int(1),
	})
	must(t, err)
	if onLine.GetPath() != "README.md" || onLine.GetPosition() != 1 || onLine.GetCommitID() != sha {
		t.Errorf("comment on a line = %v", onLine)
	}
	_, _, err = gh.Repositories.UpdateComment(ctx, "octo", "calc", made.GetID(), &github.RepositoryComment{Body: github.String("**changed**")})
	must(t, err)
	got, _, err := gh.Repositories.GetComment(ctx, "octo", "calc", made.GetID())
	must(t, err)
	if got.GetBody() != "**changed**" {
		t.Errorf("after the change: %q", got.GetBody())
	}
	page, resp, err := gh.Repositories.ListCommitComments(ctx, "octo", "calc", sha, &github.ListOptions{PerPage: 2})
	must(t, err)
	if len(page) != 2 || page[1].GetID() != made.GetID() || resp.NextPage != 2 || resp.LastPage != 2 {
		t.Errorf("first page: %v, next %d, last %d", page, resp.NextPage, resp.LastPage)
	}
	if others, _, err := gh.Repositories.ListCommitComments(ctx, "octo", "calc", w.parent("main"), nil); err != nil || len(others) != 0 {
		t.Errorf("comments of another commit: %v, %v", others, err)
	}
	commit, _, err := gh.Repositories.GetCommit(ctx, "octo", "calc", sha, nil)
	must(t, err)
	if n := commit.GetCommit().GetCommentCount(); n != 3 {
		t.Errorf("the commit counts %d comments", n)
	}
	_, err = w.CompleteRun(githubtest.RunConfig{Repo: repoName, Jobs: []githubtest.Job{{Name: "unit tests", Conclusion: "failure"}}})
	must(t, err)
	_, _, body := w.send("GET", "/octo/calc/commit/"+sha, "", "")
	for _, want := range []string{
		"# calc</td>", "unit tests", fmt.Sprintf(`id="commitcomment-%d"`, made.GetID()), "<strong>changed</strong>", "· edited", "commented on README.md line 1",
	} {
		if !strings.Contains(body, want) || strings.Contains(body, "<script") {
			t.Errorf("the commit's page lacks %q or has a script:\n%s", want, body)
		}
	}

	_, err = gh.Repositories.DeleteComment(ctx, "octo", "calc", onLine.GetID())
	must(t, err)
	if _, resp, err := gh.Repositories.GetComment(ctx, "octo", "calc", onLine.GetID()); err == nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("a deleted comment: %v", err)
	}
	left, err := w.CommitComments(repoName, "main")
	must(t, err)
	if len(left) != 2 || left[0].User != "eve" || left[0].Edits != 0 || left[1].User != "culprit[bot]" || left[1].Edits != 1 || left[1].SHA != sha {
		t.Errorf("comments = %+v", left)
	}
	w.settle()
	var bodies []string
	for _, h := range w.hooks.all() {
		if h.header.Get("X-GitHub-Event") != "commit_comment" {
			continue
		}
		if field(h.body, "action") != "created" || field(h.body, "comment.commit_id") != sha {
			t.Errorf("event = %s", h.body)
		}
		bodies = append(bodies, field(h.body, "comment.body"))
	}
	if len(bodies) != 3 || bodies[1] != "**second**" {
		t.Errorf("events of %q, want one for each new comment and none for what came later", bodies)
	}
}

func TestCommitCommentsAreChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	only := func(level string) string {
		return w.token(&github.InstallationTokenOptions{Permissions: &github.InstallationPermissions{Contents: github.String(level)}})
	}
	reader, writer := only("read"), only("write")
	none := w.token(&github.InstallationTokenOptions{Permissions: &github.InstallationPermissions{Issues: github.String("write")}})
	for login, role := range map[string]string{"rob": "read", "will": "write"} {
		must(t, w.SetPermission(repoName, login, role))
	}
	first, err := w.CommentCommit(repoName, "main", "rob", "hello")
	must(t, err)
	long, err := json.Marshal(map[string]string{"body": strings.Repeat("ä", 65537)})
	must(t, err)
	all, one := "/repos/octo/calc/commits/"+first.SHA+"/comments", fmt.Sprintf("/repos/octo/calc/comments/%d", first.ID)
	for _, c := range []struct {
		name, method, path, token, body string
		status                          int
		says                            string
	}{
		{"reading needs no more than to see the repository", "GET", all, none, "", 200, "hello"},
		{"a comment too", "GET", one, none, "", 200, "hello"},
		{"writing without contents", "POST", all, none, `{"body":"x"}`, 403, "Resource not accessible by integration"},
		{"writing with contents:read", "POST", all, reader, `{"body":"x"}`, 201, `"position":null`},
		{"changing with contents:read", "PATCH", one, reader, `{"body":"x"}`, 403, "Resource not accessible by integration"},
		{"deleting with contents:read", "DELETE", one, reader, "", 403, "Resource not accessible by integration"},
		{"changing with contents:write", "PATCH", one, writer, `{"body":"y"}`, 200, `"body":"y"`},
		{"a stranger", "GET", all, w.UserToken("eve"), "", 404, "Not Found"},
		{"nobody", "POST", all, "", `{"body":"x"}`, 404, "Not Found"},
		{"the author, a reader", "PATCH", one, w.UserToken("rob"), `{"body":"mine"}`, 200, "mine"},
		{"no such commit", "POST", "/repos/octo/calc/commits/" + strings.Repeat("ab", 20) + "/comments", writer, `{"body":"x"}`, 422, "No commit found for SHA: abab"},
		{"comments of no such commit", "GET", "/repos/octo/calc/commits/none/comments", writer, "", 422, "No commit found for SHA: none"},
		{"no such comment", "PATCH", "/repos/octo/calc/comments/1", writer, `{"body":"x"}`, 404, "Not Found"},
		{"no body", "POST", all, writer, `{}`, 422, `"body\" wasn't supplied`},
		{"a body of another type", "POST", all, writer, `{"body":1}`, 422, "properties/body"},
		{"a blank body", "POST", all, writer, `{"body":" \n"}`, 422, "missing_field"},
		{"a blank change", "PATCH", one, writer, `{"body":""}`, 422, "missing_field"},
		{"a body that is too long", "POST", all, writer, string(long), 422, "65536"},
		{"not JSON", "POST", all, writer, `{`, 400, "Problems parsing JSON"},
		{"a file that the commit does not touch", "POST", all, writer, `{"body":"x","path":"calc.go","position":1}`, 422, `"field":"path"`},
		{"a position without a file", "POST", all, writer, `{"body":"x","position":1}`, 422, `"field":"path"`},
		{"a position outside of the diff", "POST", all, writer, `{"body":"x","path":"README.md","position":9}`, 422, `"field":"position"`},
		{"the hunk header", "POST", all, writer, `{"body":"x","path":"README.md","position":0}`, 422, `"field":"position"`},
		{"a line outside of the diff", "POST", all, writer, `{"body":"x","path":"README.md","line":9}`, 422, `"field":"line"`},
		{"a line", "POST", all, writer, `{"body":"x","path":"README.md","line":1}`, 201, `"position":1`},
		{"somebody else who may write", "DELETE", one, w.UserToken("will"), "", 204, ""},
	} {
		status, _, body := w.send(c.method, c.path, c.token, c.body)
		if status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s: got %d %s, want %d %q", c.name, status, body, c.status, c.says)
		}
	}
	second, err := w.CommentCommit(repoName, "main", "will", "hello")
	must(t, err)
	if status, _, body := w.send("DELETE", fmt.Sprintf("/repos/octo/calc/comments/%d", second.ID), w.UserToken("rob"), ""); status != 403 {
		t.Errorf("a reader deleted a comment of somebody else: %d %s", status, body)
	}
}
