package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"culprit/internal/checkout"
	"culprit/internal/eval"
	"culprit/internal/sandbox"
)

// open brings a case's whole repository here.
func (r *replay) open(ctx context.Context, c eval.Case) (*checkout.Mirror, error) {
	switch {
	case c.Path != "":
		return r.cache.OpenLocal(ctx, c.File(c.Path))
	case c.History != "":
		return r.fromHistory(ctx, c)
	case c.Script != "":
		return r.fromScript(ctx, c)
	}
	if r.flags.mirror != "" {
		dir, ok := cloneOf(r.flags.mirror, c.Repository)
		if !ok {
			return nil, fmt.Errorf("there is no clone of %s in %s", c.Repository, r.flags.mirror)
		}
		return r.cache.OpenLocal(ctx, dir)
	}
	address := c.Repository
	if !strings.HasPrefix(address, "https://") {
		address = "https://github.com/" + address
	}
	return r.cache.OpenRemote(ctx, address, nil)
}

// cloneOf finds the clone of a repository in a folder of clones.
func cloneOf(folder, repository string) (dir string, ok bool) {
	name := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(repository, "https://"), "github.com/"), ".git")
	for _, at := range []string{name, strings.ReplaceAll(name, "/", "+"), name[strings.LastIndexByte(name, '/')+1:]} {
		for _, dir := range []string{filepath.Join(folder, at), filepath.Join(folder, at, "repo")} {
			// The folder itself: one that merely lies in a repository is no clone.
			for _, mark := range []string{".git", "objects"} {
				if _, err := os.Stat(filepath.Join(dir, mark)); err == nil {
					return dir, true
				}
			}
		}
	}
	return "", false
}

// fromHistory makes the repository out of a folder of txtar files.
func (r *replay) fromHistory(ctx context.Context, c eval.Case) (*checkout.Mirror, error) {
	commits, err := readHistory(os.DirFS(c.File(c.History)), "*.txtar")
	if err == nil && len(commits) == 0 {
		err = errors.New("it has no *.txtar file")
	}
	if err != nil {
		return nil, fmt.Errorf("read history %s: %w", c.History, err)
	}
	dir := filepath.Join(r.dir, "cases", c.ID, "made")
	if err := checkout.Import(ctx, dir, historyStream(commits)); err != nil {
		return nil, err
	}
	return r.cache.OpenLocal(ctx, dir)
}

// scriptTime bounds a script that makes a repository.
const scriptTime = 2 * time.Minute

// fromScript lets a script make the repository, in the sandbox.
func (r *replay) fromScript(ctx context.Context, c eval.Case) (*checkout.Mirror, error) {
	text, err := os.ReadFile(c.File(c.Script))
	if err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	dir := filepath.Join(r.dir, "cases", c.ID, "made")
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return nil, fmt.Errorf("make folder for the script: %w", err)
	}
	date := demoStart.Format(time.RFC3339)
	var out bytes.Buffer
	done, err := r.box.Run(ctx, sandbox.Command{Script: string(text), Dir: dir, Timeout: scriptTime, Output: &out, Env: map[string]string{
		"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null",
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "init.defaultBranch", "GIT_CONFIG_VALUE_0": "main",
		"GIT_AUTHOR_NAME": "Nobody", "GIT_AUTHOR_EMAIL": "nobody@project.example", "GIT_AUTHOR_DATE": date,
		"GIT_COMMITTER_NAME": "Nobody", "GIT_COMMITTER_EMAIL": "nobody@project.example", "GIT_COMMITTER_DATE": date,
	}})
	if err != nil {
		return nil, fmt.Errorf("run script %s: %w", c.Script, err)
	}
	if done.Exit != 0 {
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		return nil, fmt.Errorf("script %s exits %d: %s", c.Script, done.Exit, lines[len(lines)-1])
	}
	if _, err := os.Stat(filepath.Join(dir, ".git")); err != nil {
		return nil, fmt.Errorf("script %s made no repository in its current folder", c.Script)
	}
	return r.cache.OpenLocal(ctx, dir)
}
