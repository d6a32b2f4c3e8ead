package egress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func rules(t *testing.T, list ...string) (out []Rule) {
	t.Helper()
	for _, s := range list {
		r, err := ParseRule(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// start serves a proxy on loopback and returns its address.
func start(t *testing.T, opts Options) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := Serve(l, opts)
	t.Cleanup(p.Close)
	return l.Addr().String()
}

// connect asks for a tunnel and returns the status and what comes through it.
func connect(t *testing.T, proxy, target string) (int, string) {
	t.Helper()
	c, err := net.Dial("tcp4", proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target)
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body)
	}
	fmt.Fprint(c, "GET / HTTP/1.0\r\n\r\n")
	body, _ := io.ReadAll(r)
	return resp.StatusCode, string(body)
}

// A world in which every name resolves to what a table says, and every dial to a
// public address ends at one server.
type world struct {
	names  map[string][]string
	dialed []string
	server string
}

func (w *world) resolve(_ context.Context, host string) (out []netip.Addr, err error) {
	for _, a := range w.names[host] {
		out = append(out, netip.MustParseAddr(a))
	}
	if out == nil {
		err = &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return out, err
}

func (w *world) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.dialed = append(w.dialed, address)
	return (&net.Dialer{}).DialContext(ctx, network, w.server)
}

func TestOnlyAllowedHostsAreReached(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "packages") }))
	defer s.Close()
	for _, tt := range []struct {
		target string
		dialed string // empty: refused
	}{
		{"registry.example:443", "93.184.216.34:443"},
		{"REGISTRY.example.:443", "93.184.216.34:443"},
		{"registry.example:80", "93.184.216.34:80"},
		{"registry.example:22", ""},
		{"a.cdn.example:443", "93.184.216.35:443"},
		{"cdn.example:443", ""},
		{"evilcdn.example:443", ""},
		{"registry.example.evil:443", ""},
		{"other.example:443", ""},
		{"93.184.216.34:443", ""},
		{"169.254.169.254:80", ""},
		{"rebound.cdn.example:443", ""},
		{"mixed.cdn.example:443", "93.184.216.36:443"},
		{"mapped.cdn.example:443", ""},
		{"nat64.cdn.example:443", ""},
		{"private.example:8081", "10.0.0.7:8081"},
		{"private.example:443", ""},
		{"unknown.cdn.example:443", ""},
		{"registry.example", ""},
		{"registry.example:443@evil.example:443", ""},
	} {
		w := &world{server: s.Listener.Addr().String(), names: map[string][]string{
			"registry.example": {"93.184.216.34"}, "a.cdn.example": {"93.184.216.35"}, "cdn.example": {"93.184.216.35"}, "evilcdn.example": {"93.184.216.35"},
			"registry.example.evil": {"93.184.216.34"}, "other.example": {"93.184.216.34"}, "rebound.cdn.example": {"127.0.0.1", "::1", "169.254.169.254", "10.1.2.3", "fd00:ec2::254"},
			"mixed.cdn.example": {"192.168.0.1", "93.184.216.36"}, "mapped.cdn.example": {"::ffff:127.0.0.1"}, "nat64.cdn.example": {"64:ff9b::a9fe:a9fe"}, "private.example": {"10.0.0.7"},
		}}
		proxy := start(t, Options{Rules: rules(t, "registry.example", "*.cdn.example", "private.example:8081"), Resolve: w.resolve, Dial: w.dial})
		status, body := connect(t, proxy, tt.target)
		if got := strings.Join(w.dialed, " "); got != tt.dialed {
			t.Errorf("%s: connected to %q, want %q", tt.target, got, tt.dialed)
		}
		if (status == http.StatusOK) != (tt.dialed != "") || tt.dialed != "" && !strings.HasSuffix(body, "packages") {
			t.Errorf("%s: %d %q", tt.target, status, body)
		}
	}
}

func TestPlainRequestsAreForwardedToAllowedHosts(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %q", r.Host, r.URL.Path, r.Header.Get("Proxy-Authorization"))
	}))
	defer s.Close()
	w := &world{server: s.Listener.Addr().String(), names: map[string][]string{"registry.example": {"93.184.216.34"}}}
	proxy := start(t, Options{Rules: rules(t, "registry.example"), Resolve: w.resolve, Dial: w.dial})
	transport := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: proxy, User: url.UserPassword("a", "b")}), DisableKeepAlives: true}
	get := func(address string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body)
	}
	if status, body := get("http://registry.example/pkg"); status != http.StatusOK || body != `registry.example /pkg ""` {
		t.Errorf("%d %q", status, body)
	}
	if status, _ := get("http://other.example/"); status != http.StatusForbidden {
		t.Errorf("another host: %d", status)
	}
	if status, body := get("http://" + proxy + "/"); status != http.StatusForbidden {
		t.Errorf("the proxy itself: %d %q", status, body)
	}
}

func TestBadRulesAreRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", " ", "https://x.example", "a*b.example", "*.", "x:0", "x:port9", "*:443", "u@h", "a b", "*example.com", "*a*b", ".example.com"} {
		if r, err := ParseRule(bad); err == nil {
			t.Errorf("%q is taken as %+v", bad, r)
		}
	}
	if _, err := ParseRule("*Example.com"); err == nil || !strings.Contains(err.Error(), `want "*.example.com" for the sub-domains, "example.com" for the host`) {
		t.Errorf("a wildcard without a dot: %v", err)
	}
}

// A set-up step that opens connections without end gets an answer, and the
// places that it gives back.
func TestConnectionsAreLimited(t *testing.T) {
	t.Parallel()
	proxy := start(t, Options{})
	open := make([]net.Conn, maxConnections)
	for i := range open {
		c, err := net.Dial("tcp4", proxy)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		open[i] = c
	}
	ask := func() int {
		c, err := net.Dial("tcp4", proxy)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	if got := ask(); got != http.StatusServiceUnavailable {
		t.Errorf("one more than %d: %d", maxConnections, got)
	}
	for _, c := range open[:10] {
		c.Close()
	}
	for { // the proxy sees in its own time that they are closed
		c, err := net.Dial("tcp4", proxy)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		c.Close()
		if err != nil {
			continue
		}
		resp.Body.Close()
		switch resp.StatusCode {
		case http.StatusBadRequest:
			return
		case http.StatusServiceUnavailable:
		default:
			t.Fatalf("status %d", resp.StatusCode)
		}
	}
}
