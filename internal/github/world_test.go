package github_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"culprit/internal/conformance"
	"culprit/internal/github"
	"culprit/internal/githubtest"
	"culprit/internal/requiretest"
	"culprit/internal/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// appKey is shared, because making one takes long.
var appKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// world is a GitHub with one repository, octo/calc, and our App installed.
type world struct {
	t      *testing.T
	gh     *githubtest.Server
	app    githubtest.App
	inst   int64
	head   string
	client *github.App
	tr     *wire

	mu     sync.Mutex
	tokens []string
	slept  []time.Duration
	clock  atomic.Int64 // added to the time
}

const full = "octo/calc"

func newWorld(t *testing.T) *world {
	t.Helper()
	requiretest.Program(t, "git")
	gh := conformance.Start(t, githubtest.Options{})
	w := &world{t: t, gh: gh, tr: &wire{next: http.DefaultTransport.(*http.Transport).Clone()}}
	t.Cleanup(func() { w.client.Close() })
	w.app = must(gh.CreateApp(githubtest.AppConfig{Key: appKey()}))(t)
	check(t, gh.CreateOrg("octo"))
	check(t, gh.CreateRepo(githubtest.RepoConfig{Owner: "octo", Name: "calc"}))
	w.head = must(gh.CommitFile(full, "ann", "main", "calc.go", []byte("package calc\n"), "Start"))(t)
	w.inst = must(gh.Install(w.app.ID, "octo"))(t)
	w.client = w.signIn(w.app.ID)
	return w
}

// signIn makes another client, as another process would.
func (w *world) signIn(appID int64) *github.App {
	return must(github.New(github.Config{
		BaseURL: w.gh.APIURL(), AppID: appID, PrivateKey: w.app.PrivateKeyPEM(),
		Transport: w.tr,
		OnToken: func(token string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.tokens = append(w.tokens, token)
		},
		Redact: w.redact,
		Now:    func() time.Time { return time.Now().Add(time.Duration(w.clock.Load())) },
		Sleep: func(ctx context.Context, d time.Duration) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.slept = append(w.slept, d)
			return ctx.Err()
		},
	}))(w.t)
}

func (w *world) redact(s string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, token := range w.tokens {
		s = strings.ReplaceAll(s, token, "[REDACTED:token]")
	}
	return strings.ReplaceAll(s, "hunter2", "[REDACTED:secret]")
}

func (w *world) repo() *github.Repo {
	w.t.Helper()
	return must(w.client.Repo(w.t.Context(), w.inst, "octo", "calc"))(w.t)
}

// publisher is a fresh one, as after a restart.
func (w *world) publisher(configure ...func(*github.PublisherConfig)) *github.Publisher {
	w.t.Helper()
	c := github.PublisherConfig{Repo: w.repo(), Texts: plainTexts{}, Push: w.quickPush, Interval: time.Nanosecond}
	for _, f := range configure {
		f(&c)
	}
	p := must(github.NewPublisher(c))(w.t)
	w.t.Cleanup(p.Close)
	return p
}

// push is what the composition root does: real git, the same commit each time.
func (w *world) push(ctx context.Context, p github.Push) (string, error) {
	repo, err := w.client.Repo(ctx, w.inst, "octo", "calc")
	if err != nil {
		return "", err
	}
	user, token, err := repo.GitCredential(ctx, true)
	if err != nil {
		return "", err
	}
	dir := w.t.TempDir()
	address := strings.Replace(repo.CloneURL, "://", "://"+user+":"+token+"@", 1)
	date := p.Date.UTC().Format(time.RFC3339)
	git := func(stdin string, args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
			"GIT_AUTHOR_NAME=culprit", "GIT_AUTHOR_EMAIL=c@example.org", "GIT_COMMITTER_NAME=culprit", "GIT_COMMITTER_EMAIL=c@example.org",
			"GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date,
		}
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
		return strings.TrimSpace(string(out)), err
	}
	for _, step := range [][]string{
		{"clone", "--quiet", address, "."}, {"checkout", "--quiet", "-b", p.Branch, p.Base},
		{"apply"}, {"commit", "--quiet", "--all", "-m", p.Message}, {"push", "--quiet", "origin", p.Branch},
	} {
		stdin := ""
		if step[0] == "apply" {
			stdin = p.Patch
		}
		if _, err := git(stdin, step...); err != nil {
			return "", err
		}
	}
	return git("", "rev-parse", "HEAD")
}

// quickPush makes the branch inside of the server, for tests that are not
// about git.
func (w *world) quickPush(ctx context.Context, p github.Push) (string, error) {
	refs, err := w.gh.Refs(full)
	if err != nil {
		return "", err
	}
	if sha := refs[p.Branch]; sha != "" {
		return sha, nil
	}
	cmd := exec.CommandContext(ctx, "git", "--git-dir", w.gh.GitDir(full), "update-ref", "refs/heads/"+p.Branch, p.Base)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("make branch: %w: %s", err, out)
	}
	return w.gh.CommitFile(full, w.app.BotLogin(), p.Branch, "calc.go", []byte("package calc\n// fixed\n"), p.Message)
}

const patch = "--- a/calc.go\n+++ b/calc.go\n@@ -1 +1,2 @@\n package calc\n+// fixed\n"

// ciSession is a session about red CI of a branch, with a fix.
func (w *world) ciSession(ref string) *session.Session {
	return &session.Session{
		ID: "20261130-debug-parse", CreatedAt: time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC), State: "reproduce",
		Source: session.Source{Trigger: "check_run", Repository: full, Ref: ref, SHA: w.head},
		Fix:    &session.Fix{Base: w.head, Patch: patch, Summary: "the sign is dropped"},
	}
}

// issueSession is a session about a labelled issue.
func (w *world) issueSession() *session.Session {
	i := must(w.gh.OpenIssue(full, "ann", "Sign is lost", "see title", "debug"))(w.t)
	s := w.ciSession("")
	s.Source = session.Source{Trigger: "label", Repository: full, Issue: i.Number, SHA: w.head}
	s.CreatedAt = time.Now()
	return s
}

func (w *world) comments(number int) []githubtest.Comment {
	w.t.Helper()
	return must(w.gh.Comments(full, number))(w.t)
}

func (w *world) commitComments(sha string) []githubtest.CommitComment {
	w.t.Helper()
	return must(w.gh.CommitComments(full, sha))(w.t)
}

// noToken fails when a text holds a token that was ever given out.
func (w *world) noToken(text string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, token := range w.tokens {
		if strings.Contains(text, token) {
			w.t.Errorf("a token stands in %q", text)
		}
	}
	if strings.Contains(text, "ghs_") || strings.Contains(text, "PRIVATE KEY") {
		w.t.Errorf("a credential stands in %q", text)
	}
}

// plainTexts renders sessions in the simplest way.
type plainTexts struct{}

func (plainTexts) Comment(s *session.Session) string {
	return fmt.Sprintf("### %s hunter2\n\n<!-- culprit:%s -->\n", s.State, s.ID)
}

func (plainTexts) FindMarker(text string) (string, bool) {
	_, after, ok := strings.Cut(text, "<!-- culprit:")
	id, _, closed := strings.Cut(after, " -->")
	return id, ok && closed
}

func (plainTexts) CheckRun(s *session.Session) github.CheckRunText {
	t := github.CheckRunText{Title: "State " + s.State, Summary: "table hunter2"}
	for i := range 60 {
		t.Annotations = append(t.Annotations, github.Annotation{Path: "calc.go", Start: i + 1, Level: "warning", Title: "here", Message: "the sign is dropped"})
	}
	return t
}

func (plainTexts) PullRequest(s *session.Session) github.PullRequestText {
	return github.PullRequestText{Title: "Fix: " + s.Fix.Summary, Body: "proof of " + s.State + " hunter2", Draft: s.Confidence.Level != "high"}
}

func (plainTexts) CommitMessage(s *session.Session) string { return "Fix " + s.Fix.Summary }
func (plainTexts) RoundMessage(s *session.Session) string  { return "Revise " + s.Fix.Summary }
func (plainTexts) BranchName(s *session.Session) string    { return "culprit/" + s.ID }

// wire is a transport that can cut the line.
type wire struct {
	next *http.Transport

	mu     sync.Mutex
	writes int
	cutAt  int               // number of the write that fails; 0: none
	late   bool              // it reaches GitHub, only its answer is lost
	hosts  map[string]string // host -> authorization it was sent
	before func()            // called before each write; may be nil
}

var errCut = errors.New("connection was cut")

func (w *wire) CloseIdleConnections() { w.next.CloseIdleConnections() }

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	w.mu.Lock()
	if w.hosts == nil {
		w.hosts = map[string]string{}
	}
	w.hosts[req.URL.Hostname()] = req.Header.Get("Authorization")
	cut := false
	if req.Method != http.MethodGet && !strings.HasSuffix(req.URL.Path, "/access_tokens") {
		w.writes++
		cut = w.cutAt > 0 && w.writes >= w.cutAt // the process is dead from here on
	}
	late := w.late && w.writes == w.cutAt
	if w.before != nil && req.Method != http.MethodGet && !strings.HasSuffix(req.URL.Path, "/access_tokens") {
		w.before()
	}
	w.mu.Unlock()
	if cut && !late {
		return nil, errCut
	}
	resp, err := w.next.RoundTrip(req)
	if cut {
		if err == nil {
			resp.Body.Close()
		}
		return nil, errCut
	}
	return resp, err
}

func (w *wire) beforeWrite(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.before = f
}

func (w *wire) cut(at int, late bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes, w.cutAt, w.late = 0, at, late
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
