package main

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
)

//go:embed demodata/*.txtar
var demoHistory embed.FS

// demoStart is the date of the demo project's first commit; each further one
// is some hours later, so that the history is the same every time.
var demoStart = time.Date(2026, 9, 1, 8, 0, 0, 0, time.UTC)

// demoCommits is the demo's own history.
func demoCommits() ([]demoCommit, error) { return readHistory(demoHistory, "demodata/*.txtar") }

// readHistory reads a history: one file a commit, its message above, the
// files that it writes below. A header "Branch: NAME" puts it on a branch of
// its own that starts at the commit before.
func readHistory(fsys fs.FS, pattern string) ([]demoCommit, error) {
	names, err := fs.Glob(fsys, pattern)
	if err != nil {
		return nil, err
	}
	var out []demoCommit
	for i, name := range names {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		a := txtar.Parse(data)
		subject, rest, _ := strings.Cut(string(a.Comment), "\n")
		c := demoCommit{subject: subject, author: "Nobody <nobody@project.example>", branch: "main", when: demoStart.Add(time.Duration(i) * 31 * time.Hour), files: a.Files}
		for _, line := range strings.Split(rest, "\n") {
			if v, ok := strings.CutPrefix(line, "Author: "); ok {
				c.author = v
			}
			if v, ok := strings.CutPrefix(line, "Branch: "); ok {
				c.branch = v
			}
		}
		out = append(out, c)
	}
	return out, nil
}

type demoCommit struct {
	subject, author, branch string
	when                    time.Time
	files                   []txtar.File
}

// historyStream is a history as git fast-import reads it.
func historyStream(commits []demoCommit) []byte {
	var b bytes.Buffer
	mark := 0 // of the newest commit of main
	for i, c := range commits {
		fmt.Fprintf(&b, "commit refs/heads/%s\nmark :%d\nauthor %s %d +0000\ncommitter %s %d +0000\n", c.branch, i+1, c.author, c.when.Unix(), c.author, c.when.Unix())
		fmt.Fprintf(&b, "data %d\n%s\n", len(c.subject), c.subject)
		if mark > 0 {
			fmt.Fprintf(&b, "from :%d\n", mark)
		}
		for _, f := range c.files {
			fmt.Fprintf(&b, "M 100644 inline %s\ndata %d\n%s\n", f.Name, len(f.Data), f.Data)
		}
		if c.branch == "main" {
			mark = i + 1
		}
	}
	return b.Bytes()
}

// importDemo writes the history into a bare repository.
func importDemo(ctx context.Context, gitDir string, commits []demoCommit) error {
	cmd := exec.CommandContext(ctx, "git", "--git-dir="+gitDir, "fast-import", "--quiet")
	cmd.Env = []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C"}
	cmd.Stdin = bytes.NewReader(historyStream(commits))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make the demo's repository: %w: %s", err, out)
	}
	return nil
}
