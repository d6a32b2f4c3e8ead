package handlers

import (
	"fmt"

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
		Cancel: &queue.Match{Installation: fmt.Sprint(p.Installation.ID)},
		Reason: "the App was uninstalled or suspended",
	}, nil
}

// decideInstallationRepositories has nothing to call off before work begins:
// the worker is refused a token for a removed repository and gives up.
func decideInstallationRepositories(Rules, string, []byte) (Decision, error) {
	return ignore("workers ask for access when they start"), nil
}
