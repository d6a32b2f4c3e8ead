package egress

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http/httpproxy"
)

// operator is a proxy of the operator's own: it notes what it is asked for, and
// reaches one server whatever that is.
type operator struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func newOperator(t *testing.T, packages *httptest.Server) *operator {
	t.Helper()
	w := &world{server: packages.Listener.Addr().String()}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	every := Options{Resolve: w.resolve, Dial: w.dial}
	for _, port := range []string{"80", "443", "8081", "8443"} {
		for _, host := range []string{"registry.example", "private.example", "93.184.216.34"} {
			every.Rules = append(every.Rules, Rule{host: host, port: port})
		}
	}
	w.names = map[string][]string{"registry.example": {"93.184.216.34"}, "private.example": {"10.0.0.7"}}
	inner := Serve(l, every)
	t.Cleanup(inner.Close)
	o := &operator{}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		o.asked = append(o.asked, fmt.Sprintf("%s %s %s", r.Method, r.RequestURI, r.Header.Get("Proxy-Authorization")))
		o.mu.Unlock()
		inner.handle(w, r)
	}))
	t.Cleanup(o.Close)
	return o
}

// take returns what was asked for since the last time.
func (o *operator) take() (asked string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	asked, o.asked = strings.Join(o.asked, "; "), nil
	return asked
}

func packages(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "packages") }))
	t.Cleanup(s.Close)
	return s
}

// Whatever a set-up step may reach, a registry that the operator named too, is
// reached by the operator's proxy, as every program of the operator reaches it.
func TestTheOperatorsProxyIsUsedAsItsSettingsSay(t *testing.T) {
	t.Parallel()
	s := packages(t)
	o := newOperator(t, s)
	w := &world{server: s.Listener.Addr().String(), names: map[string][]string{"direct.example": {"93.184.216.40"}, "inside.example": {"10.0.0.9"}}}
	settings := httpproxy.Config{HTTPSProxy: "http://me:pw@" + o.Listener.Addr().String(), HTTPProxy: o.Listener.Addr().String(), NoProxy: "direct.example, .inside.example, inside.example:8081"}
	proxy := start(t, Options{
		Rules: rules(t, "registry.example", "private.example:8443", "direct.example", "inside.example:8081"), Resolve: w.resolve, Upstream: settings.ProxyFunc(),
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address == o.Listener.Addr().String() {
				return (&net.Dialer{}).DialContext(ctx, network, address)
			}
			return w.dial(ctx, network, address)
		},
	})
	for _, tt := range []struct{ target, asked, dialed string }{
		{"registry.example:443", "CONNECT registry.example:443 Basic bWU6cHc=", ""},
		{"private.example:8443", "CONNECT private.example:8443 Basic bWU6cHc=", ""},
		{"direct.example:443", "", "93.184.216.40:443"},
		{"inside.example:8081", "", "10.0.0.9:8081"},
	} {
		status, body := connect(t, proxy, tt.target)
		if status != http.StatusOK || !strings.HasSuffix(body, "packages") {
			t.Errorf("%s: %d %q", tt.target, status, body)
		}
		if asked, dialed := o.take(), strings.Join(w.dialed, " "); asked != tt.asked || dialed != tt.dialed {
			t.Errorf("%s: the proxy was asked %q, want %q; connected to %q, want %q", tt.target, asked, tt.asked, dialed, tt.dialed)
		}
		w.dialed = nil
	}
	transport := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: proxy}), DisableKeepAlives: true}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://registry.example/simple?x=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if asked := o.take(); resp.StatusCode != http.StatusOK || asked != "GET http://registry.example/simple?x=1 " {
		t.Errorf("a plain request: %d, the proxy was asked %q", resp.StatusCode, asked)
	}
	if status, _ := connect(t, proxy, "other.example:443"); status != http.StatusForbidden || o.take() != "" {
		t.Errorf("another host: %d", status)
	}
}

// The operator's proxy would connect to any address that it is given. Names are
// its own affair; an address is looked at here, however it is written.
func TestAddressesAreCheckedBeforeTheOperatorsProxyGetsThem(t *testing.T) {
	t.Parallel()
	o := newOperator(t, packages(t))
	up, _ := url.Parse(o.URL)
	proxy := start(t, Options{Rules: rules(t, "*", "10.0.0.8:8081"), Upstream: func(*url.URL) (*url.URL, error) { return up, nil }})
	for _, target := range []string{
		"169.254.169.254:80", "10.0.0.7:443", "127.0.0.1:443", "[::1]:443", "[::ffff:10.0.0.1]:443", "[fd00:ec2::254]:80", "[64:ff9b::a9fe:a9fe]:80", "[fe80::1%25eth0]:80",
		"127.1:443", "0x7f000001:80", "2130706433:80", "017700000001:80", "169.254.43518:80", "0xa9.0xfe.0xa9.0xfe:80", "169.254.169.254.:80", "x.1:80",
	} {
		if status, body := connect(t, proxy, target); status != http.StatusForbidden {
			t.Errorf("%s: %d %q", target, status, body)
		}
		if asked := o.take(); asked != "" {
			t.Errorf("%s: the operator's proxy was asked %q", target, asked)
		}
	}
	if status, body := connect(t, proxy, "93.184.216.34:443"); status != http.StatusOK || o.take() == "" {
		t.Errorf("a public address: %d %q", status, body)
	}
	connect(t, proxy, "10.0.0.8:8081")
	if asked := o.take(); !strings.Contains(asked, "10.0.0.8:8081") {
		t.Errorf("an address that the operator named: the proxy was asked %q", asked)
	}
}

func TestNumbersThatResolversTakeForAddresses(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{"127.1": true, "0x7f.1": true, "1": true, "a.0x": true, "a.0xg": false, "1.example": false, "example.com": false, "a1": false, "deadbeef": false, "x.0x1f": true} {
		if got := numeric(host); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
	if !public(netip.MustParseAddr("93.184.216.34")) {
		t.Error("a public address is not")
	}
}
