package pipeline

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"culprit/internal/session"
	"culprit/internal/toolchain"
	"culprit/internal/workflow"
)

// recipes reads from the failing commit's workflow files what CI did up to the
// step that failed (QD3). Without workflow files, or without a job that may be
// meant, there are none, and the toolchains' own commands are all there is.
func (e *env) recipes(ctx context.Context, files []string, tests func(workflow.Step) bool) ([]workflow.Recipe, error) {
	s := e.s
	if !slices.ContainsFunc(files, func(f string) bool { return strings.HasPrefix(f, ".github/workflows/") }) {
		return nil, nil
	}
	var failed error
	q := workflow.Query{
		Files: files, Job: s.Flags.Job, IsTest: tests,
		Read: func(name string) ([]byte, error) {
			data, err := e.Workspace.Show(ctx, s.Bad.SHA, name)
			if err != nil && ctx.Err() != nil {
				failed = err
			}
			return data, err
		},
		Commit: s.Bad.SHA, Branch: s.Source.Ref, PullRequest: s.Source.PR,
		GitHub: map[string]string{"repository": s.Source.Repository, "actor": s.Source.Actor},
	}
	if owner, _, ok := strings.Cut(s.Source.Repository, "/"); ok {
		q.GitHub["repository_owner"] = owner
	}
	if e.Machine != nil {
		q.Here = e.Machine(ctx)
	}
	for _, f := range s.Symptom.Failures {
		if q.Command == "" && f.Command != "" {
			q.Command = f.Command
		}
	}
	if j := redJob(s); q.Job == "" {
		q.Job, q.Workflow, q.Steps, q.Event = j.Name, j.Workflow, j.Steps, j.Event
	} else if i := slices.IndexFunc(s.Symptom.Jobs, func(j session.CIJob) bool { return strings.EqualFold(j.Name, q.Job) }); i >= 0 {
		q.Event = s.Symptom.Jobs[i].Event // another job may have been started by another event
	}
	found, problems := workflow.Find(q)
	if failed != nil {
		return nil, fmt.Errorf("read workflow: %w", failed)
	}
	if len(found) == 0 && len(problems) > 0 {
		found = []workflow.Recipe{{Job: q.Job, Why: "what CI does is not known"}}
	}
	for i := range found {
		found[i].Differences = append(found[i].Differences, problems...)
	}
	return found, nil
}

// redJob is the job of CI that the leading failure was seen in. A log that names
// its job and step on every line (gh run view --log) tells it too.
func redJob(s *session.Session) session.CIJob {
	if len(s.Symptom.Failures) > 0 {
		step := s.Symptom.Failures[0].Step
		for _, j := range s.Symptom.Jobs {
			if step == j.Name || strings.HasPrefix(step, j.Name+" / ") {
				return j
			}
		}
		if i := strings.LastIndex(step, " / "); i > 0 && len(s.Symptom.Jobs) == 0 {
			return session.CIJob{Name: step[:i], Steps: []string{step[i+3:]}}
		}
	}
	if len(s.Symptom.Jobs) > 0 {
		return s.Symptom.Jobs[0]
	}
	return session.CIJob{}
}

// ciPlans are the ways that follow a CI job, the smallest command first: each
// failure that is named, alone, with the job's flags and environment; then the
// job's own command. Where its set-up does not work here, the toolchain's is
// tried with the same commands.
func ciPlans(s *session.Session, recipe *workflow.Recipe, script func(string, string, []string) (toolchain.Script, bool), kits []toolchain.Kit) []plan {
	if recipe.Test == nil {
		return nil
	}
	test := *recipe.Test
	var plans []plan
	var steps []string
	for _, st := range recipe.Setup {
		steps = append(steps, stepCommand(st))
	}
	// The toolchains' ways in CI's environment: CI's program may have another
	// name here, or be a tool of its own.
	own := make([]toolchain.Kit, len(kits))
	for i, k := range kits {
		own[i] = k.With(test.Env)
	}
	kit, whole := toolchain.Kit{Name: "command"}, stepCommand(test)
	ways := [][]toolchain.Kit{own}
	if sc, ok := script(test.Run, test.Dir, test.Env); ok && test.Shell != "python" {
		kit, whole = sc.Test, sc.Test.Suite
		steps = append(steps, sc.Before...)
		ways = [][]toolchain.Kit{{kit}, own}
	}
	kits = ways[0]
	setups := func(k toolchain.Kit) []string {
		theirs := strings.Join(distinctSteps(k, steps), "\n")
		if theirs == "" || theirs == k.Setup {
			return []string{k.Setup}
		}
		return []string{theirs, k.Setup}
	}
	for i := range s.Symptom.Failures {
		f := &s.Symptom.Failures[i]
		for _, way := range ways {
			for _, k := range way {
				if cmd, ok := k.One(*f); ok && len(plans) < 4 {
					for _, setup := range setups(k) {
						plans = append(plans, plan{command: cmd, kit: k, known: f, alone: true, setup: setup, recipe: recipe})
					}
					break
				}
			}
		}
	}
	if len(s.Symptom.Failures) > 0 && s.Symptom.Failures[0].Test != "" && kit.Name == "command" {
		// The job's own command is not taken apart: it has to show the failure
		// that is named, not any.
		f := &s.Symptom.Failures[0]
		for _, setup := range setups(nearest(kits)) {
			plans = append(plans, plan{command: whole, kit: nearest(kits), known: f, setup: setup, recipe: recipe})
		}
		return plans
	}
	if kit.Name == "command" {
		kit.Suite, kit.Setup = whole, nearest(kits).Setup
	}
	for _, setup := range setups(kit) {
		plans = append(plans, plan{command: whole, kit: kit, setup: setup, recipe: recipe})
	}
	return plans
}

func nearest(kits []toolchain.Kit) toolchain.Kit {
	if len(kits) == 0 {
		return toolchain.Kit{Name: "command"}
	}
	return kits[0]
}

// distinctSteps are CI's steps, behind the toolchain's own set-up where none of
// them fetches the dependencies: CI's tests may fetch them, those here may not.
func distinctSteps(k toolchain.Kit, steps []string) []string {
	if k.Setup == "" || slices.ContainsFunc(steps, fetches) || slices.Contains(steps, k.Setup) {
		return steps
	}
	if len(steps) == 0 {
		return nil
	}
	return append([]string{k.Setup}, steps...)
}

// fetches reports whether a command installs dependencies.
func fetches(command string) bool {
	for _, w := range [...]string{
		"npm ci", "npm install", "npm i ", "yarn", "pnpm i", "bun i", "pip install", "pip3 install", "uv sync", "uv pip", "poetry install", "pipenv install",
		"go mod download", "go get", "go build", "cargo fetch", "cargo build", "mvn ", "mvnw", "gradle", "bundle install", "composer install",
	} {
		if strings.Contains(command+" ", w) {
			return true
		}
	}
	return false
}

// stepCommand is a step of CI as one command for the repository's root: its
// folder, its variables, and its script as the runner's shell takes it.
func stepCommand(st workflow.Step) string {
	var b strings.Builder
	if st.Dir != "." && st.Dir != "" {
		dir := st.Dir
		if strings.HasPrefix(dir, "-") {
			dir = "./" + dir
		}
		b.WriteString("cd " + toolchain.Quote(dir) + " && ")
	}
	if plainCommand(st) {
		if b.Len()+len(st.Env) == 0 {
			return strings.TrimSpace(st.Run)
		}
		for _, kv := range st.Env {
			name, value, _ := strings.Cut(kv, "=")
			b.WriteString(name + "=" + toolchain.Quote(value) + " ")
		}
		return "(" + b.String() + strings.TrimSpace(st.Run) + ")"
	}
	if len(st.Env) > 0 {
		b.WriteString("env ")
		for _, kv := range st.Env {
			b.WriteString(toolchain.Quote(kv) + " ")
		}
	}
	shell := "bash -e -o pipefail -c "
	switch st.Shell {
	case "sh":
		shell = "sh -e -c "
	case "python":
		shell = "python3 -c "
	}
	return "(" + b.String() + shell + toolchain.Quote(st.Run) + ")"
}

// plainCommand reports whether a script is one simple command, before which
// variables can be written.
func plainCommand(st workflow.Step) bool {
	run := strings.TrimSpace(st.Run)
	first, _, _ := strings.Cut(run, " ")
	return st.Shell != "python" && !strings.ContainsAny(run, "\n;&|(){}<>`$\"'\\#!*?[~") && !strings.Contains(first, "=") && !slices.Contains([]string{
		"if", "for", "while", "until", "case", "set", "cd", "export", "source", ".", "trap", "exec", "eval", "function", "time",
	}, first)
}

// follow notes in the session which job of CI a plan follows, and what differs
// here from it.
func (e *env) follow(p plan) {
	r := e.s.Reproduction
	r.CI = nil
	if p.recipe == nil || p.recipe.Test == nil {
		return
	}
	r.CI = &session.Followed{Workflow: p.recipe.Workflow, Job: p.recipe.Job, Step: p.recipe.Test.Name, Guessed: p.recipe.Guessed}
	r.Differences = slices.Clone(p.recipe.Differences)
}

// differences of the job that is meant, when no plan of it was reached.
func differences(recipes []workflow.Recipe) []session.Difference {
	for _, x := range recipes {
		if !x.Guessed {
			return x.Differences
		}
	}
	return nil
}

// cannot is the reason why the failure does not show here, when what differs
// gives one: "not reproducible here, because …".
func cannot(recipes []workflow.Recipe, diffs []session.Difference) string {
	var because []string
	for _, x := range recipes {
		if !x.Guessed && x.Why != "" {
			because = append(because, x.Why)
			break
		}
	}
	for _, d := range diffs {
		if d.Blocks && d.Kind != session.DiffAction && len(because) < 3 { // an action is the reason above
			because = append(because, "there is "+d.There+" in CI, and here "+d.Here)
		}
	}
	return strings.Join(because, "; ")
}

// scripts is the reader of CI's scripts for a tree, and the test for those that
// run tests.
func scripts(t fs.FS) (func(string, string, []string) (toolchain.Script, bool), func(workflow.Step) bool) {
	read := toolchain.Scripts(t)
	return read, func(st workflow.Step) bool {
		_, ok := read(st.Run, st.Dir, nil)
		return ok
	}
}
