package githubtest

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// manifestRoutes are the last step of registering an App from a manifest
// (docs.github.com: "Registering a GitHub App from a manifest"); the first is
// a form, see submitManifest.
var manifestRoutes = []*route{
	{method: "POST", path: "/app-manifests/{code}/conversions", handle: convertManifest},
}

// registration is an App whose credentials wait to be fetched with a code,
// which GitHub keeps for an hour.
type registration struct {
	app     *app
	expires time.Time
}

// manifestProblem says what GitHub refuses in a manifest, or "".
func manifestProblem(hook string, permissions map[string]string, events []string) string {
	if u, err := url.Parse(hook); hook != "" && (err != nil || u.Host == "") {
		return "hook_attributes.url must be an absolute URL"
	}
	for _, name := range sortedKeys(permissions) {
		if level := permissions[name]; levelRank[level] == 0 {
			return fmt.Sprintf("default permission %s has the unknown level %q", name, level)
		}
	}
	for _, event := range events {
		switch need, known := eventPermission[event]; {
		case !known:
			return fmt.Sprintf("default event %q is not known", event)
		case permissions[need] == "" && need != "metadata":
			return fmt.Sprintf("default event %q is not supported by the permissions: it needs %s", event, need)
		}
	}
	return ""
}

// manifestOwner tells the forms that a manifest is sent to from other pages.
func manifestOwner(path string) (org string, ok bool) {
	if path == "/settings/apps/new" {
		return "", true
	}
	org, found := strings.CutPrefix(strings.TrimSuffix(path, "/settings/apps/new"), "/organizations/")
	return org, found && org != "" && !strings.Contains(org, "/") && strings.HasSuffix(path, "/settings/apps/new")
}

// submitManifest is the form. GitHub shows the App and waits for a click; here
// the click is taken as done, by the user "app-owner". The browser is sent
// back with a code.
func (s *Server) submitManifest(w http.ResponseWriter, r *http.Request, org string) {
	var m struct {
		Name           string
		URL            string
		RedirectURL    string `json:"redirect_url"`
		HookAttributes struct {
			URL string
		} `json:"hook_attributes"`
		Permissions map[string]string `json:"default_permissions"`
		Events      []string          `json:"default_events"`
	}
	r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
	err := json.Unmarshal([]byte(r.PostFormValue("manifest")), &m)
	back, bad := url.Parse(m.RedirectURL)
	if err != nil || bad != nil || m.Name == "" || m.URL == "" || back.Host == "" {
		http.Error(w, "Invalid GitHub App configuration: the manifest needs a name, a url and a redirect_url", http.StatusUnprocessableEntity)
		return
	}
	if problem := manifestProblem(m.HookAttributes.URL, m.Permissions, m.Events); problem != "" {
		http.Error(w, "Invalid GitHub App configuration: "+problem, http.StatusUnprocessableEntity)
		return
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if org == "" {
		org = "app-owner"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a, err := s.addApp(AppConfig{Name: m.Name, Owner: org, WebhookURL: m.HookAttributes.URL, Permissions: m.Permissions, Events: m.Events, Key: key})
	if err != nil {
		http.Error(w, "Name is already taken", http.StatusUnprocessableEntity)
		return
	}
	code := randomHex(20)
	s.manifests[code] = registration{app: a, expires: s.now().Add(time.Hour)}
	q := back.Query()
	q.Set("code", code)
	if state := r.URL.Query().Get("state"); state != "" {
		q.Set("state", state)
	}
	back.RawQuery = q.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// convertManifest gives the credentials away once.
func convertManifest(c *call) reply {
	reg, found := c.s.manifests[c.param("code")]
	if !found || c.s.now().After(reg.expires) {
		return notFound()
	}
	a := reg.app
	delete(c.s.manifests, c.param("code"))
	v := c.s.appJSON(a)
	delete(v, "installations_count")
	maps.Copy(v, obj{
		"client_id": v["client_id"], "client_secret": randomHex(20), "webhook_secret": a.WebhookSecret, "pem": string(a.PrivateKeyPEM()),
	})
	return reply{status: http.StatusCreated, body: v}
}
