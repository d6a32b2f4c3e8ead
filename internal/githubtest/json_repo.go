package githubtest

import (
	"encoding/base64"
	"fmt"
	"maps"
	"strings"
	"time"
)

// stamp renders a time as GitHub does, or null.
func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// nodeID makes an opaque global ID of the kind GraphQL uses.
func nodeID(kind string, id int64) string {
	return base64.RawStdEncoding.EncodeToString(fmt.Appendf(nil, "%s:%d", kind, id))
}

func (s *Server) api() string { return s.base + "/api/v3" }

func (s *Server) repoURL(r *repository) string { return s.api() + "/repos/" + r.fullName() }

func (s *Server) webURL(r *repository) string { return s.base + "/" + r.fullName() }

func (s *Server) userJSON(u *user) obj {
	if u == nil {
		return nil
	}
	api := s.api() + "/users/" + u.login
	html := s.base + "/" + u.login
	if slug, bot := strings.CutSuffix(u.login, "[bot]"); bot {
		api, html = s.api()+"/users/"+slug+"%5Bbot%5D", s.base+"/apps/"+slug
	}
	return obj{
		"login": u.login, "id": u.id, "node_id": nodeID("User", u.id), "avatar_url": fmt.Sprintf("%s/_avatars/%d", s.base, u.id),
		"gravatar_id": "", "url": api, "html_url": html, "followers_url": api + "/followers",
		"following_url": api + "/following{/other_user}", "gists_url": api + "/gists{/gist_id}",
		"starred_url": api + "/starred{/owner}{/repo}", "subscriptions_url": api + "/subscriptions",
		"organizations_url": api + "/orgs", "repos_url": api + "/repos", "events_url": api + "/events{/privacy}",
		"received_events_url": api + "/received_events", "type": u.kind, "user_view_type": "public", "site_admin": false,
	}
}

// userOrNull keeps a nil user from becoming an empty object.
func (s *Server) userOrNull(u *user) any {
	if u == nil {
		return nil
	}
	return s.userJSON(u)
}

func (s *Server) minimalRepoJSON(r *repository) obj {
	u, w := s.repoURL(r), s.webURL(r)
	v := obj{
		"id": r.id, "node_id": nodeID("Repository", r.id), "name": r.name, "full_name": r.fullName(), "private": r.private,
		"owner": s.userJSON(r.owner), "html_url": w, "description": orNull(r.description), "fork": r.parent != nil, "url": u,
	}
	for key, path := range map[string]string{
		"archive": "{archive_format}{/ref}", "assignees": "assignees{/user}", "blobs": "git/blobs{/sha}", "branches": "branches{/branch}",
		"collaborators": "collaborators{/collaborator}", "comments": "comments{/number}", "commits": "commits{/sha}",
		"compare": "compare/{base}...{head}", "contents": "contents/{+path}", "contributors": "contributors",
		"deployments": "deployments", "downloads": "downloads", "events": "events", "forks": "forks",
		"git_commits": "git/commits{/sha}", "git_refs": "git/refs{/sha}", "git_tags": "git/tags{/sha}",
		"hooks": "hooks", "issue_comment": "issues/comments{/number}", "issue_events": "issues/events{/number}",
		"issues": "issues{/number}", "keys": "keys{/key_id}", "labels": "labels{/name}", "languages": "languages",
		"merges": "merges", "milestones": "milestones{/number}", "notifications": "notifications{?since,all,participating}",
		"pulls": "pulls{/number}", "releases": "releases{/id}", "stargazers": "stargazers", "statuses": "statuses/{sha}",
		"subscribers": "subscribers", "subscription": "subscription", "tags": "tags", "teams": "teams", "trees": "git/trees{/sha}",
	} {
		v[key+"_url"] = u + "/" + path
	}
	return v
}

func (s *Server) repoJSON(r *repository) obj {
	v := s.minimalRepoJSON(r)
	w := s.webURL(r)
	open, forks := 0, 0
	for _, f := range s.repos {
		if f.parent == r && !f.deleted {
			forks++
		}
	}
	for _, i := range r.issues {
		if i.state == "open" && !i.deleted {
			open++
		}
	}
	visibility := "public"
	if r.private {
		visibility = "private"
	}
	maps.Copy(v, obj{
		"created_at": stamp(r.created), "updated_at": stamp(r.pushed), "pushed_at": stamp(r.pushed),
		"git_url": "git://" + strings.TrimPrefix(w, "http://") + ".git", "ssh_url": "git@" + r.fullName() + ".git",
		"clone_url": w + ".git", "svn_url": w, "homepage": nil, "size": 0, "stargazers_count": 0, "watchers_count": 0,
		"language": nil, "has_issues": !r.noIssues, "has_projects": true, "has_downloads": true, "has_wiki": true, "has_pages": false,
		"has_discussions": false, "forks_count": forks, "mirror_url": nil, "archived": r.archived, "disabled": false,
		"open_issues_count": open, "license": nil, "allow_forking": true, "is_template": false,
		"web_commit_signoff_required": false, "topics": []string{}, "visibility": visibility, "forks": forks,
		"open_issues": open, "watchers": 0, "default_branch": r.defaultBranch,
	})
	return v
}

// fullRepoJSON is what GET /repos/{owner}/{repo} adds to repoJSON.
func (s *Server) fullRepoJSON(r *repository) obj {
	v := s.repoJSON(r)
	maps.Copy(v, obj{
		"network_count": 0, "subscribers_count": 0, "temp_clone_token": "", "allow_squash_merge": true, "allow_merge_commit": true,
		"allow_rebase_merge": true, "allow_auto_merge": false, "delete_branch_on_merge": false, "allow_update_branch": false,
	})
	if r.owner.kind == "Organization" {
		v["organization"] = s.userJSON(r.owner)
	}
	if r.parent != nil {
		v["parent"], v["source"] = s.repoJSON(r.parent), s.repoJSON(r.parent)
	}
	return v
}

// permissionsJSON renders a role as the map of the API.
func permissionsJSON(role string) obj {
	n := roleRank[role]
	return obj{"admin": n >= 5, "maintain": n >= 4, "push": n >= 3, "triage": n >= 2, "pull": n >= 1}
}

func (s *Server) appJSON(a *app) obj {
	installs := 0
	for _, in := range s.installs {
		if in.app == a && !in.deleted {
			installs++
		}
	}
	return obj{
		"id": a.ID, "slug": a.Slug, "node_id": nodeID("App", a.ID), "client_id": fmt.Sprintf("Iv1.%016x", a.ID),
		"owner": s.userJSON(a.owner), "name": a.Name, "description": "", "external_url": "https://example.com/" + a.Slug,
		"html_url": s.base + "/apps/" + a.Slug, "created_at": stamp(a.created), "updated_at": stamp(a.created),
		"permissions": a.Permissions, "events": a.Events, "installations_count": installs,
	}
}

// appOrNull renders performed_via_github_app and its like: without the count.
func (s *Server) appOrNull(a *app) any {
	if a == nil {
		return nil
	}
	v := s.appJSON(a)
	delete(v, "installations_count")
	return v
}

func (s *Server) installationJSON(in *installation) obj {
	selection, html := "selected", s.base+"/settings/installations/"
	if in.all {
		selection = "all"
	}
	if in.account.kind == "Organization" {
		html = s.base + "/organizations/" + in.account.login + "/settings/installations/"
	}
	return obj{
		"id": in.id, "account": s.userJSON(in.account), "repository_selection": selection,
		"access_tokens_url": fmt.Sprintf("%s/app/installations/%d/access_tokens", s.api(), in.id),
		"repositories_url":  s.api() + "/installation/repositories", "html_url": fmt.Sprint(html, in.id),
		"app_id": in.app.ID, "app_slug": in.app.Slug, "client_id": fmt.Sprintf("Iv1.%016x", in.app.ID),
		"target_id": in.account.id, "target_type": in.account.kind,
		"permissions": in.permissions, "events": in.events, "created_at": stamp(in.created), "updated_at": stamp(in.updated),
		"single_file_name": nil, "has_multiple_single_files": false, "single_file_paths": []string{},
		"suspended_by": s.userOrNull(in.suspendedBy), "suspended_at": stamp(in.suspended),
	}
}
