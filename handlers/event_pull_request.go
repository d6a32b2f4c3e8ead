package handlers

import (
	"fmt"

	"culprit/queue"
)

// decidePullRequest starts a session when a person adds the label to an open
// pull request, as for an issue. The label is the consent of a person with
// write access that a fork's code needs, for the commit that the person could
// see (GH8): the request names it, and what is pushed later is not run. Its
// sessions are called off as those of an issue are.
func decidePullRequest(r Rules, delivery string, body []byte) (Decision, error) {
	var p struct {
		reviewed
		Label struct {
			Name string `json:"name"`
		} `json:"label"`
	}
	if err := decode(body, &p); err != nil {
		return Decision{}, err
	}
	switch p.Action {
	case "labeled":
	case "closed", "unlabeled":
		d, err := r.decideEndOfThread(p.envelope, "pull request", p.PullRequest.Number, p.Label.Name)
		if err != nil {
			return d, err
		}
		return r.decideEndOfFix(p.reviewed, delivery, d)
	default:
		return ignore("pull request was not labelled"), nil
	}
	mode, ok := r.mode(p.Label.Name)
	if !ok {
		return ignore("label is not the one that starts a session"), nil
	}
	if r.isBot(p.Sender) {
		return ignore("labelled by a bot"), nil
	}
	if reason, err := p.usable(); reason != "" || err != nil {
		return ignore("%s", reason), err
	}
	number := p.PullRequest.Number
	if number <= 0 {
		return Decision{}, fmt.Errorf("%w: no pull request number", errMalformed)
	}
	if p.PullRequest.State == "closed" {
		return ignore("pull request is closed"), nil
	}
	req := p.request(KindIssue, "label", delivery)
	if !validSHA(p.PullRequest.Head.SHA) {
		return Decision{}, fmt.Errorf("%w: no valid head SHA", errMalformed)
	}
	req.Issue, req.PR, req.Actor, req.Mode, req.SHA = number, number, p.Sender.Login, mode, p.PullRequest.Head.SHA
	return req.wish("", queue.PriorityIssue, "pull request was labelled"), nil
}
