package githubtest

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
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
	// Events default to what the product's manifest asks for.
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
		"pull_request_review_comment", "push", "status", "workflow_run",
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

// CreateUser makes a person.
func (s *Server) CreateUser(login string) error { return s.createAccount(login, "User") }

// CreateOrg makes an organisation.
func (s *Server) CreateOrg(login string) error { return s.createAccount(login, "Organization") }

func (s *Server) createAccount(login, kind string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if login == "" || strings.ContainsAny(login, "/ .") || restRoots[login] {
		return fmt.Errorf("create account %q: not a login", login)
	}
	if s.users[strings.ToLower(login)] != nil {
		return fmt.Errorf("create account %q: it exists", login)
	}
	s.addUser(login, kind)
	return nil
}

func (s *Server) addUser(login, kind string) *user {
	u := &user{
		id: s.id(), login: login, kind: kind, name: login, created: s.now(),
	}
	u.email = fmt.Sprintf("%d+%s@users.noreply.github.com", u.id, login)
	s.users[strings.ToLower(login)] = u
	return u
}

// userOrNew lets a test name a person without declaring them first.
func (s *Server) userOrNew(login string) *user {
	if u := s.users[strings.ToLower(login)]; u != nil {
		return u
	}
	return s.addUser(login, "User")
}

// UserToken makes a personal access token (ghp_…) with which a person, made
// when unknown, can use REST and git.
func (s *Server) UserToken(login string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &token{value: "ghp_" + randomHex(18), user: s.userOrNew(login)}
	s.tokens[t.value] = t
	return t.value
}

// RepoConfig describes a repository to make.
type RepoConfig struct {
	Owner         string
	Name          string
	Description   string
	DefaultBranch string // "main"
	Private       bool
	Fork          bool
}

// CreateRepo makes an empty repository. The owner must exist.
func (s *Server) CreateRepo(cfg RepoConfig) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	full := cfg.Owner + "/" + cfg.Name
	owner := s.users[strings.ToLower(cfg.Owner)]
	if owner == nil {
		return fmt.Errorf("create repository %s: no account %q", full, cfg.Owner)
	}
	if cfg.Name == "" || strings.ContainsAny(cfg.Name, "/ \\") || strings.HasPrefix(cfg.Name, ".") && cfg.Name != ".github" {
		return fmt.Errorf("create repository %s: not a repository name", full)
	}
	if s.repo(full) != nil {
		return fmt.Errorf("create repository %s: it exists", full)
	}
	if cfg.DefaultBranch == "" {
		cfg.DefaultBranch = "main"
	}
	r := &repository{
		id: s.id(), owner: owner, name: cfg.Name, description: cfg.Description, private: cfg.Private, fork: cfg.Fork,
		defaultBranch: cfg.DefaultBranch, dir: s.GitDir(full), created: s.now(), pushed: s.now(),
		permissions: map[string]string{},
	}
	if owner.kind == "User" {
		r.permissions[owner.login] = "admin"
	}
	if err := s.initGit(r); err != nil {
		return fmt.Errorf("create repository %s: %w", full, err)
	}
	for _, l := range [][3]string{
		{"bug", "d73a4a", "Something isn't working"}, {"documentation", "0075ca", "Improvements or additions to documentation"},
		{"enhancement", "a2eeef", "New feature or request"},
	} {
		r.labels = append(r.labels, &label{id: s.id(), name: l[0], color: l[1], description: l[2]})
	}
	s.repos = append(s.repos, r)
	return nil
}

// ArchiveRepo makes a repository read-only, or writable again.
func (s *Server) ArchiveRepo(repo string, archived bool) error {
	return s.withRepo(repo, func(r *repository) error { r.archived = archived; return nil })
}

// DeleteRepo removes a repository: everything about it is 404 afterwards.
func (s *Server) DeleteRepo(repo string) error {
	return s.withRepo(repo, func(r *repository) error {
		r.deleted = true
		return os.RemoveAll(r.dir)
	})
}

// SetPermission gives a person (made when unknown) a role on a repository:
// admin, maintain, write, triage, read, or none.
func (s *Server) SetPermission(repo, login, role string) error {
	return s.withRepo(repo, func(r *repository) error {
		if _, ok := roleRank[role]; !ok {
			return fmt.Errorf("no role %q", role)
		}
		r.permissions[s.userOrNew(login).login] = role
		return nil
	})
}

// AddLabelDefinition makes a label available in a repository.
func (s *Server) AddLabelDefinition(repo, name, color, description string) error {
	return s.withRepo(repo, func(r *repository) error {
		if r.label(name) != nil {
			return fmt.Errorf("label %q exists", name)
		}
		r.labels = append(r.labels, &label{id: s.id(), name: name, color: color, description: description})
		return nil
	})
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

func (s *Server) withRepo(name string, f func(*repository) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.repo(name)
	if r == nil {
		return fmt.Errorf("find repository %q: there is none", name)
	}
	if err := f(r); err != nil {
		return fmt.Errorf("repository %s: %w", name, err)
	}
	return nil
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

func (s *Server) repo(full string) *repository {
	for _, r := range s.repos {
		if !r.deleted && strings.EqualFold(r.fullName(), full) {
			return r
		}
	}
	return nil
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

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // crypto/rand.Read never fails
	return hex.EncodeToString(b)
}
