package checkout

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// call is one git process.
type call struct {
	args     []string
	gitDir   string // GIT_DIR; "" for commands that need no repository
	workTree string // GIT_WORK_TREE and current folder
	dir      string // current folder when there is no workTree
	stdin    []byte
	env      []string  // further variables; never a credential
	max      int64     // bytes of standard output, 0 means maxOutput
	ok       []int     // exit codes besides 0 that are answers and not errors
	remote   *remote   // set for fetch and push only
	config   []string  // further "key=value" configuration
	out      io.Writer // takes standard output instead of the result
}

// remote is where a fetch or push goes and by what right.
type remote struct {
	url   *url.URL
	token string
}

const (
	maxOutput     = 256 << 20
	localTimeout  = 5 * time.Minute
	remoteTimeout = 30 * time.Minute
)

// fixed is the configuration of every git process. It is given on the command
// line, which wins over any file.
var fixed = []string{
	"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.untrackedCache=false", "core.sshCommand=false",
	"core.attributesFile=/dev/null", "core.excludesFile=/dev/null", "core.autocrlf=false", "core.symlinks=true", "core.alternateRefsCommand=true",
	"core.protectHFS=true", "core.protectNTFS=true",
	"filter.lfs.clean=", "filter.lfs.smudge=", "filter.lfs.process=", "filter.lfs.required=false",
	"protocol.allow=never", "protocol.ext.allow=never", "protocol.file.allow=never", "protocol.http.allow=always", "protocol.https.allow=always",
	"http.followRedirects=false", "http.lowSpeedLimit=1000", "http.lowSpeedTime=60", "transfer.credentialsInUrl=die", "credential.helper=",
	"submodule.recurse=false", "fetch.recurseSubmodules=false", "push.recurseSubmodules=no", "status.submoduleSummary=false",
	"gc.auto=0", "maintenance.auto=false", "gc.autoDetach=false", "fetch.writeCommitGraph=false", "safe.directory=*",
	"log.showSignature=false", "commit.gpgSign=false", "i18n.logOutputEncoding=UTF-8", "diff.renameLimit=2000", "advice.detachedHead=false",
	"color.ui=false", "core.pager=cat", "core.quotePath=true",
}

// environment of a git process: nothing of this process's own but what finds
// programs and, for remotes, proxies and certificates.
func (c call) environment() []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "XDG_CONFIG_HOME=/nonexistent", "LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=/bin/true", "SSH_ASKPASS=/bin/true", "GIT_OPTIONAL_LOCKS=0", "GIT_LITERAL_PATHSPECS=1",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_PROTOCOL_FROM_USER=0", "GIT_PAGER=cat", "GIT_EDITOR=false",
	}
	if c.gitDir != "" {
		env = append(env, "GIT_DIR="+c.gitDir)
	}
	if c.workTree != "" {
		env = append(env, "GIT_WORK_TREE="+c.workTree)
	}
	if c.remote == nil {
		return append(append(env, "GIT_ALLOW_PROTOCOL=none"), c.env...)
	}
	env = append(env, "GIT_ALLOW_PROTOCOL=http:https")
	for _, name := range []string{
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
		"GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE",
	} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	if c.remote.token != "" {
		base := url.URL{Scheme: c.remote.url.Scheme, Host: c.remote.url.Host, Path: "/"}
		env = append(env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http."+base.String()+".extraHeader",
			"GIT_CONFIG_VALUE_0=Authorization: Basic "+basic(c.remote.token))
	}
	return append(env, c.env...)
}

// basic is how GitHub takes an installation token for git over HTTP.
func basic(token string) string {
	return base64.StdEncoding.EncodeToString([]byte("x-access-token:" + token))
}

// git runs one git process and returns its standard output. It is the only
// place where git is started.
func git(ctx context.Context, c call) ([]byte, error) {
	out, _, err := gitExit(ctx, c)
	return out, err
}

// gitExit also returns the exit code, for codes that are answers.
func gitExit(ctx context.Context, c call) ([]byte, int, error) {
	operation := c.args[0]
	timeout := localTimeout
	if c.remote != nil {
		timeout = remoteTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("git %s did not end within %v", operation, timeout))
	defer cancel()
	args := make([]string, 0, 2*len(fixed)+len(c.args))
	for _, kv := range append(fixed[:len(fixed):len(fixed)], c.config...) {
		args = append(args, "-c", kv)
	}
	cmd := exec.CommandContext(ctx, "git", append(args, c.args...)...)
	cmd.Env = c.environment()
	cmd.Dir = c.dir
	if c.workTree != "" {
		cmd.Dir = c.workTree
	} else if cmd.Dir == "" {
		cmd.Dir = "/"
	}
	if c.stdin != nil {
		cmd.Stdin = bytes.NewReader(c.stdin)
	}
	limit := c.max
	if limit == 0 {
		limit = maxOutput
	}
	stdout := &bounded{left: limit, w: c.out, full: func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }}
	stderr := &bounded{left: 64 << 10}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = groupAttr()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	if err == nil {
		return stdout.buf.Bytes(), 0, nil
	}
	if stdout.over {
		return nil, -1, fmt.Errorf("git %s: %w (%d bytes)", operation, ErrTooLarge, limit)
	}
	if ctx.Err() != nil {
		return nil, -1, fmt.Errorf("git %s: %w", operation, context.Cause(ctx))
	}
	if errors.Is(err, exec.ErrNotFound) {
		return nil, -1, errors.New("run git: it is not installed: install git 2.31 or newer")
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return nil, -1, fmt.Errorf("run git %s: %w", operation, err)
	}
	code := exit.ExitCode()
	for _, ok := range c.ok {
		if code == ok {
			return stdout.buf.Bytes(), code, nil
		}
	}
	var secrets []string
	if c.remote != nil {
		secrets = []string{c.remote.token}
		if c.remote.token != "" {
			secrets = append(secrets, basic(c.remote.token))
		}
	}
	return stdout.buf.Bytes(), code, &GitError{Operation: operation, Exit: code, Message: clean(stderr.buf.String(), secrets...)}
}

// bounded keeps at most left bytes and calls full when more comes.
type bounded struct {
	buf  bytes.Buffer
	w    io.Writer
	left int64
	over bool
	full func()
}

func (b *bounded) Write(p []byte) (int, error) {
	n := len(p)
	if int64(n) > b.left {
		p = p[:b.left]
		if !b.over && b.full != nil {
			b.full()
		}
		b.over = true
	}
	b.left -= int64(len(p))
	if b.w != nil {
		if _, err := b.w.Write(p); err != nil {
			return 0, err
		}
		return n, nil
	}
	b.buf.Write(p)
	return n, nil
}

// parseRemote accepts what a fetch or push may go to. A token travels over
// plain http to this machine only.
func parseRemote(raw, token string) (*remote, error) {
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.Hostname() == "" || strings.ContainsAny(raw, " \t\r\n\x00") {
		return nil, fmt.Errorf("repository address %q: use https://host/owner/name", clean(raw))
	}
	if u.User != nil {
		return nil, fmt.Errorf("repository address %q: it holds a user or password: give the token separately", clean(raw))
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("repository address %q: remove what follows the path", clean(raw))
	}
	if u.Scheme == "http" && token != "" {
		if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return nil, fmt.Errorf("repository address %q: a token is not sent over plain http: use https", clean(raw))
		}
	}
	return &remote{url: u, token: token}, nil
}

// Version returns git's version, for `bot doctor`, and an error with what to
// do if git is missing or too old.
func Version(ctx context.Context) (string, error) {
	out, err := git(ctx, call{args: []string{"version"}})
	if err != nil {
		return "", err
	}
	text := strings.TrimPrefix(strings.TrimSpace(string(out)), "git version ")
	part := strings.SplitN(text, ".", 3)
	if len(part) >= 2 {
		major, _ := strconv.Atoi(part[0])
		minor, _ := strconv.Atoi(part[1])
		if major < 2 || (major == 2 && minor < 31) {
			return text, fmt.Errorf("git %s is too old: install git 2.31 or newer", text)
		}
	}
	return text, nil
}
