package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"culprit/internal/session"
)

// App is the program with everything that it takes from outside injected; it
// is the one place where adapters are plugged into the pipeline.
type App struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Args           []string
	LookupEnv      func(string) (string, bool)
	Now            func() time.Time
}

// Exit codes of the command line (spec/ux.md); a session's result has its own
// (session.Result.ExitCode).
const (
	exitOK       = 0
	exitUsage    = 2
	exitStopped  = 5
	exitInternal = 70
)

// command is one verb of the program.
type command struct {
	name, args, help string
	run              func(a *App, ctx context.Context, args []string) int
}

// commands is the table of verbs, in the order of the help text.
func commands() []command {
	return []command{
		{"debug", "[PATH]", "find the cause of a failing test in a local repository, and prove a fix", (*App).debug},
		{"demo", "", "show the GitHub flow end to end on this machine: no account, no key", (*App).demo},
		{"serve", "", "receive webhooks and queue jobs; with --work also do them", (*App).serve},
		{"work", "", "take jobs from the queue and do them", (*App).work},
		{"setup", "", "make the GitHub App and store its credentials", (*App).setup},
		{"config", "[FILE]", "check a repository's settings file", (*App).checkConfig},
		{"jobs", "VERB", "list, show, retry and cancel jobs; pause and drain the queue", (*App).jobs},
		{"eval", "FILE", "replay bugs whose cause is known, and count how often the product is right", (*App).eval},
		{"doctor", "", "check every prerequisite and say what to do", (*App).doctor},
		{"version", "", "print the version", (*App).version},
	}
}

// Run executes the command line and returns the exit code.
func (a *App) Run(ctx context.Context) int {
	if len(a.Args) == 0 {
		a.usage(a.Stdout)
		return exitUsage
	}
	name, args := a.Args[0], a.Args[1:]
	if name == "help" || name == "-h" || name == "--help" {
		a.usage(a.Stdout)
		return exitOK
	}
	for _, c := range commands() {
		if c.name == name {
			return c.run(a, ctx, args)
		}
	}
	fmt.Fprintf(a.Stderr, "bot: unknown command %q\n\n", name)
	a.usage(a.Stderr)
	return exitUsage
}

func (a *App) usage(w io.Writer) {
	fmt.Fprint(w, "Culprit finds the commit that broke a test, proves it, and proposes the smallest fix.\n\nusage: bot COMMAND [flags]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-8s %-7s %s\n", c.name, c.args, c.help)
	}
	fmt.Fprint(w, "\n`bot COMMAND --help` lists the flags of a command.\n")
}

// fail prints an error for people and returns the exit code that fits it.
func (a *App) fail(err error) int {
	var user *session.UserError
	switch {
	case errors.As(err, &user):
		fmt.Fprintf(a.Stderr, "bot: %s\n", user.What)
		if user.Do != "" {
			fmt.Fprintf(a.Stderr, "  what to do: %s\n", user.Do)
		}
		return exitUsage
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		fmt.Fprintf(a.Stderr, "bot: interrupted\n")
		return exitStopped
	}
	fmt.Fprintf(a.Stderr, "bot: %v\n", err)
	return exitInternal
}

// usageError prints what is wrong with a command line.
func (a *App) usageError(cmd string, err error) int {
	fmt.Fprintf(a.Stderr, "bot %s: %s\n", cmd, strings.ReplaceAll(err.Error(), "\n", "\n  "))
	fmt.Fprintf(a.Stderr, "`bot %s --help` lists the flags.\n", cmd)
	return exitUsage
}

func (a *App) version(context.Context, []string) int {
	fmt.Fprintln(a.Stdout, "culprit "+versionString())
	return exitOK
}

// revision is the commit that scripts/build writes here by the linker. Builds
// by "go build" have what Go itself writes.
var revision string

// versionString is the module version and the revision that was built.
func versionString() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return version(info, revision)
}

func version(info *debug.BuildInfo, rev string) string {
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && rev == "" {
			rev = s.Value[:min(len(s.Value), 12)]
		}
	}
	if v == "" || v == "(devel)" {
		v = "development"
	}
	if len(rev) >= 12 && !strings.Contains(v, rev[:12]) {
		v += " " + rev
	}
	return v
}
