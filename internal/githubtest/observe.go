package githubtest

import (
	"bytes"
	"net/http"
)

// Observer is told of everything that crosses the wire, so that a test can
// hold it against GitHub's own description. Its methods are called by many
// goroutines, before the client has the answer: they must return quickly and
// must not change what they are given.
type Observer interface {
	// Exchanged is called for each REST request that was answered.
	Exchanged(Exchange)
	// Sent is called for each webhook payload that is queued for delivery.
	Sent(event, action string, payload []byte)
}

// Exchange is a REST request and its answer.
type Exchange struct {
	Method string
	// Path as it was requested, without the /api/v3 prefix and without query.
	Path string
	// Route is the path template of GitHub's description and Params are its
	// parameters, unescaped; empty when no route matched.
	Route  string
	Params map[string]string
	Query  string
	Body   []byte

	Status       int
	AnswerHeader http.Header
	Answer       []byte
	// Fault says that the answer was made up, lost or cut by a Fault.
	Fault bool
}

// observed wraps an answer so that the observer hears of it.
type observed struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (o *observed) WriteHeader(status int) {
	o.status = status
	o.ResponseWriter.WriteHeader(status)
}

func (o *observed) Write(p []byte) (int, error) {
	o.body.Write(p)
	return o.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (o *observed) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// observe returns the writer of an answer, and what to call when it is
// written, even if a fault ends the connection.
func (s *Server) observe(w http.ResponseWriter, c *call, path string, fault *Fault) (http.ResponseWriter, func()) {
	if s.opts.Observer == nil {
		return w, func() {}
	}
	o := &observed{ResponseWriter: w}
	return o, func() {
		e := Exchange{
			Method: c.r.Method, Path: path, Params: c.params, Query: c.r.URL.RawQuery, Body: c.body, Status: o.status,
			AnswerHeader: w.Header().Clone(), Answer: o.body.Bytes(), Fault: fault != nil && (fault.replaces() || fault.Drop || fault.Truncate),
		}
		if c.route != nil {
			e.Route = c.route.path
		}
		s.opts.Observer.Exchanged(e)
	}
}
