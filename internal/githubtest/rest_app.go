package githubtest

import (
	"maps"
	"net/http"
	"strings"
	"time"
)

var appRoutes = []*route{
	{method: "GET", path: "/rate_limit", handle: getRateLimit},
	{method: "GET", path: "/meta", handle: func(*call) reply { return ok(obj{"verifiable_password_authentication": false}) }},
	{method: "GET", path: "/users/{username}", handle: getUser},
	{method: "GET", path: "/app", access: accessApp, handle: func(c *call) reply { return ok(c.s.appJSON(c.who.app)) }},
	{method: "GET", path: "/app/installations", access: accessApp, handle: listInstallations},
	{method: "GET", path: "/app/installations/{installation_id}", access: accessApp, handle: getInstallation},
	{method: "DELETE", path: "/app/installations/{installation_id}", access: accessApp, handle: deleteInstallation},
	{method: "POST", path: "/app/installations/{installation_id}/access_tokens", access: accessApp, handle: createToken},
	{method: "GET", path: "/repos/{owner}/{repo}/installation", access: accessApp, handle: getRepoInstallation},
	{method: "GET", path: "/orgs/{org}/installation", access: accessApp, handle: getAccountInstallation},
	{method: "GET", path: "/users/{username}/installation", access: accessApp, handle: getAccountInstallation},
	{method: "GET", path: "/installation/repositories", access: accessInstallation, handle: listInstallationRepos},
	{method: "DELETE", path: "/installation/token", access: accessInstallation, handle: revokeToken},
}

func getUser(c *call) reply {
	u := c.s.users[strings.ToLower(c.param("username"))]
	if u == nil {
		return notFound()
	}
	v := c.s.userJSON(u)
	maps.Copy(v, obj{
		"name": u.name, "company": nil, "blog": "", "location": nil, "email": nil, "hireable": nil, "bio": nil, "twitter_username": nil,
		"public_repos": 0, "public_gists": 0, "followers": 0, "following": 0, "created_at": stamp(u.created), "updated_at": stamp(u.created),
	})
	return ok(v)
}

func (c *call) installation() *installation {
	for _, in := range c.s.installs {
		if in.id == c.id("installation_id") && in.app == c.who.app && !in.deleted {
			return in
		}
	}
	return nil
}

func listInstallations(c *call) reply {
	var all []*installation
	for _, in := range c.s.installs {
		if in.app == c.who.app && !in.deleted {
			all = append(all, in)
		}
	}
	return ok(listJSON(c, all, c.s.installationJSON))
}

func getInstallation(c *call) reply {
	if in := c.installation(); in != nil {
		return ok(c.s.installationJSON(in))
	}
	return notFound()
}

func deleteInstallation(c *call) reply {
	in := c.installation()
	if in == nil {
		return notFound()
	}
	c.s.emitInstallation(in, "deleted", in.account)
	in.deleted = true
	maps.DeleteFunc(c.s.tokens, func(_ string, t *token) bool { return t.inst == in })
	return noContent()
}

func getRepoInstallation(c *call) reply {
	r := c.s.repo(c.param("owner") + "/" + c.param("repo"))
	for _, in := range c.s.installs {
		if r != nil && in.app == c.who.app && in.covers(r) {
			return ok(c.s.installationJSON(in))
		}
	}
	return notFound()
}

func getAccountInstallation(c *call) reply {
	name, kind := c.param("org"), "Organization"
	if name == "" {
		name, kind = c.param("username"), "User"
	}
	for _, in := range c.s.installs {
		if in.app == c.who.app && !in.deleted && in.account.kind == kind && strings.EqualFold(in.account.login, name) {
			return ok(c.s.installationJSON(in))
		}
	}
	return notFound()
}

// createToken makes an installation token for an hour, narrowed to the
// repositories and permissions that the request names.
func createToken(c *call) reply {
	in := c.installation()
	if in == nil {
		return notFound()
	}
	if !in.suspended.IsZero() {
		return fail(http.StatusForbidden, "This installation has been suspended")
	}
	var req struct {
		Repositories  []string          `json:"repositories"`
		RepositoryIDs []int64           `json:"repository_ids"`
		Permissions   map[string]string `json:"permissions"`
	}
	if bad := c.decode(&req); bad != nil {
		return *bad
	}
	t := &token{value: "ghs_" + randomHex(18), inst: in, permissions: maps.Clone(in.permissions), expires: c.s.now().Add(time.Hour)}
	if len(req.Permissions) > 0 {
		t.permissions = map[string]string{}
		for name, level := range req.Permissions {
			if levelRank[level] == 0 || levelRank[in.permissions[name]] < levelRank[level] {
				return fail(http.StatusUnprocessableEntity, "The permissions requested are not granted to this installation.")
			}
			t.permissions[name] = level
		}
		if in.permissions["metadata"] != "" {
			t.permissions["metadata"] = "read"
		}
	}
	var chosen []*repository
	for _, name := range req.Repositories {
		chosen = append(chosen, c.s.repo(in.account.login+"/"+name))
	}
	for _, id := range req.RepositoryIDs {
		chosen = append(chosen, c.s.repoByID(id))
	}
	for _, r := range chosen {
		if r == nil || !in.covers(r) {
			return fail(http.StatusUnprocessableEntity, "There is at least one repository that does not exist or is not accessible to the parent installation.")
		}
		if t.repos == nil {
			t.repos = map[int64]bool{}
		}
		t.repos[r.id] = true
	}
	c.s.tokens[t.value] = t
	v := obj{"token": t.value, "expires_at": stamp(t.expires), "permissions": t.permissions, "repository_selection": "selected"}
	if in.all && t.repos == nil {
		v["repository_selection"] = "all"
	}
	if chosen != nil {
		repos := []obj{}
		for _, r := range chosen {
			repos = append(repos, c.s.repoJSON(r))
		}
		v["repositories"] = repos
	}
	return reply{status: http.StatusCreated, body: v}
}

func (s *Server) repoByID(id int64) *repository {
	for _, r := range s.repos {
		if r.id == id && !r.deleted {
			return r
		}
	}
	return nil
}

func listInstallationRepos(c *call) reply {
	var all []*repository
	for _, r := range c.s.repos {
		if c.who.token.sees(r) {
			all = append(all, r)
		}
	}
	rep := countedJSON(c, "repositories", all, c.s.repoJSON)
	rep.body.(obj)["repository_selection"] = "selected"
	if c.who.token.inst.all && c.who.token.repos == nil {
		rep.body.(obj)["repository_selection"] = "all"
	}
	return rep
}

func revokeToken(c *call) reply {
	delete(c.s.tokens, c.who.token.value)
	return noContent()
}
