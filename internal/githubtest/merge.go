package githubtest

import (
	"fmt"
	"net/http"
)

func isMerged(c *call) reply {
	if i := c.pull(); i != nil && !i.pull.merged.IsZero() {
		return noContent()
	}
	return notFound()
}

func mergePull(c *call) reply {
	i := c.pull()
	if i == nil {
		return notFound()
	}
	var req struct {
		SHA    string
		Title  string `json:"commit_title"`
		Method string `json:"merge_method"`
	}
	if bad := c.decode(&req); bad != nil {
		return *bad
	}
	switch {
	case req.SHA != "" && req.SHA != i.pull.headSHA:
		return fail(http.StatusConflict, "Head branch was modified. Review and try the merge again.")
	case i.state != "open" || i.pull.draft || i.pull.mergeable == nil || !*i.pull.mergeable:
		return fail(http.StatusMethodNotAllowed, "Pull Request is not mergeable")
	}
	if why := c.s.forbidsMerge(c.repo, i, c.who.user()); why != "" {
		return fail(http.StatusMethodNotAllowed, why)
	}
	sha, err := c.s.merge(c.repo, i, c.who.user(), req.Method == "squash", req.Title)
	if err != nil {
		return fail(http.StatusMethodNotAllowed, err.Error())
	}
	return ok(obj{"sha": sha, "merged": true, "message": "Pull Request successfully merged"})
}

// merge merges a pull request by a merge commit, or squashed into one commit,
// and closes it. Its pushes and events follow.
func (s *Server) merge(r *repository, i *issue, u *user, squash bool, title string) (string, error) {
	p := i.pull
	clean, tree := s.mergeState(r, p.baseSHA, p.headSHA)
	if i.state != "open" || clean == nil || !*clean {
		return "", fmt.Errorf("pull request %d cannot be merged", i.number)
	}
	before, err := s.listRefs(r, "refs/heads", "refs/tags")
	if err != nil {
		return "", err
	}
	parents := []string{p.baseSHA}
	if squash {
		if title == "" {
			title = fmt.Sprintf("%s (#%d)", i.title, i.number)
		}
	} else {
		parents = append(parents, p.headSHA)
		if title == "" {
			title = fmt.Sprintf("Merge pull request #%d from %s/%s", i.number, p.headRepo.owner.login, p.headRef)
		}
	}
	sha, err := s.writeCommit(r, tree, parents, u, title)
	if err != nil {
		return "", err
	}
	if _, err := s.git(r, "update-ref", "refs/heads/"+p.baseRef, sha, p.baseSHA); err != nil {
		return "", err
	}
	p.merged, p.mergedBy, p.mergeSHA = s.now(), u, sha
	r.contributors[i.user] = true
	s.closeIssue(r, i, u, "")
	return sha, s.refsChanged(r, before, u)
}
