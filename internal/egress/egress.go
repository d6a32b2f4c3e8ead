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
	"slices"
	"strings"
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

// A Rule allows a host: "name", "*.domain" (its sub-domains) or "*" on ports 80
// and 443 with a public address, or "name:port" with any address.
type Rule struct {
	host string
	port string // empty: 80 and 443, public addresses only
}

// ParseRule reads a rule; the error says what is wrong with it.
func ParseRule(s string) (Rule, error) {
	r := Rule{host: strings.ToLower(strings.TrimSpace(s))}
	if host, port, err := net.SplitHostPort(r.host); err == nil {
		if n, err := net.LookupPort("tcp", port); err != nil || n == 0 || strings.Contains(host, "*") {
			return Rule{}, fmt.Errorf("%q: want NAME, *.DOMAIN, * or NAME:PORT", s)
		}
		r.host, r.port = host, port
	}
	name := strings.TrimPrefix(strings.TrimPrefix(r.host, "*"), ".")
	if r.host == "" || strings.ContainsAny(name, "*/@ ?#%") || name == "" && r.host != "*" {
		return Rule{}, fmt.Errorf("%q: want NAME, *.DOMAIN, * or NAME:PORT", s)
	}
	return r, nil
}

func (r Rule) matches(host, port string) bool {
	if r.port != "" {
		return host == r.host && port == r.port
	}
	if port != "80" && port != "443" {
		return false
	}
	if domain, ok := strings.CutPrefix(r.host, "*"); ok {
		return strings.HasSuffix(host, domain)
	}
	return host == r.host
}

// Options of a Proxy.
type Options struct {
	Rules []Rule
	// Upstream is a proxy through which the network is reached, with user and
	// password; nil: none. Names are resolved by it then, not here.
	Upstream *url.URL
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
	p.ends.Go(func() { _ = p.server.Serve(l) })
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
	conn, err := p.dial(ctx, address)
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
		p.forward(w, r, conn)
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

// forward sends one plain request over conn.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, conn net.Conn) {
	transport := &http.Transport{
		DisableKeepAlives: true, DisableCompression: true,
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

// dial connects to an address if a rule allows it.
func (p *Proxy) dial(ctx context.Context, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%w: %q is no HOST:PORT", ErrRefused, address)
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	private, allowed := false, false
	for _, r := range p.opts.Rules {
		if r.matches(host, port) {
			allowed, private = true, private || r.port != ""
		}
	}
	if !allowed {
		return nil, fmt.Errorf("%s:%s: %w: name it in CULPRIT_SETUP_HOSTS", host, port, ErrRefused)
	}
	if p.opts.Upstream != nil && !private {
		return p.through(ctx, net.JoinHostPort(host, port))
	}
	addresses, err := p.addresses(ctx, host)
	if err != nil {
		return nil, err
	}
	var last error = fmt.Errorf("%s: %w: its address is not public", host, ErrRefused)
	for _, a := range addresses {
		if !private && !public(a) {
			continue
		}
		conn, err := p.opts.Dial(ctx, "tcp", net.JoinHostPort(a.String(), port))
		if err == nil {
			return conn, nil
		}
		last = fmt.Errorf("connect to %s: %w", host, err)
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

// notPublic are ranges beyond what netip itself knows (RFC 6890 and others):
// carrier-grade NAT, protocol assignments, documentation, benchmarks, reserved,
// NAT64 and 6to4, in which an IPv4 address may hide.
var notPublic = func() (out []netip.Prefix) {
	for _, s := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "fec0::/10",
	} {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}()

// public reports whether an address is one of the internet.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return a.IsGlobalUnicast() && !a.IsPrivate() && !slices.ContainsFunc(notPublic, func(p netip.Prefix) bool { return p.Contains(a) })
}

func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = c.Close()
}
