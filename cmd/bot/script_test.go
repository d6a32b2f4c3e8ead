package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// commitDate makes the commits of all scripts the same every time.
var commitDate = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

// commitCmd is the script command `commit REPO SUBJECT [FILE CONTENT]...`: it
// makes the repository if there is none, writes files and commits them.
func commitCmd(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 || len(args)%2 != 0 {
		ts.Fatalf("usage: commit REPO SUBJECT [FILE CONTENT]...")
	}
	dir := ts.MkAbs(args[0])
	git := func(a ...string) {
		cmd := exec.Command("git", append([]string{"-C", dir}, a...)...)
		date := fmt.Sprintf("%d +0000", commitDate.Unix())
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@a.example",
			"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@a.example", "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
		if out, err := cmd.CombinedOutput(); err != nil {
			ts.Fatalf("git %v: %v\n%s", a, err, out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, ".git")); err != nil {
		ts.Check(os.MkdirAll(dir, 0o755))
		git("init", "-q", "-b", "main")
	}
	for i := 2; i < len(args); i += 2 {
		path := filepath.Join(dir, args[i])
		ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
		text := strings.ReplaceAll(args[i+1], `\n`, "\n")
		ts.Check(os.WriteFile(path, []byte(text), 0o644))
	}
	git("add", "-A")
	git("commit", "-q", "--allow-empty", "-m", args[1])
}

// exitsCmd is `exits CODE COMMAND ARG...`: it runs a command that must exit
// with just that code; stdout and stderr are then those of the command.
func exitsCmd(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if e := (*exec.ExitError)(nil); errors.As(err, &e) {
		got = e.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("%s exits %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}
