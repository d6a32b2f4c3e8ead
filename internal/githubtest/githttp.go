package githubtest

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"os"
	"strings"
)

// isGitPath says whether an address is one that git asks for.
func isGitPath(path string) bool {
	_, _, service := splitGitPath(path)
	return service != ""
}

// splitGitPath cuts /owner/name.git/service; git leaves out ".git" when the
// user did.
func splitGitPath(path string) (owner, name, service string) {
	parts := strings.SplitN(strings.TrimPrefix(path, "/"), "/", 3)
	if len(parts) < 3 {
		return "", "", ""
	}
	switch parts[2] {
	case "info/refs", "git-upload-pack", "git-receive-pack":
		return parts[0], strings.TrimSuffix(parts[1], ".git"), parts[2]
	}
	return "", "", ""
}

// serveGit speaks smart HTTP by git's own http-backend.
func (s *Server) serveGit(w http.ResponseWriter, r *http.Request) {
	owner, name, service := splitGitPath(r.URL.EscapedPath())
	c := &call{s: s, r: r, header: http.Header{}}
	route := "/{owner}/{repo}.git/" + service
	fault := s.takeFault(r.Method, route)
	if !fault.wait(s.ctx, r.Context()) {
		return
	}
	finish := func(status int) { s.record(c, r.URL.Path, route, status) }
	if fault.skipsHandler() {
		rep := fault.reply(c)
		finish(rep.status)
		for k, v := range c.header {
			w.Header()[k] = v
		}
		fault.write(w, rep)
		return
	}
	writing := service == "git-receive-pack" || r.URL.Query().Get("service") == "git-receive-pack"
	repo, env, status, text := s.openGit(c, owner, name, writing)
	if repo == nil {
		finish(status)
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
		}
		http.Error(w, text, status)
		return
	}
	body, cleanup, err := spool(r)
	defer cleanup()
	if err != nil {
		finish(http.StatusBadRequest)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	req := r.Clone(r.Context())
	req.Body, req.TransferEncoding = body.reader, nil
	req.ContentLength = body.size
	req.Header.Del("Content-Encoding")
	req.Header.Del("Authorization") // the backend needs none and could log it
	req.URL.Path = "/" + repo.fullName() + ".git/" + service
	h := &cgi.Handler{Path: s.backend, Root: "/", Dir: s.dir, Env: append(gitEnv("GIT_PROJECT_ROOT="+s.dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER="+c.who.name()), env...), Stderr: io.Discard}
	if service != "git-receive-pack" {
		h.ServeHTTP(w, req)
		finish(http.StatusOK)
		return
	}
	s.receive(w, req, h, c, repo, finish)
}

// receive runs a push and then lets its consequences happen before the client
// hears the end of it.
func (s *Server) receive(w http.ResponseWriter, req *http.Request, h *cgi.Handler, c *call, repo *repository, finish func(int)) {
	repo.gitMu.Lock()
	defer repo.gitMu.Unlock()
	s.mu.Lock()
	before, err := s.listRefs(repo, "refs/heads", "refs/tags")
	s.mu.Unlock()
	if err != nil {
		finish(http.StatusInternalServerError)
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h.ServeHTTP(w, req)
	s.mu.Lock()
	from := len(repo.pushes)
	err = s.refsChanged(repo, before, c.who.user())
	var changed []string
	for _, p := range repo.pushes[from:] {
		changed = append(changed, fmt.Sprintf("%s %s..%s", p.Ref, p.Before, p.After))
	}
	s.mu.Unlock()
	if err != nil {
		s.logf("push to %s: %v", repo.fullName(), err)
	}
	c.body = []byte(strings.Join(changed, "\n"))
	finish(http.StatusOK)
}

// openGit decides whether the caller may read or write the repository. When
// not, status and text are GitHub's.
func (s *Server) openGit(c *call, owner, name string, writing bool) (repo *repository, env []string, status int, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who, denied := s.authenticate(c.r)
	c.who = who
	if denied != nil || who.app != nil {
		return nil, nil, http.StatusUnauthorized, "Invalid username or token. Password authentication is not supported for Git operations."
	}
	r := s.repo(owner + "/" + name)
	u := who.user()
	missing := func() (*repository, []string, int, string) {
		if u == nil {
			return nil, nil, http.StatusUnauthorized, "Repository not found."
		}
		return nil, nil, http.StatusNotFound, "Repository not found."
	}
	if r == nil {
		return missing()
	}
	if r.archived && writing {
		return nil, nil, http.StatusForbidden, "This repository was archived so it is read-only."
	}
	need, level := "contents:read", "read"
	if writing {
		need, level = "contents:write", "write"
	}
	if t := who.token; t != nil && t.inst != nil {
		switch {
		case !t.sees(r) && (r.private || writing):
			return missing()
		case t.sees(r) && !t.may(need):
			if !writing && !r.private {
				return r, nil, 0, ""
			}
			return nil, nil, http.StatusForbidden, "Write access to repository not granted."
		}
		if !t.may("workflows:write") {
			env = append(env, "GITHUBTEST_WORKFLOWS=refuse")
		}
		return r, append(env, r.protectEnv(u)...), 0, ""
	}
	role := r.role(u)
	if u == nil && !r.private {
		role = "read"
	}
	env = r.protectEnv(u)
	if refs := s.mayMaintain(r, u); refs != nil && roleRank[role] < roleRank["write"] {
		role, env = "write", append(env, "GITHUBTEST_ONLY="+strings.Join(refs, " "))
	}
	switch {
	case roleRank[role] == 0:
		return missing()
	case roleRank[role] < roleRank[level] && u == nil:
		return nil, nil, http.StatusUnauthorized, "Authentication required."
	case roleRank[role] < roleRank[level]:
		return nil, nil, http.StatusForbidden, "Permission to " + r.fullName() + ".git denied to " + u.login + "."
	}
	return r, env, 0, ""
}

// spooled is a request body of known size.
type spooled struct {
	reader io.ReadCloser
	size   int64
}

// spool writes the body to a file, since CGI needs its size and git sends
// large pushes in chunks, and undoes its compression.
func spool(r *http.Request) (spooled, func(), error) {
	none := func() {}
	var in io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return spooled{}, none, fmt.Errorf("read the compressed body: %w", err)
		}
		in = z
	}
	f, err := os.CreateTemp("", "githubtest-push-")
	if err != nil {
		return spooled{}, none, fmt.Errorf("store the body: %w", err)
	}
	cleanup := func() {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}
	n, err := io.Copy(f, in)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return spooled{}, cleanup, fmt.Errorf("store the body: %w", err)
	}
	return spooled{f, n}, cleanup, nil
}
