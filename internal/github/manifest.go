package github

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	gh "github.com/google/go-github/v62/github"
)

// permissions are what the App asks for, each for the reason beside it (GH11).
// Tokens are narrowed further, to one repository and one purpose.
var permissions = map[string]string{
	"actions":       "read",  // logs of red runs
	"checks":        "write", // its check run, with annotations and progress
	"contents":      "write", // clone; push the branch of a fix
	"issues":        "write", // comments and labels
	"metadata":      "read",  // GitHub gives it to every App
	"pull_requests": "write", // fix pull requests
	"statuses":      "read",  // red commit statuses
}

// events are the webhooks that the App wants (GH1). Those about installations
// reach every App.
var events = []string{
	"check_run", "check_suite", "issue_comment", "issues", "pull_request", "pull_request_review",
	"pull_request_review_comment", "push", "repository", "status", "workflow_run",
}

// Permissions returns what the App asks for, by GitHub's names.
func Permissions() map[string]string { return maps.Clone(permissions) }

// Events returns the webhook events that the App wants.
func Events() []string { return slices.Clone(events) }

// A Manifest describes the App that GitHub is asked to make
// (docs.github.com: "Registering a GitHub App from a manifest").
type Manifest struct {
	Name        string            `json:"name"`
	URL         string            `json:"url"`
	Hook        ManifestHook      `json:"hook_attributes"`
	RedirectURL string            `json:"redirect_url"`
	Description string            `json:"description"`
	Public      bool              `json:"public"`
	Permissions map[string]string `json:"default_permissions"`
	Events      []string          `json:"default_events"`
}

// ManifestHook is where webhooks go.
type ManifestHook struct {
	URL    string `json:"url"`
	Active bool   `json:"active"`
}

// NewManifest is the manifest of this product's App.
func NewManifest(name, webhook, redirect string) Manifest {
	return Manifest{
		Name: name, URL: strings.TrimSuffix(webhook, "/webhook"), Hook: ManifestHook{URL: webhook, Active: true}, RedirectURL: redirect,
		Description: "Finds why CI is red, by experiment, and proposes a fix that it has proved.",
		Permissions: Permissions(), Events: Events(),
	}
}

// Created is an App that GitHub has just made, with its secrets.
type Created struct {
	ID                        int64
	Slug, Name, Owner         string
	HTMLURL                   string
	PrivateKey, WebhookSecret string
}

// InstallURL is where a person installs the App.
func (c Created) InstallURL() string { return c.HTMLURL + "/installations/new" }

var manifestCode = regexp.MustCompile(`^[A-Za-z0-9_-]{1,200}$`)

// ConvertManifest trades the code that GitHub gave a browser, within an hour
// and once, for the App's credentials. apiURL is the REST root.
func ConvertManifest(ctx context.Context, apiURL, code string, client *http.Client) (Created, error) {
	if !manifestCode.MatchString(code) {
		return Created{}, errors.New("finish the App: the code is not one that GitHub gives: start again")
	}
	base, err := url.Parse(strings.TrimRight(apiURL, "/") + "/")
	if err != nil {
		return Created{}, errors.New("finish the App: the API address is not a URL")
	}
	if client == nil {
		client = &http.Client{Transport: newTransport(), Timeout: 30 * time.Second}
	}
	c := gh.NewClient(client)
	c.BaseURL = base
	got, resp, err := c.Apps.CompleteAppManifest(ctx, code)
	if err != nil {
		if resp != nil && resp.StatusCode == http.StatusNotFound {
			return Created{}, errors.New("finish the App: GitHub does not know the code: it was used before or is older than an hour: start again")
		}
		if resp != nil {
			return Created{}, fmt.Errorf("finish the App: GitHub answers %d", resp.StatusCode)
		}
		return Created{}, errors.New("finish the App: GitHub cannot be reached: check --github and the way to it")
	}
	made := Created{
		ID: got.GetID(), Slug: got.GetSlug(), Name: got.GetName(), Owner: got.GetOwner().GetLogin(), HTMLURL: got.GetHTMLURL(),
		PrivateKey: got.GetPEM(), WebhookSecret: got.GetWebhookSecret(),
	}
	if made.ID == 0 || made.PrivateKey == "" || made.WebhookSecret == "" {
		return Created{}, errors.New("finish the App: GitHub's answer lacks the ID, the private key or the webhook secret: delete the App on GitHub and start again")
	}
	return made, nil
}

// Registration is how GitHub has the App set up.
type Registration struct {
	Slug, Owner, HTMLURL string
	Permissions          map[string]string
	Events               []string
	WebhookURL           string
}

// Registration reads how the App is set up on GitHub.
func (a *App) Registration(ctx context.Context) (Registration, error) {
	app, _, err := a.client.Apps.Get(ctx, "")
	if err := a.wrap("read the App", err); err != nil {
		return Registration{}, err
	}
	hook, _, err := a.client.Apps.GetHookConfig(ctx)
	if err := a.wrap("read the App's webhook", err); err != nil {
		return Registration{}, err
	}
	granted, err := permissionNames(app.GetPermissions())
	return Registration{
		Slug: app.GetSlug(), Owner: app.GetOwner().GetLogin(), HTMLURL: app.GetHTMLURL(), Permissions: granted, Events: app.Events, WebhookURL: hook.GetURL(),
	}, err
}

// Lacks lists what the registration does not grant of what the App asks for.
func (r Registration) Lacks() (missing []string) {
	for name, need := range permissions {
		if have := r.Permissions[name]; have != need && have != "write" && have != "admin" && name != "metadata" {
			missing = append(missing, "permission "+name+"="+need)
		}
	}
	for _, e := range events {
		if !slices.Contains(r.Events, e) {
			missing = append(missing, "event "+e)
		}
	}
	slices.Sort(missing)
	return missing
}

// Installation finds the installation that covers a repository; an error that
// matches ErrNotFound or ErrGone when there is none.
func (a *App) Installation(ctx context.Context, owner, name string) (id int64, granted map[string]string, err error) {
	inst, _, err := a.client.Apps.FindRepositoryInstallation(ctx, owner, name)
	if err := a.wrap("find the installation for "+owner+"/"+name, err); err != nil {
		return 0, nil, err
	}
	granted, err = permissionNames(inst.GetPermissions())
	return inst.GetID(), granted, err
}

// A Delivery is one webhook as GitHub remembers it.
type Delivery struct {
	At     time.Time
	Event  string
	Status int    // of the answer; 0 when there was none
	Answer string // GitHub's words for it
}

// LastDelivery is the newest delivery of the App's webhook; its time is zero
// when there was none.
func (a *App) LastDelivery(ctx context.Context) (Delivery, error) {
	list, _, err := a.client.Apps.ListHookDeliveries(ctx, &gh.ListCursorOptions{PerPage: 1})
	if err := a.wrap("list webhook deliveries", err); err != nil || len(list) == 0 {
		return Delivery{}, err
	}
	d := list[0]
	return Delivery{At: d.GetDeliveredAt().Time, Event: d.GetEvent(), Status: d.GetStatusCode(), Answer: a.clean(d.GetStatus())}, nil
}
