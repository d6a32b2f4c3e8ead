package githubtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxBody is the largest request body that is read, in bytes.
const maxBody = 16 << 20

// serveREST answers one API request: fault, authentication, limits,
// authorisation, handler, conditional answer.
func (s *Server) serveREST(w http.ResponseWriter, r *http.Request, path string) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "the request's body could not be read", http.StatusBadRequest)
		return
	}
	rt, params := matchRoute(r.Method, path)
	template := ""
	if rt != nil {
		template = rt.path
	}
	fault := s.takeFault(r.Method, template)
	if !fault.wait(s.ctx, r.Context()) {
		return
	}
	c := &call{s: s, r: r, route: rt, params: params, body: body, header: http.Header{}}
	var rep reply
	if fault.skipsHandler() {
		rep = fault.reply(c)
	} else {
		rep = s.answer(c)
		if fault.replaces() {
			rep = fault.reply(c)
		}
	}
	rep = s.unchanged(c, rep)
	s.record(c, path, template, rep.status)
	w, done := s.observe(w, c, path, fault)
	defer done()
	s.send(w, c, rep, fault)
}

// answer runs the handler with the lock held and encodes its value before the
// lock is given back.
func (s *Server) answer(c *call) (rep reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who, denied := s.authenticate(c.r)
	c.who = who
	if limited := s.spend(c); limited != nil {
		return *limited
	}
	switch {
	case denied != nil:
		return *denied
	case c.r.Header.Get("User-Agent") == "":
		return fail(http.StatusForbidden, "Request forbidden by administrative rules. Please make sure your request has a User-Agent header.")
	case c.route == nil:
		return notFound()
	}
	if rep := s.authorize(c); rep != nil {
		return *rep
	}
	if rep := s.tooMany(c); rep != nil {
		return *rep
	}
	rep = c.route.handle(c)
	if rep.raw == nil && rep.body != nil {
		rep.raw = encodeJSON(rep.body)
	}
	return rep
}

func encodeJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		// Every value comes from this package; an error here is a bug that the
		// client must see as a server error.
		return []byte(fmt.Sprintf(`{"message":%q}`, err.Error()))
	}
	return bytes.TrimSpace(b.Bytes())
}

func (s *Server) send(w http.ResponseWriter, c *call, rep reply, fault *Fault) {
	if rep.raw == nil && rep.body != nil {
		rep.raw = encodeJSON(rep.body)
	}
	h := w.Header()
	h.Set("Server", "github.com")
	h.Set("X-GitHub-Request-Id", s.requestID())
	h.Set("X-GitHub-Media-Type", "github.v3; format=json")
	h.Set("X-GitHub-Api-Version-Selected", "2022-11-28")
	h.Set("Cache-Control", "private, max-age=60, s-maxage=60")
	h.Set("Vary", "Accept, Authorization, Cookie, X-GitHub-OTP")
	for k, v := range c.header {
		h[k] = v
	}
	if len(rep.raw) > 0 {
		if rep.mime == "" {
			rep.mime = "application/json; charset=utf-8"
		}
		h.Set("Content-Type", rep.mime)
	}
	fault.write(w, rep)
}

// unchanged gives an answer its ETag, which depends on the token, and answers
// 304 to a client that has it already, which costs nothing of the limit.
func (s *Server) unchanged(c *call, rep reply) reply {
	if rep.status != http.StatusOK || c.r.Method != http.MethodGet && c.r.Method != http.MethodHead {
		return rep
	}
	if rep.raw == nil && rep.body != nil {
		rep.raw = encodeJSON(rep.body)
	}
	sum := sha256.Sum256(append([]byte(c.r.Header.Get("Authorization")), rep.raw...))
	tag := `"` + hex.EncodeToString(sum[:]) + `"`
	c.header.Set("ETag", "W/"+tag)
	if !strings.Contains(c.r.Header.Get("If-None-Match"), tag) {
		return rep
	}
	s.refund(c)
	return reply{status: http.StatusNotModified}
}

func (s *Server) record(c *call, path, template string, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, Call{
		Seq: len(s.calls) + 1, Time: s.now(), Method: c.r.Method, Path: path, Route: template,
		Query: c.r.URL.RawQuery, Status: status, Actor: c.who.name(), Body: string(c.body),
	})
	s.logf("%s %s %d %s", c.r.Method, path, status, c.who.name())
}

func (s *Server) requestID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requestNo++
	return fmt.Sprintf("C0DE:%04X:%X:%X", s.requestNo&0xffff, s.requestNo, s.now().Unix())
}
