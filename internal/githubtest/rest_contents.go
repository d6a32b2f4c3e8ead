package githubtest

import (
	"encoding/base64"
	"net/http"
	"path"
	"strconv"
	"strings"
)

var contentRoutes = []*route{
	{method: "GET", path: "/repos/{owner}/{repo}/contents/{path}", access: accessRepo, needs: "contents:read", handle: getContents},
	{method: "PUT", path: "/repos/{owner}/{repo}/contents/{path}", access: accessRepo, needs: "contents:write", role: "write", handle: putContents},
}

// treeEntry is one line of git ls-tree.
type treeEntry struct {
	mode, kind, sha, path string
	size                  int
}

func (s *Server) listTree(r *repository, rev, dir string) ([]treeEntry, error) {
	spec := rev + ":" + dir
	out, err := s.git(r, "ls-tree", "-z", "-l", "--end-of-options", spec)
	if err != nil {
		return nil, err
	}
	var list []treeEntry
	for rec := range strings.SplitSeq(out, "\x00") {
		meta, name, okay := strings.Cut(rec, "\t")
		f := strings.Fields(meta)
		if !okay || len(f) != 4 {
			continue
		}
		size, _ := strconv.Atoi(f[3])
		list = append(list, treeEntry{mode: f[0], kind: f[1], sha: f[2], size: size, path: path.Join(dir, name)})
	}
	return list, nil
}

// parentDir is the folder of a path; "" is the root.
func parentDir(p string) string {
	if dir := path.Dir(p); dir != "." {
		return dir
	}
	return ""
}

func getContents(c *call) reply {
	rev := c.query("ref")
	if rev == "" {
		rev = c.repo.defaultBranch
	}
	sha := c.s.resolve(c.repo, rev)
	if sha == "" {
		return fail(http.StatusNotFound, "No commit found for the ref "+rev)
	}
	p := strings.Trim(c.param("path"), "/")
	if p == "" {
		return c.folder(sha, rev, "")
	}
	siblings, err := c.s.listTree(c.repo, sha, parentDir(p))
	if err != nil {
		return notFound()
	}
	for _, e := range siblings {
		switch {
		case e.path != p:
		case e.kind == "tree":
			return c.folder(sha, rev, p)
		default:
			return c.file(e, rev)
		}
	}
	return notFound()
}

func (c *call) folder(sha, rev, dir string) reply {
	entries, err := c.s.listTree(c.repo, sha, dir)
	if err != nil {
		return notFound()
	}
	list := []obj{}
	for _, e := range entries {
		list = append(list, c.s.entryJSON(c.repo, e, rev))
	}
	return ok(list)
}

func (c *call) file(e treeEntry, rev string) reply {
	v := c.s.entryJSON(c.repo, e, rev)
	if e.kind != "blob" {
		return ok(v)
	}
	blob, err := c.s.readObject(c.repo, e.sha)
	if err != nil {
		return fail(http.StatusInternalServerError, err.Error())
	}
	content := string(blob.data)
	if strings.Contains(c.r.Header.Get("Accept"), "raw") {
		return reply{status: http.StatusOK, raw: []byte(content), mime: "application/vnd.github.raw; charset=utf-8"}
	}
	switch {
	case e.mode == "120000":
		v["target"] = content
	case e.size > 1<<20:
		v["encoding"], v["content"] = "none", ""
	default:
		v["encoding"], v["content"] = "base64", lines60(base64.StdEncoding.EncodeToString([]byte(content)))
	}
	return ok(v)
}

// lines60 breaks base64 into lines as GitHub does.
func lines60(s string) string {
	var b strings.Builder
	for len(s) > 60 {
		b.WriteString(s[:60] + "\n")
		s = s[60:]
	}
	b.WriteString(s + "\n")
	return b.String()
}

func (s *Server) entryJSON(r *repository, e treeEntry, rev string) obj {
	kind := map[string]string{"tree": "dir", "commit": "submodule"}[e.kind]
	if kind == "" {
		kind = "file"
	}
	if e.mode == "120000" {
		kind = "symlink"
	}
	p := escapePath(e.path)
	self := s.repoURL(r) + "/contents/" + p + "?ref=" + rev
	object := map[string]string{"tree": "trees", "commit": "commits", "blob": "blobs"}[e.kind]
	git, html := s.repoURL(r)+"/git/"+object+"/"+e.sha, s.webURL(r)+"/"+e.kind+"/"+rev+"/"+p
	v := obj{
		"name": path.Base(e.path), "path": e.path, "sha": e.sha, "size": e.size, "url": self, "html_url": html, "git_url": git,
		"download_url": nil, "type": kind, "_links": obj{"self": self, "git": git, "html": html},
	}
	if e.kind == "blob" {
		v["download_url"] = s.webURL(r) + "/raw/" + rev + "/" + p
	}
	return v
}

func putContents(c *call) reply {
	var req struct {
		Message, Content, SHA, Branch string
	}
	if bad := c.decode(&req, "message", "content"); bad != nil {
		return *bad
	}
	data, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(req.Content, "\n", ""))
	if err != nil {
		return fail(http.StatusUnprocessableEntity, "content is not valid Base64")
	}
	if req.Branch == "" {
		req.Branch = c.repo.defaultBranch
	}
	p := strings.Trim(c.param("path"), "/")
	if strings.HasPrefix(p, ".github/workflows/") && c.who.via() != nil && !c.who.token.may("workflows:write") {
		return fail(http.StatusForbidden, "Resource not accessible by integration")
	}
	if p, found := c.repo.binding(req.Branch, c.who.user()); found && p.forbidsPush() != "" {
		return fail(http.StatusConflict, "Could not update file: "+p.forbidsPush())
	}
	var old string
	if siblings, err := c.s.listTree(c.repo, "refs/heads/"+req.Branch, parentDir(p)); err == nil {
		for _, e := range siblings {
			if e.path == p {
				old = e.sha
			}
		}
	}
	switch {
	case old != "" && req.SHA == "":
		return invalidRequest(`"sha" wasn't supplied.`)
	case old != req.SHA:
		return fail(http.StatusConflict, p+" does not match "+req.SHA)
	}
	sha, err := c.s.commitFile(c.repo, req.Branch, p, data, req.Message, c.who.user())
	if err != nil {
		return fail(http.StatusConflict, err.Error())
	}
	info, err := c.s.readCommit(c.repo, sha)
	if err != nil {
		return fail(http.StatusInternalServerError, err.Error())
	}
	v := obj{"content": nil, "commit": c.s.gitCommitJSON(c.repo, info)}
	if siblings, err := c.s.listTree(c.repo, sha, parentDir(p)); err == nil {
		for _, e := range siblings {
			if e.path == p {
				v["content"] = c.s.entryJSON(c.repo, e, req.Branch)
			}
		}
	}
	if old == "" {
		return reply{status: http.StatusCreated, body: v}
	}
	return ok(v)
}
