package githubtest

import (
	"fmt"
	"net/http"
)

// A review as a whole after it was written: reading it, and dismissing it.

var dismissalRoutes = []*route{
	{method: "GET", path: "/repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}", access: accessRepo, needs: "pull_requests:read", handle: getReview},
	{method: "PUT", path: "/repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}/dismissals", access: accessRepo, needs: "pull_requests:write", role: "write", handle: dismissReview},
}

// review finds the review that the path names.
func (c *call) review() (*issue, *review) {
	if i := c.pull(); i != nil {
		for _, v := range i.pull.reviews {
			if v.id == c.id("review_id") {
				return i, v
			}
		}
	}
	return nil, nil
}

func getReview(c *call) reply {
	i, v := c.review()
	if v == nil {
		return notFound()
	}
	return ok(c.s.reviewJSON(c.repo, i, v))
}

func dismissReview(c *call) reply {
	i, v := c.review()
	if v == nil {
		return notFound()
	}
	var req struct{ Message string }
	if bad := c.decode(&req, "message"); bad != nil {
		return *bad
	}
	if v.state != "APPROVED" && v.state != "CHANGES_REQUESTED" {
		r := fail(http.StatusUnprocessableEntity, "Unprocessable Entity")
		r.body.(obj)["errors"] = []string{"Can not dismiss a commented pull request review"}
		return r
	}
	c.s.dismiss(c.repo, i, v, c.who.user())
	return ok(c.s.reviewJSON(c.repo, i, v))
}

func (s *Server) dismiss(r *repository, i *issue, v *review, u *user) {
	v.state = "DISMISSED"
	s.emitReview(r, i, v, "dismissed", u)
}

// DismissReview dismisses an approval or a request for changes.
func (s *Server) DismissReview(repo string, number int, reviewID int64, login string) error {
	return s.withIssue(repo, number, func(r *repository, i *issue) error {
		if i.pull != nil {
			for _, v := range i.pull.reviews {
				if v.id == reviewID {
					s.dismiss(r, i, v, s.userOrNew(login))
					return nil
				}
			}
		}
		return fmt.Errorf("no review %d", reviewID)
	})
}
