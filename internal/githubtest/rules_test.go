package githubtest_test

import (
	"strings"
	"testing"

	"culprit/internal/githubtest"
)

func TestARuleIsToldAndKeepsBranchesFromBeingMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, w.AddRule(repoName, githubtest.Rule{Branches: "bot/**/*", Creation: true}))
	must(t, w.AddRule(repoName, githubtest.Rule{Branches: "ma*", Checks: []string{"DCO"}, Message: "Signed-off-by: .+"}))
	tok := w.token(nil)
	for branch, want := range map[string][]string{
		"main":      {`"required_status_checks":[{"context":"DCO"}]`, `"type":"commit_message_pattern"`, `"ruleset_source":"octo/calc"`},
		"bot/a/b":   {`"type":"creation"`},
		"elsewhere": {"[]"},
	} {
		status, _, body := w.send("GET", "/repos/octo/calc/rules/branches/"+branch, tok, "")
		for _, part := range want {
			if status != 200 || !strings.Contains(body, part) {
				t.Errorf("rules of %s: %d %s, want %s", branch, status, body, part)
			}
		}
	}
	clone := t.TempDir() + "/clone"
	git(t, t.TempDir(), "clone", "--quiet", w.withToken(tok), clone)
	sha := git(t, clone, "rev-parse", "HEAD")
	for branch, refused := range map[string]bool{"bot/fix": true, "bot/a/b": true, "topic": false} {
		out, err := tryGit(clone, "push", "origin", "HEAD:refs/heads/"+branch)
		if (err != nil) != refused || refused && !strings.Contains(out, "GH013: Repository rule violations found for refs/heads/"+branch) {
			t.Errorf("push of %s: %v\n%s", branch, err, out)
		}
		status, _, body := w.send("POST", "/repos/octo/calc/git/refs", tok, `{"ref":"refs/heads/`+branch+`-2","sha":"`+sha+`"}`)
		if (status == 422) != refused {
			t.Errorf("make %s-2: %d %s", branch, status, body)
		}
	}
}
