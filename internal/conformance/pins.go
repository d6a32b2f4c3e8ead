package conformance

import (
	"fmt"
	"os"
	"path/filepath"
)

// pin is a package of npm's registry that is used as data.
type pin struct {
	name, version string
	integrity     string // sha512 of the tarball in base64, as npm states it
	file          string // the one file of it that is used
}

var (
	descriptionPin = pin{
		name: "@octokit/openapi", version: "23.0.2",
		integrity: "sha512-pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3D7gZXbFx5AHzLUVRBXGDhg==",
		file:      "package/generated/api.github.com.json",
	}
	examplesPin = pin{
		name: "@octokit/webhooks-examples", version: "7.6.1",
		integrity: "sha512-De6U3XB6O3DtCa7bKgCMzTHdeopqqZ6SNivMYJnK65ierKL1AnNIA0tkRYCRS7lwGT792d+Ps1WbfHlso6MynQ==",
		file:      "package/api.github.com/index.json",
	}
)

// format is raised when the content of the installed file changes otherwise
// than by its sources.
const format = 2

// Path is where the description is installed: in the folder CULPRIT_OPENAPI
// or, when that is not set, in the user's cache folder.
func Path() (string, error) {
	dir := os.Getenv("CULPRIT_OPENAPI")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find the cache folder: set CULPRIT_OPENAPI: %w", err)
		}
		dir = filepath.Join(cache, "culprit", "openapi")
	}
	return filepath.Join(dir, fmt.Sprintf("github-%s-%s-%d.zip", descriptionPin.version, examplesPin.version, format)), nil
}
