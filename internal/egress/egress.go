// Package egress is the only way out of a sandbox: an HTTP proxy that lets
// set-up steps reach the registries of packages, and nothing else (BX5).
//
// The sandbox has no network and no DNS. A set-up step is given the address of
// this proxy, which stays outside: it looks the name up in its list, resolves it
// itself, and connects to the very address that it has checked, so that a name
// that resolves differently the second time (DNS rebinding) gains nothing.
// Addresses that are not public (loopback, private, link-local, the metadata
// service of a cloud) are refused, unless the operator named that host together
// with a port.
//
// What it cannot do: what is sent to an allowed registry is encrypted and not
// looked at. Whoever can publish to a registry could send it what the sandbox
// holds, which is the repository's own code and nothing of the bot's.
package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"
)

// Registries are the hosts that a set-up step may reach unless configured
// otherwise.
var Registries = []string{
	"registry.npmjs.org", "registry.yarnpkg.com", "pypi.org", "files.pythonhosted.org", "proxy.golang.org", "sum.golang.org",
	"index.crates.io", "static.crates.io", "crates.io", "repo.maven.apache.org", "repo1.maven.org", "plugins.gradle.org", "services.gradle.org", "downloads.gradle.org",
	"rubygems.org", "index.rubygems.org", "repo.packagist.org", "api.nuget.org",
}

// Options of a Proxy.
type Options struct {
	Rules []Rule
	// Upstream finds the proxy through which a URL is reached, with user and
	// password, nil for none, as httpproxy.Config.ProxyFunc does. Names are
	// resolved by that proxy then, not here. A nil Upstream: never.
	Upstream func(*url.URL) (*url.URL, error)
	// Resolve looks a name up; nil: the system's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to a checked address; nil: by TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// A Proxy serves one sandbox.
type Proxy struct {
	opts   Options
	server *http.Server
	ends   sync.WaitGroup // of tunnels and the server
	stop   context.CancelFunc
	ctx    context.Context
}

// dialTime bounds a connection's making.
const dialTime = 20 * time.Second

// Serve starts a proxy on a listener, which it takes over. Close ends it.
func Serve(l net.Listener, opts Options) *Proxy {
	p := &Proxy{opts: opts}
	if p.opts.Resolve == nil {
		p.opts.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	if p.opts.Dial == nil {
		p.opts.Dial = (&net.Dialer{Timeout: dialTime}).DialContext
	}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.server = &http.Server{Handler: http.HandlerFunc(p.handle), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	p.ends.Go(func() { _ = p.server.Serve(limit(l)) })
	return p
}

// Close ends all connections and waits for them.
func (p *Proxy) Close() {
	p.stop()
	_ = p.server.Close()
	p.ends.Wait()
}

// ErrRefused is what a request meets that no rule allows.
var ErrRefused = errors.New("not allowed in a set-up step")

func (p *Proxy) handle(w http.ResponseWriter, r *http.Request) {
	address := r.Host
	if r.Method != http.MethodConnect {
		if r.URL.Scheme != "http" || r.URL.Host == "" {
			http.Error(w, "this is a proxy", http.StatusBadRequest)
			return
		}
		address = r.URL.Host
		if r.URL.Port() == "" {
			address = net.JoinHostPort(r.URL.Hostname(), "80")
		}
	}
	ctx, cancel := context.WithTimeout(p.ctx, dialTime)
	defer cancel()
	conn, up, err := p.dial(ctx, r.Method, address)
	if err != nil {
		code := http.StatusBadGateway
		if errors.Is(err, ErrRefused) {
			code = http.StatusForbidden
		}
		http.Error(w, "culprit: "+err.Error(), code)
		return
	}
	defer conn.Close()
	if r.Method != http.MethodConnect {
		p.forward(w, r, conn, up)
		return
	}
	inside, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "culprit: no tunnel", http.StatusInternalServerError)
		return
	}
	p.ends.Add(1)
	defer p.ends.Done()
	defer inside.Close()
	if _, err := io.WriteString(inside, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	defer context.AfterFunc(p.ctx, func() { inside.Close(); conn.Close() })()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(conn, buffered)
		closeWrite(conn)
	}()
	_, _ = io.Copy(inside, conn)
	closeWrite(inside)
	<-done
}

// dial connects to an address if a rule allows it: a tunnel for CONNECT, else
// the host itself or the operator's proxy, which is returned.
func (p *Proxy) dial(ctx context.Context, method, address string) (net.Conn, *url.URL, error) {
	scheme := "http"
	if method == http.MethodConnect {
		scheme = "https"
	}
	t, err := p.allow(address)
	if err != nil {
		return nil, nil, err
	}
	up, err := p.upstream(scheme, t)
	if err != nil {
		return nil, nil, err
	}
	var conn net.Conn
	switch {
	case up == nil:
		conn, err = p.direct(ctx, t)
	case scheme == "https":
		conn, err = p.through(ctx, up, t.String())
	default:
		conn, err = p.reach(ctx, up)
	}
	return conn, up, err
}

// forward sends one plain request over conn, which ends at up where there is
// one.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, conn net.Conn, up *url.URL) {
	transport := &http.Transport{
		DisableKeepAlives: true, DisableCompression: true,
		Proxy:       func(*http.Request) (*url.URL, error) { return up, nil },
		DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil },
	}
	out := r.Clone(p.ctx)
	out.RequestURI = ""
	for _, h := range []string{"Proxy-Connection", "Proxy-Authorization", "Connection", "Keep-Alive", "Upgrade", "Te", "Trailer"} {
		out.Header.Del(h)
	}
	resp, err := transport.RoundTrip(out)
	if err != nil {
		http.Error(w, "culprit: no answer", http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body)
}

// direct connects to a target whose address it has checked.
func (p *Proxy) direct(ctx context.Context, t target) (net.Conn, error) {
	addresses, err := p.addresses(ctx, t.host)
	if err != nil {
		return nil, err
	}
	last := fmt.Errorf("%s: %w: its address is not public", t.host, ErrRefused)
	for _, a := range addresses {
		if !t.private && !public(a) {
			continue
		}
		conn, err := p.opts.Dial(ctx, "tcp", net.JoinHostPort(a.String(), t.port))
		if err == nil {
			return conn, nil
		}
		last = fmt.Errorf("connect to %s: %w", t.host, err)
	}
	return nil, last
}

func (p *Proxy) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	all, err := p.opts.Resolve(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("look %s up: %w", host, err)
	}
	return all, nil
}

func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = c.Close()
}
