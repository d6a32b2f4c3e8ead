package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"culprit/internal/checkout"
	"culprit/internal/config"
	"culprit/internal/sandbox"
	"culprit/internal/session"
	"culprit/queue"
)

// finding is one line of the doctor's report.
type finding struct {
	name   string
	ok     bool
	needed bool // what is missing keeps something from working
	detail string
	do     string
}

// doctor checks each prerequisite and says what it found and what to do
// (GH10). It exits 0 when `bot debug` can work.
func (a *App) doctor(ctx context.Context, args []string) int {
	fs := pflag.NewFlagSet("doctor", pflag.ContinueOnError)
	fs.Usage = func() {}
	repository := fs.String("repo", "", "OWNER/NAME: also check that the App is installed there and may do its work")
	err := fs.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintf(a.Stdout, "usage: bot doctor [--repo OWNER/NAME]\n\nChecks git, the sandbox, the data folder, Redis, the App's credentials, permissions, events and webhook, and the toolchains, and says what to do.\n\n%sExit codes: 0 all that `bot debug` needs is there, 1 something is missing.\n", fs.FlagUsages())
		return exitOK
	}
	if err == nil && fs.NArg() > 0 {
		err = fmt.Errorf("doctor takes no argument: %q", fs.Arg(0))
	}
	if owner, name, ok := strings.Cut(*repository, "/"); err == nil && *repository != "" && (!ok || owner == "" || name == "" || strings.Contains(name, "/")) {
		err = fmt.Errorf("--repo %q: want OWNER/NAME", *repository)
	}
	if err != nil {
		return a.usageError("doctor", err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	checks := []func(context.Context) []finding{a.checkGit, a.checkSandbox, a.checkData, a.checkRedis, func(ctx context.Context) []finding { return a.checkApp(ctx, *repository) }, a.checkToolchains}
	code := exitOK
	for _, check := range checks {
		for _, f := range check(ctx) {
			mark := "ok      "
			switch {
			case !f.ok && f.needed:
				mark, code = "MISSING ", 1
			case !f.ok:
				mark = "absent  "
			}
			fmt.Fprintf(a.Stdout, "%s%-28s %s\n", mark, f.name, printable(f.detail))
			if !f.ok && f.do != "" {
				fmt.Fprintf(a.Stdout, "%36s what to do: %s\n", "", printable(f.do))
			}
		}
	}
	return code
}

func (a *App) checkGit(ctx context.Context) []finding {
	v, err := checkout.Version(ctx)
	if err != nil {
		return []finding{{name: "git", needed: true, detail: "git does not run: " + err.Error(), do: "install git 2.31 or newer (Debian: apt-get install git)"}}
	}
	return []finding{{name: "git", ok: true, detail: v}}
}

func (a *App) checkSandbox(ctx context.Context) []finding {
	var out []finding
	for _, f := range sandbox.Probe(ctx) {
		out = append(out, finding{name: f.Name, ok: f.OK, needed: true, detail: f.Detail, do: f.Remedy})
	}
	return out
}

func (a *App) checkData(context.Context) []finding {
	f := finding{name: "data folder", needed: true, do: "set CULPRIT_DATA to a folder that can be written"}
	dir, err := a.dataFolder()
	set, _ := a.LookupEnv("CULPRIT_DATA")
	if app, _ := a.LookupEnv("GITHUB_APP_ID"); app != "" && set == "" {
		dir, err = filepath.Abs(config.DefaultData) // that of `serve` and `work`
	}
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		var tmp *os.File
		if tmp, err = os.CreateTemp(dir, "doctor-*"); err == nil {
			tmp.Close()
			err = os.Remove(tmp.Name())
		}
	}
	if err != nil {
		f.detail = err.Error()
		return []finding{f}
	}
	f.ok, f.detail = true, dir+" can be written"
	return []finding{f}
}

func (a *App) checkRedis(ctx context.Context) []finding {
	address, ok := a.LookupEnv("REDIS_URL")
	if !ok || address == "" {
		return []finding{{name: "Redis", detail: "REDIS_URL is not set: serve uses an embedded Redis", do: "set REDIS_URL for more than one machine, or to keep waiting jobs over a restart"}}
	}
	rdb, at, err := redisClient(address, redisFiles(a.LookupEnv))
	if user := (*session.UserError)(nil); errors.As(err, &user) {
		return []finding{{name: "Redis", needed: true, detail: user.What, do: user.Do}}
	}
	defer rdb.Close()
	problems, err := queue.CheckServer(ctx, rdb)
	if err != nil {
		return []finding{{name: "Redis", needed: true, detail: "Redis at " + at.String() + " does not answer", do: "start it, or correct REDIS_URL"}}
	}
	out := []finding{{name: "Redis", ok: true, detail: at.String() + " answers"}}
	for _, p := range problems {
		out = append(out, finding{name: "Redis " + p.Code, needed: p.Fatal, detail: p.What, do: p.Do})
	}
	return out
}

// toolchainPrograms are looked for so that a person sees which repositories
// can be tested on this machine.
var toolchainPrograms = []struct{ name, program string }{
	{"Go", "go"}, {"Node.js", "node"}, {"npm", "npm"}, {"Python", "python3"}, {"Rust", "cargo"}, {"Maven", "mvn"}, {"Gradle", "gradle"},
}

func (a *App) checkToolchains(context.Context) []finding {
	var out []finding
	for _, t := range toolchainPrograms {
		path, err := exec.LookPath(t.program)
		f := finding{name: "toolchain " + t.name, ok: err == nil, do: "install it where repositories that use it are to be debugged"}
		if err == nil {
			f.detail = filepath.Clean(path)
		} else {
			f.detail = t.program + " is not on the PATH"
		}
		out = append(out, f)
	}
	return out
}
