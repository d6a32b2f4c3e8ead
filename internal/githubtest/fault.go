package githubtest

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// Fault is something that goes wrong with matching requests. Git traffic has
// the routes /{owner}/{repo}.git/info/refs, /{owner}/{repo}.git/git-upload-pack
// and /{owner}/{repo}.git/git-receive-pack; log downloads have /_logs.
type Fault struct {
	// Method and Route choose the requests; empty matches all. Route is a path
	// template of GitHub's description: /repos/{owner}/{repo}/pulls.
	Method string
	Route  string
	// Skip lets that many matching requests pass first; Times ends the fault
	// after that many hits, 0 meaning never.
	Skip  int
	Times int

	// Latency delays the answer.
	Latency time.Duration
	// Status, Body and Header replace the answer. Without Body the answer is
	// GitHub's error JSON.
	Status int
	Body   string
	Header http.Header
	// Late carries the request out before the answer is replaced or lost, as
	// when a proxy times out behind a write that happened.
	Late bool
	// Truncate sends the first half of the answer and closes the connection.
	Truncate bool
	// Drop closes the connection without an answer.
	Drop bool
}

// PrimaryRateLimit is the answer of an exhausted primary limit that resets at
// the given time.
func PrimaryRateLimit(reset time.Time) Fault {
	return Fault{
		Status: http.StatusForbidden,
		Body:   `{"message":"API rate limit exceeded for installation ID 1.","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api","status":"403"}`,
		Header: http.Header{
			"X-Ratelimit-Limit": {"5000"}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Used": {"5000"},
			"X-Ratelimit-Reset": {strconv.FormatInt(reset.Unix(), 10)}, "X-Ratelimit-Resource": {"core"},
		},
	}
}

// SecondaryRateLimit is the answer of the abuse limits, 403 or 429 with
// Retry-After in whole seconds.
func SecondaryRateLimit(status int, retryAfter time.Duration) Fault {
	return Fault{
		Status: status,
		Body:   `{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again.","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits","status":"` + strconv.Itoa(status) + `"}`,
		Header: http.Header{"Retry-After": {strconv.Itoa(int(retryAfter.Seconds()))}},
	}
}

// NotOnPlan is the answer about protection and rulesets of a private repository
// whose owner has GitHub Free.
func NotOnPlan() Fault {
	return Fault{
		Status: http.StatusForbidden,
		Body:   `{"message":"Upgrade to GitHub Pro or make this repository public to enable this feature.","documentation_url":"https://docs.github.com/rest/repos/rules#get-rules-for-a-branch","status":"403"}`,
	}
}

// BadGateway is the HTML page that GitHub's proxies answer with.
func BadGateway() Fault {
	return Fault{
		Status: http.StatusBadGateway, Header: http.Header{"Content-Type": {"text/html"}},
		Body: "<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center></body></html>",
	}
}

// On returns the fault for one method and route.
func (f Fault) On(method, route string) Fault {
	f.Method, f.Route = method, route
	return f
}

// Injected is a fault at work.
type Injected struct {
	s    *Server
	f    Fault
	seen int
	hits int
	off  bool
}

// Inject makes a fault happen from the next request on.
func (s *Server) Inject(f Fault) *Injected {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := &Injected{s: s, f: f}
	s.faults = append(s.faults, in)
	return in
}

// Hits is how many requests the fault met.
func (in *Injected) Hits() int {
	in.s.mu.Lock()
	defer in.s.mu.Unlock()
	return in.hits
}

// Remove ends the fault.
func (in *Injected) Remove() {
	in.s.mu.Lock()
	defer in.s.mu.Unlock()
	in.off = true
}

// takeFault finds the fault of a request, if any. The methods below accept a
// nil fault, which changes nothing.
func (s *Server) takeFault(method, route string) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, in := range s.faults {
		if in.off || in.f.Method != "" && in.f.Method != method || in.f.Route != "" && in.f.Route != route {
			continue
		}
		if in.seen++; in.seen <= in.f.Skip {
			continue
		}
		if in.f.Times > 0 && in.hits >= in.f.Times {
			continue
		}
		in.hits++
		f := in.f
		return &f
	}
	return nil
}

// wait delays by the fault's latency; false means that the client or the
// server went away.
func (f *Fault) wait(server, client context.Context) bool {
	if f == nil || f.Latency == 0 {
		return true
	}
	t := time.NewTimer(f.Latency)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-server.Done():
	case <-client.Done():
	}
	return false
}

func (f *Fault) replaces() bool { return f != nil && f.Status != 0 }

func (f *Fault) skipsHandler() bool { return f != nil && !f.Late && (f.Status != 0 || f.Drop) }

// reply is the fault's own answer.
func (f *Fault) reply(c *call) reply {
	for k, v := range f.Header {
		c.header[http.CanonicalHeaderKey(k)] = v
	}
	if f.Status == 0 {
		return reply{status: http.StatusOK}
	}
	if f.Body == "" {
		return fail(f.Status, http.StatusText(f.Status))
	}
	mime := f.Header.Get("Content-Type")
	return reply{status: f.Status, raw: []byte(f.Body), mime: mime}
}

// write sends an answer through the fault.
func (f *Fault) write(w http.ResponseWriter, rep reply) {
	if f != nil && f.Drop {
		panic(http.ErrAbortHandler)
	}
	if f != nil && f.Truncate {
		w.Header().Set("Content-Length", strconv.Itoa(len(rep.raw)))
		w.WriteHeader(rep.status)
		_, _ = w.Write(rep.raw[:len(rep.raw)/2])
		// What is not sent is lost with the connection, as if there had been none.
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(rep.status)
	_, _ = w.Write(rep.raw)
}
