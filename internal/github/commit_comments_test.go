package github_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sync"
)

// commitComments is the part of GitHub that keeps comments of commits.
type commitComments struct {
	mu  sync.Mutex
	bot string
	all []map[string]any
}

var (
	ofCommit  = regexp.MustCompile(`/repos/octo/calc/commits/([0-9a-f]{40})/comments$`)
	oneByName = regexp.MustCompile(`/repos/octo/calc/comments/(\d+)$`)
)

func (c *commitComments) serve(req *http.Request) (*http.Response, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var in struct {
		Body string `json:"body"`
	}
	if req.Body != nil && (ofCommit.MatchString(req.URL.Path) || oneByName.MatchString(req.URL.Path)) {
		b, _ := io.ReadAll(req.Body)
		_ = json.Unmarshal(b, &in)
	}
	if m := ofCommit.FindStringSubmatch(req.URL.Path); m != nil {
		if req.Method == http.MethodGet {
			return answer(200, c.all), true
		}
		made := c.add(m[1], c.bot, in.Body)
		return answer(201, made), true
	}
	if m := oneByName.FindStringSubmatch(req.URL.Path); m != nil {
		for _, one := range c.all {
			if fmt.Sprint(one["id"]) == m[1] {
				if req.Method == http.MethodPatch {
					one["body"] = in.Body
				}
				return answer(200, one), true
			}
		}
		return answer(404, map[string]any{"message": "Not Found"}), true
	}
	return nil, false
}

func (c *commitComments) add(sha, login, body string) map[string]any {
	kind := "User"
	if login == c.bot {
		kind = "Bot"
	}
	one := map[string]any{
		"id": len(c.all) + 1, "commit_id": sha, "body": body, "html_url": "https://github.test/c",
		"user": map[string]any{"login": login, "type": kind},
	}
	c.all = append(c.all, one)
	return one
}

func answer(status int, v any) *http.Response {
	b, _ := json.Marshal(v)
	return &http.Response{
		StatusCode: status, Status: fmt.Sprint(status), Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(b)), ContentLength: int64(len(b)),
	}
}
