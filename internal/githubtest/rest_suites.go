package githubtest

import (
	"fmt"
	"net/http"
	"slices"
)

var suiteRoutes = []*route{
	{method: "GET", path: "/repos/{owner}/{repo}/check-suites/{check_suite_id}", access: accessRepo, needs: "checks:read", handle: getSuite},
	{method: "POST", path: "/repos/{owner}/{repo}/check-suites/{check_suite_id}/rerequest", access: accessRepo, needs: "checks:write", role: "write", handle: rerequestSuite},
	{method: "GET", path: "/repos/{owner}/{repo}/commits/{ref}/check-suites", access: accessRepo, needs: "checks:read", handle: listRefSuites},
}

// status and conclusion of a suite follow from its check runs.
func (st *suite) status() (status string, conclusion string) {
	if len(st.runs) == 0 {
		return "queued", ""
	}
	worst := "success"
	// From least to most severe, as GitHub rolls them up.
	order := []string{"success", "neutral", "skipped", "stale", "cancelled", "timed_out", "action_required", "failure"}
	for _, r := range st.latest() {
		if r.status != "completed" {
			return "in_progress", ""
		}
		if slices.Index(order, r.conclusion) > slices.Index(order, worst) {
			worst = r.conclusion
		}
	}
	return "completed", worst
}

// latest are the newest check runs of each name.
func (st *suite) latest() []*checkRun {
	var out []*checkRun
	for at, r := range st.runs {
		if !slices.ContainsFunc(st.runs[at+1:], func(n *checkRun) bool { return n.name == r.name }) {
			out = append(out, r)
		}
	}
	return out
}

// suiteFor finds an App's suite of a commit, or makes it.
func (s *Server) suiteFor(r *repository, a *app, sha string) *suite {
	for _, st := range r.suites {
		if st.app == a && st.sha == sha {
			return st
		}
	}
	st := &suite{id: s.id(), app: a, sha: sha, before: zeroSHA, created: s.now(), updated: s.now()}
	refs, _ := s.listRefs(r, "refs/heads")
	for _, ref := range sortedKeys(refs) {
		if refs[ref] == sha {
			st.branch = ref[len("refs/heads/"):]
		}
	}
	r.suites = append(r.suites, st)
	return st
}

// openSuites makes a suite for each App that may write checks, as GitHub does
// when a commit is pushed.
func (s *Server) openSuites(r *repository, sha, branch, before string, actor *user) {
	for _, in := range s.installs {
		if !in.covers(r) || in.permissions["checks"] != "write" {
			continue
		}
		if slices.ContainsFunc(r.suites, func(st *suite) bool { return st.app == in.app && st.sha == sha }) {
			continue
		}
		st := &suite{id: s.id(), app: in.app, sha: sha, branch: branch, before: before, created: s.now(), updated: s.now()}
		r.suites = append(r.suites, st)
		s.emitSuite(r, st, "requested", actor)
	}
}

// suiteMayBeDone tells about a suite whose check runs are all completed.
func (s *Server) suiteMayBeDone(r *repository, st *suite, actor *user) {
	if status, _ := st.status(); status == "completed" {
		s.emitSuite(r, st, "completed", actor)
	}
}

func (s *Server) suiteJSON(r *repository, st *suite) obj {
	u := fmt.Sprintf("%s/check-suites/%d", s.repoURL(r), st.id)
	status, conclusion := st.status()
	head, _ := s.readCommit(r, st.sha)
	return obj{
		"id": st.id, "node_id": nodeID("CheckSuite", st.id), "head_branch": orNull(st.branch), "head_sha": st.sha, "status": status,
		"conclusion": orNull(conclusion), "url": u, "before": st.before, "after": st.sha, "pull_requests": s.pullsOf(r, st.sha),
		"app": s.appOrNull(st.app), "repository": s.minimalRepoJSON(r), "created_at": stamp(st.created), "updated_at": stamp(st.updated),
		"head_commit": s.simpleCommitJSON(head), "latest_check_runs_count": len(st.latest()), "check_runs_url": u + "/check-runs",
		"rerequestable": true, "runs_rerequestable": st.app != s.actions,
	}
}

func (c *call) suite() *suite {
	for _, st := range c.repo.suites {
		if st.id == c.id("check_suite_id") {
			return st
		}
	}
	return nil
}

func getSuite(c *call) reply {
	if st := c.suite(); st != nil {
		return ok(c.s.suiteJSON(c.repo, st))
	}
	return notFound()
}

func listRefSuites(c *call) reply {
	sha := c.s.resolve(c.repo, c.param("ref"))
	if sha == "" {
		return fail(http.StatusUnprocessableEntity, "No commit found for SHA: "+c.param("ref"))
	}
	list := slices.DeleteFunc(slices.Clone(c.repo.suites), func(st *suite) bool {
		app := c.query("app_id")
		return st.sha != sha || app != "" && fmt.Sprint(st.app.ID) != app
	})
	return countedJSON(c, "check_suites", list, func(st *suite) obj { return c.s.suiteJSON(c.repo, st) })
}

func rerequestSuite(c *call) reply {
	st := c.suite()
	if st == nil {
		return notFound()
	}
	c.s.emitSuite(c.repo, st, "rerequested", c.who.user())
	return reply{status: http.StatusCreated, body: obj{}}
}

func rerequestCheck(c *call) reply {
	run := c.check()
	switch {
	case run == nil:
		return notFound()
	case run.suite.app == c.s.actions:
		return fail(http.StatusForbidden, "This check run is not rerequestable")
	}
	c.s.emitCheck(c.repo, run, "rerequested", c.who.user(), nil)
	return reply{status: http.StatusCreated, body: obj{}}
}
