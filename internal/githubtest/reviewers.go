package githubtest

import (
	"net/http"
	"slices"
	"strings"
)

var reviewerRoutes = []*route{
	{method: "GET", path: "/repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers", access: accessRepo, needs: "pull_requests:read", handle: listReviewers},
	{method: "POST", path: "/repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers", access: accessRepo, needs: "pull_requests:write", role: "write", handle: requestReviewers},
	{method: "DELETE", path: "/repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers", access: accessRepo, needs: "pull_requests:write", role: "write", handle: removeReviewers},
	{method: "POST", path: "/repos/{owner}/{repo}/issues/{issue_number}/assignees", access: accessRepo, needs: "issues:write|pull_requests:write", role: "triage", handle: addAssignees},
	{method: "DELETE", path: "/repos/{owner}/{repo}/issues/{issue_number}/assignees", access: accessRepo, needs: "issues:write|pull_requests:write", role: "triage", handle: removeAssignees},
}

func (s *Server) usersJSON(list []*user) []obj {
	out := []obj{}
	for _, u := range list {
		out = append(out, s.userJSON(u))
	}
	return out
}

func listReviewers(c *call) reply {
	i := c.pull()
	if i == nil {
		return notFound()
	}
	return ok(obj{"users": c.s.usersJSON(i.pull.reviewers), "teams": []obj{}})
}

// reviewRequest finds the pull request that the path names and the people that
// the body names. Teams are none here.
func (c *call) reviewRequest() (*issue, []*user, *reply) {
	i := c.pull()
	if i == nil {
		r := notFound()
		return nil, nil, &r
	}
	var req struct {
		Reviewers []string
		Teams     []string `json:"team_reviewers"`
	}
	if bad := c.decode(&req); bad != nil {
		return nil, nil, bad
	}
	var out []*user
	for _, login := range req.Reviewers {
		u := c.s.users[strings.ToLower(login)]
		if u == nil || u.kind != "User" || roleRank[c.repo.role(u)] < roleRank["read"] || c.repo.association(u) == "NONE" {
			r := fail(http.StatusUnprocessableEntity, "Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a collaborator of the "+c.repo.fullName()+" repository.")
			return nil, nil, &r
		}
		out = append(out, u)
	}
	if len(req.Teams) > 0 {
		r := fail(http.StatusUnprocessableEntity, "Could not resolve to a node with the global id of '"+req.Teams[0]+"'.")
		return nil, nil, &r
	}
	return i, out, nil
}

func requestReviewers(c *call) reply {
	i, people, bad := c.reviewRequest()
	if bad != nil {
		return *bad
	}
	if slices.Contains(people, i.user) {
		return fail(http.StatusUnprocessableEntity, "Review cannot be requested from pull request author.")
	}
	for _, u := range people {
		if slices.Contains(i.pull.reviewers, u) {
			continue
		}
		i.pull.reviewers = append(i.pull.reviewers, u)
		c.s.emitPull(c.repo, i, "review_requested", c.who.user(), obj{"requested_reviewer": c.s.userJSON(u)})
	}
	return reply{status: http.StatusCreated, body: c.s.pullJSON(c.repo, i)}
}

func removeReviewers(c *call) reply {
	i, people, bad := c.reviewRequest()
	if bad != nil {
		return *bad
	}
	for _, u := range people {
		if at := slices.Index(i.pull.reviewers, u); at >= 0 {
			i.pull.reviewers = slices.Delete(slices.Clone(i.pull.reviewers), at, at+1)
			c.s.emitPull(c.repo, i, "review_request_removed", c.who.user(), obj{"requested_reviewer": c.s.userJSON(u)})
		}
	}
	return ok(c.s.pullJSON(c.repo, i))
}

// changeAssignees runs f for each person of the body who may be assigned;
// GitHub leaves the others out silently.
func (c *call) changeAssignees(status int, f func(*issue, *user)) reply {
	i, gone := c.issue()
	if gone != nil {
		return *gone
	}
	var req struct{ Assignees []string }
	if bad := c.decode(&req); bad != nil {
		return *bad
	}
	for _, login := range req.Assignees {
		if u := c.s.users[strings.ToLower(login)]; u != nil && (c.repo.association(u) != "NONE" || u == i.user) {
			f(i, u)
		}
	}
	return reply{status: status, body: c.s.issueJSON(c.repo, i)}
}

func addAssignees(c *call) reply {
	return c.changeAssignees(http.StatusCreated, func(i *issue, u *user) { c.s.assign(c.repo, i, c.who.user(), u) })
}

func removeAssignees(c *call) reply {
	return c.changeAssignees(http.StatusOK, func(i *issue, u *user) {
		if at := slices.Index(i.assignees, u); at >= 0 {
			i.assignees = slices.Delete(slices.Clone(i.assignees), at, at+1)
			c.s.emitThread(c.repo, i, "unassigned", c.who.user(), obj{"assignee": c.s.userJSON(u)})
		}
	})
}

func (s *Server) assign(r *repository, i *issue, by, u *user) {
	if slices.Contains(i.assignees, u) || len(i.assignees) == 10 { // GitHub's limit
		return
	}
	i.assignees = append(i.assignees, u)
	s.emitThread(r, i, "assigned", by, obj{"assignee": s.userJSON(u)})
}

// Assign assigns an issue or pull request to somebody.
func (s *Server) Assign(repo string, number int, login, assignee string) error {
	return s.withIssue(repo, number, func(r *repository, i *issue) error {
		s.assign(r, i, s.userOrNew(login), s.userOrNew(assignee))
		return nil
	})
}
