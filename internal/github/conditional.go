package github

import (
	"bytes"
	"container/list"
	"crypto/sha256"
	"io"
	"net/http"
	"strings"
	"sync"
)

// conditional asks GitHub again for what it has already by "is it still this?":
// an answer 304 costs nothing of the rate limit (GH11). What is asked for again
// and again are the repository itself (by each job and command), its settings
// and its organisation's, permissions, and check runs.
//
// GitHub's ETags depend on the token, so an answer is kept under the token that
// it was given to and helps until that is replaced, within the hour. What a
// token may not see any more is never shown from here: GitHub is asked each time.
type conditional struct {
	next http.RoundTripper

	mu    sync.Mutex
	kept  map[[sha256.Size]byte]*list.Element // of *keptAnswer
	order *list.List                          // newest first
	bytes int
}

// keptAnswer is an answer that carried an ETag.
type keptAnswer struct {
	key    [sha256.Size]byte
	tag    string
	header http.Header
	body   []byte
}

// Bounds of what is kept: of one answer, and of all, in bytes.
const (
	maxKept    = 128 << 10
	maxKeptAll = 8 << 20
)

func newConditional(next http.RoundTripper) *conditional {
	return &conditional{next: next, kept: map[[sha256.Size]byte]*list.Element{}, order: list.New()}
}

// RoundTrip implements http.RoundTripper.
func (c *conditional) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet || req.Header.Get("If-None-Match") != "" || strings.HasPrefix(req.Header.Get("Authorization"), "Bearer ey") {
		return c.next.RoundTrip(req) // a JWT is another one for each call
	}
	key := sha256.Sum256([]byte(req.URL.String() + "\n" + req.Header.Get("Accept") + "\n" + req.Header.Get("Authorization")))
	old := c.find(key)
	if old != nil {
		req = req.Clone(req.Context())
		req.Header.Set("If-None-Match", old.tag)
	}
	resp, err := c.next.RoundTrip(req)
	switch {
	case err != nil:
		return nil, err
	case old != nil && resp.StatusCode == http.StatusNotModified:
		resp.Body.Close()
		return old.answer(resp), nil
	case resp.StatusCode == http.StatusOK && resp.Header.Get("ETag") != "":
		return c.keep(key, resp), nil
	}
	return resp, nil
}

func (c *conditional) find(key [sha256.Size]byte) *keptAnswer {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.kept[key]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*keptAnswer)
}

// answer is the kept one, with the limits of today's.
func (a *keptAnswer) answer(today *http.Response) *http.Response {
	out := *today
	out.StatusCode, out.Status = http.StatusOK, "200 OK"
	out.Header = a.header.Clone()
	for name, values := range today.Header {
		if strings.HasPrefix(name, "X-Ratelimit-") || name == "Date" {
			out.Header[name] = values
		}
	}
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(a.body)), int64(len(a.body))
	return &out
}

// keep reads the answer as far as it is worth keeping. One that is cut off is
// given on as it came, and is not kept.
func (c *conditional) keep(key [sha256.Size]byte, resp *http.Response) *http.Response {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxKept+1))
	whole := err == nil && len(body) <= maxKept
	rest := resp.Body
	switch {
	case whole:
		rest.Close()
		resp.Body = io.NopCloser(bytes.NewReader(body))
	case err != nil:
		rest.Close()
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), broken{err}))
	default:
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(body), rest), rest}
	}
	if !whole {
		return resp
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(c.kept[key])
	c.kept[key] = c.order.PushFront(&keptAnswer{key, resp.Header.Get("ETag"), resp.Header.Clone(), body})
	for c.bytes += len(body); c.bytes > maxKeptAll; {
		c.drop(c.order.Back())
	}
	return resp
}

// drop forgets an answer; the caller holds the lock.
func (c *conditional) drop(e *list.Element) {
	if e == nil {
		return
	}
	a := c.order.Remove(e).(*keptAnswer)
	delete(c.kept, a.key)
	c.bytes -= len(a.body)
}

// broken is the end of an answer that was cut off.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }
