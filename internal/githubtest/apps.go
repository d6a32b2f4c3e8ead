package githubtest

import (
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// AppConfig describes a GitHub App to register. Empty fields get a default.
type AppConfig struct {
	Name          string // "Culprit"
	Slug          string // from Name
	Owner         string // login; made when unknown
	WebhookURL    string // empty: no deliveries
	WebhookSecret string // random
	// Permissions default to what the product's manifest asks for.
	Permissions map[string]string
	// Events default to all that an App of this kind may want.
	Events []string
	// Key is generated when nil; a test that registers many Apps can share one.
	Key *rsa.PrivateKey
}

// DefaultPermissions are those of an App that reads CI, comments, pushes
// branches and opens pull requests, and nothing else.
func DefaultPermissions() map[string]string {
	return map[string]string{
		"actions": "read", "checks": "write", "contents": "write", "issues": "write",
		"metadata": "read", "pull_requests": "write", "statuses": "read",
	}
}

// DefaultEvents are the webhook events such an App subscribes to.
func DefaultEvents() []string {
	return []string{
		"check_run", "check_suite", "issue_comment", "issues", "pull_request", "pull_request_review",
		"pull_request_review_comment", "push", "repository", "status", "workflow_run",
	}
}

// CreateApp registers a GitHub App.
func (s *Server) CreateApp(cfg AppConfig) (App, error) {
	if cfg.Key == nil {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return App{}, fmt.Errorf("generate the App's key: %w", err)
		}
		cfg.Key = key
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a, err := s.addApp(cfg)
	if err != nil {
		return App{}, err
	}
	return a.App, nil
}

func (s *Server) addApp(cfg AppConfig) (*app, error) {
	if cfg.Name == "" {
		cfg.Name = "Culprit"
	}
	if cfg.Slug == "" {
		cfg.Slug = strings.ToLower(strings.ReplaceAll(cfg.Name, " ", "-"))
	}
	if cfg.Owner == "" {
		cfg.Owner = "app-owner"
	}
	if cfg.WebhookSecret == "" {
		cfg.WebhookSecret = randomHex(20)
	}
	if cfg.Permissions == nil {
		cfg.Permissions = DefaultPermissions()
	}
	if cfg.Events == nil {
		cfg.Events = DefaultEvents()
	}
	if s.users[strings.ToLower(cfg.Slug+"[bot]")] != nil {
		return nil, fmt.Errorf("register App %q: the name is taken", cfg.Slug)
	}
	a := &app{
		App: App{
			ID: s.id(), Slug: cfg.Slug, Name: cfg.Name, WebhookURL: cfg.WebhookURL, WebhookSecret: cfg.WebhookSecret,
			Permissions: maps.Clone(cfg.Permissions), Events: slices.Clone(cfg.Events), Key: cfg.Key,
		},
		owner: s.userOrNew(cfg.Owner), hookID: s.id(), created: s.now(),
	}
	a.bot = s.addUser(cfg.Slug+"[bot]", "Bot")
	s.apps = append(s.apps, a)
	return a, nil
}

// SetWebhook changes where and with which secret an App's webhooks go.
func (s *Server) SetWebhook(appID int64, url, secret string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.appByID(appID)
	if a == nil {
		return fmt.Errorf("set the webhook: no App %d", appID)
	}
	a.WebhookURL, a.WebhookSecret = url, secret
	return nil
}

// Install installs an App on an account, for the named repositories
// ("owner/name") or, with none, for all of the account's repositories, present
// and future. It sends the installation event and returns the installation's ID.
func (s *Server) Install(appID int64, account string, repos ...string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, acc := s.appByID(appID), s.users[strings.ToLower(account)]
	if a == nil || acc == nil {
		return 0, fmt.Errorf("install App %d on %q: no such App or account", appID, account)
	}
	in := &installation{
		id: s.id(), app: a, account: acc, all: len(repos) == 0, repos: map[int64]bool{},
		permissions: maps.Clone(a.Permissions), events: slices.Clone(a.Events), created: s.now(), updated: s.now(),
	}
	for _, name := range repos {
		r := s.repo(name)
		if r == nil || r.owner != acc {
			return 0, fmt.Errorf("install App %d on %q: no repository %q of that account", appID, account, name)
		}
		in.repos[r.id] = true
	}
	s.installs = append(s.installs, in)
	s.emitInstallation(in, "created", acc)
	return in.id, nil
}

// AddRepository adds a repository to an installation that has selected ones,
// RemoveRepository takes it away, also from its tokens.
func (s *Server) AddRepository(id int64, repo string) error {
	return s.selectRepository(id, repo, true)
}

// RemoveRepository takes a repository out of an installation; see
// AddRepository.
func (s *Server) RemoveRepository(id int64, repo string) error {
	return s.selectRepository(id, repo, false)
}

func (s *Server) selectRepository(id int64, repo string, covered bool) error {
	return s.withInstallation(id, func(in *installation) error {
		r := s.repo(repo)
		if r == nil || r.owner != in.account || in.all {
			return fmt.Errorf("change the selection of installation %d: no repository %q of that account, or it covers all", id, repo)
		}
		if in.repos[r.id] == covered {
			return nil
		}
		in.repos[r.id], in.updated = covered, s.now()
		s.emitInstallationRepos(in, map[bool]string{true: "added", false: "removed"}[covered], r, in.account)
		return nil
	})
}

// SetInstallationPermissions changes what an installation was granted.
func (s *Server) SetInstallationPermissions(id int64, permissions map[string]string) error {
	return s.withInstallation(id, func(in *installation) error {
		in.permissions, in.updated = maps.Clone(permissions), s.now()
		s.emitInstallation(in, "new_permissions_accepted", in.account)
		return nil
	})
}

// Suspend suspends an installation or lifts the suspension; its tokens stop
// working meanwhile.
func (s *Server) Suspend(id int64, suspended bool) error {
	return s.withInstallation(id, func(in *installation) error {
		action := "suspend"
		in.suspended, in.suspendedBy, in.updated = s.now(), in.account, s.now()
		if !suspended {
			action, in.suspended, in.suspendedBy = "unsuspend", time.Time{}, nil
		}
		s.emitInstallation(in, action, in.account)
		return nil
	})
}

// Uninstall deletes an installation and its tokens.
func (s *Server) Uninstall(id int64) error {
	return s.withInstallation(id, func(in *installation) error {
		s.emitInstallation(in, "deleted", in.account)
		in.deleted = true
		maps.DeleteFunc(s.tokens, func(_ string, t *token) bool { return t.inst == in })
		return nil
	})
}

// RevokeTokens makes all tokens of an installation invalid at once, as an
// operator or GitHub may; the next call with one is answered 401.
func (s *Server) RevokeTokens(id int64) error {
	return s.withInstallation(id, func(in *installation) error {
		maps.DeleteFunc(s.tokens, func(_ string, t *token) bool { return t.inst == in })
		return nil
	})
}

func (s *Server) withInstallation(id int64, f func(*installation) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, in := range s.installs {
		if in.id == id && !in.deleted {
			return f(in)
		}
	}
	return fmt.Errorf("find installation %d: there is none", id)
}

func (s *Server) appByID(id int64) *app {
	for _, a := range s.apps {
		if a.ID == id {
			return a
		}
	}
	return nil
}

func (s *Server) newActionsApp() *app {
	a := &app{App: App{
		ID: 15368, Slug: "github-actions", Name: "GitHub Actions",
		Permissions: map[string]string{"actions": "write", "checks": "write", "contents": "write", "metadata": "read"},
		Events:      []string{},
	}, created: s.now()}
	a.owner = s.addUser("github", "Organization")
	a.bot = s.addUser("github-actions[bot]", "Bot")
	return a
}
