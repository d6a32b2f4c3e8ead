package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"culprit/internal/checkout"
	"culprit/internal/eval"
	"culprit/internal/experiment"
	"culprit/internal/session"
)

// heldOut tries a verified fix on the case's held-out test, which the session
// has not seen. The test says something only if it fails without a fix and
// passes with the true one: both are tried first.
func (r *replay) heldOut(ctx context.Context, full *checkout.Mirror, c eval.Case, k known, s *session.Session, caches string) (a eval.Answer, why string, err error) {
	switch {
	case c.HeldOut.Test == "":
		return eval.Unknown, "", nil
	case s.Result != session.ResultFixed || s.Fix == nil:
		return eval.None, "", nil
	}
	edits, err := editsOf(ctx, full, c.HeldOut.Overlay)
	if err != nil {
		return "", "", err
	}
	files, err := c.HeldOutFiles()
	if err != nil {
		return "", "", fmt.Errorf("read the held-out files: %w", err)
	}
	t := trialOfFix{replay: r, full: full, command: c.HeldOut.Test, edits: append(edits, files...), caches: caches, setup: c.Setup}
	if t.setup == "" && s.Reproduction != nil {
		t.setup = s.Reproduction.Setup
	}
	truth := k.bad.SHA
	if k.fix.SHA != "" {
		truth = k.fix.SHA
	}
	for _, x := range []struct {
		rev   string
		patch []byte
		want  bool
		says  string // when it is not as wanted
	}{
		{k.bad.SHA, nil, false, "says nothing, because it passes without a fix: "},
		{truth, k.patch, true, "says nothing, because it fails with the true fix: "},
	} {
		passed, how, err := t.run(ctx, x.rev, x.patch)
		if err != nil {
			return "", "", err
		}
		if passed != x.want {
			return eval.Unknown, x.says + how, nil
		}
	}
	passed, how, err := t.run(ctx, k.bad.SHA, []byte(s.Fix.Patch))
	switch {
	case err != nil:
		return "", "", err
	case passed:
		return eval.Yes, "", nil
	}
	return eval.No, how, nil
}

// trialOfFix runs a command in a revision with a patch and files laid over.
type trialOfFix struct {
	replay         *replay
	full           *checkout.Mirror
	setup, command string
	edits          []session.Edit
	caches         string
}

// run reports whether the command exits with 0, and if not, how it ended.
func (t trialOfFix) run(ctx context.Context, rev string, patch []byte) (passed bool, how string, err error) {
	tree, err := t.full.Worktree(ctx, rev)
	if err != nil {
		return false, "", err
	}
	defer func() { err = errors.Join(err, tree.Remove(context.WithoutCancel(ctx))) }()
	if len(patch) > 0 {
		if err := tree.ApplyPatch(ctx, patch); err != nil {
			return false, "", fmt.Errorf("apply fix to %.8s: %w", rev, err)
		}
	}
	if err := tree.Apply(ctx, t.edits); err != nil {
		return false, "", err
	}
	x := executor{box: t.replay.box, caches: t.caches}
	if t.setup != "" {
		done, err := x.Execute(ctx, experiment.Execution{Dir: tree.Dir(), Script: t.setup, Network: true, Timeout: t.replay.flags.runTimeout})
		if err != nil {
			return false, "", err
		}
		if done.Exit != 0 || done.TimedOut {
			return false, "set-up: " + howEnded(done), nil
		}
	}
	done, err := x.Execute(ctx, experiment.Execution{Dir: tree.Dir(), Script: t.command, Timeout: t.replay.flags.runTimeout})
	if err != nil {
		return false, "", err
	}
	return done.Exit == 0 && !done.TimedOut, howEnded(done), nil
}

// howEnded is how a command that failed ended, in a line.
func howEnded(x experiment.Executed) string {
	if x.TimedOut {
		return fmt.Sprintf("it did not end within %s", x.Duration)
	}
	lines := strings.Split(strings.TrimSpace(x.Output), "\n")
	last := lines[len(lines)-1]
	for _, l := range lines { // a failing test says more than the last line
		if strings.Contains(l, "FAIL") {
			last = l
			break
		}
	}
	if len(last) > 200 {
		last = last[:200]
	}
	return strings.TrimSpace(fmt.Sprintf("exit code %d: %s", x.Exit, strings.ToValidUTF8(strings.TrimSpace(last), "")))
}
