package handlers

import "time"

// decideWorkflowRun starts a session when an Actions run concludes red.
func decideWorkflowRun(_ Rules, delivery string, body []byte) (Decision, error) {
	var p struct {
		envelope
		WorkflowRun struct {
			ID             int64     `json:"id"`
			HeadSHA        string    `json:"head_sha"`
			HeadBranch     string    `json:"head_branch"`
			Conclusion     string    `json:"conclusion"`
			CheckSuite     int64     `json:"check_suite_id"`
			CreatedAt      time.Time `json:"created_at"`
			HeadRepository *struct {
				ID int64 `json:"id"`
			} `json:"head_repository"`
			PullRequests []payloadPR `json:"pull_requests"`
		} `json:"workflow_run"`
	}
	if err := decode(body, &p); err != nil {
		return Decision{}, err
	}
	run := p.WorkflowRun
	switch {
	case p.Action != "completed":
		return ignore("workflow run has not concluded"), nil
	case !red(run.Conclusion):
		return ignore("workflow run is not red"), nil
	case run.HeadRepository == nil:
		return ignore("head repository is gone"), nil
	}
	req := p.request(KindCI, "workflow_run", delivery)
	req.SHA, req.Ref, req.Run, req.CheckSuite = run.HeadSHA, run.HeadBranch, run.ID, run.CheckSuite
	return decideRedRun(redRun{env: p.envelope, request: req, moved: run.CreatedAt, prs: run.PullRequests, headRepo: run.HeadRepository.ID})
}
