package handlers

import (
	"fmt"
	"strings"

	"culprit/queue"
)

// decideIssues starts a session when a person adds the label to an open issue.
func decideIssues(r Rules, delivery string, body []byte) (Decision, error) {
	var p struct {
		envelope
		Label struct {
			Name string `json:"name"`
		} `json:"label"`
		Issue struct {
			Number int    `json:"number"`
			State  string `json:"state"`
		} `json:"issue"`
	}
	if err := decode(body, &p); err != nil {
		return Decision{}, err
	}
	if p.Action == "deleted" || p.Action == "transferred" {
		if reason, err := p.usable(); reason != "" || err != nil {
			return ignore("%s", reason), err
		}
		return Decision{Cancel: &queue.Match{Key: threadKey(p.fullName(), p.Issue.Number)}, Reason: "issue was " + p.Action}, nil
	}
	if p.Action != "labeled" {
		return ignore("issue was not labelled"), nil
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
	if p.Issue.Number <= 0 {
		return Decision{}, fmt.Errorf("%w: no issue number", errMalformed)
	}
	if p.Issue.State == "closed" {
		return ignore("issue is closed"), nil
	}
	req := p.request(KindIssue, "label", delivery)
	req.Issue, req.Actor, req.Mode = p.Issue.Number, p.Sender.Login, mode
	return Decision{Job: req.job(threadKey(p.fullName(), p.Issue.Number), queue.PriorityIssue), Reason: "issue was labelled"}, nil
}

// mode reads "debug", "debug:quick" or "debug:deep". Names of labels are
// case-insensitive on GitHub.
func (r Rules) mode(label string) (mode string, ok bool) {
	name, suffix, found := strings.Cut(strings.ToLower(label), strings.ToLower(r.Label))
	switch {
	case !found || name != "":
		return "", false
	case suffix == "":
		return "", true
	case suffix == ":quick", suffix == ":full", suffix == ":deep":
		return suffix[1:], true
	}
	return "", false
}
