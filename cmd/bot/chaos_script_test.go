package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"time"

	"culprit/internal/sandbox"
	"culprit/internal/session"
	"culprit/pipeline"
)

// A scripted investigation answers the pipeline's questions about runs from
// what the commit is known to hold, so that a session costs a tenth of a real
// one. All else is the product's: stages, waves, session folder, checkpoints,
// mirror, worktrees, sandbox, publisher, push.
type scripted struct {
	investigation
	workspace
	faults *faults
	idle   bool // it takes no time

	mu   sync.Mutex
	runs int
}

// What a job is to come to stands in its title or in the name of its branch.
const (
	endsFixed   = "fixed"
	endsCause   = "unfixable" // cause found, no fix
	endsUnknown = "unknown"   // no hypothesis holds
)

// The chaos project: one constant, and a test that wants it to be 42.
const (
	chaosGood  = "package m\n\nconst Answer = 42\n"
	chaosBad   = "package m\n\nconst Answer = 41\n"
	chaosTest  = "package m\n\nfunc TestAnswer() {}\n"
	chaosPatch = "diff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -1,3 +1,3 @@\n package m\n \n-const Answer = 41\n+const Answer = 42\n"
)

func (x *scripted) run(ctx context.Context) error {
	return pipeline.Run(ctx, x.session, pipeline.Deps{
		Workspace: x.workspace, Runner: x, History: x, Investigator: x, Fixer: x,
		Publisher: chaoticPublisher{x.publisher, x.faults}, Store: x.store, Clock: x.clock, Logs: x.logs, Progress: x.progress,
	})
}

// wants reports whether the job is to come to this end.
func (x *scripted) wants(end string) bool {
	return strings.Contains(x.session.Symptom.Title, end) || strings.Contains(x.session.Source.Ref, end)
}

// work takes some time: now and then as a command in a worktree, which a worker
// that dies must not leave behind.
func (x *scripted) work(ctx context.Context, most time.Duration) error {
	if x.idle {
		return ctx.Err()
	}
	d := time.Duration(rand.Int64N(int64(most)))
	if rand.IntN(8) > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	tree, err := x.mirror.Worktree(ctx, x.session.Bad.SHA)
	if err != nil {
		return err
	}
	res, err := x.box.Run(ctx, sandbox.Command{
		Dir: tree.Dir(), Script: fmt.Sprintf("test -f a.go && sleep %.3f", d.Seconds()), Timeout: time.Minute, Output: io.Discard,
	})
	if err == nil && res.Exit != 0 {
		err = fmt.Errorf("the worktree is not whole: exit %d", res.Exit)
	}
	return errors.Join(err, tree.Remove(context.WithoutCancel(ctx)))
}

func (x *scripted) Reproduction(_ context.Context, s *session.Session) (session.Trial, error) {
	r := s.Reproduction
	return session.Trial{Rev: s.Bad.SHA, Command: r.Command, Setup: r.Setup, Target: r.Target}, nil
}

// Run fails at the bad commit unless the fix is laid over it.
func (x *scripted) Run(ctx context.Context, t session.Trial) (session.Observation, error) {
	x.mu.Lock()
	x.runs++
	x.mu.Unlock()
	if err := x.work(ctx, 60*time.Millisecond); err != nil {
		return session.Observation{}, err
	}
	bad := t.Rev == x.session.Bad.SHA
	for _, e := range t.Edits {
		bad = bad && string(e.Content) != chaosGood
	}
	if !bad {
		return session.Observation{Outcome: session.Passed, Report: session.TestReport{Framework: "go test", NPassed: 1, Passed: []string{"m.example/m.TestAnswer"}}}, nil
	}
	o := session.Observation{Outcome: session.FailedSame, Exit: 1, Report: session.TestReport{Framework: "go test", Failures: []session.Failure{{
		Framework: "go test", Package: "m.example/m", Test: "TestAnswer", File: "a_test.go", Line: 3, Kind: session.KindTest, Message: "got 41, want 42", Signature: "got N, want N",
	}}}}
	if len(t.Target.Tests) == 0 {
		o.Outcome = session.FailedElse
	}
	return o, nil
}

func (x *scripted) Used() (int, time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.runs, 0
}

func (x *scripted) Repeat(ctx context.Context, t session.Trial, n int) (c session.Count, seen []session.Observation, err error) {
	return repeat(ctx, x.Run, t, n)
}

// repeat runs a trial n times, one after the other.
func repeat(ctx context.Context, run func(context.Context, session.Trial) (session.Observation, error), t session.Trial, n int) (c session.Count, seen []session.Observation, err error) {
	for range n {
		o, err := run(ctx, t)
		if err != nil {
			return c, seen, err
		}
		c.Add(o.Outcome)
		seen = append(seen, o)
	}
	return c, seen, nil
}

func (x *scripted) FindGood(ctx context.Context, s *session.Session) (session.Archaeology, error) {
	two, err := x.Log(ctx, s.Bad.SHA, pipeline.LogOptions{FirstParent: true, Limit: 2})
	if err != nil {
		return session.Archaeology{}, err
	}
	if len(two) != 2 {
		return session.Archaeology{}, fmt.Errorf("the mirror has %d commits up to %s, want 2", len(two), s.Bad.Short())
	}
	return session.Archaeology{Total: 2, Good: &two[1], GoodHow: "found by galloping back", Candidates: 1}, nil
}

func (x *scripted) Investigate(ctx context.Context, s *session.Session, t session.Task) session.Finding {
	f := session.Finding{ID: t.ID, Status: session.Completed, Verdict: session.Refuted, Findings: "ruled out", EvidenceAgainst: []string{"a_test.go:3 — fails 8/8"}}
	if err := x.work(ctx, 600*time.Millisecond); err != nil {
		return session.Finding{ID: t.ID, Status: session.Failed, Error: err.Error()}
	}
	for _, h := range s.Hypotheses {
		if h.ID != t.ID || h.Kind != session.Regression || x.wants(endsUnknown) {
			continue
		}
		f.Verdict, f.Findings, f.EvidenceFor = session.Confirmed, "the last commit broke it", []string{"a.go:3 — fails 8/8 at the last commit, passes 8/8 before"}
		f.Cause = &session.RootCause{
			Task: t.ID, Kind: h.Kind, Summary: "the last commit introduced it", Location: "a.go:3", Culprit: s.Bad, Parent: s.Archaeology.Good,
			AtCulprit: session.Count{Runs: 8, Failures: 8}, AtParent: session.Count{Runs: 8}, Probability: .99,
			Minimal: []session.Hunk{{ID: "a.go#1", File: "a.go"}}, Hunks: 1,
		}
	}
	return f
}

func (x *scripted) Fix(ctx context.Context, s *session.Session, t session.Task) session.FixReport {
	rep := session.FixReport{ID: t.ID, Status: session.Completed, Result: session.FixFailed, Findings: "no revert holds"}
	if err := x.work(ctx, 300*time.Millisecond); err != nil {
		return session.FixReport{ID: t.ID, Status: session.Failed, Result: session.FixFailed, Error: err.Error()}
	}
	if x.wants(endsCause) {
		return rep
	}
	rep.Result, rep.Verified, rep.Findings, rep.FixApplied = session.Fixed, true, "", []string{"a.go:3 — 1 line"}
	rep.Fix = &session.Fix{
		Task: t.ID, Strategy: "revert of the last commit", Base: s.Bad.SHA, Patch: chaosPatch, Files: []string{"a.go"}, Added: 1, Removed: 1,
		Hunks: []session.Hunk{{ID: "a.go#1", File: "a.go", OldStart: 3, OldLines: 1, NewStart: 3, NewLines: 1, Text: "-const Answer = 41\n+const Answer = 42\n"}},
		Edits: []session.Edit{{Path: "a.go", Content: []byte(chaosGood)}},
	}
	return rep
}

func (x *scripted) Compose(_ context.Context, _ string, _ []session.Edit, words session.Fix) (session.Fix, error) {
	return words, nil
}

func (x *scripted) Necessity(_ context.Context, fix session.Fix, _ session.Trial, _ int) ([]session.Necessity, error) {
	return []session.Necessity{{Hunk: fix.Hunks[0].ID, Outcome: session.FailedSame, Required: true}}, nil
}

// faults are what a worker does to itself at moments that are worst and that a
// blow from outside would seldom hit.
type faults struct {
	mu     sync.Mutex
	random *rand.Rand
	say    io.Writer
	// Chances: to stop right after the lease was found valid, so that what
	// is published next comes long after; to die there; to die right after
	// something was published, before that can be noted.
	stopValid, dieValid, diePublished float64
}

// hit does it, by chance. Whoever reads the log lets a stopped worker go on.
func (f *faults) hit(chance float64, what string, sig syscall.Signal) {
	f.mu.Lock()
	yes := f.random.Float64() < chance
	f.mu.Unlock()
	if yes {
		fmt.Fprintf(f.say, "chaos: %s\n", what)
		_ = syscall.Kill(syscall.Getpid(), sig)
	}
}

// chaoticPublisher dies after it published.
type chaoticPublisher struct {
	pipeline.Publisher
	*faults
}

func (p chaoticPublisher) died(err error) error {
	p.hit(p.diePublished, "dies after publishing", syscall.SIGKILL)
	return err
}

func (p chaoticPublisher) Progress(ctx context.Context, s *session.Session) error {
	return p.died(p.Publisher.Progress(ctx, s))
}

func (p chaoticPublisher) Propose(ctx context.Context, s *session.Session) error {
	return p.died(p.Publisher.Propose(ctx, s))
}

func (p chaoticPublisher) Final(ctx context.Context, s *session.Session) error {
	return p.died(p.Publisher.Final(ctx, s))
}
