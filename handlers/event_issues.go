package handlers

import (
	"fmt"
	"strings"

	"culprit/queue"
)

// decideIssues starts a session when a person adds the label to an open issue,
// and calls the issue's sessions off when the label or the issue goes.
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
	switch p.Action {
	case "labeled":
	case "closed", "deleted", "transferred", "unlabeled":
		return r.decideEndOfThread(p.envelope, "issue", p.Issue.Number, p.Label.Name)
	default:
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
	return req.wish("", queue.PriorityIssue, "issue was labelled"), nil
}

// decideEndOfThread calls off what was asked for in the thread of an issue or
// pull request that is closed or gone, or that lost the label. A bot that takes
// labels off (one that tidies up) does not speak for a person.
func (r Rules) decideEndOfThread(e envelope, what string, number int, label string) (Decision, error) {
	reason := "the " + what + " was " + e.Action
	if e.Action == "unlabeled" {
		if _, ok := r.mode(label); !ok {
			return ignore("label is not the one that starts a session"), nil
		}
		if r.isBot(e.Sender) {
			return ignore("label taken off by a bot"), nil
		}
		reason = "the label was taken off the " + what
	}
	if reason, err := e.usable(); reason != "" || err != nil {
		return ignore("%s", reason), err
	}
	if number <= 0 {
		return Decision{}, fmt.Errorf("%w: no %s number", errMalformed, what)
	}
	return Decision{Cancels: []queue.Match{{Key: ThreadKey(e.fullName(), number)}}, Reason: reason}, nil
}

// Starts reports whether a label starts sessions.
func (r Rules) Starts(label string) bool { _, ok := r.mode(label); return ok }

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
