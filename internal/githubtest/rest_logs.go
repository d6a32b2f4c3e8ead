package githubtest

import (
	"archive/zip"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

var logRoutes = []*route{
	{method: "GET", path: "/repos/{owner}/{repo}/actions/jobs/{job_id}/logs", access: accessRepo, needs: "actions:read", role: "read", handle: jobLogs},
	{method: "GET", path: "/repos/{owner}/{repo}/actions/runs/{run_id}/logs", access: accessRepo, needs: "actions:read", role: "read", handle: runLogs},
	{method: "GET", path: "/repos/{owner}/{repo}/actions/runs/{run_id}/attempts/{attempt_number}/logs", access: accessRepo, needs: "actions:read", role: "read", handle: runLogs},
}

// logLife is how long a log's address is good for.
const logLife = time.Minute

func jobLogs(c *call) reply {
	_, _, j := c.job()
	if j == nil || j.check.status != "completed" {
		return notFound()
	}
	return c.redirectToLog(fmt.Sprintf("job/%s/%d", c.repo.fullName(), j.check.id))
}

func runLogs(c *call) reply {
	w, a := c.run()
	if w == nil || a.status != "completed" {
		return notFound()
	}
	return c.redirectToLog(fmt.Sprintf("run/%s/%d/%d", c.repo.fullName(), w.id, a.number))
}

// redirectToLog answers 302 to a signed address on another host. Anonymous
// readers get no logs, not even of public repositories.
func (c *call) redirectToLog(what string) reply {
	if c.who.user() == nil {
		return fail(http.StatusForbidden, "Must have admin rights to Repository.")
	}
	expires := strconv.FormatInt(c.s.now().Add(logLife).Unix(), 10)
	c.header.Set("Location", fmt.Sprintf("%s/_logs/%s?se=%s&sig=%s", c.s.logBase, what, expires, c.s.signLog(what, expires)))
	return reply{status: http.StatusFound}
}

func (s *Server) signLog(what, expires string) string {
	mac := hmac.New(sha256.New, s.logKey)
	fmt.Fprintf(mac, "%s\n%s", what, expires)
	return hex.EncodeToString(mac.Sum(nil))
}

// serveLog is the storage behind the redirect. As the real one, it refuses a
// request that still carries an Authorization header.
func (s *Server) serveLog(w http.ResponseWriter, r *http.Request) {
	c := &call{s: s, r: r, header: http.Header{}}
	fault := s.takeFault(r.Method, "/_logs")
	if !fault.wait(s.ctx, r.Context()) {
		return
	}
	var rep reply
	if fault.replaces() {
		rep = fault.reply(c)
	} else {
		rep = s.readLog(r)
	}
	s.record(c, strings.TrimSuffix(r.URL.Path, "/"), "/_logs", rep.status)
	for k, v := range c.header {
		w.Header()[k] = v
	}
	if rep.mime != "" {
		w.Header().Set("Content-Type", rep.mime)
	}
	fault.write(w, rep)
}

func (s *Server) readLog(r *http.Request) reply {
	denied := func(why string) reply {
		return reply{
			status: http.StatusForbidden, mime: "application/xml",
			raw: []byte(`<?xml version="1.0" encoding="utf-8"?><Error><Code>AuthenticationFailed</Code><Message>` + why + `</Message></Error>`),
		}
	}
	what := strings.TrimPrefix(r.URL.Path, "/_logs/")
	expires := r.URL.Query().Get("se")
	at, err := strconv.ParseInt(expires, 10, 64)
	switch {
	case r.Header.Get("Authorization") != "":
		return denied("Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.")
	case err != nil || !hmac.Equal([]byte(s.signLog(what, expires)), []byte(r.URL.Query().Get("sig"))):
		return denied("Signature did not match.")
	case s.now().After(time.Unix(at, 0)):
		return denied("Signature not valid in the specified time frame.")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	parts := strings.Split(what, "/")
	c := &call{s: s, r: r, params: map[string]string{}}
	if len(parts) < 4 {
		return denied("Signature did not match.")
	}
	if c.repo = s.repo(parts[1] + "/" + parts[2]); c.repo == nil {
		return reply{status: http.StatusNotFound}
	}
	if parts[0] == "job" {
		c.params["job_id"] = parts[3]
		_, _, j := c.job()
		return reply{status: http.StatusOK, raw: []byte("\ufeff" + j.log), mime: "text/plain; charset=utf-8"}
	}
	c.params["run_id"], c.params["attempt_number"] = parts[3], parts[4]
	_, a := c.run()
	data, err := logArchive(a)
	if err != nil {
		return reply{status: http.StatusInternalServerError}
	}
	return reply{status: http.StatusOK, raw: data, mime: "application/zip"}
}

// logArchive is the zip of an attempt's logs, with GitHub's entry names: one
// file of each job at the top, and one of each step in a folder of the job.
func logArchive(a *attempt) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	add := func(name, text string) error {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: a.updated})
		if err == nil {
			_, err = w.Write([]byte("\ufeff" + text))
		}
		return err
	}
	for n, j := range a.jobs {
		if err := add(fmt.Sprintf("%d_%s.txt", n, entryName(j.name)), j.log); err != nil {
			return nil, err
		}
		for k, st := range j.steps {
			if st.log == "" {
				continue
			}
			if err := add(fmt.Sprintf("%s/%d_%s.txt", entryName(j.name), k+1, entryName(st.name)), st.log); err != nil {
				return nil, err
			}
		}
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("write the log archive: %w", err)
	}
	return b.Bytes(), nil
}

// entryName leaves out what cannot be in a file's name, as GitHub does.
func entryName(name string) string {
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:<>"|?*`, r) || r < ' ' {
			return -1
		}
		return r
	}, name)
	if runes := []rune(name); len(runes) > 90 {
		name = string(runes[:90])
	}
	return name
}
