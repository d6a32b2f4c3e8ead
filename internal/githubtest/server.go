package githubtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options configure a Server. The zero value is usable.
type Options struct {
	// Addr is the address to listen on; "127.0.0.1:0" when empty.
	Addr string
	// Dir is the folder of the bare git repositories. When empty a temporary
	// folder is made, and removed by Close.
	Dir string
	// Now is the clock of tokens, timestamps and limits; time.Now when nil.
	Now func() time.Time
	// RateLimit is the number of requests an identity has per hour; 5000,
	// GitHub's figure, when zero.
	RateLimit int
	// ContentLimit is the number of requests that make or change something an
	// identity has per minute; 80 on GitHub, where more are refused by the
	// secondary limit. No limit when zero.
	ContentLimit int
	// WebhookTimeout bounds one delivery; 10 s, GitHub's figure, when zero.
	WebhookTimeout time.Duration
	// Observer, when set, is told of all requests, answers and webhooks.
	Observer Observer
	// Logf, when set, receives one line per request and delivery. No line
	// carries a credential.
	Logf func(format string, args ...any)
}

// Server is a running GitHub. Its methods are safe for concurrent use.
type Server struct {
	opts    Options
	dir     string
	ownsDir bool
	base    string // http://host:port
	logBase string // the same listener under another host name, for log downloads
	gitPath string
	backend string
	logKey  []byte

	listener net.Listener
	http     *http.Server
	ctx      context.Context
	cancel   context.CancelFunc
	done     sync.WaitGroup
	closing  sync.Once

	mu        sync.Mutex
	nextID    int64
	users     map[string]*user // by lower-case login
	apps      []*app
	actions   *app // GitHub Actions' own App
	installs  []*installation
	tokens    map[string]*token
	repos     []*repository
	windows   map[string]*window // primary limits
	bursts    map[string]*window // secondary limits of writes
	faults    []*Injected
	calls     []Call
	manifests map[string]registration // by code
	requestNo int64

	queue *deliveryQueue
}

// New starts a Server on loopback. It fails when git or git-http-backend is
// not installed or the address is taken.
func New(opts Options) (*Server, error) {
	if opts.Addr == "" {
		opts.Addr = "127.0.0.1:0"
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.RateLimit == 0 {
		opts.RateLimit = 5000
	}
	if opts.WebhookTimeout == 0 {
		opts.WebhookTimeout = 10 * time.Second
	}
	s := &Server{
		opts: opts, dir: opts.Dir, nextID: 1000, logKey: make([]byte, 32),
		users: map[string]*user{}, tokens: map[string]*token{}, windows: map[string]*window{}, bursts: map[string]*window{},
		manifests: map[string]registration{},
	}
	if _, err := rand.Read(s.logKey); err != nil {
		return nil, fmt.Errorf("make the key of log addresses: %w", err)
	}
	if err := s.findGit(); err != nil {
		return nil, err
	}
	if s.dir == "" {
		dir, err := os.MkdirTemp("", "githubtest-")
		if err != nil {
			return nil, fmt.Errorf("make the folder of repositories: %w", err)
		}
		s.dir, s.ownsDir = dir, true
	}
	l, err := net.Listen("tcp", opts.Addr)
	if err != nil {
		if s.ownsDir {
			_ = os.RemoveAll(s.dir)
		}
		return nil, fmt.Errorf("listen on %s: %w", opts.Addr, err)
	}
	s.listener = l
	s.base = "http://" + l.Addr().String()
	s.logBase = s.base
	if host, port, err := net.SplitHostPort(l.Addr().String()); err == nil && host == "127.0.0.1" {
		// GitHub serves logs from another host, where a client must not send
		// its token. A second name of loopback keeps that difference.
		if addrs, err := net.LookupHost("localhost"); err == nil && slices.Contains(addrs, host) {
			s.logBase = "http://localhost:" + port
		}
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.actions = s.newActionsApp()
	s.queue = newDeliveryQueue()
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: 10 * time.Second}
	s.done.Add(2)
	go func() {
		defer s.done.Done()
		_ = s.http.Serve(l)
	}()
	go func() {
		defer s.done.Done()
		s.deliverQueued()
	}()
	return s, nil
}

// Close stops the server, ends running requests and deliveries, waits for
// them, and removes the repositories when New made their folder. It may be called more than once.
func (s *Server) Close() error {
	var err error
	s.closing.Do(func() {
		s.cancel()
		s.queue.close()
		err = s.http.Close()
		s.done.Wait()
		s.mu.Lock()
		for _, r := range s.repos {
			r.reader.close()
			r.reader = nil
		}
		s.mu.Unlock()
		if s.ownsDir {
			err = errors.Join(err, os.RemoveAll(s.dir))
		}
	})
	return err
}

// URL is the address of the web pages and of git, without a slash at its end.
func (s *Server) URL() string { return s.base }

// APIURL is the address of the REST API, with a slash at its end as go-github
// wants it.
func (s *Server) APIURL() string { return s.base + "/api/v3/" }

// CloneURL is the address of a repository ("owner/name") for git.
func (s *Server) CloneURL(repo string) string { return s.base + "/" + repo + ".git" }

// GitDir is the folder of a bare repository ("owner/name") on disk.
func (s *Server) GitDir(repo string) string { return filepath.Join(s.dir, repo+".git") }

// gitExecPath is where git has its further programs; one process asks once.
var gitExecPath = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("git", "--exec-path").Output()
	return strings.TrimSpace(string(out)), err
})

func (s *Server) findGit() error {
	path, err := exec.LookPath("git")
	if err != nil {
		return fmt.Errorf("find git: %w", err)
	}
	s.gitPath = path
	libexec, err := gitExecPath()
	if err != nil {
		return fmt.Errorf("ask git for its exec path: %w", err)
	}
	s.backend = filepath.Join(libexec, "git-http-backend")
	if _, err := os.Stat(s.backend); err != nil {
		return fmt.Errorf("find git-http-backend: %w", err)
	}
	return nil
}

func (s *Server) now() time.Time { return s.opts.Now().UTC().Truncate(time.Second) }

func (s *Server) id() int64 {
	s.nextID++
	return s.nextID
}

func (s *Server) logf(format string, args ...any) {
	if s.opts.Logf != nil {
		s.opts.Logf(format, args...)
	}
}

// restRoots are the first path segments that belong to the REST API.
var restRoots = map[string]bool{
	"repos": true, "app": true, "apps": true, "installation": true, "rate_limit": true, "users": true,
	"orgs": true, "meta": true, "app-manifests": true, "user": true,
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	path := r.URL.EscapedPath()
	if rest, ok := strings.CutPrefix(path, "/api/v3"); ok && (rest == "" || rest[0] == '/') {
		s.serveREST(w, r, rest)
		return
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch {
	case restRoots[first]:
		s.serveREST(w, r, path)
	case first == "_logs":
		s.serveLog(w, r)
	case isGitPath(path):
		s.serveGit(w, r)
	default:
		s.servePage(w, r)
	}
}
