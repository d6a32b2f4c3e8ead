package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	gh "github.com/google/go-github/v62/github"
)

// A Repo is one repository as one installation of the App sees it. It is safe
// for concurrent use.
type Repo struct {
	app   *App
	inst  int64
	read  *gh.Client
	write *gh.Client

	ID            int64
	Owner, Name   string // as GitHub spells them now
	DefaultBranch string
	CloneURL      string // https, without credentials
	HTMLURL       string
	Private       bool
	Archived      bool
	Fork          bool
	SignOff       bool // commits made on GitHub's pages must be signed off
}

// Repo looks a repository up. The error matches ErrGone when the repository or
// the installation is not there any more.
func (a *App) Repo(ctx context.Context, installation int64, owner, name string) (*Repo, error) {
	r := &Repo{app: a, inst: installation, Owner: owner, Name: name}
	r.read, r.write = r.client(scopeRead), r.client(scopeWrite)
	if err := r.refresh(ctx); err != nil {
		return nil, err
	}
	if r.Name != name { // renamed: tokens are asked for by the present name
		r.read, r.write = r.client(scopeRead), r.client(scopeWrite)
	}
	return r, nil
}

func (r *Repo) client(s scope) *gh.Client {
	src := r.app.source(sourceKey{r.inst, r.Name, s})
	return r.app.newClient(&authenticated{source: src, host: r.app.base, next: r.app.again})
}

// refresh reads the repository; a missing one is ErrGone.
func (r *Repo) refresh(ctx context.Context) error {
	got, _, err := r.read.Repositories.Get(ctx, r.Owner, r.Name)
	if err := r.wrap("read repository", err); err != nil {
		if e := (*Error)(nil); errors.As(err, &e) && errors.Is(err, ErrNotFound) {
			e.kind = ErrGone
		}
		return err
	}
	r.ID, r.Owner, r.Name = got.GetID(), got.GetOwner().GetLogin(), got.GetName()
	r.DefaultBranch, r.CloneURL, r.HTMLURL = got.GetDefaultBranch(), got.GetCloneURL(), got.GetHTMLURL()
	r.Private, r.Archived, r.Fork = got.GetPrivate(), got.GetArchived(), got.GetFork()
	r.SignOff = got.GetWebCommitSignoffRequired()
	return nil
}

// FullName is "owner/name".
func (r *Repo) FullName() string { return r.Owner + "/" + r.Name }

// App is the App that the repository was looked up by.
func (r *Repo) App() *App { return r.app }

func (r *Repo) wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return r.app.wrap(op+" in "+r.FullName(), err)
}

// ifGone turns ErrNotFound into ErrGone when the whole repository is missing,
// and ErrForbidden when the installation does not cover it any more: a public
// one can still be read then.
func (r *Repo) ifGone(ctx context.Context, err error) error {
	if errors.Is(err, ErrForbidden) {
		id, _, asked := r.app.Installation(ctx, r.Owner, r.Name)
		if errors.Is(asked, ErrNotFound) || errors.Is(asked, ErrGone) || (asked == nil && id != r.inst) {
			return fmt.Errorf("%w: %w", ErrGone, err)
		}
	}
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	again := &Repo{app: r.app, inst: r.inst, Owner: r.Owner, Name: r.Name, read: r.read}
	if gone := again.refresh(ctx); errors.Is(gone, ErrGone) {
		return gone
	}
	return err
}

// GitCredential returns user and password for git over HTTPS, valid for some
// minutes at least, for this repository's contents alone: reading, or writing
// for the push of a fix. It is handed to git by an askpass program and never
// stands in an address, an argument or a file of the checkout.
func (r *Repo) GitCredential(ctx context.Context, write bool) (user, token string, err error) {
	s := scopeFetch
	if write {
		s = scopePush
	}
	token, err = r.app.source(sourceKey{r.inst, r.Name, s}).token(ctx)
	return "x-access-token", token, err
}

// Permission is what a person may do in a repository.
type Permission string

// The roles of a repository, lowest first. A custom role counts as the one
// that it is based on.
const (
	PermissionNone     Permission = "none"
	PermissionRead     Permission = "read"
	PermissionTriage   Permission = "triage"
	PermissionWrite    Permission = "write"
	PermissionMaintain Permission = "maintain"
	PermissionAdmin    Permission = "admin"
)

var permissionOrder = []Permission{PermissionNone, PermissionRead, PermissionTriage, PermissionWrite, PermissionMaintain, PermissionAdmin}

// AtLeast reports whether the permission includes another one. What is no
// permission includes nothing and is included in nothing.
func (p Permission) AtLeast(q Permission) bool {
	have, want := slices.Index(permissionOrder, p), slices.Index(permissionOrder, q)
	return want >= 0 && have >= want
}

// MayWrite reports whether the permission includes pushing.
func (p Permission) MayWrite() bool { return p.AtLeast(PermissionWrite) }

// Permission looks up what a person may do (GH8). Somebody whom GitHub does
// not know may nothing.
func (r *Repo) Permission(ctx context.Context, login string) (Permission, error) {
	if login == "" || strings.ContainsAny(login, "/?#%") {
		return PermissionNone, nil
	}
	got, _, err := r.read.Repositories.GetPermissionLevel(ctx, r.Owner, r.Name, login)
	if err := r.wrap("look up the permission of a person", err); err != nil {
		if errors.Is(err, ErrNotFound) {
			return PermissionNone, nil
		}
		return PermissionNone, err
	}
	return permissionOf(got), nil
}

// permissionOf reads the level, which has maintain as write and triage as
// read, and refines it by the list of what the person may do.
func permissionOf(got *gh.RepositoryPermissionLevel) Permission {
	may := got.GetUser().GetPermissions()
	switch p := Permission(got.GetPermission()); {
	case p == PermissionAdmin:
		return p
	case p == PermissionWrite && may["maintain"]:
		return PermissionMaintain
	case p == PermissionRead && may["triage"]:
		return PermissionTriage
	case p == PermissionWrite, p == PermissionRead:
		return p
	}
	return PermissionNone
}

// BranchHead returns the commit that a branch points to, or "" when there is no
// such branch.
func (r *Repo) BranchHead(ctx context.Context, branch string) (string, error) {
	// The path is escaped by go-github, slashes excepted.
	ref, _, err := r.read.Git.GetRef(ctx, r.Owner, r.Name, "heads/"+branch)
	if err := r.wrap("read branch", err); err != nil {
		if errors.Is(err, ErrNotFound) {
			return "", nil
		}
		return "", err
	}
	return ref.GetObject().GetSHA(), nil
}

// pages reads all pages of a list, at most limit entries (0: all).
func pages[T any](limit int, list func(gh.ListOptions) ([]T, *gh.Response, error)) ([]T, error) {
	opts := gh.ListOptions{PerPage: 100}
	var all []T
	for {
		page, resp, err := list(opts)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if resp.NextPage == 0 || resp.NextPage <= opts.Page || (limit > 0 && len(all) >= limit) {
			return all, nil
		}
		opts.Page = resp.NextPage
	}
}

// validID refuses IDs that no answer of GitHub can be about.
func validID[T int | int64](op string, id T) error {
	if id <= 0 {
		return &Error{Op: op, Status: http.StatusNotFound, Message: fmt.Sprintf("%d is not an ID", id), kind: ErrNotFound}
	}
	return nil
}
