package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"culprit/internal/config"
	"culprit/internal/github"
)

// checkApp walks what GitHub must have right: credentials, permissions, events,
// webhook and, of a repository, the installation and the settings file.
func (a *App) checkApp(ctx context.Context, repository string) []finding {
	if id, _ := a.LookupEnv("GITHUB_APP_ID"); id == "" {
		f := finding{name: "GitHub App", needed: repository != "", detail: "GITHUB_APP_ID is not set: only local repositories", do: "make an App with `bot setup`, which stores GITHUB_APP_ID, GITHUB_APP_PRIVATE_KEY_FILE and GITHUB_WEBHOOK_SECRET"}
		return []finding{f}
	}
	cfg, err := config.Load(config.Serve, nil, a.LookupEnv)
	if err != nil {
		return []finding{{name: "GitHub App", needed: true, detail: "the settings are not complete", do: strings.ReplaceAll(err.Error(), "\n", "; ")}}
	}
	app, err := github.New(github.Config{BaseURL: cfg.APIURL, AppID: cfg.AppID, PrivateKey: cfg.PrivateKey, Now: a.Now})
	if err != nil {
		return []finding{{name: "GitHub App", needed: true, detail: err.Error(), do: "use the private key that GitHub made for this App"}}
	}
	defer app.Close()
	reg, err := app.Registration(ctx)
	if err != nil {
		return []finding{{name: "GitHub App", needed: true, detail: err.Error(), do: "check GITHUB_API_URL, GITHUB_APP_ID and the private key, and the way to GitHub"}}
	}
	out := []finding{{name: "GitHub App", ok: true, detail: "signed in as " + reg.Slug}}
	out = append(out, checkRegistration(reg), a.checkWebhook(ctx, app, reg))
	if repository != "" {
		out = append(out, checkRepository(ctx, app, repository)...)
	}
	return out
}

// checkRegistration compares permissions and events with what is needed.
func checkRegistration(reg github.Registration) finding {
	f := finding{name: "permissions and events", needed: true}
	lacks := reg.Lacks()
	if len(lacks) == 0 {
		f.ok, f.detail = true, "the App asks for what it needs"
		return f
	}
	f.detail = "the App lacks " + strings.Join(lacks, ", ")
	f.do = "add them under Permissions & events of the App's settings; owners must accept new permissions"
	return f
}

// checkWebhook says what became of the last delivery: only GitHub knows whether
// it reaches the bot.
func (a *App) checkWebhook(ctx context.Context, app *github.App, reg github.Registration) finding {
	f := finding{name: "webhook", needed: true}
	if reg.WebhookURL == "" {
		f.detail, f.do = "the App has no webhook address", "set it to the address of `bot serve` with /webhook at its end, in the App's settings"
		return f
	}
	last, err := app.LastDelivery(ctx)
	switch {
	case err != nil:
		f.detail, f.do = err.Error(), "try again"
	case last.At.IsZero():
		f.needed, f.detail, f.do = false, reg.WebhookURL+": nothing was delivered yet", "start `bot serve`, then let GitHub send the ping again under Advanced of the App's settings"
	case last.Status/100 == 2:
		f.ok, f.detail = true, fmt.Sprintf("%s: the last delivery (%s, %s ago) was answered %d", reg.WebhookURL, last.Event, a.Now().Sub(last.At).Round(time.Second), last.Status)
	default:
		f.detail = fmt.Sprintf("%s: the last delivery (%s, %s ago) failed: %d %s", reg.WebhookURL, last.Event, a.Now().Sub(last.At).Round(time.Second), last.Status, last.Answer)
		f.do = "see that `bot serve` runs, that GitHub reaches it there, and that GITHUB_WEBHOOK_SECRET is the App's"
	}
	return f
}

// checkRepository looks at one repository as a worker would.
func checkRepository(ctx context.Context, app *github.App, repository string) []finding {
	owner, name, _ := strings.Cut(repository, "/")
	id, granted, err := app.Installation(ctx, owner, name)
	if err != nil {
		f := finding{name: "installation", needed: true, detail: err.Error(), do: "try again"}
		if errors.Is(err, github.ErrNotFound) || errors.Is(err, github.ErrGone) {
			f.detail, f.do = "the App is not installed on "+repository, "install it there: the App's public page has the button"
		}
		return []finding{f}
	}
	out := []finding{{name: "installation", ok: true, detail: fmt.Sprintf("%s is covered by installation %d", repository, id)}}
	if lacks := (github.Registration{Permissions: granted, Events: github.Events()}).Lacks(); len(lacks) > 0 {
		out = append(out, finding{name: "installation permissions", needed: true, detail: "not granted: " + strings.Join(lacks, ", "), do: "an owner must accept the App's new permissions in the installation's settings"})
	}
	repo, err := app.Repo(ctx, id, owner, name)
	if err != nil {
		return append(out, finding{name: "repository", needed: true, detail: err.Error(), do: "check the installation"})
	}
	if repo.Archived {
		out = append(out, finding{name: "repository", needed: true, detail: "it is archived: nothing is done there", do: "unarchive it"})
	}
	f := finding{name: "repository settings", needed: true}
	data, problems, err := settingsFile(ctx, repo, repo.DefaultBranch)
	if err == nil && len(problems) == 0 {
		_, problems = config.ReadRepository(data, config.Repository{})
	}
	switch {
	case err != nil:
		f.detail, f.do = err.Error(), "try again"
	case len(problems) > 0:
		f.detail, f.do = config.RepositoryFile+" is not valid: "+problems[0].String(), "mend it; `bot config` shows all problems"
	case data == nil:
		f.ok, f.detail = true, "no "+config.RepositoryFile+": defaults are used"
	default:
		f.ok, f.detail = true, config.RepositoryFile+" is valid"
	}
	return append(out, f)
}
