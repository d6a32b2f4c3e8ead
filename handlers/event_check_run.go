package handlers

import (
	"fmt"
	"strconv"
	"strings"
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
		verb, thread := parseButton(p.RequestedAction.Identifier)
		if p.Action == "rerequested" {
			verb, thread = "retry", 0
		}
		if (p.Action != "rerequested" && p.Action != "requested_action") || (verb != "retry" && verb != "stop") {
			return ignore("the App's own check run"), nil
		}
		req.Session, req.Issue = p.CheckRun.ExternalID, thread
		return decideButton(r, p.envelope, req, verb)
	}
	if p.Action != "completed" {
		return ignore("check run has not concluded"), nil
	}
	if !red(p.CheckRun.Conclusion) {
		return ignore("check run is not red"), nil
	}
	return decideRedRun(redRun{env: p.envelope, request: req, moved: p.CheckRun.CheckSuite.CreatedAt, prs: p.CheckRun.PullRequests})
}

// parseButton reads the identifier of a button: "stop", or "stop#12" of a
// session about issue 12.
func parseButton(identifier string) (verb string, thread int) {
	verb, number, found := strings.Cut(identifier, "#")
	if !found {
		return verb, 0
	}
	thread, err := strconv.Atoi(number)
	if err != nil || thread <= 0 {
		return "", 0
	}
	return verb, thread
}

// decideButton handles "Retry", "Stop" and "Re-run" of the App's own check run.
// What the session was about is for the worker to look up.
func decideButton(r Rules, e envelope, req Request, verb string) (Decision, error) {
	if reason, err := e.usable(); reason != "" || err != nil {
		return ignore("%s", reason), err
	}
	if r.isBot(e.Sender) {
		return ignore("button pressed by a bot"), nil
	}
	if !validSHA(req.SHA) || len(req.Session) > 100 {
		return Decision{}, fmt.Errorf("%w: no valid check run", errMalformed)
	}
	req.Kind, req.Trigger, req.Command, req.Actor = KindCommand, "command", verb, e.Sender.Login
	return req.wish("", queue.PriorityPerson, verb+" was asked for by a button"), nil
}
