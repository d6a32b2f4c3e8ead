package handlers

import (
	"fmt"
	"slices"
	"strings"

	"culprit/queue"
)

// FixBranches is how the names of the bot's own fix branches begin.
const FixBranches = "culprit/"

// reviewed is what events about reviews share.
type reviewed struct {
	envelope
	PullRequest payloadPR `json:"pull_request"`
}

// ownFix tells why an event is not about an open fix pull request of the bot,
// as far as the payload knows, or "". That it is one is looked up by the worker.
func (p reviewed) ownFix(r Rules) string {
	head := p.PullRequest.Head
	switch {
	case !strings.HasPrefix(head.Ref, FixBranches) || head.Repo.ID != p.Repository.ID:
		return "not one of the bot's own fix pull requests"
	case p.PullRequest.State == "closed":
		return "pull request is closed"
	case r.isBot(p.Sender):
		return "written by a bot"
	}
	return ""
}

// FixKey is the Job.Key of everything about the review of a fix pull request.
func FixKey(repository string, number int) string { return ThreadKey(repository, number) + "/fix" }

// remark makes the request to look at what was said to a fix. What it was is
// read from GitHub by the worker; once names it.
func (p reviewed) remark(trigger, delivery, once, reason string, comment int64) (Decision, error) {
	if reason, err := p.usable(); reason != "" || err != nil {
		return ignore("%s", reason), err
	}
	if p.PullRequest.Number <= 0 {
		return Decision{}, fmt.Errorf("%w: no pull request number", errMalformed)
	}
	req := p.request(KindReview, trigger, delivery)
	req.PR, req.Actor, req.Remark = p.PullRequest.Number, p.Sender.Login, comment
	return req.wish(once, queue.PriorityPerson, reason), nil
}

// decidePullRequestReview takes an approval of the bot's fix and a request for
// changes. A review that only comments asks for nothing; its comments on lines
// come by events of their own.
func decidePullRequestReview(r Rules, delivery string, body []byte) (Decision, error) {
	var p struct {
		reviewed
		Review struct {
			ID    int64  `json:"id"`
			State string `json:"state"`
		} `json:"review"`
	}
	if err := decode(body, &p); err != nil {
		return Decision{}, err
	}
	if p.Action != "submitted" {
		return ignore("review was not submitted"), nil
	}
	if why := p.ownFix(r); why != "" {
		return ignore("%s", why), nil
	}
	if p.Review.ID <= 0 {
		return Decision{}, fmt.Errorf("%w: no review", errMalformed)
	}
	state := strings.ToLower(p.Review.State)
	if state != "approved" && state != "changes_requested" {
		return ignore("review asks for no change"), nil
	}
	return p.remark("review", delivery, fmt.Sprintf("review-%d", p.Review.ID), "fix was reviewed", 0)
}

// decideReviewComment takes a comment on a line of the bot's fix, an answer to
// one too.
func decideReviewComment(r Rules, delivery string, body []byte) (Decision, error) {
	var p struct {
		reviewed
		Comment struct {
			ID   int64       `json:"id"`
			User payloadUser `json:"user"`
		} `json:"comment"`
	}
	if err := decode(body, &p); err != nil {
		return Decision{}, err
	}
	if p.Action != "created" {
		return ignore("comment is not new"), nil
	}
	if why := p.ownFix(r); why != "" {
		return ignore("%s", why), nil
	}
	if p.Comment.ID <= 0 {
		return Decision{}, fmt.Errorf("%w: no comment", errMalformed)
	}
	if r.isBot(p.Comment.User) {
		return ignore("written by a bot"), nil
	}
	return p.remark("review_comment", delivery, fmt.Sprintf("line-%d", p.Comment.ID), "a line of the fix was commented on", p.Comment.ID)
}

// decideEndOfFix lets the worker note that a fix was merged or closed, by a bot
// too. It comes with the calling-off of what runs.
func (r Rules) decideEndOfFix(p reviewed, delivery string, d Decision) (Decision, error) {
	head := p.PullRequest.Head
	if p.Action != "closed" || len(d.Cancels) == 0 || !strings.HasPrefix(head.Ref, FixBranches) || head.Repo.ID != p.Repository.ID {
		return d, nil
	}
	end, err := p.remark("closed", delivery, "", d.Reason, 0)
	if err != nil || end.Job == nil {
		return d, err
	}
	end.Cancels = append(slices.Clone(d.Cancels), queue.Match{Key: FixKey(p.fullName(), p.PullRequest.Number)})
	return end, nil
}
