package handlers

import (
	"fmt"
	"strings"

	"culprit/queue"
)

// decideInstallation calls off the jobs of an installation that can no longer
// be served.
func decideInstallation(_ Rules, _ string, body []byte) (Decision, error) {
	var p envelope
	if err := decode(body, &p); err != nil {
		return Decision{}, err
	}
	switch p.Action {
	case "deleted", "suspend":
	default:
		return ignore("installation was not removed"), nil
	}
	if p.Installation.ID <= 0 {
		return Decision{}, fmt.Errorf("%w: no installation", errMalformed)
	}
	return Decision{
		Cancels: []queue.Match{{Installation: fmt.Sprint(p.Installation.ID)}},
		Reason:  "the App was uninstalled or suspended",
	}, nil
}

// decideInstallationRepositories calls off the jobs of repositories that were
// taken from an installation. Added ones need nothing: workers ask for access
// when they start.
func decideInstallationRepositories(_ Rules, _ string, body []byte) (Decision, error) {
	var p struct {
		envelope
		Removed []struct {
			FullName string `json:"full_name"`
		} `json:"repositories_removed"`
	}
	if err := decode(body, &p); err != nil {
		return Decision{}, err
	}
	if p.Action != "removed" || len(p.Removed) == 0 {
		return ignore("no repository was removed"), nil
	}
	if p.Installation.ID <= 0 {
		return Decision{}, fmt.Errorf("%w: no installation", errMalformed)
	}
	d := Decision{Reason: "the App was taken off the repository"}
	for _, r := range p.Removed {
		owner, name, _ := strings.Cut(r.FullName, "/")
		if !validRepository(owner, name) {
			return Decision{}, fmt.Errorf("%w: no valid repository", errMalformed)
		}
		d.Cancels = append(d.Cancels, queue.Match{Repository: r.FullName, Installation: fmt.Sprint(p.Installation.ID)})
	}
	return d, nil
}
