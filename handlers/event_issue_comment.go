package handlers

import (
	"fmt"
	"strings"

	"culprit/queue"
)

// decideIssueComment obeys a /debug command in a new comment. Who wrote it may
// or may not; that is looked up, not read here (GH8).
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
		} `json:"comment"`
	}
	if err := decode(body, &p); err != nil {
		return Decision{}, err
	}
	if p.Action != "created" {
		return ignore("comment is not new"), nil
	}
	verb, ok := findCommand(p.Comment.Body)
	if !ok {
		return ignore("comment has no command"), nil
	}
	if r.isBot(p.Sender) || r.isBot(p.Comment.User) {
		return ignore("comment of a bot"), nil
	}
	if reason, err := p.usable(); reason != "" || err != nil {
		return ignore("%s", reason), err
	}
	if p.Issue.Number <= 0 || p.Comment.ID <= 0 {
		return Decision{}, fmt.Errorf("%w: no issue or comment number", errMalformed)
	}
	req := p.request(KindCommand, "command", delivery)
	req.Command, req.Comment, req.Actor, req.Issue = verb, p.Comment.ID, p.Sender.Login, p.Issue.Number
	if p.Issue.PullRequest != nil {
		req.PR = p.Issue.Number
	}
	key := threadKey(p.fullName(), p.Issue.Number)
	if verb == "stop" {
		return Decision{
			Cancels:    []queue.Match{{Key: key}},
			CheckActor: &Actor{Installation: p.Installation.ID, Owner: req.Owner, Repo: req.Repo, Login: p.Sender.Login},
			Reason:     "stopped by a person",
		}, nil
	}
	return Decision{Job: req.job(key, queue.PriorityPerson), Reason: "command was given"}, nil
}

// findCommand finds the first line that begins with /debug outside of quotes
// and code. Its arguments stay where they are.
func findCommand(text string) (verb string, ok bool) {
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		trimmed := strings.TrimLeft(line, " ")
		indent := len(line) - len(trimmed)
		if marker := fenceOf(trimmed); marker != "" && indent < 4 {
			switch {
			case fence == "":
				fence = marker
			case marker[0] == fence[0] && len(marker) >= len(fence) && strings.TrimSpace(trimmed[len(marker):]) == "":
				fence = ""
			}
			continue
		}
		if fence != "" || indent >= 4 || strings.HasPrefix(line, "\t") {
			continue
		}
		words := strings.Fields(trimmed)
		if len(words) == 0 || words[0] != "/debug" {
			continue
		}
		if len(words) > 1 && (words[1] == "stop" || words[1] == "retry") {
			return words[1], true
		}
		return "debug", true
	}
	return "", false
}

// fenceOf returns the run of at least three backquotes or tildes that a line
// begins with.
func fenceOf(line string) string {
	if line == "" || (line[0] != '`' && line[0] != '~') {
		return ""
	}
	marker := line[:len(line)-len(strings.TrimLeft(line, line[:1]))]
	if len(marker) < 3 {
		return ""
	}
	return marker
}
