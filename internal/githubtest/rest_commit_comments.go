package githubtest

import (
	"fmt"
	"net/http"
	"slices"
)

// Comments of a commit. The permissions are those of GitHub's list of what
// each endpoint needs: whoever sees the repository reads them, contents:read is
// enough to write one, and to change one takes contents:write.
var commitCommentRoutes = []*route{
	{method: "GET", path: "/repos/{owner}/{repo}/commits/{commit_sha}/comments", access: accessRepo, needs: "metadata:read", handle: listCommitComments},
	{method: "POST", path: "/repos/{owner}/{repo}/commits/{commit_sha}/comments", access: accessRepo, needs: "contents:read", handle: createCommitComment},
	{method: "GET", path: "/repos/{owner}/{repo}/comments/{comment_id}", access: accessRepo, needs: "metadata:read", handle: getCommitComment},
	{method: "PATCH", path: "/repos/{owner}/{repo}/comments/{comment_id}", access: accessRepo, needs: "contents:write", handle: patchCommitComment},
	{method: "DELETE", path: "/repos/{owner}/{repo}/comments/{comment_id}", access: accessRepo, needs: "contents:write", handle: removeCommitComment},
}

func (s *Server) commitCommentJSON(r *repository, c *commitComment) obj {
	u := fmt.Sprintf("%s/comments/%d", s.repoURL(r), c.id)
	v := obj{
		"id": c.id, "node_id": nodeID("CommitComment", c.id), "url": u, "html_url": fmt.Sprintf("%s/commit/%s#commitcomment-%d", s.webURL(r), c.sha, c.id),
		"user": s.userJSON(c.user), "path": orNull(c.path), "position": nil, "line": nil, "commit_id": c.sha, "body": c.body,
		"created_at": stamp(c.created), "updated_at": stamp(c.updated), "author_association": r.association(c.user),
		"reactions": s.reactionsJSON(u, nil),
	}
	if c.path != "" {
		v["position"], v["line"] = c.position, c.line
	}
	return v
}

// onCommit lists the comments of a commit, oldest first.
func (r *repository) onCommit(sha string) []*commitComment {
	return slices.DeleteFunc(slices.Clone(r.commitComments), func(c *commitComment) bool { return c.sha != sha })
}

// commitSHA is the full SHA of the commit that the path names.
func (c *call) commitSHA() (string, *reply) {
	sha := c.s.resolve(c.repo, c.param("commit_sha"))
	if sha == "" {
		r := fail(http.StatusUnprocessableEntity, "No commit found for SHA: "+c.param("commit_sha"))
		return "", &r
	}
	return sha, nil
}

func listCommitComments(c *call) reply {
	sha, bad := c.commitSHA()
	if bad != nil {
		return *bad
	}
	return ok(listJSON(c, c.repo.onCommit(sha), func(x *commitComment) obj { return c.s.commitCommentJSON(c.repo, x) }))
}

func createCommitComment(c *call) reply {
	sha, bad := c.commitSHA()
	if bad != nil {
		return *bad
	}
	var req struct {
		Body, Path     string
		Position, Line *int
	}
	if bad := c.decode(&req, "body"); bad != nil {
		return *bad
	}
	if bad := checkBody("CommitComment", req.Body, false); bad != nil {
		return *bad
	}
	x := &commitComment{sha: sha, body: req.Body, user: c.who.user()}
	if req.Path != "" || req.Position != nil || req.Line != nil {
		var problem *fieldError
		if x.path, x.position, x.line, problem = c.s.placeInCommit(c.repo, sha, req.Path, req.Position, req.Line); problem != nil {
			return invalid(*problem)
		}
	}
	c.s.addCommitComment(c.repo, x)
	return c.created(c.s.commitCommentJSON(c.repo, x))
}

// placeInCommit checks where in a commit's diff a comment shall stand: a file
// of the diff, and in it a position (lines below the first hunk header) or a
// line of the new file. It answers with both.
func (s *Server) placeInCommit(r *repository, sha, path string, position, line *int) (string, int, int, *fieldError) {
	wrong := func(field string) (string, int, int, *fieldError) {
		return "", 0, 0, &fieldError{Resource: "CommitComment", Code: "invalid", Field: field}
	}
	info, err := s.readCommit(r, sha)
	if err != nil {
		return wrong("commit_id")
	}
	files, err := s.diffFiles(r, info.firstParent(), sha)
	if err != nil {
		return wrong("commit_id")
	}
	at := slices.IndexFunc(files, func(f diffFile) bool { return f.path == path })
	if at < 0 {
		return wrong("path")
	}
	if position == nil && line == nil {
		return path, 0, 0, nil // about the file as a whole
	}
	for n, l := range patchLines(files[at].patch) {
		// A line that was removed has no number in the new file.
		now := 0
		_, _ = fmt.Sscan(l.New, &now)
		switch {
		case position != nil && n == *position && n > 0:
			return path, n, now, nil
		case position == nil && now > 0 && now == *line:
			return path, n, now, nil
		}
	}
	if position != nil {
		return wrong("position")
	}
	return wrong("line")
}

// commitComment finds the comment that the path names.
func (c *call) commitComment() *commitComment {
	for _, x := range c.repo.commitComments {
		if x.id == c.id("comment_id") {
			return x
		}
	}
	return nil
}

func getCommitComment(c *call) reply {
	x := c.commitComment()
	if x == nil {
		return notFound()
	}
	return ok(c.s.commitCommentJSON(c.repo, x))
}

func patchCommitComment(c *call) reply {
	x := c.commitComment()
	if x == nil {
		return notFound()
	}
	if !c.mayEdit(x.user) {
		return fail(http.StatusForbidden, "Must have admin rights to Repository.")
	}
	body, bad := c.commentBody("CommitComment")
	if bad != nil {
		return *bad
	}
	// GitHub has no event for an edited or deleted comment of a commit.
	if body != x.body {
		x.body, x.updated = body, c.s.now()
		x.edits++
	}
	return ok(c.s.commitCommentJSON(c.repo, x))
}

func removeCommitComment(c *call) reply {
	x := c.commitComment()
	if x == nil {
		return notFound()
	}
	if !c.mayEdit(x.user) {
		return fail(http.StatusForbidden, "Must have admin rights to Repository.")
	}
	c.repo.commitComments = slices.DeleteFunc(slices.Clone(c.repo.commitComments), func(y *commitComment) bool { return y == x })
	return noContent()
}
