package handlers

import (
	"fmt"

	"culprit/queue"
)

// decideRepository calls off the jobs of a repository that is gone.
func decideRepository(_ Rules, _ string, body []byte) (Decision, error) {
	var p envelope
	if err := decode(body, &p); err != nil {
		return Decision{}, err
	}
	if p.Action != "deleted" && p.Action != "archived" {
		return ignore("repository is still there"), nil
	}
	if !validRepository(p.Repository.Owner.Login, p.Repository.Name) {
		return Decision{}, fmt.Errorf("%w: no valid repository", errMalformed)
	}
	return Decision{Cancels: []queue.Match{{Repository: p.fullName()}}, Reason: "repository was " + p.Action}, nil
}
