package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"culprit/internal/experiment/rate"
	"culprit/internal/patch"
	"culprit/internal/report"
	"culprit/internal/session"
	"culprit/internal/toolchain"
)

// confirm proves the fix by running both sides (CR13, DB6): the failing test
// fails without and passes with it, no hunk is dispensable, the wider suite
// has no new failure, and verify.sh says the same in the reader's hands.
func confirm(ctx context.Context, e *env) (Outcome, error) {
	s := e.s
	if err := e.restore(ctx); err != nil {
		return nil, err
	}
	why, err := e.prove(ctx)
	if err != nil {
		return nil, err
	}
	if why != "" {
		return e.unproven(why)
	}
	if err := e.better(ctx); err != nil {
		return nil, err
	}
	c := s.Confirmation
	s.Result = session.ResultFixed
	e.proved()
	e.discover(session.Discovery{TS: e.Clock.Now().UTC(), Worker: s.Fix.Task, Type: "fix_applied", Data: map[string]any{
		"location": s.Fix.Hunks[0].Location(), "description": s.Fix.Strategy,
	}})
	return Advance{fmt.Sprintf("fails %d/%d before, passes %d/%d after; %s", c.Before.Failures, c.Before.Runs, c.After.Passes(), c.After.Runs, suiteLine(c.Suite))}, nil
}

// prove runs both sides of the session's fix; why says what it does not hold
// against, and is empty when it is proven.
func (e *env) prove(ctx context.Context) (why string, err error) {
	s := e.s
	if bad := patch.Check(s.Fix.Hunks, patch.Policy{IsTestFile: toolchain.IsTestFile, Protected: s.Flags.Protected}); len(bad) > 0 {
		return "the patch is not allowed: " + bad[0].String(), nil
	}
	c := &session.Confirmation{Timestamp: e.Clock.Now().UTC().Format(time.RFC3339)}
	s.Confirmation = c
	without, with := e.trial("before the fix"), e.patched("after the fix", s.Fix.Edits)
	runs := e.proofRuns()
	// The runs of the reproduction are the runs without the fix: same commit,
	// same command. They are not paid twice.
	c.Before = s.Reproduction.Count
	if more := e.limits.proofs - c.Before.Runs; more > 0 {
		count, _, err := e.Runner.Repeat(ctx, without, more)
		if err != nil {
			return "", err
		}
		c.Before = sum(c.Before, count)
	}
	if c.After, _, err = e.Runner.Repeat(ctx, with, runs); err != nil {
		return "", err
	}
	switch {
	case c.Before.Failures == 0:
		return "the failure is not seen any more without the fix", nil
	case c.After.Runs < runs || c.After.Failures > 0:
		return fmt.Sprintf("with the fix the test passes only %d of %d runs", c.After.Passes(), runs), nil
	}
	if c.Necessity, err = e.Fixer.Necessity(ctx, *s.Fix, without, max(1, runs/2)); err != nil {
		return "", err
	}
	if c.Suite, err = e.suite(ctx); err != nil {
		return "", err
	}
	if len(c.Suite.NewFailures) > 0 {
		return "with the fix these tests fail that passed before: " + list(c.Suite.NewFailures), nil
	}
	if err := e.proveScript(ctx, "verify.sh", report.VerifyScript(s), true); err != nil {
		return "", err
	}
	if !c.VerifyRun || c.VerifyAfter != 0 || c.VerifyBefore != seenExit {
		return fmt.Sprintf("verify.sh exits %d with the fix and %d without it", c.VerifyAfter, c.VerifyBefore), nil
	}
	c.TestResult, c.Overall = "passed", "confirmed"
	return "", nil
}

// unproven rejects the fix and goes back for the next candidate; the runner
// ends the session with its cause and without a fix when the loops are used up.
func (e *env) unproven(why string) (Outcome, error) {
	s := e.s
	if s.Confirmation == nil {
		s.Confirmation = &session.Confirmation{Timestamp: e.Clock.Now().UTC().Format(time.RFC3339)}
	}
	if r := s.OpenRound(); r != nil {
		return e.notProved(r, why), nil
	}
	s.Confirmation.TestResult, s.Confirmation.Overall, s.Confirmation.Why = "failed", "needs_rework", why
	s.Rejected = append(s.Rejected, s.Fix.Digest())
	e.decide("confirm", "fix rejected (%s): %s", s.Fix.Strategy, why)
	row := s.Task(s.Fix.Task)
	row.FixResult, row.Verified, row.Error = session.FixFailed, "false", why
	if s.CrossPhaseLoops < s.MaxLoops {
		row.Status, row.FixResult, row.Verified = session.Pending, "", ""
	}
	return Rework{"fix", why}, nil
}

// patched is the reproduction with edits of a fix on top of the overlay.
func (e *env) patched(name string, edits []session.Edit) session.Trial {
	t := e.trial(name)
	t.Task = e.s.Fix.Task
	t.Edits = append(slices.Clone(t.Edits), edits...)
	return t
}

// proofRuns is how many runs without the failure prove that it is gone.
func (e *env) proofRuns() int { return max(e.limits.proofs, rate.RunsFor(failureRate(e.s), .99)) }

// failureRate of the reproduction, at least a value that bounds the proof.
func failureRate(s *session.Session) float64 {
	c := s.Reproduction.Count
	if c.Runs == 0 {
		return 1
	}
	return float64(c.Failures) / float64(c.Runs)
}

// restore makes the fix's content available again after a restart: the fixer
// is asked once more and answers from the recorded runs.
func (e *env) restore(ctx context.Context) error {
	s := e.s
	if s.Fix == nil || s.Fix.Edits != nil {
		return nil
	}
	if r := s.OpenRound(); r != nil && r.Way == session.BySuggestion {
		_, err := e.suggested(ctx, r)
		return err
	}
	again, err := e.again(ctx, *s.Fix)
	if err != nil {
		return fmt.Errorf("restore fix %s: %w", s.Fix.Task, err)
	}
	s.Fix, s.Fixes[s.Fix.Task] = again, again
	if r := s.OpenRound(); r != nil {
		return e.onTop(ctx, r)
	}
	return nil
}

// again asks the fixer for a fix once more. It must be the same: another one has
// no proof.
func (e *env) again(ctx context.Context, fix session.Fix) (*session.Fix, error) {
	row := e.s.Task(fix.Task)
	if row == nil {
		return nil, errors.New("its row is gone from tasks.csv")
	}
	got := e.Fixer.Fix(ctx, e.s, *row)
	spend(e.s, got.Spent)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if got.Fix == nil || got.Result != session.Fixed {
		return nil, fmt.Errorf("the recorded runs do not lead to it again: %s", got.Findings)
	}
	if !fix.Same(*got.Fix) {
		return nil, fmt.Errorf("the recorded runs lead to another one: %s", got.Fix.Strategy)
	}
	return got.Fix, nil
}

// suite compares the wider suite with and without the fix. A test that fails
// newly is run again before it counts: known flakes are told apart.
func (e *env) suite(ctx context.Context) (*session.SuiteComparison, error) {
	s := e.s
	cmp := &session.SuiteComparison{Command: s.Reproduction.Suite}
	if cmp.Command == "" {
		cmp.Note = "no command for the wider suite is known"
		e.note("the wider suite: %s", cmp.Note)
		return cmp, nil
	}
	// Each test of the suite counts by itself, so no target is looked for.
	whole := func(name string, edits []session.Edit) session.Trial {
		t := e.trial(name)
		t.Command, t.Target, t.Adapt = cmp.Command, session.Target{}, false
		t.Edits = append(slices.Clone(t.Edits), edits...)
		return t
	}
	before, err := e.Runner.Run(ctx, whole("suite before the fix", nil))
	if err != nil {
		return nil, err
	}
	after, err := e.Runner.Run(ctx, whole("suite after the fix", s.Fix.Edits))
	if err != nil {
		return nil, err
	}
	old, now := failing(before.Report), failing(after.Report)
	fresh := minus(now, old)
	if len(fresh) > 0 {
		again, err := e.Runner.Run(ctx, whole("suite after the fix", s.Fix.Edits))
		if err != nil {
			return nil, err
		}
		twice := failing(again.Report)
		fresh = slices.DeleteFunc(fresh, func(id string) bool { return !slices.Contains(twice, id) })
	}
	cmp.Passed, cmp.Failed, cmp.Baseline = after.Report.NPassed, len(now), len(old)
	cmp.NewFailures, cmp.Fixed = fresh, minus(old, now)
	switch {
	case after.Outcome == session.Untestable && len(now) == 0:
		cmp.Note = "the suite could not be run: " + after.Reason
	case after.TimedOut || before.TimedOut:
		cmp.Note = "the suite did not finish in time"
	case after.Exit != 0 && len(now) == 0:
		cmp.Note = "the suite's output names no failing test, but it exits " + fmt.Sprint(after.Exit)
	}
	if cmp.Note != "" {
		e.note("the wider suite: %s", cmp.Note)
	}
	return cmp, nil
}

func failing(r session.TestReport) []string {
	var ids []string
	for _, f := range r.Failures {
		if id := f.ID(); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// minus is the part of a that is not in b.
func minus(a, b []string) []string {
	var out []string
	for _, x := range a {
		if !slices.Contains(b, x) {
			out = append(out, x)
		}
	}
	return out
}

func suiteLine(c *session.SuiteComparison) string {
	if c.Note != "" {
		return c.Note
	}
	return fmt.Sprintf("%d tests pass, %d newly fail", c.Passed, len(c.NewFailures))
}
