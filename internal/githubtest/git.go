package githubtest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// gitEnv keeps the machine's configuration out of the server's git.
func gitEnv(extra ...string) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_TERMINAL_PROMPT=0", "GIT_AUTHOR_NAME=GitHub", "GIT_AUTHOR_EMAIL=noreply@github.com",
		"GIT_COMMITTER_NAME=GitHub", "GIT_COMMITTER_EMAIL=noreply@github.com",
	}
	return append(env, extra...)
}

// git runs one git command in a bare repository and returns its output.
func (s *Server) git(r *repository, args ...string) (string, error) {
	return s.gitWith(r, nil, nil, args...)
}

// gitOnce is git for questions about objects that are named by full SHAs: the
// answer is the same for ever and is kept.
func (s *Server) gitOnce(r *repository, args ...string) (string, error) {
	key := strings.Join(args, "\x00")
	if out, known := r.answers[key]; known {
		return out, nil
	}
	out, err := s.git(r, args...)
	if err == nil {
		r.answers[key] = out
	}
	return out, err
}

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}

func (s *Server) gitWith(r *repository, stdin []byte, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(s.ctx, s.gitPath, append([]string{"--git-dir=" + r.dir, "-c", "core.quotePath=false"}, args...)...)
	cmd.Env = gitEnv(env...)
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

// updateHook refuses, as GitHub does, pushes to protected branches, and a push
// by an App that changes workflow files without the permission for it.
const updateHook = `#!/bin/sh
` + protectHook + rulesHook + `
[ "$GITHUBTEST_WORKFLOWS" = refuse ] || exit 0
case "$3" in *[!0]*) ;; *) exit 0 ;; esac
file=$(git log --format= --name-only "$3" --not --all -- .github/workflows | head -n 1)
[ -z "$file" ] && exit 0
echo "refusing to allow a GitHub App to create or update workflow \` + "`$file\\`" + ` without \` + "`workflows\\`" + ` permission" >&2
exit 1
`

// repoConfig lets git serve a repository as GitHub does: any commit can be
// fetched by its SHA, and refs/pull is GitHub's own.
const repoConfig = `[core]
	repositoryformatversion = 0
	bare = true
[http]
	receivepack = true
[uploadpack]
	allowAnySHA1InWant = true
	allowFilter = true
[receive]
	hideRefs = refs/pull
	denyDeleteCurrent = refuse
[gc]
	auto = 0
`

func (s *Server) initGit(r *repository) error {
	// What `git init` makes, less the process.
	if !s.validRef(r, "refs/heads/"+r.defaultBranch) {
		return fmt.Errorf("not a branch name: %q", r.defaultBranch)
	}
	for _, dir := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(r.dir, dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(r.dir, "HEAD"), []byte("ref: refs/heads/"+r.defaultBranch+"\n"), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.dir, "config"), []byte(repoConfig), 0o644); err != nil {
		return err
	}
	hooks := filepath.Join(r.dir, "hooks")
	if err := os.MkdirAll(hooks, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(hooks, "update"), []byte(updateHook), 0o755)
}

// ImportGit puts history into a repository without any webhook, as if it had
// been there before. dir is a git repository, whose branch (or, when it has no
// branch of that name, HEAD) is imported, or a plain folder, whose files become
// one commit.
func (s *Server) ImportGit(repo, dir, branch string) error {
	return s.withRepo(repo, func(r *repository) error {
		return s.importRef(r, dir, branch)
	})
}

func (s *Server) importRef(r *repository, dir, branch string) error {
	if branch == "" {
		branch = r.defaultBranch
	}
	ref := "refs/heads/" + branch
	if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil || isBare(dir) {
		src, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		env := []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}
		_, err = s.gitWith(r, nil, env, "fetch", "--quiet", "--no-tags", "--end-of-options", src, "+"+ref+":"+ref)
		if err != nil {
			if _, err = s.gitWith(r, nil, env, "fetch", "--quiet", "--no-tags", "--end-of-options", src, "+HEAD:"+ref); err != nil {
				return fmt.Errorf("import %s: %w", dir, err)
			}
		}
		return nil
	}
	index := filepath.Join(r.dir, "import.index")
	defer os.Remove(index)
	env := []string{"GIT_INDEX_FILE=" + index}
	if _, err := s.gitWith(r, nil, env, "--work-tree="+dir, "add", "--all", "--force", "--", "."); err != nil {
		return fmt.Errorf("import folder %s: %w", dir, err)
	}
	tree, err := s.gitWith(r, nil, env, "write-tree")
	if err != nil {
		return err
	}
	_, err = s.commitTree(r, ref, strings.TrimSpace(tree), "Import", nil)
	return err
}

// commitTree commits a tree on top of a ref and moves the ref.
func (s *Server) commitTree(r *repository, ref, tree, message string, author *user) (string, error) {
	var parents []string
	if parent := s.resolve(r, ref); parent != "" {
		parents = append(parents, parent)
	}
	sha, err := s.writeCommit(r, tree, parents, author, message)
	if err != nil {
		return "", err
	}
	return sha, s.setRef(r, ref, sha)
}

func isBare(dir string) bool {
	_, err1 := os.Stat(filepath.Join(dir, "HEAD"))
	_, err2 := os.Stat(filepath.Join(dir, "objects"))
	return err1 == nil && err2 == nil
}

// resolve turns a full ref, a branch, a tag or a SHA into a commit's SHA, or
// "" when there is none.
func (s *Server) resolve(r *repository, rev string) string {
	if _, known := r.commits[rev]; known {
		return rev
	}
	if rev == "" || strings.HasPrefix(rev, "-") {
		return ""
	}
	for _, candidate := range []string{rev, "refs/heads/" + rev, "refs/tags/" + rev} {
		if c, err := s.findObject(r, candidate+"^{commit}"); err == nil {
			return c.sha
		}
	}
	return ""
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// escapePath escapes each segment of a path.
func escapePath(p string) string {
	parts := strings.Split(p, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

const zeroSHA = "0000000000000000000000000000000000000000"
