package sandbox

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"culprit/internal/egress"
)

// What a set-up step sees of its way out in a network namespace of its own: a
// socket of the proxy outside, and this program, which listens on its loopback
// and passes each connection on to that socket.
const (
	egressFolder  = "/run/culprit"
	egressSocket  = "egress"
	egressProgram = "/run/culprit-confine"
	egressAddress = "127.0.0.1:3128"
)

// registrySettings are settings that name registries of packages: the operator
// set them, so set-up steps may reach what they name, private addresses
// included.
var registrySettings = []string{
	"GOPROXY", "GOSUMDB", "NPM_CONFIG_REGISTRY", "npm_config_registry", "YARN_REGISTRY", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "UV_INDEX_URL",
}

// outside are the rules and the operator's own proxy for set-up steps.
func outside(host, more []string) (egress.Options, error) {
	var o egress.Options
	for _, s := range append(append(append([]string{}, egress.Registries...), registryHosts(host)...), more...) {
		rule, err := egress.ParseRule(s)
		if err != nil {
			return o, fmt.Errorf("hosts of set-up steps: %w", err)
		}
		o.Rules = append(o.Rules, rule)
	}
	proxies := httpproxy.Config{NoProxy: firstOf(host, "no_proxy", "NO_PROXY")}
	for _, p := range []struct {
		of    *string
		names []string
	}{
		{&proxies.HTTPSProxy, []string{"https_proxy", "HTTPS_PROXY"}},
		{&proxies.HTTPProxy, []string{"http_proxy", "HTTP_PROXY"}},
	} {
		value := firstOf(host, p.names...)
		if value != "" && !isProxy(value) {
			return o, fmt.Errorf("%s names a proxy that set-up steps can't use: want http://[USER:PASSWORD@]HOST:PORT or https://…", p.names[1])
		}
		if all := firstOf(host, "all_proxy", "ALL_PROXY"); value == "" && isProxy(all) {
			value = all
		}
		*p.of = value
	}
	o.Upstream = proxies.ProxyFunc()
	return o, nil
}

// firstOf is the first setting that is not empty.
func firstOf(host []string, names ...string) string {
	for _, n := range names {
		if v := lookup(host, n); v != "" {
			return v
		}
	}
	return ""
}

// isProxy reports whether a setting names a proxy by HTTP, as httpproxy takes it.
func isProxy(value string) bool {
	if !strings.Contains(value, "://") {
		value = "http://" + value
	}
	u, err := url.Parse(value)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

// registryHosts are HOST:PORT of the URLs in registry settings.
func registryHosts(host []string) (out []string) {
	for _, name := range registrySettings {
		for _, word := range strings.FieldsFunc(lookup(host, name), func(r rune) bool { return strings.ContainsRune(",| \t\n", r) }) {
			u, err := url.Parse(word)
			if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
				continue
			}
			port := u.Port()
			if port == "" {
				port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
			}
			out = append(out, net.JoinHostPort(u.Hostname(), port))
		}
	}
	return out
}

// proxySettings tell programs where their proxy is. Java does not look at the
// usual variables.
func proxySettings(address string) map[string]string {
	host, port, _ := net.SplitHostPort(address)
	out := map[string]string{
		"NO_PROXY": "localhost,127.0.0.1,::1", "no_proxy": "localhost,127.0.0.1,::1",
		"JAVA_TOOL_OPTIONS": fmt.Sprintf("-Dhttp.proxyHost=%[1]s -Dhttp.proxyPort=%[2]s -Dhttps.proxyHost=%[1]s -Dhttps.proxyPort=%[2]s", host, port),
	}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		out[name] = "http://" + address
	}
	return out
}
