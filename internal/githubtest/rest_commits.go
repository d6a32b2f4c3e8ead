package githubtest

import (
	"net/http"
	"strings"
)

var commitRoutes = []*route{
	{method: "GET", path: "/repos/{owner}/{repo}/commits", access: accessRepo, needs: "contents:read", handle: listCommits},
	{method: "GET", path: "/repos/{owner}/{repo}/commits/{ref}", access: accessRepo, needs: "contents:read", handle: getCommit},
	{method: "GET", path: "/repos/{owner}/{repo}/compare/{basehead}", access: accessRepo, needs: "contents:read", handle: compare},
	{method: "GET", path: "/repos/{owner}/{repo}/commits/{commit_sha}/pulls", access: accessRepo, needs: "pull_requests:read|contents:read", handle: listCommitPulls},
}

func listCommits(c *call) reply {
	rev := c.query("sha")
	if rev == "" {
		rev = c.repo.defaultBranch
	}
	sha := c.s.resolve(c.repo, rev)
	if sha == "" {
		if refs, err := c.s.listRefs(c.repo, "refs/heads"); err == nil && len(refs) == 0 {
			return fail(http.StatusConflict, "Git Repository is empty.")
		}
		return notFound()
	}
	args := []string{}
	for _, opt := range []string{"since", "until", "author"} {
		if v := c.query(opt); v != "" {
			args = append(args, "--"+opt+"="+v)
		}
	}
	args = append(args, sha, "--")
	if p := c.query("path"); p != "" {
		args = append(args, ":(literal)"+p)
	}
	list, err := c.s.logCommits(c.repo, args...)
	if err != nil {
		return fail(http.StatusInternalServerError, err.Error())
	}
	return ok(listJSON(c, list, func(i commitInfo) obj { return c.s.commitJSON(c.repo, i) }))
}

func getCommit(c *call) reply {
	sha := c.s.resolve(c.repo, c.param("ref"))
	if sha == "" {
		return fail(http.StatusUnprocessableEntity, "No commit found for SHA: "+c.param("ref"))
	}
	accept := c.r.Header.Get("Accept")
	switch {
	case strings.Contains(accept, "sha"):
		return reply{status: 200, raw: []byte(sha), mime: "application/vnd.github.sha"}
	case strings.Contains(accept, "diff"), strings.Contains(accept, "patch"):
		out, err := c.s.git(c.repo, "show", "--format=", sha, "--")
		if err != nil {
			return fail(http.StatusInternalServerError, err.Error())
		}
		return reply{status: 200, raw: []byte(out), mime: "application/vnd.github.diff; charset=utf-8"}
	}
	info, err := c.s.readCommit(c.repo, sha)
	if err != nil {
		return fail(http.StatusInternalServerError, err.Error())
	}
	files, err := c.s.diffFiles(c.repo, info.firstParent(), sha)
	if err != nil {
		return fail(http.StatusInternalServerError, err.Error())
	}
	v := c.s.commitJSON(c.repo, info)
	v["files"], v["stats"] = c.filesJSON(sha, files)
	return ok(v)
}

func (c *call) filesJSON(head string, files []diffFile) ([]obj, obj) {
	list, add, del := []obj{}, 0, 0
	for _, f := range files {
		add, del = add+f.add, del+f.del
		list = append(list, c.s.fileJSON(c.repo, head, f))
	}
	return list, obj{"additions": add, "deletions": del, "total": add + del}
}

func compare(c *call) reply {
	base, head, okay := strings.Cut(c.param("basehead"), "...")
	if !okay {
		return notFound()
	}
	b, h := c.s.resolveInNetwork(c.repo, base), c.s.resolveInNetwork(c.repo, head)
	if b == "" || h == "" {
		return notFound()
	}
	mb, err := c.s.mergeBase(c.repo, b, h)
	if err != nil {
		return fail(http.StatusNotFound, "No common ancestor between "+base+" and "+head+".")
	}
	var infos [2]commitInfo
	for i, sha := range []string{b, mb} {
		if infos[i], err = c.s.readCommit(c.repo, sha); err != nil {
			return fail(http.StatusInternalServerError, err.Error())
		}
	}
	ahead, err1 := c.s.between(c.repo, b, h)
	behind, err2 := c.s.logCommits(c.repo, h+".."+b, "--")
	files, err3 := c.s.diffFiles(c.repo, mb, h)
	if err1 != nil || err2 != nil || err3 != nil {
		return fail(http.StatusInternalServerError, "compare failed")
	}
	status := "identical"
	switch {
	case len(ahead) > 0 && len(behind) > 0:
		status = "diverged"
	case len(ahead) > 0:
		status = "ahead"
	case len(behind) > 0:
		status = "behind"
	}
	list, _ := c.filesJSON(h, files)
	u, w := c.s.repoURL(c.repo)+"/compare/"+base+"..."+head, c.s.webURL(c.repo)+"/compare/"+base+"..."+head
	return ok(obj{
		"url": u, "html_url": w, "permalink_url": c.s.webURL(c.repo) + "/compare/" + b + "..." + h, "diff_url": w + ".diff", "patch_url": w + ".patch",
		"base_commit": c.s.commitJSON(c.repo, infos[0]), "merge_base_commit": c.s.commitJSON(c.repo, infos[1]),
		"status": status, "ahead_by": len(ahead), "behind_by": len(behind), "total_commits": len(ahead),
		"commits": listJSON(c, ahead, func(i commitInfo) obj { return c.s.commitJSON(c.repo, i) }), "files": list,
	})
}

func listCommitPulls(c *call) reply {
	sha := c.s.resolve(c.repo, c.param("commit_sha"))
	if sha == "" {
		return fail(http.StatusUnprocessableEntity, "No commit found for SHA: "+c.param("commit_sha"))
	}
	var found []*issue
	for _, i := range c.repo.issues {
		if p := i.pull; p != nil && c.s.isAncestor(c.repo, sha, p.headSHA) && !c.s.isAncestor(c.repo, sha, p.baseSHA) {
			found = append(found, i)
		}
	}
	return ok(listJSON(c, found, func(i *issue) obj { return c.s.pullJSON(c.repo, i) }))
}
