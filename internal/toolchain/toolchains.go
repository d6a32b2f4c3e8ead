package toolchain

import "culprit/internal/session"

// toolchain is one row of the table: what the package can do for one runner.
// A nil function means that it cannot.
type toolchain struct {
	names     []string // of the kits it makes
	detect    func(*tree) []Kit
	some      func(Kit, []session.Failure) (string, bool)
	group     func(Kit, session.Failure) (string, bool)
	shuffled  func(Kit, string) (string, bool)
	race      func(Kit, string) (string, bool)
	cover     func(Kit, session.Failure) (string, bool)
	testFiles func(Kit, session.Failure, []string) []string
	// command recognises the runner in a command that somebody gave.
	command func(*tree, invocation) (Kit, bool)
	adapt   func(old, newer *tree, k Kit) ([]session.Edit, string, bool)
}

// toolchains is the table. Detect keeps its order where nothing else decides.
var toolchains = []*toolchain{&goToolchain, &nodeToolchain, &pythonToolchain, &rustToolchain, &mavenToolchain, &gradleToolchain}

func find(name string) *toolchain {
	for _, t := range toolchains {
		for _, n := range t.names {
			if n == name {
				return t
			}
		}
	}
	return nil
}
