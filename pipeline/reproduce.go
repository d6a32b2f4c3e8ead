package pipeline

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"culprit/internal/evidence"
	"culprit/internal/experiment/rate"
	"culprit/internal/report"
	"culprit/internal/session"
	"culprit/internal/toolchain"
	"culprit/internal/workflow"
)

// plan is one way to make the failure appear.
type plan struct {
	command string
	kit     toolchain.Kit
	known   *session.Failure // the failure that is expected, when one is named
	alone   bool
	setup   string           // where the session's flags give none
	recipe  *workflow.Recipe // of the CI job that it follows, if any
}

// reproduce makes the failure happen here, by the smallest command that shows
// it, says how often it happens, and writes repro.sh (DB3).
func reproduce(ctx context.Context, e *env) (Outcome, error) {
	s := e.s
	files, err := e.Workspace.List(ctx, s.Bad.SHA)
	if err != nil {
		return nil, err
	}
	t := toolchain.FS(files, func(name string) ([]byte, error) { return e.Workspace.Show(ctx, s.Bad.SHA, name) })
	place(s.Symptom.Failures, t)
	script, tests := scripts(t)
	recipes, err := e.recipes(ctx, files, tests)
	if err != nil {
		return nil, err
	}
	plans := plansFor(s, t, toolchain.Detect(t, s.Symptom.Failures), recipes, script)
	if why := cannot(recipes, differences(recipes)); len(plans) == 0 && why != "" {
		s.Reproduction = &session.Reproduction{Differences: differences(recipes)}
		s.Reproduction.Why = notHere(why, "no command is known that shows the failure here")
		return Stop{session.ResultNotReproduced, s.Reproduction.Why}, nil
	}
	if len(plans) == 0 && e.People != nil {
		return Ask{
			Result: session.ResultNotReproduced, Why: "no test command is known for this repository",
			Question: e.question(session.AsksTest, "Which command shows the failure? It is run by a shell in the repository's root.", "'COMMAND'", ""),
		}, nil
	}
	if len(plans) == 0 {
		return nil, &session.UserError{
			Code: "no-test-command", What: "no test command is known for this repository",
			Do: "give one with --test 'CMD'",
		}
	}
	s.Reproduction = &session.Reproduction{Setup: s.Flags.Setup, Overlay: s.Flags.Overlay}
	var last session.Observation
	likely, runs := -1, false // the first plan that ran its test, which may fail another time
	for i, p := range plans {
		e.follow(p)
		obs, done, err := e.attempt(ctx, files, p)
		if err != nil {
			return nil, err
		}
		if done {
			if c := s.Reproduction.CI; c != nil && c.Guessed {
				e.note("which job of CI failed is not said: the reproduction does as job %s of %s", c.Job, c.Workflow)
			}
			return e.classify(ctx, e.limits.repeats)
		}
		if likely < 0 && p.known != nil && obs.Outcome != session.Untestable {
			likely, runs = i, true
		}
		last = obs
	}
	if likely < 0 { // the command that was given, as it is
		likely = max(0, slices.IndexFunc(plans, func(p plan) bool { return s.Flags.Test != "" && p.command == s.Flags.Test }))
	}
	return e.seldom(ctx, files, plans[likely], runs, last, recipes)
}

// place maps the files that a log names to paths of the repository.
func place(failures []session.Failure, t fs.FS) {
	find := toolchain.Files(t)
	for i := range failures {
		if p, ok := find(failures[i].File); ok {
			failures[i].File = p
		}
	}
}

// plansFor lists the ways, in the order of trust: the command that a person or
// the repository's settings give, what CI did, what the toolchains would do;
// in each the most specific first: the failures that are named, each alone, then
// the command as it is.
func plansFor(s *session.Session, t fs.FS, kits []toolchain.Kit, recipes []workflow.Recipe, script func(string, string, []string) (toolchain.Script, bool)) []plan {
	var plans []plan
	if s.Flags.Test != "" {
		given, known := toolchain.FromCommand(s.Flags.Test, t)
		if !known {
			given = toolchain.Kit{Name: "command", Suite: s.Flags.Test}
		}
		plans = append(named(s, []toolchain.Kit{given}), plan{command: s.Flags.Test, kit: given, setup: given.Setup})
		for i := range recipes {
			if x := &recipes[i]; known && x.Test != nil && len(x.Test.Env) > 0 {
				with := given.With(x.Test.Env)
				more := append(named(s, []toolchain.Kit{with}), plan{command: with.Suite, kit: with, setup: with.Setup})
				for j := range more {
					more[j].recipe = x
				}
				plans = append(plans, more...)
			}
		}
		return different(plans)
	}
	for i := range recipes {
		plans = append(plans, ciPlans(s, &recipes[i], script, kits)...)
	}
	plans = append(plans, named(s, kits)...)
	for _, k := range kits {
		if k.Suite != "" {
			plans = append(plans, plan{command: k.Suite, kit: k, setup: k.Setup})
		}
	}
	return different(plans)
}

// named are the plans that run a failure alone.
func named(s *session.Session, kits []toolchain.Kit) (plans []plan) {
	for i := range s.Symptom.Failures {
		f := &s.Symptom.Failures[i]
		for _, k := range kits {
			if cmd, ok := k.One(*f); ok && len(plans) < 3 {
				plans = append(plans, plan{command: cmd, kit: k, known: f, alone: true, setup: k.Setup})
				break
			}
		}
	}
	return plans
}

// different leaves out what was in the list before.
func different(plans []plan) []plan {
	type key struct {
		command, setup string
		known          *session.Failure
	}
	seen := map[key]bool{}
	return slices.DeleteFunc(plans, func(p plan) bool {
		k := key{p.command, p.setup, p.known}
		was := seen[k]
		seen[k] = true
		return was
	})
}

// attempt runs a plan once. When it fails for the expected reason, the session
// has its reproduction, narrowed to the one test where that shows the same.
func (e *env) attempt(ctx context.Context, files []string, p plan) (session.Observation, bool, error) {
	if err := e.point(ctx, p); err != nil {
		return session.Observation{}, false, err
	}
	obs, err := e.Runner.Run(ctx, e.trial("reproduce"))
	if err != nil {
		return obs, false, err
	}
	if obs.Exit == 127 && e.s.Flags.Test != "" && p.known == nil && len(obs.Report.Failures) <= 1 {
		return obs, false, &session.UserError{
			Code: "test-command-missing", What: fmt.Sprintf("the test command %q does not exist in the sandbox", e.s.Flags.Test),
			Do: "check the command and its PATH; programs under a home folder are not visible in the sandbox",
		}
	}
	if p.recipe != nil && unprepared(obs) {
		e.decide("reproduce", "the set-up of CI job %s does not work here: %s", p.recipe.Job, obs.Reason)
		d := session.Difference{Kind: session.DiffSetup, There: "the job's own set-up", Here: "it does not work: " + obs.Reason}
		if !slices.Contains(p.recipe.Differences, d) {
			p.recipe.Differences = append(p.recipe.Differences, d)
		}
		return obs, false, nil
	}
	if p.recipe != nil && p.known == nil && obs.Exit == 127 && len(obs.Report.Failures) <= 1 {
		e.decide("reproduce", "the command of CI job %s is not there here: %s", p.recipe.Job, lastLines(obs.Output, 1))
		return obs, false, nil
	}
	if obs.Exit == 0 || p.known != nil && obs.Outcome != session.FailedSame {
		return obs, false, nil
	}
	return obs, true, e.take(ctx, files, p, obs, 1)
}

// point makes a plan the session's reproduction, on trial.
func (e *env) point(ctx context.Context, p plan) error {
	r := e.s.Reproduction
	r.Command, r.Alone, r.Toolchain = p.command, p.alone, p.kit.Name
	if e.s.Flags.Setup == "" {
		r.Setup = p.setup
	}
	r.Suite = p.kit.Suite
	if p.known != nil {
		r.Target = targetOf(*p.known, []session.Failure{*p.known})
	} else {
		r.Target = session.Target{}
	}
	return e.rebase(ctx)
}

// take makes a run that failed the session's reproduction. tries is how often
// the test may be run alone before it counts as one that passes alone.
func (e *env) take(ctx context.Context, files []string, p plan, obs session.Observation, tries int) error {
	r := e.s.Reproduction
	lead, related := leading(obs, p)
	r.Failure = &lead
	r.Target = targetOf(lead, related)
	r.Overlay = e.overlay(files, p.kit, lead)
	r.Group, _ = p.kit.Group(lead)
	if p.alone {
		return nil
	}
	return e.narrow(ctx, p.kit, lead, tries)
}

// narrow replaces the command by one that runs the failing test alone, if that
// fails for the same reason.
func (e *env) narrow(ctx context.Context, kit toolchain.Kit, lead session.Failure, tries int) error {
	r := e.s.Reproduction
	alone, ok := kit.One(lead)
	if !ok || alone == r.Command {
		r.Alone = ok
		return nil
	}
	whole := r.Command
	r.Command, r.Alone = alone, true
	if err := e.rebase(ctx); err != nil {
		return err
	}
	var obs session.Observation
	for n := 0; n < tries && obs.Outcome != session.FailedSame; n++ {
		var err error
		if obs, err = e.Runner.Run(ctx, e.trial("reproduce alone")); err != nil {
			return err
		}
	}
	if obs.Outcome != session.FailedSame {
		e.decide("reproduce", "the test passes alone (%s); the whole command is the reproduction", obs.Outcome)
		r.Command, r.Alone = whole, false
	}
	return nil
}

// leading picks the failure that a run is about: one of the kind that is
// expected, else the first; and the failures that belong to it.
func leading(obs session.Observation, p plan) (session.Failure, []session.Failure) {
	fs := obs.Report.Failures
	if len(fs) == 0 {
		f := session.Failure{Kind: session.KindCommand, Command: p.command, Message: lastLines(obs.Output, 5)}
		f.Signature = evidence.Signature(f)
		return f, []session.Failure{f}
	}
	lead := fs[0]
	if p.known != nil {
		for _, f := range fs {
			if f.Test == p.known.Test {
				lead = f
				break
			}
		}
	}
	return lead, fs
}

// targetOf is what later runs are looked at for. Sibling subtests that fail
// with the lead (the same top-level test of the same package) count as the
// same failure.
func targetOf(lead session.Failure, all []session.Failure) session.Target {
	t := session.Target{Package: lead.Package, Kind: lead.Kind, Signature: lead.Signature}
	if lead.Test == "" {
		return t
	}
	t.Tests = []string{lead.Test}
	parent, _, _ := strings.Cut(lead.Test, "/")
	for _, f := range all {
		top, _, isSub := strings.Cut(f.Test, "/")
		if isSub && f.Test != lead.Test && top == parent && f.Package == lead.Package && lead.Test != parent {
			t.Tests = append(t.Tests, f.Test)
		}
	}
	return t
}

// overlay names the files that carry the reproduction to older commits.
func (e *env) overlay(files []string, kit toolchain.Kit, f session.Failure) []session.Overlay {
	out := e.s.Flags.Overlay
	if len(out) > 0 {
		return out
	}
	for _, file := range kit.TestFiles(f, files) {
		out = append(out, session.Overlay{Rev: e.s.Bad.SHA, Path: file})
	}
	return out
}

// rebase computes the reproduction's trial anew after its command, target or
// overlay changed.
func (e *env) rebase(ctx context.Context) (err error) {
	e.base, err = e.Runner.Reproduction(ctx, e.s)
	return err
}

// trial is the reproduction at the bad commit, with the reason why it is run.
func (e *env) trial(name string) session.Trial {
	t := e.base
	t.Name = name
	return t
}

// classify repeats the reproduction until it is known whether it fails every
// time, then writes repro.sh and runs it.
func (e *env) classify(ctx context.Context, runs int) (Outcome, error) {
	s, r := e.s, e.s.Reproduction
	if err := e.rebase(ctx); err != nil {
		return nil, err
	}
	trial := e.trial("reproduce")
	count, _, err := e.Runner.Repeat(ctx, trial, runs)
	if err != nil {
		return nil, err
	}
	if left := e.limits.flakyRuns - runs; count.Failures < count.Runs && left > 0 {
		more, _, err := e.Runner.Repeat(ctx, trial, left)
		if err != nil {
			return nil, err
		}
		count = sum(count, more)
	}
	return e.settle(ctx, count, s, r)
}

func (e *env) settle(ctx context.Context, count session.Count, s *session.Session, r *session.Reproduction) (Outcome, error) {
	r.Count = count
	r.Interval = rate.Interval(count)
	r.Reproduced = count.Failures > 0
	r.Flaky = r.Reproduced && count.Passes() > 0
	if !r.Reproduced {
		r.Why = seenOnce(count)
		return Stop{session.ResultNotReproduced, r.Why}, nil
	}
	if err := e.proveScript(ctx, "repro.sh", report.ReproScript(s), false); err != nil {
		return nil, err
	}
	e.discover(session.Discovery{TS: e.Clock.Now().UTC(), Worker: "reproduce", Type: "reproduction_path", Data: map[string]any{
		"trigger": r.Command, "steps": []string{"git checkout " + s.Bad.SHA, r.Command},
		"frequency": fmt.Sprintf("%d of %d runs", count.Failures, count.Runs),
	}})
	if r.Flaky {
		return Advance{fmt.Sprintf("flaky: %s fails %d of %d runs (95 %% interval %.0f–%.0f %%)", target(r), count.Failures, count.Runs, 100*r.Interval.Low, 100*r.Interval.High)}, nil
	}
	return Advance{fmt.Sprintf("%s fails %d of %d runs", target(r), count.Failures, count.Runs)}, nil
}

// seenOnce says what became of a failure that was seen a single time.
func seenOnce(again session.Count) string {
	switch {
	case again.Runs == 0 && again.Other > 0:
		return fmt.Sprintf("it failed once, and then in another way in %d of %d tries", again.Other, again.Other+again.Skipped)
	case again.Runs == 0:
		return fmt.Sprintf("it failed once, and then the test could not be run in any of %d tries", again.Skipped)
	}
	return fmt.Sprintf("it failed once and then passed %d of %d runs", again.Passes(), again.Runs)
}

// target names the failure for people.
func target(r *session.Reproduction) string {
	if len(r.Target.Tests) > 0 {
		return r.Target.Tests[0]
	}
	return r.Command
}

func sum(a, b session.Count) session.Count {
	return session.Count{Runs: a.Runs + b.Runs, Failures: a.Failures + b.Failures, Other: a.Other + b.Other, Skipped: a.Skipped + b.Skipped}
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
