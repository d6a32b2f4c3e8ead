package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"culprit/internal/requiretest"
)

// A set-up step reaches what the operator named, by the proxy, and nothing else
// of the host or beyond.
func TestSetUpStepsReachOnlyWhatIsAllowed(t *testing.T) {
	t.Parallel()
	requiretest.Program(t, "python3")
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a package") }))
	t.Cleanup(registry.Close)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { t.Error("the other host was reached") }))
	t.Cleanup(other.Close)
	const script = `
import os, socket, sys, urllib.request, urllib.error
proxy = urllib.request.ProxyHandler({'http': os.environ['HTTP_PROXY']})
opener = urllib.request.build_opener(proxy)
os.environ['no_proxy'] = ''
for target in sys.argv[1:]:
    try:
        print(opener.open('http://%s/' % target, timeout=10).read().decode())
    except urllib.error.HTTPError as e:
        print(e.code)
    try:
        host, port = target.rsplit(':', 1)
        socket.create_connection((host, int(port)), 2)
        print('directly')
    except OSError as e:
        print('not directly')
try:
    socket.getaddrinfo('registry.npmjs.org', 443)
    print('a name was looked up')
except OSError:
    print('no names')
`
	for _, kind := range []string{Bwrap, Landlock} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			box, err := Open(kind, Options{SetupHosts: []string{registry.Listener.Addr().String()}})
			if errors.Is(err, ErrUnavailable) {
				requiretest.Missing(t, err.Error())
			}
			if err != nil {
				t.Fatal(err)
			}
			cmd := Command{Network: true, Argv: []string{"python3", "-c", script, registry.Listener.Addr().String(), other.Listener.Addr().String(), "169.254.169.254:80"}}
			want := "a package\nnot directly\n403\nnot directly\n403\nnot directly\nno names\n"
			if res, out := run(t, box, cmd); res.Exit != 0 || out != want {
				t.Errorf("exit %d: %q, want %q", res.Exit, out, want)
			}
			if res, _ := run(t, box, Command{Network: true, Script: "exit 7"}); res.Exit != 7 {
				t.Errorf("exit code %d came back as %+v", 7, res)
			}
		})
	}
}

func TestRegistriesThatTheOperatorSetMayBeReached(t *testing.T) {
	t.Parallel()
	got := registryHosts([]string{"GOPROXY=https://u:p@go.corp.example/x,https://b.example:8443|direct", "PIP_INDEX_URL=http://pip.corp.example/simple", "NPM_CONFIG_REGISTRY=off", "PIP_FIND_LINKS=/srv/wheels"})
	if want := []string{"go.corp.example:443", "b.example:8443", "pip.corp.example:80"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	o, err := outside([]string{"HTTPS_PROXY=user:pw@proxy.example:3128", "http_proxy=http://plain.example", "NO_PROXY=.corp.example"}, []string{"*.corp.example"})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"https://registry.npmjs.org:443": "http://user:pw@proxy.example:3128", "http://deb.example:80": "http://plain.example", "https://go.corp.example:443": "<nil>",
		"https://localhost:8443": "<nil>",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if up, err := o.Upstream(u); err != nil || fmt.Sprint(up) != want {
			t.Errorf("%s goes by %v %v, want %s", address, up, err, want)
		}
	}
	if _, err := outside([]string{"HTTPS_PROXY=socks5://proxy.example:1080"}, nil); err == nil || !strings.Contains(err.Error(), "HTTPS_PROXY") || strings.Contains(err.Error(), "proxy.example") {
		t.Errorf("a proxy of another kind: %v", err)
	}
	if _, err := outside(nil, []string{"https://x"}); err == nil {
		t.Error("a bad rule is taken")
	}
	host, port, _ := net.SplitHostPort(egressAddress)
	if got := fmt.Sprint(proxySettings(egressAddress)); !strings.Contains(got, "-Dhttps.proxyHost="+host) || !strings.Contains(got, "-Dhttps.proxyPort="+port) {
		t.Error(got)
	}
}
