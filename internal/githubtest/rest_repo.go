package githubtest

import (
	"maps"
	"net/http"
	"strings"
)

var repoRoutes = []*route{
	{method: "GET", path: "/repos/{owner}/{repo}", access: accessRepo, needs: "metadata:read", handle: getRepo},
	{
		method: "GET", path: "/repos/{owner}/{repo}/collaborators/{username}/permission", access: accessRepo,
		needs: "metadata:read", role: "write", handle: getPermission,
	},
	{method: "GET", path: "/repos/{owner}/{repo}/branches", access: accessRepo, needs: "contents:read", handle: listBranches},
	{method: "GET", path: "/repos/{owner}/{repo}/branches/{branch}", access: accessRepo, needs: "contents:read", handle: getBranch},
}

func getRepo(c *call) reply {
	v := c.s.fullRepoJSON(c.repo)
	if t := c.who.token; t != nil && t.inst == nil {
		v["permissions"] = permissionsJSON(c.repo.role(t.user))
	} else if t != nil {
		v["permissions"] = permissionsJSON(map[bool]string{true: "write", false: "read"}[t.may("contents:write")])
	}
	return ok(v)
}

// getPermission answers with the legacy permission (admin, write, read, none:
// maintain counts as write, triage as read) and the exact role.
func getPermission(c *call) reply {
	u := c.s.users[strings.ToLower(c.param("username"))]
	switch {
	case u == nil:
		return notFound()
	case u.kind != "User":
		return fail(http.StatusNotFound, u.login+" is not a user")
	}
	role := c.repo.role(u)
	legacy := map[string]string{"maintain": "write", "triage": "read"}[role]
	if legacy == "" {
		legacy = role
	}
	v := c.s.userJSON(u)
	maps.Copy(v, obj{"permissions": permissionsJSON(role), "role_name": role})
	return ok(obj{"permission": legacy, "role_name": role, "user": v})
}

func listBranches(c *call) reply {
	refs, err := c.s.listRefs(c.repo, "refs/heads")
	if err != nil {
		return fail(500, err.Error())
	}
	return ok(listJSON(c, sortedKeys(refs), func(ref string) obj {
		return obj{
			"name": strings.TrimPrefix(ref, "refs/heads/"), "protected": c.repo.isProtected(strings.TrimPrefix(ref, "refs/heads/")),
			"commit": obj{"sha": refs[ref], "url": c.s.repoURL(c.repo) + "/commits/" + refs[ref]},
		}
	}))
}

func getBranch(c *call) reply {
	name := c.param("branch")
	sha := c.s.resolve(c.repo, "refs/heads/"+name)
	if sha == "" {
		return fail(404, "Branch not found")
	}
	commit, err := c.s.readCommit(c.repo, sha)
	if err != nil {
		return fail(500, err.Error())
	}
	self := c.s.repoURL(c.repo) + "/branches/" + escapePath(name)
	return ok(obj{
		"name": name, "commit": c.s.commitJSON(c.repo, commit), "protected": c.repo.isProtected(name), "protection_url": self + "/protection",
		"protection": c.repo.protectionJSON(name),
		"_links":     obj{"self": self, "html": c.s.webURL(c.repo) + "/tree/" + escapePath(name)},
	})
}
