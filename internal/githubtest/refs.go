package githubtest

import (
	"net/http"
	"strings"
)

var refRoutes = []*route{
	{method: "GET", path: "/repos/{owner}/{repo}/git/ref/{ref}", access: accessRepo, needs: "contents:read", handle: getRef},
	{method: "GET", path: "/repos/{owner}/{repo}/git/matching-refs/{ref}", access: accessRepo, needs: "contents:read", handle: listMatchingRefs},
	{method: "POST", path: "/repos/{owner}/{repo}/git/refs", access: accessRepo, needs: "contents:write", role: "write", handle: createRef},
	{method: "PATCH", path: "/repos/{owner}/{repo}/git/refs/{ref}", access: accessRepo, needs: "contents:write", role: "write", handle: updateRef},
	{method: "DELETE", path: "/repos/{owner}/{repo}/git/refs/{ref}", access: accessRepo, needs: "contents:write", role: "write", handle: deleteRef},
}

func (s *Server) refJSON(r *repository, ref, sha string) obj {
	kind := "commit"
	if o, err := s.findObject(r, sha); err == nil {
		kind = o.kind
	}
	return obj{
		"ref": ref, "node_id": nodeID("Ref:"+ref, r.id), "url": s.repoURL(r) + "/git/" + escapePath(ref),
		"object": obj{"type": kind, "sha": sha, "url": s.repoURL(r) + "/git/" + kind + "s/" + sha},
	}
}

// refSHA is the object that a full ref points at, or "".
func (s *Server) refSHA(r *repository, ref string) string {
	o, err := s.findObject(r, ref)
	if err != nil || !strings.HasPrefix(ref, "refs/") {
		return ""
	}
	return o.sha
}

func getRef(c *call) reply {
	ref := "refs/" + c.param("ref")
	sha := c.s.refSHA(c.repo, ref)
	if sha == "" {
		return notFound()
	}
	return ok(c.s.refJSON(c.repo, ref, sha))
}

func listMatchingRefs(c *call) reply {
	refs, err := c.s.listRefs(c.repo)
	if err != nil {
		return fail(http.StatusInternalServerError, err.Error())
	}
	var names []string
	for _, ref := range sortedKeys(refs) {
		if strings.HasPrefix(ref, "refs/"+c.param("ref")) {
			names = append(names, ref)
		}
	}
	return ok(listJSON(c, names, func(ref string) obj { return c.s.refJSON(c.repo, ref, refs[ref]) }))
}

func createRef(c *call) reply {
	var req struct{ Ref, SHA string }
	if bad := c.decode(&req, "ref", "sha"); bad != nil {
		return *bad
	}
	if !strings.HasPrefix(req.Ref, "refs/") || strings.Count(req.Ref, "/") < 2 {
		return fail(http.StatusUnprocessableEntity, "Reference name must start with 'refs/' and have at least two slashes.")
	}
	if !c.s.validRef(c.repo, req.Ref) {
		return fail(http.StatusUnprocessableEntity, req.Ref+" is not a valid ref name.")
	}
	if c.s.refSHA(c.repo, req.Ref) != "" {
		return fail(http.StatusUnprocessableEntity, "Reference already exists")
	}
	if !fullSHA(req.SHA) || c.s.resolve(c.repo, req.SHA) == "" {
		return fail(http.StatusUnprocessableEntity, "Object does not exist")
	}
	if rep := c.refuseMove(req.Ref, req.SHA); rep != nil {
		return *rep
	}
	if rep := c.moveRef("update-ref", "--end-of-options", req.Ref, req.SHA, zeroSHA); rep != nil {
		return *rep
	}
	return c.created(c.s.refJSON(c.repo, req.Ref, req.SHA))
}

func updateRef(c *call) reply {
	var req struct {
		SHA   string
		Force bool
	}
	if bad := c.decode(&req, "sha"); bad != nil {
		return *bad
	}
	ref := "refs/" + c.param("ref")
	old := c.s.refSHA(c.repo, ref)
	if old == "" {
		return fail(http.StatusUnprocessableEntity, "Reference does not exist")
	}
	if !fullSHA(req.SHA) || c.s.resolve(c.repo, req.SHA) == "" {
		return fail(http.StatusUnprocessableEntity, "Object does not exist")
	}
	if !req.Force && !c.s.isAncestor(c.repo, old, req.SHA) {
		return fail(http.StatusUnprocessableEntity, "Update is not a fast forward")
	}
	if rep := c.refuseMove(ref, req.SHA); rep != nil {
		return *rep
	}
	if rep := c.moveRef("update-ref", "--end-of-options", ref, req.SHA, old); rep != nil {
		return *rep
	}
	return ok(c.s.refJSON(c.repo, ref, req.SHA))
}

func deleteRef(c *call) reply {
	ref := "refs/" + c.param("ref")
	if c.s.refSHA(c.repo, ref) == "" {
		return fail(http.StatusUnprocessableEntity, "Reference does not exist")
	}
	if ref == "refs/heads/"+c.repo.defaultBranch {
		return fail(http.StatusUnprocessableEntity, "Cannot delete the default branch")
	}
	if rep := c.refuseMove(ref, ""); rep != nil {
		return *rep
	}
	if rep := c.moveRef("update-ref", "-d", "--end-of-options", ref); rep != nil {
		return *rep
	}
	return noContent()
}

// moveRef runs a git command that changes refs and lets everything follow
// that follows from a push.
func (c *call) moveRef(args ...string) *reply {
	before, err := c.s.listRefs(c.repo, "refs/heads", "refs/tags")
	if err == nil {
		if _, err = c.s.git(c.repo, args...); err == nil {
			err = c.s.refsChanged(c.repo, before, c.who.user())
		}
	}
	if err != nil {
		r := fail(http.StatusConflict, "Reference cannot be updated: "+err.Error())
		return &r
	}
	return nil
}

func fullSHA(s string) bool { return len(s) == 40 && strings.Trim(s, "0123456789abcdef") == "" }

// refsChanged compares the refs with what they were and lets everything
// happen that GitHub does after a push: the push event, check suites for the
// new commit, and the pull requests of the branch brought up to date.
func (s *Server) refsChanged(r *repository, before map[string]string, actor *user) error {
	after, err := s.listRefs(r, "refs/heads", "refs/tags")
	if err != nil {
		return err
	}
	all := map[string]bool{}
	for ref := range before {
		all[ref] = true
	}
	for ref := range after {
		all[ref] = true
	}
	for _, ref := range sortedKeys(all) {
		old, now := before[ref], after[ref]
		if old == now {
			continue
		}
		p := Push{Repo: r.fullName(), Ref: ref, Before: old, After: now, User: actor.login}
		if old == "" {
			p.Before = zeroSHA
		}
		if now == "" {
			p.After = zeroSHA
		}
		p.Forced = old != "" && now != "" && !s.isAncestor(r, old, now)
		r.pushes = append(r.pushes, p)
		r.pushed = s.now()
		s.emitRef(r, p, actor)
		s.emitPush(r, p, actor)
		branch, isBranch := strings.CutPrefix(ref, "refs/heads/")
		if !isBranch {
			continue
		}
		if now != "" {
			s.openSuites(r, now, branch, p.Before, actor)
		}
		if now != "" && branch == r.defaultBranch {
			r.contributors[actor] = true
		}
		s.branchMoved(r, r, branch, actor)
		if r.parent != nil && !r.parent.deleted {
			s.branchMoved(r.parent, r, branch, actor)
		}
	}
	return nil
}

// branchMoved brings the open pull requests of r from or into a branch of r or
// one of its forks up to date.
func (s *Server) branchMoved(r, moved *repository, branch string, actor *user) {
	for _, i := range r.issues {
		p := i.pull
		if p == nil || i.state != "open" {
			continue
		}
		if isHead, isBase := p.headRepo == moved && p.headRef == branch, r == moved && p.baseRef == branch; !isHead && !isBase {
			continue
		}
		old := p.headSHA
		head, base := s.headTip(r, i), s.resolve(r, "refs/heads/"+p.baseRef)
		if head == "" || base == "" {
			s.closeIssue(r, i, actor, "")
			continue
		}
		if base != p.baseSHA && p.headSHA == head && s.isAncestor(r, head, base) {
			p.merged, p.mergedBy, p.mergeSHA = s.now(), actor, base
			s.closeIssue(r, i, actor, "")
			continue
		}
		s.refreshPull(r, i)
		if old != p.headSHA {
			i.updated = s.now()
			s.emitPull(r, i, "synchronize", actor, obj{"before": old, "after": p.headSHA})
		}
	}
}
