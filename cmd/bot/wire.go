package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"culprit/internal/checkout"
	"culprit/internal/evidence"
	"culprit/internal/experiment"
	"culprit/internal/sandbox"
	"culprit/internal/session"
	"culprit/internal/toolchain"
	"culprit/pipeline"
)

// workspace plugs a mirror into the pipeline and the experiments.
type workspace struct{ *checkout.Mirror }

var (
	_ pipeline.Workspace    = workspace{}
	_ experiment.History    = workspace{}
	_ experiment.Trees      = workspace{}
	_ pipeline.Runner       = runner{}
	_ pipeline.GoodFinder   = runner{}
	_ pipeline.Investigator = (*experiment.Investigator)(nil)
	_ pipeline.Fixer        = fixer{}
	_ pipeline.Store        = (*session.Folder)(nil)
)

func (w workspace) Log(ctx context.Context, rev string, o pipeline.LogOptions) ([]session.Commit, error) {
	return w.Mirror.Log(ctx, rev, checkout.LogOptions{FirstParent: o.FirstParent, Paths: o.Paths, Limit: o.Limit})
}

// Diff is how the experiments take a change apart: as fine as git can, with
// renames found and everything named in full.
func (w workspace) Diff(ctx context.Context, from, to string) ([]byte, error) {
	return w.Mirror.Diff(ctx, from, to, checkout.DiffOptions{})
}

func (w workspace) Touching(ctx context.Context, rev string, paths []string, limit int) ([]session.Commit, error) {
	return w.Mirror.Log(ctx, rev, checkout.LogOptions{Paths: paths, Limit: limit})
}

func (w workspace) Tree(ctx context.Context) (experiment.Tree, error) { return w.Mirror.Tree(ctx) }

// Resolve turns an unknown revision into an error that says what to do.
func (w workspace) Resolve(ctx context.Context, rev string) (session.Commit, error) {
	c, err := w.Mirror.Resolve(ctx, rev)
	if errors.Is(err, checkout.ErrUnknownRevision) {
		return c, &session.UserError{
			Code: "unknown-revision", What: fmt.Sprintf("revision %q is not in this repository", rev),
			Do: "check its spelling with git log; in a shallow clone run git fetch --unshallow", Err: err,
		}
	}
	return c, err
}

// runner plugs the lab into the pipeline.
type runner struct{ *experiment.Lab }

func (r runner) Reproduction(ctx context.Context, s *session.Session) (session.Trial, error) {
	return experiment.Reproduction(ctx, r.History, s)
}

func (r runner) FindGood(ctx context.Context, s *session.Session) (session.Archaeology, error) {
	a, err := experiment.FindGood(ctx, r.Lab, s)
	if bad := (*experiment.GoodFailsError)(nil); errors.As(err, &bad) {
		return a, &session.UserError{Code: "good-fails", What: bad.Error(), Err: err}
	}
	if err != nil || s.Mode == session.Quick {
		return a, err
	}
	if was := s.Archaeology; was != nil && was.Coverage != "" {
		a.Suspicious, a.Coverage = was.Suspicious, was.Coverage
		return a, nil
	}
	a.Suspicious, a.Coverage, err = r.Suspicious(ctx, s)
	return a, err
}

// fixer plugs the revert fixer into the pipeline.
type fixer struct {
	*experiment.Fixer
	lab *experiment.Lab
}

func (f fixer) Necessity(ctx context.Context, fix session.Fix, t session.Trial, n int) ([]session.Necessity, error) {
	return f.lab.Necessity(ctx, fix, t, n)
}

func (f fixer) Compose(ctx context.Context, base string, edits []session.Edit, words session.Fix) (session.Fix, error) {
	fix, err := f.lab.Render(ctx, base, edits, words.Task, words.Strategy, words.Summary)
	if err != nil {
		return session.Fix{}, err
	}
	return *fix, nil
}

// language is what the experiments know about test runners.
func language(p *project) experiment.Language {
	return experiment.Language{
		Parse: func(output string) session.TestReport {
			// A string has no read errors.
			report, _ := evidence.Parse(strings.NewReader(output), evidence.Options{Files: p.place})
			return report
		},
		Judge: evidence.Judge,
		Adapt: func(t session.Trial, old, newer experiment.Snapshot) ([]session.Edit, string) {
			edits, note, _ := toolchain.Adapt(toolchain.FS(old.Files, old.Read), toolchain.FS(newer.Files, newer.Read), p.kit())
			alone, isolated, ok := toolchain.Isolate(t.Edits, t.Target.Tests)
			if ok {
				edits, note = append(edits, alone...), strings.TrimPrefix(note+"; "+isolated, "; ")
			}
			return edits, note
		},
		Setup: func(setup string, old experiment.Snapshot) string {
			kit := p.kit()
			if setup != kit.Setup {
				return setup // a person's own
			}
			at, _ := kit.At(toolchain.FS(old.Files, old.Read))
			return at.Setup
		},
		Shuffled: func(command string) (string, bool) { return p.kit().Shuffled(command) },
		Race:     func(command string) (string, bool) { return p.kit().Race(command) },
		Cover: func(f session.Failure) (string, func(string) toolchain.Coverage, bool) {
			command, ok := p.kit().Cover(f)
			return command, p.kit().ReadCoverage, ok
		},
		Some:       func(tests []session.Failure) (string, bool) { return p.kit().Some(tests) },
		Concurrent: toolchain.Concurrent,
		IsTestFile: toolchain.IsTestFile,
		IsLockFile: func(path string) bool { return toolchain.IsLockFile(path) || toolchain.IsModuleFile(path) },
	}
}

// executor runs the lab's commands in the sandbox, with the repository's own
// caches.
type executor struct {
	box    sandbox.Sandbox
	caches string // folder of this repository's build and download caches
	// ownCode, when set, is the Go build cache of whoever runs this program, to
	// be used instead: for code of our own only, since what runs can write it.
	ownCode string
}

var _ experiment.Executor = executor{}

// cacheFolders are the writable folders that builds share between runs of one
// repository, never between repositories, and the variable that names each.
var cacheFolders = []struct{ name, variable string }{
	{"go-build", "GOCACHE"},
	{"go-mod", "GOMODCACHE"},
	{"npm", "npm_config_cache"},
	{"pip", "PIP_CACHE_DIR"},
	{"cargo", "CARGO_HOME"},
}

func (e executor) cache(name string) string {
	if name == "go-build" && e.ownCode != "" {
		return e.ownCode
	}
	return filepath.Join(e.caches, name)
}

func (e executor) Execute(ctx context.Context, x experiment.Execution) (experiment.Executed, error) {
	var out bytes.Buffer // the sandbox caps it
	cmd := sandbox.Command{Script: x.Script, Dir: x.Dir, Env: map[string]string{}, Network: x.Network, Timeout: x.Timeout, Output: &out}
	for _, c := range cacheFolders {
		host := e.cache(c.name)
		if err := os.MkdirAll(host, 0o755); err != nil {
			return experiment.Executed{}, fmt.Errorf("make cache folder: %w", err)
		}
		cmd.Binds = append(cmd.Binds, sandbox.Bind{Host: host, Inside: "/cache/" + c.name, Writable: true})
	}
	for _, c := range cacheFolders {
		cmd.Env[c.variable] = e.box.Inside(cmd, e.cache(c.name))
	}
	if !x.Network {
		// Without a network a download would only fail later and less clearly.
		cmd.Env["GOPROXY"] = "off"
	}
	for _, kv := range x.Env {
		name, value, _ := strings.Cut(kv, "=")
		cmd.Env[name] = value
	}
	res, err := e.box.Run(ctx, cmd)
	if err != nil {
		return experiment.Executed{}, err
	}
	return experiment.Executed{Exit: res.Exit, TimedOut: res.TimedOut, Limit: res.Limit, Duration: res.Duration, Output: out.String()}, nil
}

// labOptions for a session.
func labOptions(s *session.Session, seen func(session.Trial, session.Observation)) experiment.Options {
	o := experiment.Options{
		Parallel: min(s.Flags.Concurrency, max(2, runtime.NumCPU())), MaxRuns: s.Flags.MaxRuns, MaxTime: 0,
		Timeout: s.Flags.RunTimeout, Seen: seen,
	}
	if o.MaxRuns == 0 {
		o.MaxRuns = pipeline.DefaultMaxRuns
	}
	return o
}
