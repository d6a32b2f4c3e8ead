package githubtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

var reviewRoutes = []*route{
	{method: "GET", path: "/repos/{owner}/{repo}/pulls/{pull_number}/reviews", access: accessRepo, needs: "pull_requests:read", handle: listReviews},
	{method: "POST", path: "/repos/{owner}/{repo}/pulls/{pull_number}/reviews", access: accessRepo, needs: "pull_requests:write", handle: createReview},
	{method: "GET", path: "/repos/{owner}/{repo}/pulls/{pull_number}/comments", access: accessRepo, needs: "pull_requests:read", handle: listReviewComments},
	{method: "POST", path: "/repos/{owner}/{repo}/pulls/{pull_number}/comments", access: accessRepo, needs: "pull_requests:write", handle: createReviewComment},
	{method: "GET", path: "/repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}/comments", access: accessRepo, needs: "pull_requests:read", handle: listReviewComments},
	{method: "POST", path: "/repos/{owner}/{repo}/pulls/{pull_number}/comments/{comment_id}/replies", access: accessRepo, needs: "pull_requests:write", handle: replyToReview},
}

func (s *Server) reviewJSON(r *repository, i *issue, v *review) obj {
	html := fmt.Sprintf("%s#pullrequestreview-%d", s.issueWeb(r, i), v.id)
	u := fmt.Sprintf("%s/pulls/%d", s.repoURL(r), i.number)
	return obj{
		"id": v.id, "node_id": nodeID("PullRequestReview", v.id), "user": s.userJSON(v.user), "body": v.body, "state": v.state,
		"html_url": html, "pull_request_url": u, "author_association": r.association(v.user), "submitted_at": stamp(v.submitted),
		"commit_id": v.commit, "_links": obj{"html": obj{"href": html}, "pull_request": obj{"href": u}},
	}
}

func (s *Server) reviewCommentJSON(r *repository, i *issue, x *reviewComment) obj {
	u := fmt.Sprintf("%s/pulls/comments/%d", s.repoURL(r), x.id)
	html := fmt.Sprintf("%s#discussion_r%d", s.issueWeb(r, i), x.id)
	pr := fmt.Sprintf("%s/pulls/%d", s.repoURL(r), i.number)
	v := obj{
		"url": u, "pull_request_review_id": x.reviewID, "id": x.id, "node_id": nodeID("PullRequestReviewComment", x.id),
		"diff_hunk": x.hunk, "path": x.path, "commit_id": x.commit, "original_commit_id": x.commit, "user": s.userJSON(x.user),
		"body": x.body, "created_at": stamp(x.created), "updated_at": stamp(x.updated), "html_url": html, "pull_request_url": pr,
		"author_association": r.association(x.user), "line": x.line, "original_line": x.line, "side": x.side, "start_line": nil,
		"original_start_line": nil, "start_side": nil, "subject_type": "line", "position": 1, "original_position": 1,
		"reactions": s.reactionsJSON(u, x.reactions),
		"_links":    obj{"self": obj{"href": u}, "html": obj{"href": html}, "pull_request": obj{"href": pr}},
	}
	if x.replyTo != 0 {
		v["in_reply_to_id"] = x.replyTo
	}
	if s.outdated(r, i, x) {
		// REST leaves the place out; events have it as null.
		delete(v, "line")
		delete(v, "position")
	} else {
		v["commit_id"] = i.pull.headSHA
	}
	if x.start != 0 {
		v["start_line"], v["original_start_line"], v["start_side"] = x.start, x.start, x.side
	}
	return v
}

func listReviews(c *call) reply {
	i := c.pull()
	if i == nil {
		return notFound()
	}
	return ok(listJSON(c, i.pull.reviews, func(v *review) obj { return c.s.reviewJSON(c.repo, i, v) }))
}

// lineComment is a comment on a line as requests have it.
type lineComment struct {
	Path      string
	Body      string
	Line      int
	Position  int
	Side      string
	StartLine int    `json:"start_line"`
	CommitID  string `json:"commit_id"`
	InReplyTo int64  `json:"in_reply_to"`
}

func createReview(c *call) reply {
	i := c.pull()
	if i == nil {
		return notFound()
	}
	var req struct {
		Body, Event string
		CommitID    string `json:"commit_id"`
		Comments    []lineComment
	}
	if bad := c.decode(&req); bad != nil {
		return *bad
	}
	state := map[string]string{"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED", "": "PENDING"}[req.Event]
	problem := ""
	switch {
	case state == "":
		return invalidRequest("For 'properties/event', " + req.Event + " is not a possible value.")
	case i.user == c.who.user() && state == "APPROVED":
		problem = "Can not approve your own pull request"
	case i.user == c.who.user() && state == "CHANGES_REQUESTED":
		problem = "Can not request changes on your own pull request"
	case req.Body == "" && len(req.Comments) == 0 && (state == "CHANGES_REQUESTED" || state == "COMMENTED"):
		problem = "Body can not be blank"
	}
	if bad := checkBody("PullRequestReview", req.Body, true); bad != nil {
		return *bad
	}
	if locked := c.lockedFor(i); locked != nil {
		return *locked
	}
	for _, lc := range req.Comments {
		if bad := checkBody("PullRequestReviewComment", lc.Body, false); bad != nil {
			return *bad
		}
		if problem == "" {
			problem = c.s.checkLine(c.repo, i, lc)
		}
	}
	if problem != "" {
		r := fail(http.StatusUnprocessableEntity, "Unprocessable Entity")
		r.body.(obj)["errors"] = []string{problem}
		return r
	}
	return ok(c.s.reviewJSON(c.repo, i, c.s.addReview(c.repo, i, c.who.user(), state, req.Body, req.Comments)))
}

func (s *Server) addReview(r *repository, i *issue, u *user, state, body string, comments []lineComment) *review {
	v := &review{id: s.id(), user: u, body: body, state: state, commit: i.pull.headSHA, submitted: s.now()}
	i.pull.reviews, i.updated = append(i.pull.reviews, v), s.now()
	var made []*reviewComment
	for _, lc := range comments {
		made = append(made, s.newReviewComment(r, i, u, v.id, lc))
	}
	s.emitReview(r, i, v, "submitted", u)
	for _, x := range made {
		s.emitReviewComment(r, i, x, "created", u, nil)
	}
	return v
}

func listReviewComments(c *call) reply {
	i := c.pull()
	if i == nil {
		return notFound()
	}
	list := slices.DeleteFunc(slices.Clone(i.pull.comments), func(x *reviewComment) bool {
		return c.param("review_id") != "" && x.reviewID != c.id("review_id")
	})
	return ok(listJSON(c, list, func(x *reviewComment) obj { return c.s.reviewCommentJSON(c.repo, i, x) }))
}

func createReviewComment(c *call) reply {
	i := c.pull()
	if i == nil {
		return notFound()
	}
	var lc lineComment
	if bad := c.decode(&lc, "body"); bad != nil {
		return *bad
	}
	if bad := checkBody("PullRequestReviewComment", lc.Body, false); bad != nil {
		return *bad
	}
	if locked := c.lockedFor(i); locked != nil {
		return *locked
	}
	if lc.InReplyTo != 0 {
		return c.replyTo(i, lc.InReplyTo, lc.Body)
	}
	if bad := c.decode(&lc, "body", "commit_id", "path"); bad != nil {
		return *bad
	}
	if c.s.resolve(c.repo, lc.CommitID) == "" {
		return invalid(fieldError{Resource: "PullRequestReviewComment", Field: "commit_id", Code: "custom", Message: "commit_id is not part of the pull request"})
	}
	if problem := c.s.checkLine(c.repo, i, lc); problem != "" {
		return invalid(fieldError{Resource: "PullRequestReviewComment", Field: "pull_request_review_thread.line", Code: "custom", Message: problem})
	}
	v := &review{id: c.s.id(), user: c.who.user(), state: "COMMENTED", commit: i.pull.headSHA, submitted: c.s.now()}
	i.pull.reviews = append(i.pull.reviews, v)
	x := c.s.newReviewComment(c.repo, i, c.who.user(), v.id, lc)
	c.s.emitReview(c.repo, i, v, "submitted", c.who.user())
	c.s.emitReviewComment(c.repo, i, x, "created", c.who.user(), nil)
	return c.created(c.s.reviewCommentJSON(c.repo, i, x))
}

func replyToReview(c *call) reply {
	i := c.pull()
	if i == nil {
		return notFound()
	}
	body, bad := c.commentBody("PullRequestReviewComment")
	if bad != nil {
		return *bad
	}
	return c.replyTo(i, c.id("comment_id"), body)
}

// replyTo answers in a thread. A reply to a reply is 404: GitHub knows threads
// by their first comment only.
func (c *call) replyTo(i *issue, id int64, body string) reply {
	if locked := c.lockedFor(i); locked != nil {
		return *locked
	}
	for _, first := range i.pull.comments {
		if first.id == id && first.replyTo == 0 {
			x := c.s.reply(c.repo, i, first, c.who.user(), body)
			return c.created(c.s.reviewCommentJSON(c.repo, i, x))
		}
	}
	return notFound()
}

func (s *Server) reply(r *repository, i *issue, first *reviewComment, u *user, body string) *reviewComment {
	x := *first
	x.reactions, x.resolved = nil, false
	x.id, x.replyTo, x.user, x.body, x.created, x.updated = s.id(), first.id, u, body, s.now(), s.now()
	i.pull.comments = append(i.pull.comments, &x)
	s.emitReviewComment(r, i, &x, "created", u, nil)
	return &x
}

func (s *Server) newReviewComment(r *repository, i *issue, u *user, reviewID int64, lc lineComment) *reviewComment {
	if lc.Side == "" {
		lc.Side = "RIGHT"
	}
	line := lc.Line
	if line == 0 {
		line = lc.Position
	}
	x := &reviewComment{
		id: s.id(), reviewID: reviewID, user: u, body: lc.Body, path: lc.Path, commit: i.pull.headSHA, line: line, start: lc.StartLine,
		side: lc.Side, created: s.now(), updated: s.now(),
	}
	for _, f := range s.pullFiles(r, i) {
		if f.path == lc.Path {
			x.hunk = hunkTo(f.patch, line, lc.Side == "LEFT")
		}
	}
	i.pull.comments = append(i.pull.comments, x)
	return x
}

func (s *Server) pullFiles(r *repository, i *issue) []diffFile {
	base, err := s.mergeBase(r, i.pull.baseSHA, i.pull.headSHA)
	if err != nil {
		return nil
	}
	files, _ := s.diffFiles(r, base, i.pull.headSHA)
	return files
}

// checkLine says why a comment cannot stand on its line: it must be part of
// the diff.
func (s *Server) checkLine(r *repository, i *issue, lc lineComment) string {
	for _, f := range s.pullFiles(r, i) {
		if f.path == lc.Path && (lc.Line == 0 || hunkTo(f.patch, lc.Line, lc.Side == "LEFT") != "") {
			return ""
		}
	}
	return "pull_request_review_thread.line must be part of the diff"
}

// hunkTo is the hunk that has a line of the new (or old) file, cut after that
// line, which is how GitHub quotes what a comment is about. It is empty when
// the line is not in the patch.
func hunkTo(patch string, line int, old bool) string {
	oldLine, newLine, start := 0, 0, 0
	lines := strings.Split(patch, "\n")
	for at, text := range lines {
		inOld, inNew := true, true
		switch {
		case strings.HasPrefix(text, "@@"):
			var a, b string
			_, _ = fmt.Sscanf(text, "@@ -%s +%s @@", &a, &b)
			_, _ = fmt.Sscanf(a, "%d", &oldLine)
			_, _ = fmt.Sscanf(b, "%d", &newLine)
			start = at
			continue
		case strings.HasPrefix(text, "+"):
			inOld = false
		case strings.HasPrefix(text, "-"):
			inNew = false
		}
		if old && inOld && oldLine == line || !old && inNew && newLine == line {
			return strings.Join(lines[start:at+1], "\n")
		}
		if inOld {
			oldLine++
		}
		if inNew {
			newLine++
		}
	}
	return ""
}
