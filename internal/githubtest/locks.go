package githubtest

import (
	"net/http"
	"slices"
)

var lockRoutes = []*route{
	{method: "PUT", path: "/repos/{owner}/{repo}/issues/{issue_number}/lock", access: accessRepo, needs: "issues:write|pull_requests:write", role: "write", handle: lockIssue},
	{method: "DELETE", path: "/repos/{owner}/{repo}/issues/{issue_number}/lock", access: accessRepo, needs: "issues:write|pull_requests:write", role: "write", handle: unlockIssue},
}

// lockedFor answers for a caller who may not write in a locked conversation.
// People who may write to the repository can, Apps cannot.
func (c *call) lockedFor(i *issue) *reply {
	if !i.locked || c.who.via() == nil && roleRank[c.repo.role(c.who.user())] >= roleRank["write"] {
		return nil
	}
	r := fail(http.StatusForbidden, "Unable to create comment because issue is locked.")
	return &r
}

func lockIssue(c *call) reply {
	i, gone := c.issue()
	if gone != nil {
		return *gone
	}
	var req struct {
		Reason string `json:"lock_reason"`
	}
	if bad := c.decode(&req); bad != nil {
		return *bad
	}
	if req.Reason != "" && !slices.Contains([]string{"off-topic", "too heated", "resolved", "spam"}, req.Reason) {
		return invalid(fieldError{Resource: "Issue", Code: "invalid", Field: "lock_reason"})
	}
	i.lockReason = req.Reason
	c.s.lock(c.repo, i, c.who.user(), true)
	return noContent()
}

func unlockIssue(c *call) reply {
	i, gone := c.issue()
	if gone != nil {
		return *gone
	}
	c.s.lock(c.repo, i, c.who.user(), false)
	return noContent()
}

func (s *Server) lock(r *repository, i *issue, u *user, locked bool) {
	if i.locked == locked {
		return
	}
	i.locked = locked
	if !locked {
		i.lockReason = ""
	}
	s.emitThread(r, i, map[bool]string{true: "locked", false: "unlocked"}[locked], u, nil)
}

// LockIssue stops people without write permission, and Apps, from commenting,
// or lets them again. The owner does it.
func (s *Server) LockIssue(repo string, number int, locked bool) error {
	return s.withIssue(repo, number, func(r *repository, i *issue) error {
		s.lock(r, i, r.owner, locked)
		return nil
	})
}

// DeleteIssue deletes an issue, which GitHub lets administrators do: its
// address answers 410 from then on.
func (s *Server) DeleteIssue(repo string, number int, login string) error {
	return s.withIssue(repo, number, func(r *repository, i *issue) error {
		s.emitIssue(r, i, "deleted", s.userOrNew(login), nil)
		i.deleted = true
		return nil
	})
}
