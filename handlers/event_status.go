package handlers

import "time"

// decideStatus starts a session when a commit status turns red: CI services
// that are no GitHub Apps report by it. It names the branches that have the
// commit; one whose head it is must be there, or the commit is superseded or
// lies in a fork, whose code runs only after a writer's command (GH8).
func decideStatus(r Rules, delivery string, body []byte) (Decision, error) {
	var p struct {
		envelope
		SHA   string `json:"sha"`
		State string `json:"state"`
		// When CI said so. Only the head of a branch counts, so a later one is
		// about a later head.
		UpdatedAt time.Time `json:"updated_at"`
		Branches  []struct {
			Name   string `json:"name"`
			Commit struct {
				SHA string `json:"sha"`
			} `json:"commit"`
		} `json:"branches"`
	}
	if err := decode(body, &p); err != nil {
		return Decision{}, err
	}
	switch {
	case p.State != "failure" && p.State != "error":
		return ignore("commit status is not red"), nil
	case r.AppSlug != "" && p.Sender.Login == r.AppSlug+"[bot]":
		return ignore("the App's own commit status"), nil
	}
	req := p.request(KindCI, "status", delivery)
	req.SHA = p.SHA
	for _, b := range p.Branches {
		if b.Commit.SHA == p.SHA {
			req.Ref = b.Name
			break
		}
	}
	return decideRedRun(redRun{env: p.envelope, request: req, moved: p.UpdatedAt})
}
