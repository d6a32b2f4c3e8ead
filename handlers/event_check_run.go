package handlers

import (
	"fmt"
	"time"

	"culprit/queue"
)

// decideCheckRun starts a session when somebody else's check run concludes
// red, and obeys the buttons of our own one.
func decideCheckRun(r Rules, delivery string, body []byte) (Decision, error) {
	var p struct {
		envelope
		CheckRun struct {
			ID         int64      `json:"id"`
			HeadSHA    string     `json:"head_sha"`
			Conclusion string     `json:"conclusion"`
			ExternalID string     `json:"external_id"`
			App        payloadApp `json:"app"`
			CheckSuite struct {
				ID         int64     `json:"id"`
				HeadBranch string    `json:"head_branch"`
				CreatedAt  time.Time `json:"created_at"`
			} `json:"check_suite"`
			PullRequests []payloadPR `json:"pull_requests"`
		} `json:"check_run"`
		RequestedAction struct {
			Identifier string `json:"identifier"`
		} `json:"requested_action"`
	}
	if err := decode(body, &p); err != nil {
		return Decision{}, err
	}
	req := p.request(KindCI, "check_run", delivery)
	req.SHA, req.Ref = p.CheckRun.HeadSHA, p.CheckRun.CheckSuite.HeadBranch
	req.CheckRun, req.CheckSuite = p.CheckRun.ID, p.CheckRun.CheckSuite.ID

	if p.CheckRun.App.ID == r.AppID {
		verb := p.RequestedAction.Identifier
		if p.Action == "rerequested" {
			verb = "retry"
		}
		if (p.Action != "rerequested" && p.Action != "requested_action") || (verb != "retry" && verb != "stop") {
			return ignore("the App's own check run"), nil
		}
		return decideButton(r, p.envelope, req, verb, p.CheckRun.ExternalID)
	}
	if p.Action != "completed" {
		return ignore("check run has not concluded"), nil
	}
	if !red(p.CheckRun.Conclusion) {
		return ignore("check run is not red"), nil
	}
	return decideRedRun(redRun{env: p.envelope, request: req, moved: p.CheckRun.CheckSuite.CreatedAt, prs: p.CheckRun.PullRequests})
}

// decideButton handles "Retry" and "Stop" of the App's own check run.
func decideButton(r Rules, e envelope, req Request, verb, session string) (Decision, error) {
	if reason, err := e.usable(); reason != "" || err != nil {
		return ignore("%s", reason), err
	}
	if r.isBot(e.Sender) {
		return ignore("button pressed by a bot"), nil
	}
	if !validSHA(req.SHA) || len(session) > 100 {
		return Decision{}, fmt.Errorf("%w: no valid check run", errMalformed)
	}
	// The check run belongs to a session of the commit or of an issue; the
	// worker finds out which by the external ID.
	key := ciKey(e.fullName(), req.SHA)
	if verb == "stop" {
		return Decision{
			Cancel:     &queue.Match{Key: key},
			CheckActor: &Actor{Installation: e.Installation.ID, Owner: req.Owner, Repo: req.Repo, Login: e.Sender.Login},
			Reason:     "stopped by a person",
		}, nil
	}
	req.Kind, req.Trigger, req.Command, req.Session, req.Actor = KindCommand, "command", verb, session, e.Sender.Login
	return Decision{Job: req.job(key, queue.PriorityPerson), Reason: "retry was asked for"}, nil
}
