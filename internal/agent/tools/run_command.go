package tools

import (
	"context"
	"errors"
	"strings"

	"culprit/internal/session"
)

// maxCommand is the longest command that is run, in bytes.
const maxCommand = 4 << 10

func (d *Desk) runCommand() Tool {
	return typed(Tool{
		Name:        "run_command",
		Description: "Runs a shell command in the sandbox, in a throwaway checkout of the commit with the edits made so far. No network, no credentials; whatever it writes is thrown away. For a narrower test, a print, a type check.",
		Parameters:  object(map[string]Schema{"command": text("command for sh, run in the repository's root")}),
	}, func(ctx context.Context, a struct{ Command string }) (Result, error) {
		switch {
		case strings.TrimSpace(a.Command) == "":
			return Result{}, errors.New("the command is empty")
		case len(a.Command) > maxCommand:
			return Result{}, errors.New("the command is longer than 4 KiB: write it shorter")
		}
		t := d.trial("agent: command")
		// Its output is looked at as it is; there is no target to be found in it.
		t.Command, t.Target, t.Adapt = a.Command, session.Target{}, false
		o, err := d.Runner.Run(ctx, t)
		if err != nil {
			return Result{}, runFault(err)
		}
		r := d.observed(o)
		r.Note = strings.Replace(r.Note, outcomes[o.Outcome], map[bool]string{true: "the command succeeds", false: "the command fails"}[o.Exit == 0 && !o.TimedOut], 1)
		return r, nil
	})
}
