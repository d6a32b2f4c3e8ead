package experiment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"culprit/internal/session"
)

// bench is one worktree of the pool with what stands ready in it. A worker
// keeps its bench while it walks through history, so that files which did not
// change keep their times and build caches stay warm.
type bench struct {
	tree  Tree
	setup string   // what the set-up was made for; "" = none was run
	keep  []string // untracked files that the set-up made
}

// perform runs a trial on the bench and returns how many executions it cost.
func (l *Lab) perform(ctx context.Context, b *bench, t session.Trial) (obs session.Observation, runs int, err error) {
	if err := l.charge(); err != nil {
		return obs, 0, err
	}
	runs = 1
	obs, err = l.attempt(ctx, b, t)
	if err != nil || !t.Adapt || t.Newer == "" || t.Newer == t.Rev {
		return obs, runs, err
	}
	switch obs.Outcome {
	case session.Passed, session.FailedSame:
		l.asIs.Store(t.Rev, true)
		return obs, runs, nil
	case session.FailedElse:
		return obs, runs, nil
	}
	if _, fits := l.asIs.Load(t.Rev); fits {
		// The commit needs no adapting: what cannot be tested is what this
		// trial's edits make of it.
		return obs, runs, nil
	}
	edits, note, err := l.adapt(ctx, t)
	if err != nil || len(edits) == 0 {
		return obs, runs, err
	}
	if err := l.charge(); errors.Is(err, ErrBudget) {
		return obs, runs, nil
	} else if err != nil {
		return obs, runs, err
	}
	runs++
	adapted := t
	adapted.Edits = append(slices.Clone(t.Edits), edits...)
	again, err := l.attempt(ctx, b, adapted)
	if err != nil {
		return obs, runs, err
	}
	again.Adapted = note
	if again.Outcome == session.Untestable {
		again.Reason = fmt.Sprintf("%s (tried too: %s)", orWord(again.Reason, obs.Reason), note)
	}
	return again, runs, nil
}

// adapt asks the language what the older commit needs.
func (l *Lab) adapt(ctx context.Context, t session.Trial) ([]session.Edit, string, error) {
	old, err := snapshot(ctx, l.History, t.Rev, t.Edits)
	if err != nil {
		return nil, "", fmt.Errorf("adapt commit: %w", err)
	}
	newer, err := snapshot(ctx, l.History, t.Newer, nil)
	if err != nil {
		return nil, "", fmt.Errorf("adapt commit: %w", err)
	}
	edits, note := l.Language.Adapt(t, old, newer)
	return edits, note, nil
}

// attempt is one execution. On return the worktree holds nothing that the run
// wrote.
func (l *Lab) attempt(ctx context.Context, b *bench, t session.Trial) (obs session.Observation, err error) {
	if b.tree == nil {
		if b.tree, err = l.Trees.Tree(ctx); err != nil {
			return obs, fmt.Errorf("make worktree: %w", err)
		}
	}
	if err := b.tree.Checkout(ctx, t.Rev); err != nil {
		return obs, fmt.Errorf("check out %.8s: %w", t.Rev, err)
	}
	if lost, err := l.overwrites(ctx, b, t); err != nil {
		return obs, fmt.Errorf("clean worktree: %w", err)
	} else if lost {
		b.setup, b.keep = "", nil
	}
	if err := b.tree.Clean(ctx, b.keep); err != nil {
		return obs, fmt.Errorf("clean worktree: %w", err)
	}
	if err := b.tree.Apply(ctx, t.Edits); err != nil {
		if errors.Is(err, ErrDoesNotApply) {
			return untestable("the files that carry the test do not fit this commit: " + firstLine(err.Error())), nil
		}
		return obs, fmt.Errorf("lay files over %.8s: %w", t.Rev, err)
	}
	if t.Setup, err = l.setupAt(ctx, t); err != nil {
		return obs, err
	}
	if refused, err := l.setUp(ctx, b, t); err != nil || refused != nil {
		if refused != nil {
			return *refused, nil
		}
		return obs, err
	}
	timeout := t.Timeout
	if timeout <= 0 {
		timeout = l.opts.Timeout
	}
	done, err := l.Executor.Execute(ctx, Execution{Dir: b.tree.Dir(), Script: t.Command, Env: t.Env, Timeout: timeout})
	if ctx.Err() != nil {
		return obs, fmt.Errorf("run trial: %w", ctx.Err())
	}
	if err != nil {
		return obs, fmt.Errorf("run trial: %w", err)
	}
	if done.Exit != 0 && diskFull(b.tree.Dir(), done.Output) {
		return obs, fmt.Errorf("run trial: %w: free some space", syscall.ENOSPC)
	}
	report := l.Language.Parse(done.Output)
	outcome, reason := l.Language.Judge(t.Target, done.Exit, done.TimedOut, report, done.Output)
	if done.Limit != "" && outcome != session.Passed {
		reason = fmt.Sprintf("the run was ended by its limit of %s; %s", done.Limit, reason)
	}
	return session.Observation{
		Outcome: outcome, Reason: firstLine(reason), Exit: done.Exit, TimedOut: done.TimedOut,
		Duration: done.Duration, Report: report, Output: done.Output,
	}, nil
}

// overwrites reports whether the trial's commit or edits hold a file that the
// bench's set-up made: it would not be there any more for the next trial.
func (l *Lab) overwrites(ctx context.Context, b *bench, t session.Trial) (bool, error) {
	if len(b.keep) == 0 {
		return false, nil
	}
	files, err := l.History.List(ctx, t.Rev)
	if err != nil {
		return false, err
	}
	held := make(map[string]bool, len(files)+len(t.Edits))
	for _, f := range files {
		held[f] = true
	}
	for _, e := range t.Edits {
		held[e.Path] = true
	}
	return slices.ContainsFunc(b.keep, func(path string) bool { return held[path] }), nil
}

// setupAt is the set-up command that the trial's commit needs.
func (l *Lab) setupAt(ctx context.Context, t session.Trial) (string, error) {
	if l.Language.Setup == nil || !t.Adapt || t.Newer == "" || t.Newer == t.Rev {
		return t.Setup, nil
	}
	key := Key(t)
	if known, ok := l.setups.Load(key); ok {
		return known.(string), nil
	}
	old, err := snapshot(ctx, l.History, t.Rev, t.Edits)
	if err != nil {
		return "", fmt.Errorf("find the set-up of %.8s: %w", t.Rev, err)
	}
	setup := l.Language.Setup(t.Setup, old)
	l.setups.Store(key, setup)
	return setup, nil
}

// setUp runs the trial's set-up unless the bench has run it for the same
// dependency files. A set-up that fails makes the commit untestable.
func (l *Lab) setUp(ctx context.Context, b *bench, t session.Trial) (*session.Observation, error) {
	if t.Setup == "" {
		return nil, nil
	}
	want, err := l.setupKey(ctx, b, t)
	if err != nil {
		return nil, fmt.Errorf("set up: %w", err)
	}
	if b.setup == want {
		return nil, nil
	}
	// Start from the bare commit: what an earlier set-up made must not decide
	// what this one does.
	b.setup, b.keep = "", nil
	if err := b.tree.Clean(ctx, nil); err != nil {
		return nil, fmt.Errorf("set up: %w", err)
	}
	if err := b.tree.Apply(ctx, t.Edits); err != nil {
		return nil, fmt.Errorf("set up: %w", err)
	}
	before, err := b.tree.Untracked(ctx)
	if err != nil {
		return nil, fmt.Errorf("set up: %w", err)
	}
	done, err := l.Executor.Execute(ctx, Execution{Dir: b.tree.Dir(), Script: t.Setup, Env: t.Env, Network: true, Timeout: l.opts.SetupTimeout})
	if ctx.Err() != nil {
		return nil, fmt.Errorf("set up: %w", ctx.Err())
	}
	if err != nil {
		return nil, fmt.Errorf("set up: %w", err)
	}
	if done.Exit != 0 {
		if diskFull(b.tree.Dir(), done.Output) {
			return nil, fmt.Errorf("set up: %w: free some space", syscall.ENOSPC)
		}
		o := untestable(fmt.Sprintf("set-up failed (exit %d): %s", done.Exit, lastLine(done.Output)))
		o.Exit, o.TimedOut, o.Output, o.Duration = done.Exit, done.TimedOut, done.Output, done.Duration
		return &o, nil
	}
	after, err := b.tree.Untracked(ctx)
	if err != nil {
		return nil, fmt.Errorf("set up: %w", err)
	}
	for _, path := range after {
		if !slices.Contains(before, path) {
			b.keep = append(b.keep, path)
		}
	}
	b.setup = want
	return nil, nil
}

// setupKey sums up the set-up command and every dependency file of the tree as
// it lies there. Links are not followed out of the tree.
func (l *Lab) setupKey(ctx context.Context, b *bench, t session.Trial) (string, error) {
	files, err := l.History.List(ctx, t.Rev)
	if err != nil {
		return "", err
	}
	for _, e := range t.Edits {
		files = append(files, e.Path)
	}
	slices.Sort(files)
	root, err := os.OpenRoot(b.tree.Dir())
	if err != nil {
		return "", err
	}
	defer root.Close()
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q\n", t.Setup, t.Env)
	for _, path := range slices.Compact(files) {
		if !l.Language.IsLockFile(path) {
			continue
		}
		f, err := root.Open(filepath.FromSlash(path))
		if err != nil {
			continue
		}
		fmt.Fprintf(sum, "%q\n", path)
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			_, err = io.Copy(sum, f)
			if err != nil {
				f.Close()
				return "", err
			}
		}
		f.Close()
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// diskFull reports whether a failed run failed because the disk is full. The
// output alone is not believed: a file is written to see.
func diskFull(dir, output string) bool {
	if !strings.Contains(strings.ToLower(output), "no space left on device") {
		return false
	}
	f, err := os.CreateTemp(dir, ".culprit-space-*")
	if err != nil {
		return errors.Is(err, syscall.ENOSPC)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	_, err = f.Write(make([]byte, 1<<20))
	return errors.Is(err, syscall.ENOSPC)
}

func untestable(reason string) session.Observation {
	return session.Observation{Outcome: session.Untestable, Reason: reason}
}
