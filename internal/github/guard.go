package github

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A guard keeps writes from being sent long after the fence was asked. GitHub
// knows no fencing numbers, so a process that is paused between the two (a
// stopped container, a laptop that sleeps, swapping) would publish what the
// next worker has published already. It is looked at as late as can be: when
// the connection takes the request's body.
type guard struct {
	now func() time.Time

	mu    sync.Mutex
	until time.Time // zero: no limit
}

type guardKey struct{}

// with returns a context whose writes are guarded.
func (g *guard) with(ctx context.Context) context.Context {
	return context.WithValue(ctx, guardKey{}, g)
}

// allow lets writes pass until the given time.
func (g *guard) allow(until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.until = until
}

// check returns an error that matches ErrFenced when it is too late.
func (g *guard) check() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if late := g.now().Sub(g.until); !g.until.IsZero() && late > 0 {
		return &Error{Op: "write to GitHub", Message: "too long ago that this worker was found to hold the job: another may have it", kind: ErrFenced}
	}
	return nil
}

// guarded puts the guard of a request's context, if it has one, in front of
// what it sends.
func guarded(req *http.Request) error {
	g, ok := req.Context().Value(guardKey{}).(*guard)
	if !ok || req.Method == http.MethodGet || req.Method == http.MethodHead || strings.HasSuffix(req.URL.Path, tokensPath) {
		return nil
	}
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = &guardedBody{ReadCloser: req.Body, guard: g}
	}
	if get := req.GetBody; get != nil {
		req.GetBody = func() (io.ReadCloser, error) {
			body, err := get()
			if err != nil || body == http.NoBody {
				return body, err
			}
			return &guardedBody{ReadCloser: body, guard: g}, nil
		}
	}
	return g.check()
}

// guardedBody fails at its first byte when it is too late; the server then sees
// a request that was cut off, and drops it.
type guardedBody struct {
	io.ReadCloser
	guard *guard
}

func (b *guardedBody) Read(p []byte) (int, error) {
	if err := b.guard.check(); err != nil {
		return 0, err
	}
	return b.ReadCloser.Read(p)
}
