package githubtest

import (
	"fmt"
	"net/http"
	"slices"
)

var runRoutes = []*route{
	{method: "GET", path: "/repos/{owner}/{repo}/actions/runs", access: accessRepo, needs: "actions:read", handle: listRuns},
	{method: "GET", path: "/repos/{owner}/{repo}/actions/runs/{run_id}", access: accessRepo, needs: "actions:read", handle: getRun},
	{method: "GET", path: "/repos/{owner}/{repo}/actions/runs/{run_id}/attempts/{attempt_number}", access: accessRepo, needs: "actions:read", handle: getRun},
	{method: "GET", path: "/repos/{owner}/{repo}/actions/runs/{run_id}/jobs", access: accessRepo, needs: "actions:read", handle: listJobs},
	{method: "GET", path: "/repos/{owner}/{repo}/actions/runs/{run_id}/attempts/{attempt_number}/jobs", access: accessRepo, needs: "actions:read", handle: listJobs},
	{method: "GET", path: "/repos/{owner}/{repo}/actions/jobs/{job_id}", access: accessRepo, needs: "actions:read", handle: getJob},
	{method: "POST", path: "/repos/{owner}/{repo}/actions/runs/{run_id}/rerun", access: accessRepo, needs: "actions:write", role: "write", handle: rerun},
	{method: "POST", path: "/repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs", access: accessRepo, needs: "actions:write", role: "write", handle: rerun},
}

func (s *Server) runJSON(r *repository, w *run, a *attempt) obj {
	u := fmt.Sprintf("%s/actions/runs/%d", s.repoURL(r), w.id)
	var previous any
	if a.number > 1 {
		previous = fmt.Sprintf("%s/attempts/%d", u, a.number-1)
	}
	head, _ := s.readCommit(r, w.sha)
	return obj{
		"id": w.id, "name": w.workflow.name, "node_id": nodeID("WorkflowRun", w.id), "head_branch": orNull(w.branch), "head_sha": w.sha,
		"path": w.workflow.path, "display_title": w.title, "run_number": w.number, "event": w.event, "status": a.status,
		"conclusion": orNull(a.conclusion), "workflow_id": w.workflow.id, "check_suite_id": w.suite.id,
		"check_suite_node_id": nodeID("CheckSuite", w.suite.id), "url": u, "html_url": fmt.Sprintf("%s/actions/runs/%d", s.webURL(r), w.id),
		"pull_requests": s.pullsOf(r, w.sha), "created_at": stamp(w.created), "updated_at": stamp(a.updated), "actor": s.userJSON(w.actor),
		"run_attempt": a.number, "referenced_workflows": []obj{}, "run_started_at": stamp(a.started), "triggering_actor": s.userJSON(a.actor),
		"jobs_url": u + "/jobs", "logs_url": u + "/logs", "check_suite_url": fmt.Sprintf("%s/check-suites/%d", s.repoURL(r), w.suite.id),
		"artifacts_url": u + "/artifacts", "cancel_url": u + "/cancel", "rerun_url": u + "/rerun", "previous_attempt_url": previous,
		"workflow_url": fmt.Sprintf("%s/actions/workflows/%d", s.repoURL(r), w.workflow.id), "head_commit": s.simpleCommitJSON(head),
		"repository": s.minimalRepoJSON(r), "head_repository": s.minimalRepoJSON(w.headRepo),
	}
}

func (s *Server) jobJSON(r *repository, w *run, a *attempt, j *job) obj {
	steps := []obj{}
	for n, st := range j.steps {
		status := "completed"
		if st.conclusion == "" {
			status = "queued"
		}
		steps = append(steps, obj{
			"name": st.name, "status": status, "conclusion": orNull(st.conclusion), "number": n + 1,
			"started_at": stamp(st.started), "completed_at": stamp(st.completed),
		})
	}
	c := j.check
	return obj{
		"id": c.id, "run_id": w.id, "workflow_name": w.workflow.name, "head_branch": orNull(w.branch),
		"run_url": fmt.Sprintf("%s/actions/runs/%d", s.repoURL(r), w.id), "run_attempt": a.number, "node_id": nodeID("CheckRun", c.id),
		"head_sha": w.sha, "url": fmt.Sprintf("%s/actions/jobs/%d", s.repoURL(r), c.id),
		"html_url": fmt.Sprintf("%s/actions/runs/%d/job/%d", s.webURL(r), w.id, c.id), "status": c.status, "conclusion": orNull(c.conclusion),
		"created_at": stamp(a.started), "started_at": stamp(c.started), "completed_at": stamp(c.completed), "name": j.name, "steps": steps,
		"check_run_url": fmt.Sprintf("%s/check-runs/%d", s.repoURL(r), c.id), "labels": []string{"ubuntu-latest"},
		"runner_id": 1, "runner_name": "GitHub Actions 1", "runner_group_id": 2, "runner_group_name": "GitHub Actions",
	}
}

func listRuns(c *call) reply {
	list := slices.DeleteFunc(slices.Clone(c.repo.runs), func(w *run) bool {
		a := w.last()
		for name, have := range map[string][]string{
			"branch": {w.branch}, "event": {w.event}, "status": {a.status, a.conclusion}, "head_sha": {w.sha},
			"check_suite_id": {fmt.Sprint(w.suite.id)}, "actor": {w.actor.login},
		} {
			if want := c.query(name); want != "" && !slices.Contains(have, want) {
				return true
			}
		}
		return false
	})
	slices.Reverse(list) // newest first
	return countedJSON(c, "workflow_runs", list, func(w *run) obj { return c.s.runJSON(c.repo, w, w.last()) })
}

// run finds the run and the attempt of the path; the newest attempt when the
// path names none.
func (c *call) run() (*run, *attempt) {
	for _, w := range c.repo.runs {
		if w.id != c.id("run_id") {
			continue
		}
		if c.param("attempt_number") == "" {
			return w, w.last()
		}
		for _, a := range w.attempts {
			if a.number == c.number("attempt_number") {
				return w, a
			}
		}
	}
	return nil, nil
}

func getRun(c *call) reply {
	w, a := c.run()
	if w == nil {
		return notFound()
	}
	return ok(c.s.runJSON(c.repo, w, a))
}

func listJobs(c *call) reply {
	w, a := c.run()
	if w == nil {
		return notFound()
	}
	type entry struct {
		a *attempt
		j *job
	}
	var list []entry
	for _, x := range w.attempts {
		if x != a && c.query("filter") != "all" {
			continue
		}
		for _, j := range x.jobs {
			list = append(list, entry{x, j})
		}
	}
	return countedJSON(c, "jobs", list, func(e entry) obj { return c.s.jobJSON(c.repo, w, e.a, e.j) })
}

// job finds the job of the path.
func (c *call) job() (*run, *attempt, *job) {
	for _, w := range c.repo.runs {
		for _, a := range w.attempts {
			for _, j := range a.jobs {
				if j.check.id == c.id("job_id") {
					return w, a, j
				}
			}
		}
	}
	return nil, nil, nil
}

func getJob(c *call) reply {
	w, a, j := c.job()
	if j == nil {
		return notFound()
	}
	return ok(c.s.jobJSON(c.repo, w, a, j))
}

// rerun queues another attempt. It stays queued until the test completes it
// with CompleteRun.
func rerun(c *call) reply {
	w, a := c.run()
	if w == nil {
		return notFound()
	}
	if a.status != "completed" {
		return fail(http.StatusForbidden, "This workflow is already running")
	}
	c.s.newAttempt(w, c.who.user())
	c.s.emitRun(c.repo, w, "requested", c.who.user())
	return reply{status: http.StatusCreated, body: obj{}}
}

func (s *Server) newAttempt(w *run, actor *user) *attempt {
	a := &attempt{number: len(w.attempts) + 1, status: "queued", started: s.now(), updated: s.now(), actor: actor}
	w.attempts = append(w.attempts, a)
	return a
}
