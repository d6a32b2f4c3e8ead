package githubtest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

var labelRoutes = []*route{
	{method: "GET", path: "/repos/{owner}/{repo}/labels", access: accessRepo, needs: "issues:read|pull_requests:read", handle: listLabels},
	{method: "POST", path: "/repos/{owner}/{repo}/labels", access: accessRepo, needs: "issues:write|pull_requests:write", role: "write", handle: createLabel},
	{method: "GET", path: "/repos/{owner}/{repo}/labels/{name}", access: accessRepo, needs: "issues:read|pull_requests:read", handle: getLabel},
	{method: "GET", path: "/repos/{owner}/{repo}/issues/{issue_number}/labels", access: accessRepo, needs: "issues:read|pull_requests:read", handle: listIssueLabels},
	{method: "POST", path: "/repos/{owner}/{repo}/issues/{issue_number}/labels", access: accessRepo, needs: "issues:write|pull_requests:write", role: "triage", handle: addIssueLabels},
	{method: "PUT", path: "/repos/{owner}/{repo}/issues/{issue_number}/labels", access: accessRepo, needs: "issues:write|pull_requests:write", role: "triage", handle: setIssueLabels},
	{method: "DELETE", path: "/repos/{owner}/{repo}/issues/{issue_number}/labels", access: accessRepo, needs: "issues:write|pull_requests:write", role: "triage", handle: clearIssueLabels},
	{method: "DELETE", path: "/repos/{owner}/{repo}/issues/{issue_number}/labels/{name}", access: accessRepo, needs: "issues:write|pull_requests:write", role: "triage", handle: removeIssueLabel},
}

func (s *Server) labelJSON(r *repository, l *label) obj {
	isDefault := slices.Contains([]string{"bug", "documentation", "enhancement"}, l.name)
	return obj{
		"id": l.id, "node_id": nodeID("Label", l.id), "url": s.repoURL(r) + "/labels/" + url.PathEscape(l.name), "name": l.name,
		"color": l.color, "default": isDefault, "description": orNull(l.description),
	}
}

func (s *Server) labelsJSON(r *repository, labels []*label) []obj {
	out := []obj{}
	for _, l := range labels {
		out = append(out, s.labelJSON(r, l))
	}
	return out
}

func (c *call) labelList(labels []*label) reply {
	return ok(listJSON(c, labels, func(l *label) obj { return c.s.labelJSON(c.repo, l) }))
}

func listLabels(c *call) reply { return c.labelList(c.repo.labels) }

func getLabel(c *call) reply {
	if l := c.repo.label(c.param("name")); l != nil {
		return ok(c.s.labelJSON(c.repo, l))
	}
	return notFound()
}

func createLabel(c *call) reply {
	var req struct{ Name, Color, Description string }
	if bad := c.decode(&req, "name"); bad != nil {
		return *bad
	}
	if req.Color == "" {
		req.Color = "ededed"
	}
	color := strings.ToLower(req.Color)
	switch {
	case strings.TrimSpace(req.Name) == "":
		return invalid(fieldError{Resource: "Label", Code: "missing_field", Field: "name"})
	case utf8.RuneCountInString(req.Name) > 50:
		return invalid(fieldError{Resource: "Label", Code: "custom", Field: "name", Message: "name is too long (maximum is 50 characters)"})
	case c.repo.label(req.Name) != nil:
		return invalid(fieldError{Resource: "Label", Code: "already_exists", Field: "name"})
	case len(color) != 6 || strings.Trim(color, "0123456789abcdef") != "":
		return invalid(fieldError{Resource: "Label", Code: "invalid", Field: "color"})
	case utf8.RuneCountInString(req.Description) > 100:
		return invalid(fieldError{Resource: "Label", Code: "custom", Field: "description", Message: "description is too long (maximum is 100 characters)"})
	}
	l := &label{id: c.s.id(), name: req.Name, color: color, description: req.Description}
	c.repo.labels = append(c.repo.labels, l)
	return c.created(c.s.labelJSON(c.repo, l))
}

func listIssueLabels(c *call) reply {
	i, gone := c.issue()
	if gone != nil {
		return *gone
	}
	return c.labelList(i.labels)
}

// labelNames reads {"labels": […]} or a bare array, of names or of objects
// with a name, which are the forms that the description allows.
func (c *call) labelNames() ([]string, *reply) {
	var wrapped struct{ Labels []json.RawMessage }
	raw := wrapped.Labels
	if json.Unmarshal(c.body, &raw) != nil {
		if bad := c.decode(&wrapped); bad != nil {
			return nil, bad
		}
		raw = wrapped.Labels
	}
	names := []string{}
	for _, item := range raw {
		var name string
		var named struct{ Name string }
		if json.Unmarshal(item, &name) != nil {
			if json.Unmarshal(item, &named) != nil || named.Name == "" {
				r := invalidRequest("For 'properties/labels/items', the label is not a string.")
				return nil, &r
			}
			name = named.Name
		}
		if strings.TrimSpace(name) == "" || utf8.RuneCountInString(name) > 50 {
			r := invalid(fieldError{Resource: "Label", Code: "invalid", Field: "name"})
			return nil, &r
		}
		names = append(names, name)
	}
	return names, nil
}

// changeLabels runs f with the issue and the names of the body.
func (c *call) changeLabels(f func(*issue, []string)) reply {
	i, gone := c.issue()
	if gone != nil {
		return *gone
	}
	names, bad := c.labelNames()
	if bad != nil {
		return *bad
	}
	f(i, names)
	return ok(c.s.labelsJSON(c.repo, i.labels))
}

func addIssueLabels(c *call) reply {
	return c.changeLabels(func(i *issue, names []string) {
		for _, name := range names {
			c.s.addLabel(c.repo, i, c.who.user(), name)
		}
	})
}

func setIssueLabels(c *call) reply {
	return c.changeLabels(func(i *issue, names []string) { c.s.setLabels(c.repo, i, c.who.user(), names) })
}

func clearIssueLabels(c *call) reply {
	i, gone := c.issue()
	if gone != nil {
		return *gone
	}
	c.s.setLabels(c.repo, i, c.who.user(), nil)
	return noContent()
}

func removeIssueLabel(c *call) reply {
	i, gone := c.issue()
	if gone != nil {
		return *gone
	}
	l := c.repo.label(c.param("name"))
	if l == nil || !slices.Contains(i.labels, l) {
		return fail(http.StatusNotFound, "Label does not exist")
	}
	c.s.removeLabel(c.repo, i, c.who.user(), l)
	return ok(c.s.labelsJSON(c.repo, i.labels))
}
