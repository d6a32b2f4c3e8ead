package githubtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

var issueRoutes = []*route{
	{method: "GET", path: "/repos/{owner}/{repo}/issues", access: accessRepo, needs: "issues:read|pull_requests:read", handle: listIssues},
	{method: "POST", path: "/repos/{owner}/{repo}/issues", access: accessRepo, needs: "issues:write", handle: createIssue},
	{method: "GET", path: "/repos/{owner}/{repo}/issues/{issue_number}", access: accessRepo, needs: "issues:read|pull_requests:read", handle: getIssue},
	{method: "PATCH", path: "/repos/{owner}/{repo}/issues/{issue_number}", access: accessRepo, needs: "issues:write|pull_requests:write", handle: patchIssue},
}

func (s *Server) issueJSON(r *repository, i *issue) obj {
	u := fmt.Sprintf("%s/issues/%d", s.repoURL(r), i.number)
	html := s.issueWeb(r, i)
	assignees := []obj{}
	var first any
	for _, a := range i.assignees {
		assignees = append(assignees, s.userJSON(a))
		first = assignees[0]
	}
	v := obj{
		"id": i.id, "node_id": nodeID("Issue", i.id), "url": u, "repository_url": s.repoURL(r), "labels_url": u + "/labels{/name}",
		"comments_url": u + "/comments", "events_url": u + "/events", "timeline_url": u + "/timeline", "html_url": html,
		"number": i.number, "title": i.title, "user": s.userJSON(i.user), "labels": s.labelsJSON(r, i.labels),
		"state": i.state, "state_reason": orNull(i.stateReason), "locked": i.locked, "active_lock_reason": orNull(i.lockReason),
		"assignee": first, "assignees": assignees, "milestone": nil, "comments": len(i.comments),
		"created_at": stamp(i.created), "updated_at": stamp(i.updated), "closed_at": stamp(i.closed),
		"author_association": r.association(i.user), "body": orNull(i.body), "reactions": s.reactionsJSON(u, i.reactions),
		"performed_via_github_app": s.appOrNull(i.via), "closed_by": s.userOrNull(i.closedBy),
	}
	if p := i.pull; p != nil {
		v["draft"], v["author_association"] = p.draft, r.pullAssociation(i.user)
		v["pull_request"] = obj{
			"url": fmt.Sprintf("%s/pulls/%d", s.repoURL(r), i.number), "html_url": html, "diff_url": html + ".diff",
			"patch_url": html + ".patch", "merged_at": stamp(p.merged),
		}
	}
	return v
}

func (s *Server) issueWeb(r *repository, i *issue) string {
	kind := "issues"
	if i.pull != nil {
		kind = "pull"
	}
	return fmt.Sprintf("%s/%s/%d", s.webURL(r), kind, i.number)
}

func listIssues(c *call) reply {
	state := c.query("state")
	if state == "" {
		state = "open"
	}
	if !slices.Contains([]string{"open", "closed", "all"}, state) {
		return invalid(fieldError{Resource: "Issue", Code: "invalid", Field: "state"})
	}
	since, _ := time.Parse(time.RFC3339, c.query("since"))
	var list []*issue
	for _, i := range c.repo.issues {
		if i.deleted || c.repo.noIssues && i.pull == nil || state != "all" && i.state != state || i.updated.Before(since) || !hasLabels(i, c.query("labels")) {
			continue
		}
		if who := c.query("creator"); who != "" && !strings.EqualFold(i.user.login, who) {
			continue
		}
		list = append(list, i)
	}
	sortIssues(list, c.query("sort"), c.query("direction"))
	return ok(listJSON(c, list, func(i *issue) obj { return c.s.issueJSON(c.repo, i) }))
}

func hasLabels(i *issue, names string) bool {
	for name := range strings.SplitSeq(names, ",") {
		if name != "" && !slices.ContainsFunc(i.labels, func(l *label) bool { return strings.EqualFold(l.name, name) }) {
			return false
		}
	}
	return true
}

// sortIssues sorts by creation (default), update or comments, newest first
// unless direction is asc.
func sortIssues(list []*issue, by, direction string) {
	slices.SortStableFunc(list, func(a, b *issue) int {
		n := a.number - b.number
		switch by {
		case "updated":
			n = a.updated.Compare(b.updated)
		case "comments":
			n = len(a.comments) - len(b.comments)
		}
		if direction == "asc" {
			return n
		}
		return -n
	})
}

func createIssue(c *call) reply {
	if c.repo.noIssues {
		return fail(http.StatusGone, "Issues has been disabled in this repository.")
	}
	var req struct {
		Title     string
		Body      string
		Labels    []string
		Assignees []string
	}
	if bad := c.decode(&req, "title"); bad != nil {
		return *bad
	}
	if bad := checkText("Issue", req.Title, req.Body); bad != nil {
		return *bad
	}
	if !c.mayTriage() {
		req.Labels, req.Assignees = nil, nil // GitHub drops them silently
	}
	i := c.s.openIssue(c.repo, c.who.user(), c.who.via(), req.Title, req.Body, req.Labels)
	return c.created(c.s.issueJSON(c.repo, i))
}

// mayTriage says whether the caller may label, assign, and close what others
// opened.
func (c *call) mayTriage() bool {
	if c.who.via() != nil {
		return true // the route's permission was checked
	}
	return roleRank[c.repo.role(c.who.user())] >= roleRank["triage"]
}

func getIssue(c *call) reply {
	i, gone := c.issue()
	if gone != nil {
		return *gone
	}
	return ok(c.s.issueJSON(c.repo, i))
}

// issue finds the issue or pull request that the path names. The reply is
// GitHub's when there is none: 410 when it was deleted, or when the repository
// has no issues.
func (c *call) issue() (*issue, *reply) {
	n := c.number("issue_number")
	rep := notFound()
	if i := c.repo.issue(n); i != nil {
		if i.pull != nil || !c.repo.noIssues {
			return i, nil
		}
		rep = fail(http.StatusGone, "Issues has been disabled in this repository.")
	} else if n > 0 && n <= len(c.repo.issues) {
		rep = fail(http.StatusGone, "This issue was deleted")
	}
	return nil, &rep
}

func patchIssue(c *call) reply {
	i, gone := c.issue()
	if gone != nil {
		return *gone
	}
	if !c.mayTriage() && i.user != c.who.user() {
		return fail(http.StatusForbidden, "Must have admin rights to Repository.")
	}
	var req struct {
		Title       *string
		Body        *string
		State       *string
		StateReason *string `json:"state_reason"`
		Labels      *[]string
	}
	if bad := c.decode(&req); bad != nil {
		return *bad
	}
	title, body := i.title, i.body
	if req.Title != nil {
		title = *req.Title
	}
	if req.Body != nil {
		body = *req.Body
	}
	if bad := checkText("Issue", title, body); bad != nil {
		return *bad
	}
	if req.State != nil && *req.State != "open" && *req.State != "closed" {
		return invalid(fieldError{Resource: "Issue", Code: "invalid", Field: "state"})
	}
	c.s.editIssue(c.repo, i, c.who.user(), title, body)
	if req.Labels != nil && c.mayTriage() {
		c.s.setLabels(c.repo, i, c.who.user(), *req.Labels)
	}
	if req.State != nil {
		if *req.State == "closed" {
			c.s.closeIssue(c.repo, i, c.who.user(), deref(req.StateReason))
		} else {
			c.s.reopenIssue(c.repo, i, c.who.user())
		}
	}
	return ok(c.s.issueJSON(c.repo, i))
}
