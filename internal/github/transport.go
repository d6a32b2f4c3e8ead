package github

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 30 * time.Second,
		MaxIdleConnsPerHost:   16,
		IdleConnTimeout:       90 * time.Second,
		ForceAttemptHTTP2:     true,
	}
}

// retrying bounds every attempt in time and repeats those that may be repeated
// (GH11).
type retrying struct {
	next     http.RoundTripper
	timeout  time.Duration
	attempts int
	agent    string
	sleep    func(context.Context, time.Duration) error
	log      *slog.Logger
}

// maxAnswer bounds what one answer of the API may hold; logs are read by
// another client.
const maxAnswer = 64 << 20

// RoundTrip implements http.RoundTripper.
func (t *retrying) RoundTrip(req *http.Request) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		resp, err := t.try(req)
		again := attempt < t.attempts && repeatable(req) && !errors.Is(err, ErrFenced) && req.Context().Err() == nil &&
			(err != nil || resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented)
		if !again {
			return resp, err
		}
		wait := backoff(attempt)
		if err == nil {
			if s, bad := strconv.Atoi(resp.Header.Get("Retry-After")); bad == nil {
				wait = max(wait, time.Duration(s)*time.Second)
			}
			// A long wait is the caller's: it can do something else meanwhile.
			if wait > t.timeout {
				return resp, nil
			}
			_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
			resp.Body.Close()
		}
		t.log.Debug("GitHub call is repeated", "method", req.Method, "path", req.URL.Path, "attempt", attempt)
		if err := t.sleep(req.Context(), wait); err != nil {
			return nil, err
		}
	}
}

func (t *retrying) try(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), t.timeout)
	out := req.Clone(ctx)
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			cancel()
			return nil, err
		}
		out.Body = body
	}
	out.Header.Set("User-Agent", t.agent)
	if err := guarded(out); err != nil {
		cancel()
		return nil, err
	}
	resp, err := t.next.RoundTrip(out)
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &boundedBody{Reader: io.LimitReader(resp.Body, maxAnswer), body: resp.Body, cancel: cancel}
	return resp, nil
}

// boundedBody ends the attempt's context when the answer was read.
type boundedBody struct {
	io.Reader
	body   io.Closer
	cancel context.CancelFunc
}

func (b *boundedBody) Close() error {
	err := b.body.Close()
	b.cancel()
	return err
}

type onceKey struct{}

// once marks a call that must not be repeated although its method could be:
// annotations of a check run are added anew by each request.
func once(ctx context.Context) context.Context { return context.WithValue(ctx, onceKey{}, true) }

// tokensPath ends the address where installation tokens are made, a POST that
// nobody sees.
const tokensPath = "/access_tokens"

// repeatable reports whether a request does the same when it is sent twice.
// Updates here always send the whole new value; asking for a token twice gives
// two tokens, and nobody sees it.
func repeatable(req *http.Request) bool {
	if req.Body != nil && req.Body != http.NoBody && req.GetBody == nil {
		return false
	}
	if req.Context().Value(onceKey{}) != nil {
		return false
	}
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return true
	case http.MethodPost:
		return strings.HasSuffix(req.URL.Path, tokensPath)
	}
	return false
}

// backoff is 0.5 s, 1.5 s, 4.5 s, give or take a quarter.
func backoff(attempt int) time.Duration {
	d := 500 * time.Millisecond
	for range attempt - 1 {
		d *= 3
	}
	return d - d/4 + rand.N(d/2)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
