package evidence

import "culprit/internal/session"

// commandSigns say that a command failed; why is said elsewhere, or not at all.
var commandSigns = []sign{
	// docker build
	{"failed to solve: ", "", session.KindBuild, secondary},
	{"ERROR: failed to solve: ", "", session.KindBuild, secondary},
	{"The command '", "returned a non-zero code: ", session.KindBuild, secondary},
	// build tools
	{"ninja: build stopped: ", "", session.KindCommand, tertiary},
	{"rake aborted!", "", session.KindCommand, tertiary},
	{"npm ERR! Test failed", "", session.KindCommand, tertiary},
	{"npm ", "code ELIFECYCLE", session.KindCommand, tertiary},
	{"npm ERR! Lifecycle script `", "", session.KindCommand, tertiary},
	{"npm error Lifecycle script `", "", session.KindCommand, tertiary},
	{"error Command failed with exit code ", "", session.KindCommand, tertiary},
	{"ELIFECYCLE ", "Command failed", session.KindCommand, tertiary},
	{"The command \"", "exited with ", session.KindCommand, tertiary},
	{"The command \"", "failed and exited with ", session.KindCommand, tertiary},
	{"subprocess.CalledProcessError: ", "", session.KindCommand, tertiary},
}
