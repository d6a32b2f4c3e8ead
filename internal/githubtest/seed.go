package githubtest

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
)

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
	if strings.HasSuffix(login, "[bot]") {
		return s.addUser(login, "Bot")
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
}

// CreateRepo makes an empty repository. The owner must exist.
func (s *Server) CreateRepo(cfg RepoConfig) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.createRepo(cfg)
	return err
}

func (s *Server) createRepo(cfg RepoConfig) (*repository, error) {
	full := cfg.Owner + "/" + cfg.Name
	owner := s.users[strings.ToLower(cfg.Owner)]
	if owner == nil {
		return nil, fmt.Errorf("create repository %s: no account %q", full, cfg.Owner)
	}
	if cfg.Name == "" || strings.ContainsAny(cfg.Name, "/ \\") || strings.HasPrefix(cfg.Name, ".") && cfg.Name != ".github" {
		return nil, fmt.Errorf("create repository %s: not a repository name", full)
	}
	if s.repo(full) != nil {
		return nil, fmt.Errorf("create repository %s: it exists", full)
	}
	if cfg.DefaultBranch == "" {
		cfg.DefaultBranch = "main"
	}
	r := &repository{
		id: s.id(), owner: owner, name: cfg.Name, description: cfg.Description, private: cfg.Private,
		defaultBranch: cfg.DefaultBranch, dir: s.GitDir(full), created: s.now(), pushed: s.now(),
		permissions: map[string]string{}, contributors: map[*user]bool{}, commits: map[string]commitInfo{}, answers: map[string]string{},
	}
	if owner.kind == "User" {
		r.permissions[owner.login] = "admin"
	}
	if err := s.initGit(r); err != nil {
		return nil, fmt.Errorf("create repository %s: %w", full, err)
	}
	for _, l := range [][3]string{
		{"bug", "d73a4a", "Something isn't working"}, {"documentation", "0075ca", "Improvements or additions to documentation"},
		{"enhancement", "a2eeef", "New feature or request"},
	} {
		r.labels = append(r.labels, &label{id: s.id(), name: l[0], color: l[1], description: l[2]})
	}
	s.repos = append(s.repos, r)
	return r, nil
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

func (s *Server) repo(full string) *repository {
	for _, r := range s.repos {
		if !r.deleted && strings.EqualFold(r.fullName(), full) {
			return r
		}
	}
	return nil
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // crypto/rand.Read never fails
	return hex.EncodeToString(b)
}
