package githubtest_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v62/github"
	"go.uber.org/goleak"

	"culprit/internal/conformance"
	"culprit/internal/githubtest"
	"culprit/internal/requiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var sharedKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

const repoName = "octo/calc"

// clock is a time that a test moves.
//
// It goes on with the real one, whose time the clients sign their requests
// with: a clock that stood still would refuse them on a busy machine.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func newClock() *clock { return &clock{} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// world is a server with an App that is installed on one repository with two
// commits.
type world struct {
	*githubtest.Server
	t     *testing.T
	app   githubtest.App
	inst  int64
	clock *clock
	hooks *receiver
}

func newWorld(t *testing.T, change ...func(*githubtest.Options, *githubtest.AppConfig)) *world {
	t.Helper()
	requiretest.Program(t, "git")
	w := &world{t: t, clock: newClock(), hooks: newReceiver(t)}
	key, err := sharedKey()
	must(t, err)
	opts := githubtest.Options{Dir: t.TempDir(), Now: w.clock.Now}
	cfg := githubtest.AppConfig{WebhookURL: w.hooks.URL, WebhookSecret: "s3cret", Key: key}
	for _, f := range change {
		f(&opts, &cfg)
	}
	w.Server = conformance.Start(t, opts, conformance.RefusedRequestsMayBeWrong())
	w.app, err = w.CreateApp(cfg)
	must(t, err)
	must(t, w.CreateOrg("octo"))
	must(t, w.CreateRepo(githubtest.RepoConfig{Owner: "octo", Name: "calc", Private: true}))
	dir := t.TempDir()
	write(t, filepath.Join(dir, "calc.go"), "package calc\n\nfunc Add(a, b int) int { return a + b }\n")
	must(t, w.ImportGit(repoName, dir, "main"))
	_, err = w.CommitFile(repoName, "ada", "main", "README.md", []byte("# calc\n"), "Add a README")
	must(t, err)
	w.inst, err = w.Install(w.app.ID, "octo")
	must(t, err)
	return w
}

// appClient acts by the App's JWT.
func (w *world) appClient() *github.Client {
	w.t.Helper()
	tr, err := ghinstallation.NewAppsTransport(http.DefaultTransport, w.app.ID, w.app.PrivateKeyPEM())
	must(w.t, err)
	tr.BaseURL = strings.TrimSuffix(w.APIURL(), "/")
	c, err := github.NewClient(&http.Client{Transport: tr}).WithEnterpriseURLs(w.APIURL(), w.URL())
	must(w.t, err)
	return c
}

// client acts by an installation token.
func (w *world) client(opts ...*github.InstallationTokenOptions) *github.Client {
	w.t.Helper()
	tr, err := ghinstallation.New(http.DefaultTransport, w.app.ID, w.inst, w.app.PrivateKeyPEM())
	must(w.t, err)
	tr.BaseURL = strings.TrimSuffix(w.APIURL(), "/")
	if len(opts) > 0 {
		tr.InstallationTokenOptions = opts[0]
	}
	c, err := github.NewClient(&http.Client{Transport: tr}).WithEnterpriseURLs(w.APIURL(), w.URL())
	must(w.t, err)
	return c
}

// token makes an installation token.
func (w *world) token(opts *github.InstallationTokenOptions) string {
	w.t.Helper()
	tok, _, err := w.appClient().Apps.CreateInstallationToken(w.t.Context(), w.inst, opts)
	must(w.t, err)
	return tok.GetToken()
}

// send makes a raw request and returns status, headers and body.
func (w *world) send(method, path, token, body string, header ...string) (int, http.Header, string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.URL()+path, strings.NewReader(body))
	must(w.t, err)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	must(w.t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	must(w.t, err)
	return resp.StatusCode, resp.Header, string(data)
}

// settle waits for the webhooks caused so far.
func (w *world) settle() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	must(w.t, w.WaitDeliveries(ctx))
}

// git runs git in a folder with nothing of this machine's configuration.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := tryGit(dir, args...)
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(out)
}

// gitIn is git with an input, and one more setting of the environment.
func gitIn(t *testing.T, dir, env, stdin string, args ...string) string {
	t.Helper()
	cmd := gitCommand(dir, args...)
	cmd.Env = append(cmd.Env, env)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func tryGit(dir string, args ...string) (string, error) {
	out, err := gitCommand(dir, args...).CombinedOutput()
	return string(out), err
}

func gitCommand(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com",
	}
	return cmd
}

// withToken is the clone address that carries a token.
func (w *world) withToken(token string) string {
	return strings.Replace(w.CloneURL(repoName), "http://", "http://x-access-token:"+token+"@", 1)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

// hook is one webhook that arrived.
type hook struct {
	header http.Header
	body   []byte
}

// receiver is a bot's webhook address.
type receiver struct {
	URL    string
	mu     sync.Mutex
	hooks  []hook
	status int
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{status: http.StatusAccepted}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.hooks = append(r.hooks, hook{req.Header.Clone(), body})
		w.WriteHeader(r.status)
	}))
	t.Cleanup(srv.Close)
	r.URL = srv.URL
	return r
}

func (r *receiver) answer(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// events are the names of what arrived, as "event.action".
func (r *receiver) events() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, h := range r.hooks {
		name := h.header.Get("X-GitHub-Event")
		if a := field(h.body, "action"); a != "" {
			name += "." + a
		}
		out = append(out, name)
	}
	return out
}

func (r *receiver) all() []hook {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]hook(nil), r.hooks...)
}

// trySend is send for requests that may break.
func (w *world) trySend(method, path, token, body string) (int, string, error) {
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.URL()+path, strings.NewReader(body))
	must(w.t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	// A fresh connection: the client must not try again by itself.
	tr := &http.Transport{DisableKeepAlives: true}
	defer tr.CloseIdleConnections()
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
}

// newSlowReceiver is a webhook address that does not answer while the test
// runs.
func newSlowReceiver(t *testing.T) string {
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() {
		close(release)
		srv.Close()
	})
	return srv.URL
}
