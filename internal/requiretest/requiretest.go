// Package requiretest decides what a test does when the machine lacks a
// program: skip with the reason on a developer's machine, fail where every
// check must run.
//
// Setting CULPRIT_REQUIRE=all turns each such skip into a failure, so that a
// continuous integration run can never be green because half of it was
// skipped.
package requiretest

import (
	"os"
	"os/exec"
	"testing"
)

// All reports whether missing prerequisites are failures.
func All() bool { return os.Getenv("CULPRIT_REQUIRE") == "all" }

// Program returns the path of the named program. If it is not installed, the
// test is skipped, or failed when CULPRIT_REQUIRE=all.
func Program(tb testing.TB, name string) string {
	tb.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(tb, name+" is not installed")
	}
	return path
}

// Missing skips the test with the reason, or fails it when CULPRIT_REQUIRE=all.
func Missing(tb testing.TB, reason string) {
	tb.Helper()
	if All() {
		tb.Fatalf("%s (CULPRIT_REQUIRE=all)", reason)
	}
	tb.Skipf("skipped: %s", reason)
}

// Note tells that a test goes on without a part of its checks, or fails it
// when CULPRIT_REQUIRE=all.
func Note(tb testing.TB, reason string) {
	tb.Helper()
	if All() {
		tb.Fatalf("%s (CULPRIT_REQUIRE=all)", reason)
	}
	tb.Logf("skipped: %s", reason)
}
