package handlers

import (
	"fmt"

	"culprit/internal/command"
	"culprit/queue"
)

// decideIssueComment takes a command in a new comment, or one that an edit
// brought. Who wrote it may or may not; that is looked up, not read here (GH8).
func decideIssueComment(r Rules, delivery string, body []byte) (Decision, error) {
	var p struct {
		envelope
		Issue struct {
			Number      int       `json:"number"`
			PullRequest *struct{} `json:"pull_request"`
		} `json:"issue"`
		Comment struct {
			ID   int64       `json:"id"`
			Body string      `json:"body"`
			User payloadUser `json:"user"`
			Via  *payloadApp `json:"performed_via_github_app"`
		} `json:"comment"`
		Changes struct {
			Body struct {
				From string `json:"from"`
			} `json:"body"`
		} `json:"changes"`
	}
	if err := decode(body, &p); err != nil {
		return Decision{}, err
	}
	if p.Action != "created" && p.Action != "edited" {
		return ignore("comment is not new"), nil
	}
	c, found := command.Find(p.Comment.Body)
	switch {
	case !found:
		return ignore("comment has no command"), nil
	case r.isBot(p.Sender), r.isBot(p.Comment.User), p.Comment.Via != nil && p.Comment.Via.ID == r.AppID:
		return ignore("comment of a bot"), nil
	}
	if p.Action == "edited" {
		if old, had := command.Find(p.Changes.Body.From); had && old.Sum() == c.Sum() {
			return ignore("the edit did not change the command"), nil
		}
	}
	if reason, err := p.usable(); reason != "" || err != nil {
		return ignore("%s", reason), err
	}
	if p.Issue.Number <= 0 || p.Comment.ID <= 0 {
		return Decision{}, fmt.Errorf("%w: no issue or comment number", errMalformed)
	}
	req := p.request(KindCommand, "command", delivery)
	req.Command, req.Comment, req.Sum = string(c.Verb), p.Comment.ID, c.Sum()
	req.Actor, req.Issue, req.Edited = p.Sender.Login, p.Issue.Number, p.Action == "edited"
	if p.Issue.PullRequest != nil {
		req.PR = p.Issue.Number
	}
	// A command of a comment counts once, in however many edits it stands.
	once := fmt.Sprintf("comment-%d-%s", p.Comment.ID, c.Sum())
	return req.wish(once, queue.PriorityPerson, "command was given"), nil
}
