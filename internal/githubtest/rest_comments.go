package githubtest

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

var commentRoutes = []*route{
	{method: "GET", path: "/repos/{owner}/{repo}/issues/{issue_number}/comments", access: accessRepo, needs: "issues:read|pull_requests:read", handle: listComments},
	{method: "POST", path: "/repos/{owner}/{repo}/issues/{issue_number}/comments", access: accessRepo, needs: "issues:write|pull_requests:write", handle: createComment},
	{method: "GET", path: "/repos/{owner}/{repo}/issues/comments/{comment_id}", access: accessRepo, needs: "issues:read|pull_requests:read", handle: getComment},
	{method: "PATCH", path: "/repos/{owner}/{repo}/issues/comments/{comment_id}", access: accessRepo, needs: "issues:write|pull_requests:write", handle: patchComment},
	{method: "DELETE", path: "/repos/{owner}/{repo}/issues/comments/{comment_id}", access: accessRepo, needs: "issues:write|pull_requests:write", handle: removeComment},
	{method: "POST", path: "/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions", access: accessRepo, needs: "issues:write|pull_requests:write", handle: reactToComment},
}

func (s *Server) commentJSON(r *repository, i *issue, c *comment) obj {
	u := fmt.Sprintf("%s/issues/comments/%d", s.repoURL(r), c.id)
	return obj{
		"id": c.id, "node_id": nodeID("IssueComment", c.id), "url": u, "html_url": fmt.Sprintf("%s#issuecomment-%d", s.issueWeb(r, i), c.id),
		"issue_url": fmt.Sprintf("%s/issues/%d", s.repoURL(r), i.number), "user": s.userJSON(c.user), "created_at": stamp(c.created),
		"updated_at": stamp(c.updated), "author_association": r.association(c.user), "body": c.body,
		"reactions": s.reactionsJSON(u, c.reactions), "performed_via_github_app": s.appOrNull(c.via),
	}
}

func listComments(c *call) reply {
	i, gone := c.issue()
	if gone != nil {
		return *gone
	}
	since, _ := time.Parse(time.RFC3339, c.query("since"))
	list := slices.DeleteFunc(slices.Clone(i.comments), func(x *comment) bool { return x.updated.Before(since) })
	return ok(listJSON(c, list, func(x *comment) obj { return c.s.commentJSON(c.repo, i, x) }))
}

func createComment(c *call) reply {
	i, gone := c.issue()
	if gone != nil {
		return *gone
	}
	if locked := c.lockedFor(i); locked != nil {
		return *locked
	}
	body, bad := c.commentBody("IssueComment")
	if bad != nil {
		return *bad
	}
	return c.created(c.s.commentJSON(c.repo, i, c.s.addComment(c.repo, i, c.who.user(), c.who.via(), body)))
}

// comment finds the comment that the path names.
func (c *call) comment() (*issue, *comment) {
	for _, i := range c.repo.issues {
		if i.deleted {
			continue
		}
		for _, x := range i.comments {
			if x.id == c.id("comment_id") {
				return i, x
			}
		}
	}
	return nil, nil
}

func getComment(c *call) reply {
	i, x := c.comment()
	if x == nil {
		return notFound()
	}
	return ok(c.s.commentJSON(c.repo, i, x))
}

// mayEdit says whether the caller wrote it or may change what others wrote.
func (c *call) mayEdit(author *user) bool {
	return c.who.user() == author || roleRank[c.repo.role(c.who.user())] >= roleRank["write"] || c.who.via() != nil
}

func patchComment(c *call) reply {
	i, x := c.comment()
	if x == nil {
		return notFound()
	}
	if !c.mayEdit(x.user) {
		return fail(http.StatusForbidden, "Must have admin rights to Repository.")
	}
	body, bad := c.commentBody("IssueComment")
	if bad != nil {
		return *bad
	}
	c.s.editComment(c.repo, i, x, c.who.user(), body)
	return ok(c.s.commentJSON(c.repo, i, x))
}

func removeComment(c *call) reply {
	i, x := c.comment()
	if x == nil {
		return notFound()
	}
	if !c.mayEdit(x.user) {
		return fail(http.StatusForbidden, "Must have admin rights to Repository.")
	}
	c.s.deleteComment(c.repo, i, x, c.who.user())
	return noContent()
}
