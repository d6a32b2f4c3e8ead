package handlers

import "time"

// decideCheckSuite starts a session when somebody else's check suite concludes
// red, and obeys "Re-run all checks" for our own one.
func decideCheckSuite(r Rules, delivery string, body []byte) (Decision, error) {
	var p struct {
		envelope
		CheckSuite struct {
			ID           int64       `json:"id"`
			HeadSHA      string      `json:"head_sha"`
			HeadBranch   string      `json:"head_branch"`
			Conclusion   string      `json:"conclusion"`
			App          payloadApp  `json:"app"`
			CreatedAt    time.Time   `json:"created_at"`
			PullRequests []payloadPR `json:"pull_requests"`
		} `json:"check_suite"`
	}
	if err := decode(body, &p); err != nil {
		return Decision{}, err
	}
	req := p.request(KindCI, "check_suite", delivery)
	req.SHA, req.Ref, req.CheckSuite = p.CheckSuite.HeadSHA, p.CheckSuite.HeadBranch, p.CheckSuite.ID
	switch {
	case p.CheckSuite.App.ID == r.AppID && p.Action == "rerequested":
		return decideButton(r, p.envelope, req, "retry")
	case p.CheckSuite.App.ID == r.AppID:
		return ignore("the App's own check suite"), nil
	case p.Action != "completed":
		return ignore("check suite has not concluded"), nil
	case !red(p.CheckSuite.Conclusion):
		return ignore("check suite is not red"), nil
	}
	return decideRedRun(redRun{env: p.envelope, request: req, moved: p.CheckSuite.CreatedAt, prs: p.CheckSuite.PullRequests})
}
