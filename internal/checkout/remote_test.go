package checkout

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"culprit/internal/requiretest"
)

// server serves the repositories below a folder over git's smart protocol, to
// those who bring the token.
type server struct {
	*httptest.Server
	root string

	mu       sync.Mutex
	token    string
	requests []*http.Request
}

func newServer(t *testing.T, token string) *server {
	t.Helper()
	program := requiretest.Program(t, "git")
	out, err := exec.Command(program, "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		requiretest.Missing(t, "git-http-backend is not installed")
	}
	s := &server{root: t.TempDir(), token: token}
	handler := &cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + s.root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=x", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r)
		want := s.token
		s.mu.Unlock()
		if strings.HasPrefix(r.URL.Path, "/moved/") {
			http.Redirect(w, r, "http://elsewhere.invalid"+r.URL.Path, http.StatusMovedPermanently)
			return
		}
		if want != "" && r.Header.Get("Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("x-access-token:"+want)) {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// publish makes a bare copy of r on the server.
func (s *server) publish(r *repository, name string) string {
	r.t.Helper()
	path := filepath.Join(s.root, name)
	r.git("clone", "-q", "--bare", r.dir, path)
	r.git("-C", path, "config", "http.receivepack", "true")
	r.git("-C", path, "config", "uploadpack.allowReachableSHA1InWant", "true")
	r.git("remote", "add", "origin", path)
	return s.URL + "/" + name
}

func tokenOf(token string) TokenFunc {
	return func(context.Context) (string, error) { return token, nil }
}

const secretToken = "ghs_abcdefSECRET0123456789"

func TestRemoteMirrorFollowsTheRemote(t *testing.T) {
	t.Parallel()
	s := newServer(t, secretToken)
	r := newRepository(t)
	r.write("a.txt", "one\n")
	first := r.commit("first")
	address := s.publish(r, "o/r.git")
	c, ctx := newCache(t), t.Context()
	m, err := c.OpenRemote(ctx, address, tokenOf(secretToken))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if head, err := m.Resolve(ctx, "HEAD"); err != nil || head.SHA != first {
		t.Fatalf("HEAD %v %v", head, err)
	}

	r.write("a.txt", "two\n")
	second := r.commit("second")
	r.git("push", "-q", "origin", "main", "HEAD:refs/pull/1/head", "main:gone")
	again, err := c.OpenRemote(ctx, address, tokenOf(secretToken), second, "refs/pull/1/head")
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if head, err := again.Resolve(ctx, "main"); err != nil || head.SHA != second {
		t.Errorf("main is %v %v", head, err)
	}
	if pull, err := again.Resolve(ctx, "refs/culprit/want/pull/1/head"); err != nil || pull.SHA != second {
		t.Errorf("pull request is %v %v", pull, err)
	}
	r.git("push", "-q", "origin", ":gone")
	if again, err = c.OpenRemote(ctx, address, tokenOf(secretToken)); err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if _, err := again.Resolve(ctx, "gone"); !errors.Is(err, ErrUnknownRevision) {
		t.Errorf("a deleted branch resolves: %v", err)
	}
	tree := worktree(t, again, second)
	if read(t, filepath.Join(tree.Dir(), "a.txt")) != "two\n" {
		t.Error("wrong content")
	}
	// The token is nowhere on disk.
	if strings.Contains(state(t, c.dir), secretToken) || strings.Contains(state(t, c.dir), basic(secretToken)) {
		t.Error("the token was written into the cache")
	}
}

func TestRemoteMirrorIsRebuiltWhenItIsTorn(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	r := newRepository(t)
	r.write("a.txt", "one\n")
	first := r.commit("first")
	address := s.publish(r, "r.git")
	c, ctx := newCache(t), t.Context()
	m, err := c.OpenRemote(ctx, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	tear := map[string]func() error{
		"killed while it was made":  func() error { return os.Remove(filepath.Join(m.dir, complete)) },
		"objects lost":              func() error { return os.RemoveAll(filepath.Join(m.dir, "objects", "pack")) },
		"killed in a fetch":         func() error { return os.WriteFile(filepath.Join(m.dir, "packed-refs.lock"), nil, 0o600) },
		"half of a new one is left": func() error { return os.MkdirAll(m.dir+".new/objects", 0o755) },
	}
	for name, do := range tear {
		if err := do(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again, err := c.OpenRemote(ctx, address, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if data, err := again.Show(ctx, first, "a.txt"); err != nil || string(data) != "one\n" {
			t.Errorf("%s: %q %v", name, data, err)
		}
		again.Close()
	}
}

func TestRemoteErrorsSayWhatToDoAndHideTheToken(t *testing.T) {
	t.Parallel()
	s := newServer(t, secretToken)
	r := newRepository(t)
	r.write("a.txt", "x")
	r.commit("first")
	address := s.publish(r, "r.git")
	empty := newRepository(t)
	emptyAddress := s.publish(empty, "empty.git")
	c, ctx := newCache(t), t.Context()
	wrong := "ghs_WRONG_token_0123456789"
	for name, tc := range map[string]struct {
		address string
		token   string
		want    []string
		is      error
	}{
		"wrong token":        {address, wrong, nil, ErrAccess},
		"no token":           {address, "", nil, ErrAccess},
		"deleted repository": {s.URL + "/none.git", secretToken, nil, ErrAccess},
		"no commits":         {emptyAddress, secretToken, nil, ErrNoCommits},
		"unknown commit":     {address, secretToken, []string{strings.Repeat("1", 40)}, ErrUnknownRevision},
		"unknown reference":  {address, secretToken, []string{"refs/pull/9/head"}, ErrUnknownRevision},
		"bad reference":      {address, secretToken, []string{"refs/../x:y"}, ErrUnknownRevision},
		"redirect":           {s.URL + "/moved/r.git", secretToken, nil, nil},
	} {
		m, err := c.OpenRemote(ctx, tc.address, tokenOf(tc.token), tc.want...)
		if err == nil {
			m.Close()
			t.Errorf("%s: no error", name)
			continue
		}
		if tc.is != nil && !errors.Is(err, tc.is) {
			t.Errorf("%s: %v", name, err)
		}
		for _, secret := range []string{secretToken, wrong, basic(secretToken), basic(wrong)} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the token is in the error", name)
			}
		}
	}
	for _, bad := range []string{
		"", "ext::sh -c touch% x", "file:///etc", "/etc", "git@github.com:o/r", "ssh://h/r", "--upload-pack=x", "https://user:pw@h/r", "http://h/r?x=1",
		"https://", "https://h/r\n", "HTTPS://", "git://h/r",
	} {
		m, err := c.OpenRemote(ctx, bad, nil)
		if err == nil {
			m.Close()
			t.Errorf("took %q", bad)
		} else if strings.Contains(err.Error(), "pw") {
			t.Errorf("%q: the password is in the error: %v", bad, err)
		}
	}
	if _, err := parseRemote("http://example.org/r", secretToken); err == nil {
		t.Error("a token would go over plain http")
	}
	failing := func(context.Context) (string, error) { return "", errors.New("no key") }
	if _, err := c.OpenRemote(ctx, address, failing); err == nil || !strings.Contains(err.Error(), "no key") {
		t.Errorf("token function failed: %v", err)
	}
}

func TestPushMovesOnlyWhatItSaw(t *testing.T) {
	t.Parallel()
	s := newServer(t, secretToken)
	r := newRepository(t)
	r.write("a.txt", "one\n")
	first := r.commit("first")
	address := s.publish(r, "r.git")
	m, err := newCache(t).OpenRemote(t.Context(), address, tokenOf(secretToken))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	ctx := t.Context()
	commit := func(text string) string {
		t.Helper()
		tree := worktree(t, m, first)
		if err := tree.WriteFile("a.txt", []byte(text), 0); err != nil {
			t.Fatal(err)
		}
		sha, err := tree.Commit(ctx, "Fix it\n\nBecause.\n", sig, sig)
		if err != nil {
			t.Fatal(err)
		}
		return sha
	}
	fix, better := commit("fixed\n"), commit("better\n")
	remoteHead := func() string {
		return r.git("-C", filepath.Join(s.root, "r.git"), "rev-parse", "refs/heads/culprit/fix-1")
	}
	if err := m.Push(ctx, "culprit/fix-1", fix, ""); err != nil || remoteHead() != fix {
		t.Fatalf("first push: %v", err)
	}
	if err := m.Push(ctx, "culprit/fix-1", fix, fix); err != nil {
		t.Errorf("same push again: %v", err)
	}
	if err := m.Push(ctx, "culprit/fix-1", better, fix); err != nil || remoteHead() != better {
		t.Errorf("update: %v", err)
	}
	for name, old := range map[string]string{"must not exist": "", "moved by somebody": fix} {
		if err := m.Push(ctx, "culprit/fix-1", first, old); !errors.Is(err, ErrRejected) || remoteHead() != better {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, branch := range []string{"", "--force", "a..b", "a b", "x:y", "-x", "refs/../x"} {
		if err := m.Push(ctx, branch, fix, ""); err == nil {
			t.Errorf("pushed to %q", branch)
		}
	}
	if err := r.mirror().Push(ctx, "x", fix, ""); err == nil {
		t.Error("pushed to a local repository")
	}
}

func TestTwoSessionsShareAMirror(t *testing.T) {
	t.Parallel()
	s := newServer(t, "")
	r := newRepository(t)
	r.write("a.txt", "one\n")
	r.commit("first")
	address := s.publish(r, "r.git")
	dir := filepath.Join(t.TempDir(), "cache")
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			c, err := OpenCache(dir)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			m, err := c.OpenRemote(t.Context(), address, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer m.Close()
			tree, err := m.Worktree(t.Context(), "HEAD")
			if err != nil {
				t.Error(err)
				return
			}
			if data, err := tree.ReadFile("a.txt"); err != nil || string(data) != "one\n" {
				t.Errorf("%q %v", data, err)
			}
		})
	}
	all.Wait()
}

func TestCancellingEndsGit(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	release := make(chan struct{})
	var once sync.Once
	hang := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() { close(started) })
		<-release
	}))
	defer hang.Close()
	defer close(release)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	_, err := newCache(t).OpenRemote(ctx, hang.URL+"/r.git", nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}
