package githubtest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

var pullRoutes = []*route{
	{method: "GET", path: "/repos/{owner}/{repo}/pulls", access: accessRepo, needs: "pull_requests:read", handle: listPulls},
	{method: "POST", path: "/repos/{owner}/{repo}/pulls", access: accessRepo, needs: "pull_requests:write", handle: createPull},
	{method: "GET", path: "/repos/{owner}/{repo}/pulls/{pull_number}", access: accessRepo, needs: "pull_requests:read", handle: getPull},
	{method: "PATCH", path: "/repos/{owner}/{repo}/pulls/{pull_number}", access: accessRepo, needs: "pull_requests:write", handle: patchPull},
	{method: "GET", path: "/repos/{owner}/{repo}/pulls/{pull_number}/files", access: accessRepo, needs: "pull_requests:read", handle: listPullFiles},
	{method: "GET", path: "/repos/{owner}/{repo}/pulls/{pull_number}/commits", access: accessRepo, needs: "pull_requests:read", handle: listPullCommits},
	{method: "GET", path: "/repos/{owner}/{repo}/pulls/{pull_number}/merge", access: accessRepo, needs: "contents:read", handle: isMerged},
	{method: "PUT", path: "/repos/{owner}/{repo}/pulls/{pull_number}/merge", access: accessRepo, needs: "contents:write", role: "write", handle: mergePull},
}

// pullJSON is a pull request as lists have it; fullPullJSON adds what a single
// one has.
func (s *Server) pullJSON(r *repository, i *issue) obj {
	p, html := i.pull, s.issueWeb(r, i)
	u := fmt.Sprintf("%s/pulls/%d", s.repoURL(r), i.number)
	asIssue := fmt.Sprintf("%s/issues/%d", s.repoURL(r), i.number)
	side := func(r *repository, ref, sha string) obj {
		v := obj{"label": r.owner.login + ":" + ref, "ref": ref, "sha": sha, "user": s.userJSON(r.owner), "repo": nil}
		if !r.deleted { // a fork can go while its pull request stays
			v["repo"] = s.repoJSON(r)
		}
		return v
	}
	href := func(u string) obj { return obj{"href": u} }
	statuses := s.repoURL(r) + "/statuses/" + p.headSHA
	v := s.issueJSON(r, i)
	for _, key := range []string{
		"repository_url", "labels_url", "events_url", "timeline_url", "state_reason", "comments", "reactions",
		"performed_via_github_app", "closed_by", "pull_request",
	} {
		delete(v, key)
	}
	maps.Copy(v, obj{
		"node_id": nodeID("PullRequest", i.id), "url": u, "html_url": html, "diff_url": html + ".diff", "patch_url": html + ".patch",
		"issue_url": asIssue, "comments_url": asIssue + "/comments", "commits_url": u + "/commits",
		"review_comments_url": u + "/comments", "review_comment_url": s.repoURL(r) + "/pulls/comments{/number}",
		"statuses_url": statuses, "merged_at": stamp(p.merged), "merge_commit_sha": orNull(p.mergeSHA),
		"requested_reviewers": s.usersJSON(p.reviewers), "requested_teams": []obj{}, "auto_merge": nil, "draft": p.draft,
		"head": side(p.headRepo, p.headRef, p.headSHA), "base": side(r, p.baseRef, p.baseSHA),
		"_links": obj{
			"self": href(u), "html": href(html), "issue": href(asIssue), "comments": href(asIssue + "/comments"),
			"review_comments": href(u + "/comments"), "review_comment": href(s.repoURL(r) + "/pulls/comments{/number}"),
			"commits": href(u + "/commits"), "statuses": href(statuses),
		},
	})
	return v
}

func (s *Server) fullPullJSON(r *repository, i *issue) obj {
	p := i.pull
	state := "unknown"
	switch {
	case p.mergeable == nil:
	case !*p.mergeable:
		state = "dirty"
	case p.draft:
		state = "draft"
	case s.forbidsMerge(r, i, nil) != "":
		state = "blocked"
	default:
		state = "clean"
	}
	var mergeable any
	if p.mergeable != nil && p.merged.IsZero() {
		mergeable = *p.mergeable
	}
	v := s.pullJSON(r, i)
	maps.Copy(v, obj{
		"merged": !p.merged.IsZero(), "mergeable": mergeable, "rebaseable": mergeable, "mergeable_state": state,
		"merged_by": s.userOrNull(p.mergedBy), "comments": len(i.comments), "review_comments": len(p.comments),
		"maintainer_can_modify": p.canModify, "commits": p.commits, "additions": p.additions, "deletions": p.deletions,
		"changed_files": p.files,
	})
	return v
}

// pullMinimalJSON is how check runs and workflow runs name a pull request.
func (s *Server) pullMinimalJSON(r *repository, i *issue) obj {
	side := func(r *repository, ref, sha string) obj {
		return obj{"ref": ref, "sha": sha, "repo": obj{"id": r.id, "url": s.repoURL(r), "name": r.name}}
	}
	return obj{
		"id": i.id, "number": i.number, "url": fmt.Sprintf("%s/pulls/%d", s.repoURL(r), i.number),
		"head": side(i.pull.headRepo, i.pull.headRef, i.pull.headSHA), "base": side(r, i.pull.baseRef, i.pull.baseSHA),
	}
}

// pullsOf are the open pull requests whose head is the commit, as runs name
// them. Of a fork's commits GitHub names none.
func (s *Server) pullsOf(r *repository, sha string) []obj {
	out := []obj{}
	for _, i := range r.issues {
		if i.pull != nil && i.state == "open" && i.pull.headSHA == sha && i.pull.headRepo == r {
			out = append(out, s.pullMinimalJSON(r, i))
		}
	}
	return out
}

// refreshPull reads the state of a pull request from git.
func (s *Server) refreshPull(r *repository, i *issue) {
	p := i.pull
	if sha := s.headTip(r, i); sha != "" {
		p.headSHA = sha
	}
	if sha := s.resolve(r, "refs/heads/"+p.baseRef); sha != "" {
		p.baseSHA = sha
	}
	_ = s.setRef(r, fmt.Sprintf("refs/pull/%d/head", i.number), p.headSHA)
	p.mergeable, _ = s.mergeState(r, p.baseSHA, p.headSHA)
	base, err := s.mergeBase(r, p.baseSHA, p.headSHA)
	if err != nil {
		return
	}
	if list, err := s.between(r, p.baseSHA, p.headSHA); err == nil {
		p.commits = len(list)
	}
	files, err := s.diffFiles(r, base, p.headSHA)
	if err != nil {
		return
	}
	p.files, p.additions, p.deletions = len(files), 0, 0
	for _, f := range files {
		p.additions += f.add
		p.deletions += f.del
	}
}

func listPulls(c *call) reply {
	state := c.query("state")
	if state == "" {
		state = "open"
	}
	head, base := c.query("head"), c.query("base")
	var list []*issue
	for _, i := range c.repo.issues {
		p := i.pull
		if p == nil || state != "all" && i.state != state || base != "" && p.baseRef != base {
			continue
		}
		// head is "owner:branch"; GitHub ignores one without an owner.
		if strings.Contains(head, ":") && !strings.EqualFold(head, p.headRepo.owner.login+":"+p.headRef) {
			continue
		}
		list = append(list, i)
	}
	direction := c.query("direction")
	if sort := c.query("sort"); direction == "" && sort != "" && sort != "created" {
		direction = "asc"
	}
	sortIssues(list, c.query("sort"), direction)
	return ok(listJSON(c, list, func(i *issue) obj { return c.s.pullJSON(c.repo, i) }))
}

func createPull(c *call) reply {
	var req struct {
		Title, Head, Base, Body string
		Draft                   bool
		HeadRepo                string `json:"head_repo"`
		CanModify               *bool  `json:"maintainer_can_modify"`
	}
	if bad := c.decode(&req, "title", "head", "base"); bad != nil {
		return *bad
	}
	if bad := checkText("PullRequest", req.Title, req.Body); bad != nil {
		return *bad
	}
	if owner, _, named := strings.Cut(req.HeadRepo, "/"); named && !strings.Contains(req.Head, ":") {
		req.Head = owner + ":" + req.Head
	}
	i, problem := c.s.openPull(c.repo, c.who.user(), c.who.via(), PullConfig{
		Title: req.Title, Head: req.Head, Base: req.Base, Body: req.Body, Draft: req.Draft,
		NoMaintainerEdits: req.CanModify != nil && !*req.CanModify,
	})
	if problem != nil {
		return invalid(*problem)
	}
	return c.created(c.s.fullPullJSON(c.repo, i))
}

// openPull opens a pull request, or says why GitHub would not.
func (s *Server) openPull(r *repository, u *user, via *app, cfg PullConfig) (*issue, *fieldError) {
	from, head := r, ""
	if owner, branch, qualified := strings.Cut(cfg.Head, ":"); qualified {
		from, cfg.Head = s.forkOf(r, owner), branch
	}
	if from != nil {
		head = s.resolve(from, "refs/heads/"+cfg.Head)
	}
	base := s.resolve(r, "refs/heads/"+cfg.Base)
	switch {
	case head == "":
		return nil, &fieldError{Resource: "PullRequest", Field: "head", Code: "invalid"}
	case base == "":
		return nil, &fieldError{Resource: "PullRequest", Field: "base", Code: "invalid"}
	}
	for _, i := range r.issues {
		if p := i.pull; p != nil && i.state == "open" && p.headRepo == from && p.headRef == cfg.Head && p.baseRef == cfg.Base {
			return nil, &fieldError{
				Resource: "PullRequest", Code: "custom",
				Message: fmt.Sprintf("A pull request already exists for %s:%s.", from.owner.login, cfg.Head),
			}
		}
	}
	if from == r && s.isAncestor(r, head, base) || head == base {
		return nil, &fieldError{Resource: "PullRequest", Code: "custom", Message: fmt.Sprintf("No commits between %s and %s", cfg.Base, cfg.Head)}
	}
	i := s.newIssue(r, u, via, cfg.Title, cfg.Body)
	i.pull = &pull{headRepo: from, headRef: cfg.Head, baseRef: cfg.Base, draft: cfg.Draft, canModify: from != r && !cfg.NoMaintainerEdits}
	s.refreshPull(r, i)
	s.emitPull(r, i, "opened", u, nil)
	return i, nil
}

func (c *call) pull() *issue { return c.repo.pull(c.number("pull_number")) }

func getPull(c *call) reply {
	i := c.pull()
	if i == nil {
		return notFound()
	}
	if accept := c.r.Header.Get("Accept"); strings.Contains(accept, "diff") || strings.Contains(accept, "patch") {
		return reply{status: http.StatusOK, raw: []byte(c.s.snapshotPull(c.repo, i).Diff), mime: "application/vnd.github.diff; charset=utf-8"}
	}
	return ok(c.s.fullPullJSON(c.repo, i))
}

func patchPull(c *call) reply {
	i := c.pull()
	if i == nil {
		return notFound()
	}
	if !c.mayEdit(i.user) {
		return fail(http.StatusForbidden, "Must have admin rights to Repository.")
	}
	var req struct{ Title, Body, State, Base *string }
	if bad := c.decode(&req); bad != nil {
		return *bad
	}
	title, body := i.title, i.body
	if req.Title != nil {
		title = *req.Title
	}
	if req.Body != nil {
		body = *req.Body
	}
	if bad := checkText("PullRequest", title, body); bad != nil {
		return *bad
	}
	if req.Base != nil && *req.Base != i.pull.baseRef {
		if c.s.resolve(c.repo, "refs/heads/"+*req.Base) == "" {
			return invalid(fieldError{Resource: "PullRequest", Field: "base", Code: "invalid"})
		}
		i.pull.baseRef = *req.Base
		c.s.refreshPull(c.repo, i)
	}
	if req.State != nil && !slices.Contains([]string{"open", "closed"}, *req.State) {
		return invalid(fieldError{Resource: "PullRequest", Field: "state", Code: "invalid"})
	}
	c.s.editIssue(c.repo, i, c.who.user(), title, body)
	switch {
	case req.State == nil:
	case *req.State == "closed":
		c.s.closeIssue(c.repo, i, c.who.user(), "")
	case !i.pull.merged.IsZero(), c.s.headTip(c.repo, i) == "":
		return invalid(fieldError{Resource: "PullRequest", Field: "state", Code: "invalid", Message: "state cannot be changed."})
	default:
		c.s.reopenIssue(c.repo, i, c.who.user())
		c.s.refreshPull(c.repo, i)
	}
	return ok(c.s.fullPullJSON(c.repo, i))
}

func listPullFiles(c *call) reply {
	i := c.pull()
	if i == nil {
		return notFound()
	}
	base, err := c.s.mergeBase(c.repo, i.pull.baseSHA, i.pull.headSHA)
	if err != nil {
		return ok([]obj{})
	}
	files, err := c.s.diffFiles(c.repo, base, i.pull.headSHA)
	if err != nil {
		return fail(http.StatusInternalServerError, err.Error())
	}
	return ok(listJSON(c, files, func(f diffFile) obj { return c.s.fileJSON(c.repo, i.pull.headSHA, f) }))
}

func listPullCommits(c *call) reply {
	i := c.pull()
	if i == nil {
		return notFound()
	}
	list, err := c.s.between(c.repo, i.pull.baseSHA, i.pull.headSHA)
	if err != nil {
		return fail(http.StatusInternalServerError, err.Error())
	}
	return ok(listJSON(c, list, func(x commitInfo) obj { return c.s.commitJSON(c.repo, x) }))
}
