package githubtest_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v62/github"

	"culprit/internal/githubtest"
)

func TestListsArePaginatedByLinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	issue, err := w.OpenIssue(repoName, "ada", "t", "")
	must(t, err)
	for n := range 250 {
		_, err := w.Comment(repoName, issue.Number, "ada", fmt.Sprint("comment ", n))
		must(t, err)
	}
	gh := w.client()
	opts := &github.IssueListCommentsOptions{ListOptions: github.ListOptions{PerPage: 1000}}
	var got []string
	for pages := 1; ; pages++ {
		list, resp, err := gh.Issues.ListComments(ctx, "octo", "calc", issue.Number, opts)
		must(t, err)
		for _, c := range list {
			got = append(got, c.GetBody())
		}
		if resp.NextPage == 0 {
			if pages != 3 {
				t.Errorf("%d pages, want 3 of at most 100", pages)
			}
			break
		}
		if resp.LastPage != 3 {
			t.Errorf("last page = %d", resp.LastPage)
		}
		opts.Page = resp.NextPage
	}
	if len(got) != 250 || got[0] != "comment 0" || got[249] != "comment 249" {
		t.Errorf("%d comments, from %q to %q", len(got), got[0], got[len(got)-1])
	}
	_, header, _ := w.send("GET", "/repos/octo/calc/issues/1/comments?page=2", w.token(nil), "")
	for _, want := range []string{`page=1>; rel="prev"`, `page=3>; rel="next"`, `page=9>; rel="last"`, `page=1>; rel="first"`} {
		if !strings.Contains(header.Get("Link"), want) {
			t.Errorf("Link %q lacks %q", header.Get("Link"), want)
		}
	}
}

func TestUnchangedAnswersAre304AndFree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tok := w.token(nil)
	_, header, _ := w.send("GET", "/repos/octo/calc", tok, "")
	left := header.Get("X-RateLimit-Remaining")
	status, again, body := w.send("GET", "/repos/octo/calc", tok, "", "If-None-Match", header.Get("ETag"))
	if status != http.StatusNotModified || body != "" || again.Get("ETag") != header.Get("ETag") {
		t.Errorf("unchanged: %d %q", status, body)
	}
	_, err := w.OpenIssue(repoName, "ada", "t", "")
	must(t, err)
	status, header, _ = w.send("GET", "/repos/octo/calc", tok, "", "If-None-Match", header.Get("ETag"))
	if status != 200 {
		t.Errorf("changed: %d", status)
	}
	if want := fmt.Sprint(atoi(left) - 1); header.Get("X-RateLimit-Remaining") != want {
		t.Errorf("remaining %s, want %s: a 304 must not count", header.Get("X-RateLimit-Remaining"), want)
	}
}

func atoi(s string) (n int) {
	_, _ = fmt.Sscan(s, &n)
	return n
}

func TestPrimaryRateLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *githubtest.Options, _ *githubtest.AppConfig) { o.RateLimit = 3 })
	must(t, w.SetPermission(repoName, "will", "write"))
	tok := w.UserToken("will")
	for range 3 {
		if status, _, body := w.send("GET", "/repos/octo/calc", tok, ""); status != 200 {
			t.Fatalf("within the limit: %d %s", status, body)
		}
	}
	status, header, body := w.send("GET", "/repos/octo/calc", tok, "")
	if status != 403 || header.Get("X-RateLimit-Remaining") != "0" || !strings.Contains(body, "API rate limit exceeded") {
		t.Errorf("over the limit: %d %v %s", status, header, body)
	}
	if status, _, body := w.send("GET", "/rate_limit", tok, ""); status != 200 || !strings.Contains(body, `"remaining":0`) {
		t.Errorf("/rate_limit: %d %s", status, body)
	}
	w.clock.Add(time.Hour)
	if status, _, _ := w.send("GET", "/repos/octo/calc", tok, ""); status != 200 {
		t.Errorf("after the reset: %d", status)
	}
}

func TestSecondaryRateLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *githubtest.Options, _ *githubtest.AppConfig) { o.ContentLimit = 2 })
	tok := w.token(nil)
	for range 2 {
		if status, _, body := w.send("POST", "/repos/octo/calc/issues", tok, `{"title":"t"}`); status != 201 {
			t.Fatalf("within the limit: %d %s", status, body)
		}
	}
	status, header, body := w.send("POST", "/repos/octo/calc/issues", tok, `{"title":"t"}`)
	wait := atoi(header.Get("Retry-After"))
	if status != 403 || wait < 1 || wait > 60 || atoi(header.Get("X-RateLimit-Remaining")) == 0 || !strings.Contains(body, "secondary rate limit") {
		t.Errorf("over the limit: %d %v %s", status, header, body)
	}
	if status, _, _ := w.send("GET", "/repos/octo/calc/issues", tok, ""); status != 200 {
		t.Errorf("reading is not limited: %d", status)
	}
	w.clock.Add(time.Duration(wait) * time.Second)
	if status, _, body := w.send("POST", "/repos/octo/calc/issues", tok, `{"title":"t"}`); status != 201 {
		t.Errorf("after the wait: %d %s", status, body)
	}
}

func TestAnInstallationCanBeNearItsLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tok := w.token(nil)
	w.SpendRateLimit(w.inst, 1)
	if status, header, _ := w.send("GET", "/repos/octo/calc", tok, ""); status != 200 || header.Get("X-RateLimit-Remaining") != "0" {
		t.Errorf("the last request: %d, %s left", status, header.Get("X-RateLimit-Remaining"))
	}
	status, header, _ := w.send("GET", "/repos/octo/calc", tok, "")
	if reset := atoi(header.Get("X-RateLimit-Reset")); status != 403 || int64(reset) <= w.clock.Now().Unix() {
		t.Errorf("one more: %d, reset %d", status, reset)
	}
}

func TestRequestsAreValidated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.OpenIssue(repoName, "ada", "t", "")
	must(t, err)
	tok := w.token(nil)
	refs, err := w.Refs(repoName)
	must(t, err)
	sha := refs["main"]
	check := func(rest string) string { return `{"name":"c","head_sha":"` + sha + `",` + rest + `}` }
	annotation := `{"path":"a","start_line":1,"end_line":1,"annotation_level":"notice","message":"m"}`
	action := `{"label":"l","description":"d","identifier":"i"}`
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"not JSON", "POST", "/issues", "{", 400, "Problems parsing JSON"},
		{"not an object", "POST", "/issues", "[]", 400, "Body should be a JSON object"},
		{"title missing", "POST", "/issues", "{}", 422, `wasn't supplied`},
		{"title of another type", "POST", "/issues", `{"title":{}}`, 422, "Invalid request"},
		{"blank comment", "POST", "/issues/1/comments", `{"body":" "}`, 422, "Body cannot be blank"},
		{"comment of 65536", "POST", "/issues/1/comments", `{"body":"` + strings.Repeat("é", 65536) + `"}`, 201, ""},
		{"comment of 65537", "POST", "/issues/1/comments", `{"body":"` + strings.Repeat("x", 65537) + `"}`, 422, "Body is too long (maximum is 65536 characters)"},
		{"comment on nothing", "POST", "/issues/77/comments", `{"body":"x"}`, 404, "Not Found"},
		{"huge number", "GET", "/issues/99999999999999999999", "", 404, "Not Found"},
		{"label twice", "POST", "/labels", `{"name":"bug"}`, 422, "already_exists"},
		{"colour", "POST", "/labels", `{"name":"n","color":"red"}`, 422, "invalid"},
		{"label not on the issue", "DELETE", "/issues/1/labels/bug", "", 404, "Label does not exist"},
		{"ref exists", "POST", "/git/refs", `{"ref":"refs/heads/main","sha":"` + sha + `"}`, 422, "Reference already exists"},
		{"ref without refs/", "POST", "/git/refs", `{"ref":"main","sha":"` + sha + `"}`, 422, "refs/"},
		{"bad ref name", "POST", "/git/refs", `{"ref":"refs/heads/a..b","sha":"` + sha + `"}`, 422, "valid ref name"},
		{"no such object", "POST", "/git/refs", `{"ref":"refs/heads/x","sha":"` + strings.Repeat("0", 40) + `"}`, 422, "Object does not exist"},
		{"option as SHA", "POST", "/git/refs", `{"ref":"refs/heads/x","sha":"--stdin"}`, 422, "Object does not exist"},
		{"not a fast-forward", "PATCH", "/git/refs/heads/main", `{"sha":"` + w.parent(sha) + `"}`, 422, "Update is not a fast forward"},
		{"default branch", "DELETE", "/git/refs/heads/main", "", 422, "Cannot delete"},
		{"head missing", "POST", "/pulls", `{"title":"t","head":"none","base":"main"}`, 422, `"field":"head"`},
		{"no commits", "POST", "/pulls", `{"title":"t","head":"main","base":"main"}`, 422, "No commits between main and main"},
		{"completed without conclusion", "POST", "/check-runs", check(`"status":"completed"`), 422, "conclusion"},
		{"unknown conclusion", "POST", "/check-runs", check(`"conclusion":"great"`), 422, "conclusion"},
		{"50 annotations", "POST", "/check-runs", check(`"output":{"title":"t","summary":"s","annotations":[` + strings.Repeat(annotation+",", 49) + annotation + `]}`), 201, ""},
		{"51 annotations", "POST", "/check-runs", check(`"output":{"title":"t","summary":"s","annotations":[` + strings.Repeat(annotation+",", 50) + annotation + `]}`), 422, "50 items"},
		{"4 actions", "POST", "/check-runs", check(`"actions":[` + strings.Repeat(action+",", 3) + action + `]`), 422, "No more than 3"},
		{"long action label", "POST", "/check-runs", check(`"actions":[{"label":"` + strings.Repeat("x", 21) + `","description":"d","identifier":"i"}]`), 422, "20 characters"},
		{"unknown commit", "POST", "/check-runs", `{"name":"c","head_sha":"` + strings.Repeat("1", 40) + `"}`, 422, "No commit found"},
		{"unknown route", "GET", "/nothing/here", "", 404, "Not Found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, _, body := w.send(c.method, "/repos/octo/calc"+c.path, tok, c.body)
			if status != c.status || !strings.Contains(strings.ReplaceAll(body, `\"`, `"`), c.want) {
				t.Errorf("got %d %s\nwant %d %s", status, body, c.status, c.want)
			}
			if status >= 400 && (field([]byte(body), "documentation_url") == "" || field([]byte(body), "message") == "") {
				t.Errorf("the error is not in GitHub's form: %s", body)
			}
		})
	}
}

// parent is the parent of a commit of the repository.
func (w *world) parent(sha string) string {
	return git(w.t, w.GitDir(repoName), "rev-parse", sha+"^")
}

func TestFaultsHappenWhereTheyAreInjected(t *testing.T) {
	t.Parallel()
	const route = "/repos/{owner}/{repo}/issues"
	for _, c := range []struct {
		name   string
		fault  githubtest.Fault
		status int // 0: the connection breaks
		want   string
		made   int // issues that exist afterwards
	}{
		{"status", githubtest.Fault{Status: 500}, 500, "Internal Server Error", 0},
		{"HTML", githubtest.BadGateway(), 502, "<h1>502 Bad Gateway", 0},
		{"late", githubtest.Fault{Status: 504, Late: true}, 504, "", 1},
		{"secondary limit", githubtest.SecondaryRateLimit(429, time.Minute), 429, "secondary rate limit", 0},
		{"drop", githubtest.Fault{Drop: true}, 0, "", 0},
		{"answer lost", githubtest.Fault{Drop: true, Late: true}, 0, "", 1},
		{"truncated", githubtest.Fault{Truncate: true}, 0, "", 1},
		{"slow", githubtest.Fault{Latency: time.Millisecond}, 201, `"number":1`, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			tok := w.token(nil)
			c.fault.Times = 1
			in := w.Inject(c.fault.On("POST", route))
			if status, _, _ := w.send("GET", "/repos/octo/calc/issues", tok, ""); status != 200 {
				t.Errorf("another method was hit: %d", status)
			}
			status, body, err := w.trySend("POST", "/repos/octo/calc/issues", tok, `{"title":"t"}`)
			if c.status == 0 && err == nil || c.status != 0 && (err != nil || status != c.status || !strings.Contains(body, c.want)) {
				t.Errorf("got %d %q %v", status, body, err)
			}
			issues, err := w.Issues(repoName)
			must(t, err)
			if len(issues) != c.made || in.Hits() != 1 {
				t.Errorf("%d issues, %d hits; want %d and 1", len(issues), in.Hits(), c.made)
			}
			if status, _, _ := w.send("POST", "/repos/octo/calc/issues", tok, `{"title":"t"}`); status != 201 {
				t.Errorf("the fault did not end: %d", status)
			}
		})
	}
}

func TestRateLimitFaultsAreUnderstoodByClients(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gh := w.client()
	reset := w.clock.Now().Add(10 * time.Minute)
	w.Inject(githubtest.PrimaryRateLimit(reset).On("GET", "/repos/{owner}/{repo}"))
	_, _, err := gh.Repositories.Get(t.Context(), "octo", "calc")
	if e := new(github.RateLimitError); !errors.As(err, &e) || e.Rate.Reset.Unix() != reset.Unix() {
		t.Errorf("primary limit: %v", err)
	}
	gh = w.client()
	w.Inject(githubtest.SecondaryRateLimit(403, 90*time.Second).On("GET", "/repos/{owner}/{repo}/pulls"))
	_, _, err = gh.PullRequests.List(t.Context(), "octo", "calc", nil)
	if e := new(github.AbuseRateLimitError); !errors.As(err, &e) || e.GetRetryAfter() != 90*time.Second {
		t.Errorf("secondary limit: %v", err)
	}
}
