package githubtest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v62/github"
)

const manifestJSON = `{"name":"Red Fixer","url":"https://bot.example.com","hook_attributes":{"url":"https://bot.example.com/webhook"},
	"redirect_url":"https://bot.example.com/setup/done","default_permissions":{"issues":"write","checks":"read"},"default_events":["issues","check_run"]}`

// submit sends a manifest as a browser does and does not follow the redirect.
func (w *world) submit(path, manifest string) (status int, location, body string) {
	w.t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.PostForm(w.URL()+path, url.Values{"manifest": {manifest}})
	must(w.t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	must(w.t, err)
	return resp.StatusCode, resp.Header.Get("Location"), string(data)
}

func TestAnAppIsRegisteredFromAManifestOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	status, location, _ := w.submit("/organizations/octo/settings/apps/new?state=s1", manifestJSON)
	back, err := url.Parse(location)
	must(t, err)
	code := back.Query().Get("code")
	if status != 302 || back.Host != "bot.example.com" || code == "" || back.Query().Get("state") != "s1" {
		t.Fatalf("back to the bot: %d %s", status, location)
	}
	client, err := github.NewClient(nil).WithEnterpriseURLs(w.APIURL(), w.URL())
	must(t, err)
	app, _, err := client.Apps.CompleteAppManifest(t.Context(), code)
	must(t, err)
	if app.GetSlug() != "red-fixer" || app.GetOwner().GetLogin() != "octo" || !strings.HasPrefix(app.GetPEM(), "-----BEGIN RSA PRIVATE KEY-----") || app.GetWebhookSecret() == "" {
		t.Errorf("App = %+v", app)
	}
	if _, resp, err := client.Apps.CompleteAppManifest(t.Context(), code); err == nil || resp.StatusCode != 404 {
		t.Errorf("converted twice: %v", err)
	}
}

func TestBadManifestsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for what, c := range map[string][2]string{
		"not JSON":                   {"{", "needs a name"},
		"no address for webhooks":    {strings.Replace(manifestJSON, "https://bot.example.com/webhook", "webhook", 1), "hook_attributes.url must be an absolute URL"},
		"event without permission":   {strings.Replace(manifestJSON, `"issues":"write",`, "", 1), "it needs issues"},
		"event that nobody knows":    {strings.Replace(manifestJSON, `["issues"`, `["isues"`, 1), "is not known"},
		"level that nobody knows":    {strings.Replace(manifestJSON, `"write"`, `"all"`, 1), "unknown level"},
		"name that is taken already": {strings.Replace(manifestJSON, "Red Fixer", "Culprit", 1), "already taken"},
	} {
		if status, _, page := w.submit("/settings/apps/new", c[0]); status != 422 || !strings.Contains(page, c[1]) {
			t.Errorf("%s: %d %s", what, status, page)
		}
	}
}

func TestTheCodeOfAManifestEndsAfterAnHour(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, location, _ := w.submit("/settings/apps/new", manifestJSON)
	_, code, _ := strings.Cut(location, "code=")
	w.clock.Add(61 * time.Minute)
	status, _, body := w.send("POST", "/app-manifests/"+code+"/conversions", "", "")
	if status != 404 || !json.Valid([]byte(body)) {
		t.Errorf("after an hour: %d %s", status, body)
	}
}
