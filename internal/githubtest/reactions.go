package githubtest

import (
	"net/http"
	"slices"
)

var reactionRoutes = []*route{
	{method: "POST", path: "/repos/{owner}/{repo}/issues/{issue_number}/reactions", access: accessRepo, needs: "issues:write|pull_requests:write", handle: reactToIssue},
}

var reactionKinds = []string{"+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"}

// react adds the reaction of the body. An account reacts in one way once: the
// second time the answer is 200.
func (c *call) react(to map[string][]*user) reply {
	var req struct{ Content string }
	if bad := c.decode(&req, "content"); bad != nil {
		return *bad
	}
	if !slices.Contains(reactionKinds, req.Content) {
		return invalid(fieldError{Resource: "Reaction", Code: "invalid", Field: "content"})
	}
	status := http.StatusOK
	if !slices.Contains(to[req.Content], c.who.user()) {
		status = http.StatusCreated
		to[req.Content] = append(to[req.Content], c.who.user())
	}
	id := c.s.id()
	return reply{status: status, body: obj{
		"id": id, "node_id": nodeID("Reaction", id), "user": c.s.userJSON(c.who.user()), "content": req.Content, "created_at": stamp(c.s.now()),
	}}
}

func (s *Server) reactionsJSON(u string, by map[string][]*user) obj {
	v := obj{"url": u + "/reactions", "total_count": 0}
	total := 0
	for _, kind := range reactionKinds {
		v[kind] = len(by[kind])
		total += len(by[kind])
	}
	v["total_count"] = total
	return v
}

func reactToIssue(c *call) reply {
	i, gone := c.issue()
	if gone != nil {
		return *gone
	}
	if i.reactions == nil {
		i.reactions = map[string][]*user{}
	}
	return c.react(i.reactions)
}

func reactToComment(c *call) reply {
	_, x := c.comment()
	if x == nil {
		return notFound()
	}
	if x.reactions == nil {
		x.reactions = map[string][]*user{}
	}
	return c.react(x.reactions)
}

func reactToReviewComment(c *call) reply {
	_, x := c.reviewComment()
	if x == nil {
		return notFound()
	}
	if x.reactions == nil {
		x.reactions = map[string][]*user{}
	}
	return c.react(x.reactions)
}
