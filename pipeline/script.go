package pipeline

import (
	"context"
	"fmt"

	"culprit/internal/session"
	"culprit/internal/toolchain"
)

// inPlace tells a script that it stands in a tree that is prepared already:
// the sandbox has no git in it, and the lab lays the tree out.
const inPlace = "CULPRIT_IN_PLACE=1"

// seenExit is how the scripts exit when the failure is there, for the same
// reason (package report).
const seenExit = 1

// proveScript stores a script in the session folder and runs that very text in
// the sandbox: repro.sh must exit non-zero at the bad commit (DB3), verify.sh
// zero with the fix and non-zero without it (DB6).
func (e *env) proveScript(ctx context.Context, name string, script []byte, verify bool) error {
	if err := e.Store.Write(name, script); err != nil {
		return err
	}
	run := func(t session.Trial) (session.Observation, error) {
		t.Name = name
		t.Command = inPlace + " sh -c " + toolchain.Quote(string(script)) + " " + name
		return e.Runner.Run(ctx, t)
	}
	if !verify {
		obs, err := e.until(run, func(o session.Observation) bool { return o.Exit == seenExit })
		if err != nil {
			return err
		}
		if obs.Exit != seenExit {
			return fmt.Errorf("run repro.sh: it exits %d where the failure was seen before, want %d: %s", obs.Exit, seenExit, lastLines(obs.Output, 5))
		}
		return nil
	}
	c := e.s.Confirmation
	before, err := e.until(func(session.Trial) (session.Observation, error) { return run(e.trial(name)) }, func(o session.Observation) bool { return o.Exit == seenExit })
	if err != nil {
		return err
	}
	after, err := run(e.patched(name, e.s.Fix.Edits))
	if err != nil {
		return err
	}
	c.VerifyRun, c.VerifyBefore, c.VerifyAfter = true, before.Exit, after.Exit
	return nil
}

// until runs the reproduction until it shows what is looked for: a flaky
// failure may need several runs.
func (e *env) until(run func(session.Trial) (session.Observation, error), shown func(session.Observation) bool) (obs session.Observation, err error) {
	most := 1
	if e.s.Reproduction.Flaky || e.s.Reproduction.Count.Passes() > 0 {
		most = e.limits.flakyRuns
	}
	for range most {
		if obs, err = run(e.trial("repro.sh")); err != nil || shown(obs) {
			return obs, err
		}
	}
	return obs, nil
}
