package githubtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// What happens to review comments after they were written: edits, deletions,
// and threads that are resolved.

var threadRoutes = []*route{
	{method: "GET", path: "/repos/{owner}/{repo}/pulls/comments/{comment_id}", access: accessRepo, needs: "pull_requests:read", handle: getReviewComment},
	{method: "PATCH", path: "/repos/{owner}/{repo}/pulls/comments/{comment_id}", access: accessRepo, needs: "pull_requests:write", handle: patchReviewComment},
	{method: "DELETE", path: "/repos/{owner}/{repo}/pulls/comments/{comment_id}", access: accessRepo, needs: "pull_requests:write", handle: removeReviewComment},
	{method: "POST", path: "/repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions", access: accessRepo, needs: "pull_requests:write", handle: reactToReviewComment},
}

// outdated says whether the line that a comment stands on is no longer there
// as it was when the comment was written.
func (s *Server) outdated(r *repository, i *issue, x *reviewComment) bool {
	if x.commit == i.pull.headSHA {
		return false
	}
	for _, f := range s.pullFiles(r, i) {
		if f.path == x.path {
			now := hunkTo(f.patch, x.line, x.side == "LEFT")
			return now == "" || lastLine(now) != lastLine(x.hunk)
		}
	}
	return true
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

// reviewComment finds the comment that the path names.
func (c *call) reviewComment() (*issue, *reviewComment) {
	for _, i := range c.repo.issues {
		if i.pull == nil {
			continue
		}
		for _, x := range i.pull.comments {
			if x.id == c.id("comment_id") {
				return i, x
			}
		}
	}
	return nil, nil
}

func getReviewComment(c *call) reply {
	i, x := c.reviewComment()
	if x == nil {
		return notFound()
	}
	return ok(c.s.reviewCommentJSON(c.repo, i, x))
}

func patchReviewComment(c *call) reply {
	i, x := c.reviewComment()
	if x == nil {
		return notFound()
	}
	if !c.mayEdit(x.user) {
		return fail(http.StatusForbidden, "Must have admin rights to Repository.")
	}
	body, bad := c.commentBody("PullRequestReviewComment")
	if bad != nil {
		return *bad
	}
	c.s.editReviewComment(c.repo, i, x, c.who.user(), body)
	return ok(c.s.reviewCommentJSON(c.repo, i, x))
}

func removeReviewComment(c *call) reply {
	i, x := c.reviewComment()
	if x == nil {
		return notFound()
	}
	if !c.mayEdit(x.user) {
		return fail(http.StatusForbidden, "Must have admin rights to Repository.")
	}
	c.s.deleteReviewComment(c.repo, i, x, c.who.user())
	return noContent()
}

func (s *Server) editReviewComment(r *repository, i *issue, x *reviewComment, u *user, body string) {
	if x.body == body {
		return
	}
	from := x.body
	x.body, x.updated = body, s.now()
	s.emitReviewComment(r, i, x, "edited", u, obj{"changes": obj{"body": obj{"from": from}}})
}

func (s *Server) deleteReviewComment(r *repository, i *issue, x *reviewComment, u *user) {
	i.pull.comments = slices.DeleteFunc(slices.Clone(i.pull.comments), func(y *reviewComment) bool { return y == x })
	s.emitReviewComment(r, i, x, "deleted", u, nil)
}

// EditReviewComment changes the text of a comment on a line.
func (s *Server) EditReviewComment(repo string, number int, commentID int64, login, body string) error {
	return s.withReviewComment(repo, number, commentID, func(r *repository, i *issue, x *reviewComment) {
		s.editReviewComment(r, i, x, s.userOrNew(login), body)
	})
}

// DeleteReviewComment deletes a comment on a line.
func (s *Server) DeleteReviewComment(repo string, number int, commentID int64, login string) error {
	return s.withReviewComment(repo, number, commentID, func(r *repository, i *issue, x *reviewComment) {
		s.deleteReviewComment(r, i, x, s.userOrNew(login))
	})
}

// ResolveThread resolves the thread that begins with a comment, or takes that
// back, and sends pull_request_review_thread.
func (s *Server) ResolveThread(repo string, number int, commentID int64, login string, resolved bool) error {
	return s.withReviewComment(repo, number, commentID, func(r *repository, i *issue, first *reviewComment) {
		comments := []obj{}
		for _, x := range i.pull.comments {
			if x == first || x.replyTo == first.id {
				v := s.reviewCommentJSON(r, i, x)
				if _, there := v["line"]; !there {
					v["line"], v["position"] = nil, nil
				}
				comments = append(comments, v)
			}
		}
		first.resolved = resolved
		s.emit(r, "pull_request_review_thread", map[bool]string{true: "resolved", false: "unresolved"}[resolved], s.userOrNew(login), nil, obj{
			"pull_request": s.pullJSON(r, i), "thread": obj{"node_id": nodeID("PullRequestReviewThread", first.id), "comments": comments},
		})
	})
}

func (s *Server) withReviewComment(repo string, number int, id int64, f func(*repository, *issue, *reviewComment)) error {
	return s.withIssue(repo, number, func(r *repository, i *issue) error {
		if i.pull != nil {
			for _, x := range i.pull.comments {
				if x.id == id {
					f(r, i, x)
					return nil
				}
			}
		}
		return fmt.Errorf("no review comment %d", id)
	})
}
