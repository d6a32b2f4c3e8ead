package githubtest_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v62/github"

	"culprit/internal/githubtest"
)

// signJWT makes a JWT by hand, so that wrong ones can be made too.
func signJWT(t *testing.T, key *rsa.PrivateKey, header, claims string) string {
	t.Helper()
	enc := base64.RawURLEncoding.EncodeToString
	head := enc([]byte(header)) + "." + enc([]byte(claims))
	sum := sha256.Sum256([]byte(head))
	sig, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	must(t, err)
	return head + "." + enc(sig)
}

func TestAppJWTIsCheckedAsGitHubDocuments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	now := w.clock.Now().Unix()
	const rs256 = `{"alg":"RS256","typ":"JWT"}`
	good := fmt.Sprintf(`{"iss":%d,"iat":%d,"exp":%d}`, w.app.ID, now-60, now+540)
	for _, c := range []struct {
		name, header, claims string
		key                  *rsa.PrivateKey
		status               int
		message              string
	}{
		{"good", rs256, good, w.app.Key, 200, ""},
		{"iss as a string", rs256, fmt.Sprintf(`{"iss":"%d","iat":%d,"exp":%d}`, w.app.ID, now-60, now+540), w.app.Key, 200, ""},
		{"other key", rs256, good, other, 401, "could not be decoded"},
		{"other algorithm", `{"alg":"none"}`, good, w.app.Key, 401, "could not be decoded"},
		{"unknown App", rs256, fmt.Sprintf(`{"iss":1,"iat":%d,"exp":%d}`, now-60, now+540), w.app.Key, 401, "Integration not found"},
		{"from the future", rs256, fmt.Sprintf(`{"iss":%d,"iat":%d,"exp":%d}`, w.app.ID, now+60, now+540), w.app.Key, 401, "'Issued at'"},
		{"expired", rs256, fmt.Sprintf(`{"iss":%d,"iat":%d,"exp":%d}`, w.app.ID, now-600, now-1), w.app.Key, 401, "'Expiration time'"},
		{"too long", rs256, fmt.Sprintf(`{"iss":%d,"iat":%d,"exp":%d}`, w.app.ID, now-60, now+700), w.app.Key, 401, "too far in the future"},
		{"without exp", rs256, fmt.Sprintf(`{"iss":%d,"iat":%d}`, w.app.ID, now-60), w.app.Key, 401, "'exp'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, _, body := w.send("GET", "/app", signJWT(t, c.key, c.header, c.claims), "")
			if status != c.status || !strings.Contains(field([]byte(body), "message"), c.message) {
				t.Errorf("got %d %s, want %d and %q", status, body, c.status, c.message)
			}
		})
	}
}

func TestInstallationTokensEndAfterAnHour(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tok := w.token(nil)
	if !strings.HasPrefix(tok, "ghs_") {
		t.Errorf("token %q lacks GitHub's prefix", tok[:4])
	}
	w.clock.Add(59 * time.Minute)
	if status, _, body := w.send("GET", "/repos/octo/calc", tok, ""); status != 200 {
		t.Fatalf("after 59 minutes: %d %s", status, body)
	}
	w.clock.Add(time.Minute)
	if status, _, body := w.send("GET", "/repos/octo/calc", tok, ""); status != 401 || field([]byte(body), "message") != "Bad credentials" {
		t.Errorf("after an hour: %d %s", status, body)
	}
	if out, err := tryGit(t.TempDir(), "ls-remote", w.withToken(tok)); err == nil {
		t.Errorf("git accepted an expired token:\n%s", out)
	}
}

func TestTokensReachOnlyWhatTheyWereMadeFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, w.CreateRepo(githubtest.RepoConfig{Owner: "octo", Name: "secret", Private: true}))
	must(t, w.CreateRepo(githubtest.RepoConfig{Owner: "octo", Name: "open"}))
	narrow := w.token(&github.InstallationTokenOptions{
		Repositories: []string{"calc"}, Permissions: &github.InstallationPermissions{Contents: github.String("read"), Issues: github.String("read")},
	})
	wide := w.token(nil)
	for _, c := range []struct {
		name, token, method, path, body string
		status                          int
		message                         string
	}{
		{"its repository", narrow, "GET", "/repos/octo/calc", "", 200, ""},
		{"another private one", narrow, "GET", "/repos/octo/secret", "", 404, "Not Found"},
		{"another public one, reading", narrow, "GET", "/repos/octo/open", "", 200, ""},
		{"another public one, writing", narrow, "POST", "/repos/octo/open/issues", `{"title":"t"}`, 403, "Resource not accessible by integration"},
		{"write with a read permission", narrow, "POST", "/repos/octo/calc/issues", `{"title":"t"}`, 403, "Resource not accessible by integration"},
		{"a permission left out", narrow, "GET", "/repos/octo/calc/pulls", "", 403, "Resource not accessible by integration"},
		{"all permissions", wide, "POST", "/repos/octo/calc/issues", `{"title":"t"}`, 201, ""},
		{"a permission not granted", wide, "POST", "/repos/octo/calc/actions/runs/1/rerun", "", 403, "Resource not accessible by integration"},
		{"all repositories", wide, "GET", "/repos/octo/secret", "", 200, ""},
		{"no such repository", wide, "GET", "/repos/octo/none", "", 404, "Not Found"},
		{"App endpoint with a token", wide, "GET", "/app", "", 401, "A JSON web token could not be decoded"},
		{"made-up token", "ghs_x", "GET", "/repos/octo/open", "", 401, "Bad credentials"},
		{"anonymous, private", "", "GET", "/repos/octo/calc", "", 404, "Not Found"},
		{"anonymous, public", "", "GET", "/repos/octo/open", "", 200, ""},
		{"anonymous write", "", "POST", "/repos/octo/open/issues", `{"title":"t"}`, 401, "Requires authentication"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, header, body := w.send(c.method, c.path, c.token, c.body)
			if status != c.status || c.message != "" && field([]byte(body), "message") != c.message {
				t.Errorf("got %d %s, want %d %q", status, body, c.status, c.message)
			}
			if c.status == 403 && c.name != "another public one, writing" && header.Get("X-Accepted-GitHub-Permissions") == "" {
				t.Error("a refusal must say which permission is needed")
			}
		})
	}
	_, _, err := w.appClient().Apps.CreateInstallationToken(t.Context(), w.inst, &github.InstallationTokenOptions{
		Permissions: &github.InstallationPermissions{Administration: github.String("write")},
	})
	if err == nil || !strings.Contains(err.Error(), "422") {
		t.Errorf("a token with more than the installation's permissions: %v", err)
	}
}

func TestSuspendedAndDeletedInstallations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tok := w.token(nil)
	must(t, w.Suspend(w.inst, true))
	if status, _, body := w.send("GET", "/repos/octo/calc", tok, ""); status != 403 {
		t.Errorf("suspended: %d %s", status, body)
	}
	if _, _, err := w.appClient().Apps.CreateInstallationToken(t.Context(), w.inst, nil); err == nil {
		t.Error("a suspended installation gave out a token")
	}
	must(t, w.Suspend(w.inst, false))
	if status, _, body := w.send("GET", "/repos/octo/calc", tok, ""); status != 200 {
		t.Errorf("lifted: %d %s", status, body)
	}
	must(t, w.Uninstall(w.inst))
	if status, _, _ := w.send("GET", "/repos/octo/calc", tok, ""); status != 401 {
		t.Errorf("deleted: %d", status)
	}
	if _, resp, err := w.appClient().Apps.FindRepositoryInstallation(t.Context(), "octo", "calc"); err == nil || resp.StatusCode != 404 {
		t.Errorf("a deleted installation is still found: %v", err)
	}
}

func TestPeopleMayWhatTheirRoleAllows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	for login, role := range map[string]string{"maya": "maintain", "trudy": "triage", "rob": "read", "will": "write"} {
		must(t, w.SetPermission(repoName, login, role))
	}
	must(t, w.CreateUser("eve"))
	gh := w.client()
	for login, want := range map[string][2]string{
		"maya": {"write", "maintain"}, "trudy": {"read", "triage"}, "rob": {"read", "read"}, "will": {"write", "write"}, "eve": {"none", "none"},
	} {
		_, _, body := w.send("GET", "/repos/octo/calc/collaborators/"+login+"/permission", w.token(nil), "")
		if got := [2]string{field([]byte(body), "permission"), field([]byte(body), "role_name")}; got != want {
			t.Errorf("%s has %v, want %v", login, got, want)
		}
	}
	if _, resp, err := gh.Repositories.GetPermissionLevel(ctx, "octo", "calc", "nobody"); err == nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown login: %v", err)
	}
	if status, _, _ := w.send("POST", "/repos/octo/calc/labels", w.UserToken("rob"), `{"name":"x"}`); status != 403 {
		t.Errorf("a reader made a label: %d", status)
	}
	if status, _, _ := w.send("POST", "/repos/octo/calc/labels", w.UserToken("will"), `{"name":"x"}`); status != 201 {
		t.Errorf("a writer could not make a label: %d", status)
	}
	must(t, w.ArchiveRepo(repoName, true))
	if status, _, body := w.send("POST", "/repos/octo/calc/labels", w.UserToken("will"), `{"name":"y"}`); status != 403 || !strings.Contains(body, "archived") {
		t.Errorf("a write to an archived repository: %d %s", status, body)
	}
}
