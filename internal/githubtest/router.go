package githubtest

import (
	"net/url"
	"strings"
)

// access says who may call a route.
type access int

const (
	accessAnyone       access = iota // a token is optional
	accessApp                        // an App's JWT
	accessInstallation               // an installation token
	accessRepo                       // whoever may see the repository, and has the route's permission
)

// route is one operation of GitHub's REST description. The path is the
// description's own template, so that answers can be held against it.
type route struct {
	method string
	path   string
	access access
	// needs is the permission of an installation token, as "issues:write";
	// alternatives are separated by "|".
	needs string
	// role is the least role of a person on the repository; "read" when empty
	// (on public repositories everybody has that).
	role   string
	handle func(*call) reply

	segments []string
}

var routeTable = buildRoutes()

func buildRoutes() []*route {
	var all []*route
	for _, group := range [][]*route{
		appRoutes, manifestRoutes, hookRoutes, repoRoutes, refRoutes, commitRoutes, contentRoutes, issueRoutes, commentRoutes, commitCommentRoutes, labelRoutes, pullRoutes,
		reviewRoutes, checkRoutes, statusRoutes, protectRoutes, ruleRoutes, threadRoutes, dismissalRoutes, reactionRoutes, reviewerRoutes, lockRoutes, suiteRoutes, runRoutes, logRoutes,
	} {
		for _, r := range group {
			r.segments = strings.Split(r.path[1:], "/")
			all = append(all, r)
		}
	}
	return all
}

// matchRoute finds the route of an escaped path. Among several, the one with a
// literal segment where the other has a parameter wins. Parameters that are
// numbers in the description match digits only; the last parameter of a path
// that is a ref or a file takes the rest of the path.
func matchRoute(method, path string) (*route, map[string]string) {
	got := strings.Split(strings.Trim(path, "/"), "/")
	var best *route
	var params map[string]string
	for _, r := range routeTable {
		if r.method != method {
			continue
		}
		if p, ok := r.match(got); ok && (best == nil || moreLiteral(r.segments, best.segments)) {
			best, params = r, p
		}
	}
	return best, params
}

func (r *route) match(got []string) (map[string]string, bool) {
	params := map[string]string{}
	for i, seg := range r.segments {
		if i >= len(got) {
			// GET /contents without a path is the root folder.
			return params, i == len(r.segments)-1 && seg == "{path}"
		}
		if !strings.HasPrefix(seg, "{") {
			if seg != got[i] {
				return nil, false
			}
			continue
		}
		name := strings.Trim(seg, "{}")
		value := got[i]
		if i == len(r.segments)-1 && restOfPath[name] {
			value = strings.Join(got[i:], "/")
			got = got[:i+1]
		}
		value, err := url.PathUnescape(value)
		if err != nil || value == "" && name != "path" {
			return nil, false
		}
		if numeric(name) && strings.Trim(value, "0123456789") != "" {
			return nil, false
		}
		params[name] = value
	}
	return params, len(got) == len(r.segments)
}

var restOfPath = map[string]bool{"ref": true, "branch": true, "path": true, "basehead": true}

func numeric(name string) bool {
	return strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "_number")
}

func moreLiteral(a, b []string) bool {
	for i := range min(len(a), len(b)) {
		la, lb := !strings.HasPrefix(a[i], "{"), !strings.HasPrefix(b[i], "{")
		if la != lb {
			return la
		}
	}
	return len(a) > len(b)
}
