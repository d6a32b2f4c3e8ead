package evidence

import (
	"fmt"
	"slices"
	"strings"

	"culprit/internal/session"
)

// TargetOf is what later runs are looked at for, made from the failures of
// the first: the leading failure and, when it is a test, the tests that failed
// with it in the same package for what may be the same reason. A test that
// stands for its failed subtests is left out.
func TargetOf(failures ...session.Failure) session.Target {
	if len(failures) == 0 {
		return session.Target{}
	}
	lead := failures[0]
	t := session.Target{Package: lead.Package, Kind: lead.Kind, Signature: lead.Signature}
	if t.Signature == "" {
		t.Signature = Signature(lead)
	}
	if lead.Test == "" {
		return t
	}
	for _, f := range failures {
		if f.Test == "" || f.Package != lead.Package || slices.Contains(t.Tests, f.Test) {
			continue
		}
		parent := false
		for _, other := range failures {
			parent = parent || other.Package == f.Package && isBelow(other.Test, f.Test)
		}
		if !parent || f.Test == lead.Test {
			t.Tests = append(t.Tests, f.Test)
		}
	}
	return t
}

// Judge decides what one run of a command showed about the target.
//
//	fail        a test of Target.Tests failed, in Target.Package when that is
//	            set; without tests, a failure of the same kind and signature
//	pass        the target was seen to run and pass, or the command succeeded
//	            and its output shows that something ran but names no tests
//	other       the command failed, and not (or not visibly) for that reason
//	untestable  nothing was learnt: it did not build, the test is not there, no
//	            test ran, a dependency, a program or the machine was missing
//
// exit is the command's exit code, negative when a signal ended it. output may
// be cut; rep should come from Parse over all of it. The reason is one line,
// empty when the outcome is plain.
//
// A command that exits with 0 while the runner's own results say that the
// target failed, and never that it passed, is a fail: pipelines hide exit
// codes. A command that fails while the target passed is a pass only if
// another failure is named; else the run may have died in the target's
// clean-up, and the outcome is other.
func Judge(t session.Target, exit int, timedOut bool, rep session.TestReport, output string) (session.Outcome, string) {
	j := judge{t: t, exit: exit, timedOut: timedOut, rep: rep, output: output}
	if len(t.Tests) > 0 {
		return j.tests()
	}
	return j.command()
}

type judge struct {
	t        session.Target
	exit     int
	timedOut bool
	rep      session.TestReport
	output   string
}

// tests judges a target that names tests.
func (j judge) tests() (session.Outcome, string) {
	failed, passed := j.targetFailed(), j.targetPassed()
	switch {
	case failed != nil && (j.exit != 0 || j.timedOut || !passed):
		if failed.Kind == session.KindEnvironment {
			return session.Untestable, "the machine, not the code: " + firstLine(failed.Message)
		}
		if len(j.t.Tests) == 1 && j.t.Signature != "" && failed.Test == j.t.Tests[0] && !j.same(*failed) && failed.Message != "" {
			return session.FailedSame, "the same test, with another message: " + firstLine(failed.Message)
		}
		return session.FailedSame, ""
	case j.timedOut:
		if j.t.Kind == session.KindTimeout {
			return session.FailedSame, "timed out"
		}
		return session.FailedElse, "timed out before the result of " + j.name()
	case j.exit == 0:
		return j.succeeded(passed)
	}
	// The command failed, and not by a failure of the target.
	if passed {
		if other := j.otherTest(); other != "" {
			return session.Passed, "another failed: " + other
		}
		return session.FailedElse, fmt.Sprintf("%s passed, and the command failed with exit code %d", j.name(), j.exit)
	}
	if outcome, reason, ok := j.blocked(); ok {
		return outcome, reason
	}
	if f := j.parentFailed(); f != nil {
		return session.FailedElse, fmt.Sprintf("%s failed before %s ran: %s", f.Test, j.name(), firstLine(f.Message))
	}
	if other := j.otherTest(); other != "" {
		return session.FailedElse, "another failed, and " + j.name() + " was not seen to run: " + other
	}
	if j.rep.NoTests || noTests(j.output) {
		return session.Untestable, "no test ran: " + j.name() + " is not there"
	}
	if len(j.rep.Failures) > 0 {
		return session.FailedElse, j.rep.Failures[0].ID() + ": " + firstLine(j.rep.Failures[0].Message)
	}
	return session.FailedElse, fmt.Sprintf("exit code %d, and the output names no failure", j.exit)
}

// succeeded judges exit code 0 for a target that names tests.
func (j judge) succeeded(passed bool) (session.Outcome, string) {
	switch {
	case passed:
		return session.Passed, ""
	case j.rep.NoTests, noTests(j.output):
		return session.Untestable, "no test ran: " + j.name() + " is not there"
	case len(j.rep.Passed) > 0:
		return session.Untestable, j.name() + " did not run, others did"
	case j.rep.NSkip > 0 && j.rep.NPassed == 0:
		return session.Untestable, j.name() + " was skipped"
	case j.rep.Framework == "" && strings.TrimSpace(j.output) == "":
		return session.Passed, "exit code 0 without output"
	}
	return session.Passed, "exit code 0; the output names no tests"
}

// command judges a target without tests: a build or lint failure, a crash, or
// a command of which nothing more is known.
func (j judge) command() (session.Outcome, string) {
	if j.timedOut {
		if j.t.Kind == session.KindTimeout {
			return session.FailedSame, "timed out"
		}
		return session.FailedElse, "timed out"
	}
	if j.exit == 0 {
		if j.rep.NoTests || noTests(j.output) {
			return session.Untestable, "no test ran"
		}
		return session.Passed, ""
	}
	for _, f := range j.rep.Failures {
		if j.same(f) {
			return session.FailedSame, ""
		}
	}
	if j.t.Kind == "" && j.t.Signature == "" {
		if outcome, reason, ok := j.blocked(); ok {
			return outcome, reason
		}
		return session.FailedSame, fmt.Sprintf("exit code %d", j.exit)
	}
	if j.t.Kind == session.KindCommand || j.t.Kind == "" {
		f := CommandFailure(j.exit, j.timedOut, j.output)
		if j.t.Signature == "" || f.Signature == j.t.Signature {
			if outcome, reason, ok := j.blocked(); ok {
				return outcome, reason
			}
			return session.FailedSame, ""
		}
	}
	if outcome, reason, ok := j.blocked(); ok {
		return outcome, reason
	}
	if len(j.rep.Failures) > 0 {
		f := j.rep.Failures[0]
		return session.FailedElse, f.ID() + ": " + firstLine(f.Message)
	}
	return session.FailedElse, fmt.Sprintf("exit code %d with another message", j.exit)
}

// same reports whether a failure is the target's, when that names no test.
func (j judge) same(f session.Failure) bool {
	if j.t.Kind != "" && f.Kind != j.t.Kind || !samePackage(j.t.Package, f.Package) {
		return false
	}
	if j.t.Signature == "" {
		return j.t.Kind != ""
	}
	sig := f.Signature
	if sig == "" {
		sig = Signature(f)
	}
	return sig == j.t.Signature
}

// blocked finds what keeps the target from being tested at all, when the
// target itself is not of that kind.
func (j judge) blocked() (session.Outcome, string, bool) {
	if j.exit == 127 || j.exit == 126 && strings.Contains(j.output, "ermission denied") {
		return session.Untestable, "command not found: " + lastLineOf(j.output), true
	}
	for _, f := range j.rep.Failures {
		if f.Kind == j.t.Kind && (len(j.t.Tests) == 0 || f.Test != "") {
			continue
		}
		if f.Package != "" && j.t.Package != "" && f.Kind == session.KindBuild && !samePackage(j.t.Package, f.Package) && j.othersRan() {
			continue // another package's; the target's may have run
		}
		switch f.Kind {
		case session.KindBuild:
			return session.Untestable, "does not build: " + place(f) + firstLine(f.Message), true
		case session.KindLint:
			if len(j.t.Tests) > 0 && f.Framework == frameworkGo {
				return session.Untestable, "does not pass go vet: " + place(f) + firstLine(f.Message), true
			}
		case session.KindDependency:
			return session.Untestable, "a dependency is missing: " + firstLine(f.Message), true
		case session.KindEnvironment:
			return session.Untestable, "the machine, not the code: " + firstLine(f.Message), true
		case session.KindCancelled:
			return session.Untestable, "cancelled", true
		}
	}
	if phrase := setupError(j.output); phrase != "" && len(j.rep.Passed) == 0 && j.otherTest() == "" {
		return session.Untestable, phrase, true
	}
	return "", "", false
}

// othersRan reports whether any test of the target's package was seen.
func (j judge) othersRan() bool {
	for _, f := range j.rep.Failures {
		if f.Test != "" && samePackage(j.t.Package, f.Package) {
			return true
		}
	}
	return false
}

// targetFailed is the failure of one of the target's tests.
func (j judge) targetFailed() *session.Failure {
	for i, f := range j.rep.Failures {
		if f.Test == "" || !samePackage(j.t.Package, f.Package) {
			continue
		}
		for _, name := range j.t.Tests {
			if sameTest(name, f) || isBelow(f.Test, name) {
				return &j.rep.Failures[i]
			}
		}
	}
	return nil
}

// targetPassed reports whether one of the target's tests was seen to pass.
func (j judge) targetPassed() bool {
	for _, id := range j.rep.Passed {
		for _, name := range j.t.Tests {
			if passedID(id, j.t.Package, name) {
				return true
			}
		}
	}
	return false
}

// parentFailed is the failure of a test that the target is a subtest of.
func (j judge) parentFailed() *session.Failure {
	for i, f := range j.rep.Failures {
		for _, name := range j.t.Tests {
			if f.Test != "" && samePackage(j.t.Package, f.Package) && isBelow(name, f.Test) {
				return &j.rep.Failures[i]
			}
		}
	}
	return nil
}

// otherTest names a failed test that is not the target's, nor its parent.
func (j judge) otherTest() string {
	for _, f := range j.rep.Failures {
		if f.Test == "" {
			continue
		}
		own := false
		for _, name := range j.t.Tests {
			own = own || samePackage(j.t.Package, f.Package) && (sameTest(name, f) || isBelow(f.Test, name))
		}
		if !own {
			return f.ID()
		}
	}
	return ""
}

func (j judge) name() string {
	if n := len(j.t.Tests); n > 1 {
		return fmt.Sprintf("%s and %d more", j.t.Tests[0], n-1)
	}
	return j.t.Tests[0]
}
